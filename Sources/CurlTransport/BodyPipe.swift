// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import SystemIO

/// A body whose bytes a task makes while they are sent: the task writes, the transport's thread takes.
///
/// It holds a bounded number of bytes. A writer that is faster than the network waits; a network that is faster than the
/// writer pauses its transfer and no other. A pipe serves one attempt: what was taken cannot be taken again.
package final class BodyPipe: Sendable {
    /// Bytes that wait to be sent, at most, before a writer has to wait: two of curl's buffers.
    ///
    /// *Source:* our own choice: while one is sent the other is filled. *Applies to:* each part in flight.
    private static let capacity = 256 * 1024

    private struct State {
        /// What waits to be sent; the first chunk from `taken` on.
        var chunks: [[UInt8]] = []
        var taken = 0
        var waiting = 0
        /// Whether the writer has given up: the body will never be whole.
        var isBroken = false
        /// Whether nobody takes any more.
        var isClosed = false
        var writer: CheckedContinuation<Void, Never>?
        var wake: (@Sendable () -> Void)?
    }

    /// Length of the whole body in bytes.
    package let length: Int64
    private let state = Lock(State())

    /// Makes a pipe for a body of that length, in bytes.
    package init(length: Int64) { self.length = length }

    // MARK: The writer

    /// Adds bytes to the body, and waits until there is room for more.
    ///
    /// - Returns: false where nobody takes them any more, because the attempt has ended.
    package func write(_ bytes: [UInt8]) async -> Bool {
        guard !bytes.isEmpty else { return !self.state.withLock(\.isClosed) }
        let wake = self.state.withLock { state in
            guard !state.isClosed else { return (@Sendable () -> Void)?.none }
            state.chunks.append(bytes)
            state.waiting += bytes.count
            return state.wake
        }
        wake?()
        await withCheckedContinuation { continuation in
            let mustWait = self.state.withLock { state in
                guard !state.isClosed, state.waiting > Self.capacity else { return false }
                state.writer = continuation
                return true
            }
            if !mustWait { continuation.resume() }
        }
        return !self.state.withLock(\.isClosed)
    }

    /// Says that no more bytes will come although the body is not whole: the attempt fails.
    package func breakOff() {
        let wake = self.state.withLock { state in
            state.isBroken = true
            return state.wake
        }
        wake?()
    }

    /// Says that nobody will take any more bytes; a writer that waits goes on.
    package func close() {
        let writer = self.state.withLock { state in
            state.isClosed = true
            state.chunks = []
            state.waiting = 0
            state.wake = nil
            defer { state.writer = nil }
            return state.writer
        }
        writer?.resume()
    }

    // MARK: The transport's thread

    /// What a look into the pipe found.
    enum Content: Equatable {
        /// So many bytes were copied; they are still there until ``drop(_:)``.
        case bytes(Int)
        /// Nothing yet.
        case nothing
        /// The writer has given up.
        case broken
    }

    /// Sets what is called, from any thread, when there is something new to see.
    func setWake(_ wake: @escaping @Sendable () -> Void) { self.state.withLock { $0.wake = wake } }

    /// Bytes that wait to be sent.
    var bytesWaiting: Int { self.state.withLock(\.waiting) }

    /// Whether there is something to take, or nothing will ever come.
    var hasNews: Bool { self.state.withLock { !$0.chunks.isEmpty || $0.isBroken } }

    /// Copies what waits, as far as it fits; it stays until it is dropped.
    @unsafe func copy(into memory: UnsafeMutableRawBufferPointer) -> Content {
        self.state.withLock { state in
            guard let first = state.chunks.first else { return state.isBroken ? .broken : .nothing }
            let count = min(memory.count, first.count - state.taken)
            // SAFETY: the memory is the caller's for the length of the call; `count` fits both.
            unsafe first.withUnsafeBytes {
                unsafe memory.copyMemory(from: .init(rebasing: $0[state.taken...].prefix(count)))
            }
            return .bytes(count)
        }
    }

    /// Drops bytes that were copied, and lets a waiting writer go on where there is room.
    func drop(_ count: Int) {
        let writer = self.state.withLock { state -> CheckedContinuation<Void, Never>? in
            state.taken += count
            state.waiting -= count
            if let first = state.chunks.first, state.taken == first.count {
                state.chunks.removeFirst()
                state.taken = 0
            }
            guard state.waiting <= Self.capacity else { return nil }
            defer { state.writer = nil }
            return state.writer
        }
        writer?.resume()
    }
}
