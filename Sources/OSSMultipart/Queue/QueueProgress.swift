// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import SystemIO

/// How far a queue is, at one moment.
public struct OSSQueueSnapshot: Sendable, Hashable {
    /// Files of the queue.
    public internal(set) var filesTotal = 0
    /// Files that are stored, those of an earlier run included.
    public internal(set) var filesStored = 0
    /// Files that an earlier run had stored.
    public internal(set) var filesStoredBefore = 0
    /// Files that failed.
    public internal(set) var filesFailed = 0
    /// Files at work.
    public internal(set) var filesAtWork = 0
    /// Bytes of the files that were opened so far.
    public internal(set) var bytesTotal: Int64 = 0
    /// Bytes of those that are stored or handed to the network.
    public internal(set) var bytesDone: Int64 = 0
    /// Bytes a second that this run sends; nil before the first.
    public internal(set) var bytesPerSecond: Double?
    /// Whether the queue is paused.
    public internal(set) var isPaused = false
    /// Whether the queue has ended, well or not.
    public internal(set) var hasEnded = false
}

/// Something that happened to a queue.
public struct OSSQueueEvent: Sendable {
    /// The kinds of events.
    public struct Kind: Sendable, Hashable, CustomStringConvertible {
        private enum Name: String { case snapshot, fileBegan, fileEnded, paused, warning }
        private let name: Name

        /// How things stand: the first event of every reader.
        public static let snapshot = Kind(name: .snapshot)
        /// A file is at work.
        public static let fileBegan = Kind(name: .fileBegan)
        /// A file is stored, or has failed; see ``OSSQueueEvent/file``.
        public static let fileEnded = Kind(name: .fileEnded)
        /// The queue was paused: nothing is on its way any more.
        public static let paused = Kind(name: .paused)
        /// Something that the user should know; see ``OSSQueueEvent/message``.
        public static let warning = Kind(name: .warning)

        /// The name, for example `fileEnded`.
        public var description: String { self.name.rawValue }
    }

    /// What happened.
    public let kind: Kind
    /// The file it happened to, by its number among the items, from 0 on.
    public let index: Int?
    /// What came of the file.
    public let file: OSSQueueResult.File?
    /// What to tell the user.
    public let message: String?
    /// How far the queue is.
    public let snapshot: OSSQueueSnapshot
}

/// Keeps count of a queue for those who watch it.
///
/// Every method may be called from any thread.
final class QueueProgress: Sendable {
    private struct State {
        var snapshot = OSSQueueSnapshot()
        var active: [Int: UploadProgress] = [:]
        /// Bytes of the files that have ended.
        var bytesEnded: Int64 = 0
        /// Bytes that this run has sent of those.
        var bytesSent: Int64 = 0
        var start: ContinuousClock.Instant?
        var warnings: [String] = []
        var readers = EventReaders<OSSQueueEvent, OSSQueueEvent.Kind>()
    }

    /// Events kept for a reader that is slow; older ones are dropped.
    private static let bufferedEvents = 4096
    private let state = Lock(State())

    init(_ items: [OSSUploadQueue.Item]) { self.state.withLock { $0.snapshot.filesTotal = items.count } }

    /// How far the queue is.
    var snapshot: OSSQueueSnapshot { self.state.withLock { Self.refresh(&$0) } }

    /// What was said to the user so far.
    var warnings: [String] { self.state.withLock(\.warnings) }

    /// A stream of events for one reader, a snapshot and the warnings so far first; it ends with the queue.
    func events() -> AsyncStream<OSSQueueEvent> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: OSSQueueEvent.self, bufferingPolicy: .bufferingNewest(Self.bufferedEvents)
        )
        let number: Int? = self.state.withLock { state in
            let snapshot = Self.refresh(&state)
            continuation.yield(OSSQueueEvent(kind: .snapshot, index: nil, file: nil, message: nil, snapshot: snapshot))
            // A reader that comes late has not missed what the user should know.
            for warning in state.warnings {
                continuation.yield(
                    OSSQueueEvent(kind: .warning, index: nil, file: nil, message: warning, snapshot: snapshot))
            }
            guard !snapshot.hasEnded else { return nil }
            return state.readers.add(continuation)
        }
        if let number {
            // The circle of references ends with the reader or with the queue, whichever comes first: `end` lets go of all.
            continuation.onTermination = { _ in self.state.withLock { $0.readers.remove(number) } }
        } else {
            continuation.finish()
        }
        return stream
    }

    /// A file is at work; what is returned keeps count of its bytes.
    func began(_ index: Int) -> UploadProgress {
        let progress = UploadProgress()
        self.state.withLock {
            if $0.start == nil { $0.start = .now }
            $0.active[index] = progress
        }
        self.tell(.fileBegan, index: index)
        return progress
    }

    /// A file is done with.
    func ended(_ index: Int, _ file: OSSQueueResult.File) {
        self.state.withLock { state in
            if let snapshot = state.active.removeValue(forKey: index)?.snapshot {
                state.bytesEnded += snapshot.bytesDone
                state.bytesSent += snapshot.bytesDone - snapshot.bytesResumed
                state.snapshot.bytesTotal += snapshot.bytesDone
            }
            if file.error != nil { state.snapshot.filesFailed += 1 } else { state.snapshot.filesStored += 1 }
            if file.wasStoredBefore { state.snapshot.filesStoredBefore += 1 }
        }
        self.tell(.fileEnded, index: index, file: file)
    }

    /// What is at work was stopped, and begins again later.
    func paused() {
        self.state.withLock {
            $0.active = [:]
            $0.snapshot.isPaused = true
        }
        self.tell(.paused)
    }

    /// It goes on after a pause.
    func goesOn() { self.state.withLock { $0.snapshot.isPaused = false } }

    /// Tells the user something.
    func warn(_ message: String) { self.tell(.warning, message: message) }

    func end() {
        let readers = self.state.withLock { state in
            state.snapshot.hasEnded = true
            state.active = [:]
            return state.readers.takeAll()
        }
        for reader in readers { reader.finish() }
    }

    private func tell(
        _ kind: OSSQueueEvent.Kind, index: Int? = nil, file: OSSQueueResult.File? = nil, message: String? = nil
    ) {
        // Within the lock, so that events come in the order of their snapshots; a stream takes them without waiting.
        self.state.withLock { state in
            if let message { state.warnings.append(message) }
            let event = OSSQueueEvent(
                kind: kind, index: index, file: file, message: message, snapshot: Self.refresh(&state)
            )
            state.readers.tell(event, of: kind)
        }
    }

    private static func refresh(_ state: inout State) -> OSSQueueSnapshot {
        let active = state.active.values.map(\.snapshot)
        var snapshot = state.snapshot
        snapshot.filesAtWork = active.count
        snapshot.bytesTotal += active.reduce(0) { $0 + $1.bytesTotal }
        snapshot.bytesDone = state.bytesEnded + active.reduce(0) { $0 + $1.bytesDone }
        let sent = state.bytesSent + active.reduce(0) { $0 + $1.bytesDone - $1.bytesResumed }
        if let seconds = state.start.map({ $0.duration(to: .now) / .seconds(1) }), seconds > 0, sent > 0 {
            snapshot.bytesPerSecond = Double(sent) / seconds
        }
        return snapshot
    }
}
