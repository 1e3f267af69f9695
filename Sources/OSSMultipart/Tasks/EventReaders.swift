// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

/// Those who read the events of one upload or queue, each through a stream of its own.
///
/// A value, kept under the lock of what the events are about: so they come in the order of their snapshots. A stream takes
/// events without waiting.
struct EventReaders<Event: Sendable, Kind: Sendable & Hashable>: Sendable {
    typealias Continuation = AsyncStream<Event>.Continuation

    private struct Reader {
        let continuation: Continuation
        /// What it wants to hear of; nil is everything.
        let kinds: Set<Kind>?

        func wants(_ kind: Kind) -> Bool { self.kinds?.contains(kind) ?? true }
    }

    private var readers: [Int: Reader] = [:] {
        didSet {
            self.wantsAll = self.readers.values.contains { $0.kinds == nil }
            self.wanted = self.readers.values.reduce(into: []) { $0.formUnion($1.kinds ?? []) }
        }
    }
    private var last = 0
    /// What the readers want to hear of, all together: it is asked for at every event, though most often nobody listens.
    private var wanted: Set<Kind> = []
    private var wantsAll = false

    /// Adds a reader and returns its number.
    ///
    /// - Parameter kinds: what it hears of; nil is everything.
    mutating func add(_ continuation: Continuation, kinds: Set<Kind>? = nil) -> Int {
        self.last += 1
        self.readers[self.last] = Reader(continuation: continuation, kinds: kinds)
        return self.last
    }

    /// Takes a reader away whose stream has ended; nothing happens where it has gone already.
    mutating func remove(_ number: Int) { self.readers[number] = nil }

    /// Takes all readers away; whoever does that ends their streams, outside of the lock.
    mutating func takeAll() -> [Continuation] {
        defer { self.readers = [:] }
        return self.readers.values.map(\.continuation)
    }

    /// Whether anybody wants to hear of events of a kind.
    func want(_ kind: Kind) -> Bool { self.wantsAll || self.wanted.contains(kind) }

    /// Tells everybody who wants it of an event.
    func tell(_ event: Event, of kind: Kind) {
        for reader in self.readers.values where reader.wants(kind) { reader.continuation.yield(event) }
    }
}
