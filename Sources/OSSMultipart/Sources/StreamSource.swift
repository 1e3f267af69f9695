// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import Synchronization
internal import SystemIO

/// A source that can only be read from its beginning to its end.
final class StreamSource: Sendable {
    /// Gives the next bytes of a stream; nil or nothing at its end.
    ///
    /// It is asked by one task at a time, and not again after the end.
    protocol Chunks: AnyObject, Sendable {
        func next() async throws -> ArraySlice<UInt8>?
    }

    /// What it is called in messages.
    let name: String
    /// Its length in bytes; nil where it is not known.
    let size: Int64?
    /// Whether it can be opened again, and gives the same bytes then.
    let isReplayable: Bool
    private let makeChunks: @Sendable (BlockingExecutor) async throws -> any Chunks
    private let wasOpened = Atomic(false)

    init(
        name: String, size: Int64?, isReplayable: Bool,
        makeChunks: @escaping @Sendable (BlockingExecutor) async throws -> any Chunks
    ) {
        self.name = name
        self.size = size
        self.isReplayable = isReplayable
        self.makeChunks = makeChunks
    }

    /// Opens the stream at its beginning.
    ///
    /// - Throws: `OSSError.sourceUnreadable` where it cannot be opened, or not once more.
    func open(on executor: BlockingExecutor) async throws -> StreamReader {
        guard !self.wasOpened.exchange(true, ordering: .relaxed) || self.isReplayable else {
            throw OSSError(
                .sourceUnreadable,
                "the source \(self.name) is a stream that can be read once, and was read before; give it as one that can be "
                    + "opened again, or from a file"
            )
        }
        do {
            return StreamReader(name: self.name, size: self.size, chunks: try await self.makeChunks(executor))
        } catch {
            throw try OSSError.sourceUnreadable(self.name, error)
        }
    }
}

/// Cuts a stream into pieces of the size that is asked for, whatever the size of its chunks.
///
/// An actor because the stream has a state that lives across waits; one caller at a time reads.
actor StreamReader {
    private let name: String
    private let size: Int64?
    private let chunks: any StreamSource.Chunks
    /// What was read and not yet given out, in order.
    private var waiting: [ArraySlice<UInt8>] = []
    private var isAtEnd = false
    /// Bytes that were given out.
    private var bytesGiven: Int64 = 0

    init(name: String, size: Int64?, chunks: any StreamSource.Chunks) {
        self.name = name
        self.size = size
        self.chunks = chunks
    }

    /// All of the stream where it has fewer bytes than `count`; else nil, and all of it is still to come.
    ///
    /// - Throws: as ``next(_:)``.
    func whole(ifShorterThan count: Int64) async throws -> [UInt8]? {
        let bytes = try await self.take(count)
        guard bytes.count >= count else {
            self.bytesGiven += Int64(bytes.count)
            try self.checkLength(hasEnded: true)
            return bytes
        }
        self.waiting.insert(bytes[...], at: 0)
        return nil
    }

    /// The next `count` bytes, or fewer where the stream ends, none at its end.
    ///
    /// - Throws: `OSSError.sourceChanged` where the stream is shorter or longer than was said; `sourceUnreadable` where it
    ///   fails; `CancellationError`.
    func next(_ count: Int64) async throws -> [UInt8] {
        let bytes = try await self.take(count)
        self.bytesGiven += Int64(bytes.count)
        try self.checkLength(hasEnded: bytes.count < count)
        return bytes
    }

    private func take(_ count: Int64) async throws -> [UInt8] {
        let count = Int(count)
        var bytes: [UInt8] = []
        while bytes.count < count {
            try Task.checkCancellation()
            if self.waiting.isEmpty { try await self.readChunk() }
            guard let chunk = self.waiting.first else { break }
            let wanted = count - bytes.count
            // Grown once: a large part is copied into place, not moved again and again. Memory that is not filled costs nothing.
            if bytes.isEmpty { bytes.reserveCapacity(count) }
            bytes += chunk.prefix(wanted)
            if chunk.count > wanted {
                self.waiting[0] = chunk.dropFirst(wanted)
            } else {
                self.waiting.removeFirst()
            }
        }
        return bytes
    }

    private func readChunk() async throws {
        while !self.isAtEnd {
            let chunk: ArraySlice<UInt8>?
            do { chunk = try await self.chunks.next() } catch { throw try OSSError.sourceUnreadable(self.name, error) }
            guard let chunk else {
                self.isAtEnd = true
                return
            }
            guard chunk.isEmpty else {
                self.waiting.append(chunk)
                return
            }
        }
    }

    private func checkLength(hasEnded: Bool) throws {
        guard let size = self.size else { return }
        if self.bytesGiven > size || hasEnded && self.bytesGiven < size {
            let count = hasEnded ? "ended after \(self.bytesGiven) bytes" : "has more"
            throw OSSError(
                .sourceChanged,
                "the source \(self.name) was said to have \(size) bytes, and \(count); nothing was published: give the right "
                    + "size, or none"
            )
        }
    }
}

/// The chunks of an AsyncSequence.
actor SequenceChunks<Base: AsyncSequence & Sendable>: StreamSource.Chunks
where Base.Element: Collection<UInt8> & Sendable {
    private var iterator: Base.AsyncIterator?

    init(_ base: Base) { self.iterator = base.makeAsyncIterator() }

    func next() async throws -> ArraySlice<UInt8>? {
        // Taken out for the wait and put back behind it: nobody else may use it meanwhile.
        guard var iterator = self.iterator.take() else { return nil }
        guard let chunk = try await iterator.next(isolation: self) else { return nil }
        self.iterator = iterator
        // An array is not copied.
        if let bytes = chunk as? [UInt8] { return bytes[...] }
        return Array(chunk)[...]
    }
}

/// The chunks of a descriptor: standard input, a pipe, a socket.
final class DescriptorChunks: StreamSource.Chunks {
    /// How much is read at a time, at most, in bytes: four times what a pipe holds.
    private static let bufferSize = 256 * 1024

    private let input: InputDescriptor
    private let executor: BlockingExecutor

    init(_ input: InputDescriptor, on executor: BlockingExecutor) {
        self.input = input
        self.executor = executor
    }

    func next() async throws -> ArraySlice<UInt8>? {
        let flag = CancellationFlag()
        let input = self.input
        return try await withTaskCancellationHandler {
            try await self.executor.run { () throws(any Error) in
                var buffer = [UInt8](repeating: 0, count: Self.bufferSize)
                while true {
                    if flag.isSet { throw CancellationError() }
                    // A cancelled task does not wait for whoever may write one day.
                    guard let count = try input.read(into: &buffer, waitingMilliseconds: 50) else { continue }
                    return count == 0 ? nil : buffer[..<count]
                }
            }
        } onCancel: {
            flag.set()
        }
    }
}

/// The chunks of something whose reads block.
final class BlockingChunks: StreamSource.Chunks {
    /// How much is read at a time, at most, in bytes.
    private static let bufferSize = 256 * 1024

    private let read: @Sendable (inout [UInt8]) throws -> Int
    private let executor: BlockingExecutor

    init(_ read: @escaping @Sendable (inout [UInt8]) throws -> Int, on executor: BlockingExecutor) {
        self.read = read
        self.executor = executor
    }

    func next() async throws -> ArraySlice<UInt8>? {
        let read = self.read
        return try await self.executor.run { () throws(any Error) in
            var buffer = [UInt8](repeating: 0, count: Self.bufferSize)
            let count = try read(&buffer)
            return count == 0 ? nil : buffer[..<count]
        }
    }
}
