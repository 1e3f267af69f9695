// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire
internal import SystemIO

/// The body of a reply while it comes in: what is there is taken, and what is not taken holds the sender back.
///
/// One task at a time takes from it. Letting it go ends the transfer, unless all of it has come.
package final class TransportReplyStream: Sendable {
    private let buffer: ReplyBuffer

    init(_ buffer: ReplyBuffer) { self.buffer = buffer }

    deinit { self.buffer.cancel() }

    /// The bytes that have come since, at most ``ReplyBuffer/capacity``; nil behind the last.
    ///
    /// - Throws: `TransportError` where the reply broke off; `CancellationError` where the task is cancelled, and then
    ///   nothing of the transfer is under way any more.
    package func next() async throws -> [UInt8]? {
        if Task.isCancelled {
            self.buffer.cancel()
            throw CancellationError()
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { self.buffer.take($0) }
        } onCancel: {
            self.buffer.cancel()
        }
    }

    /// Ends the transfer; what has come and was not taken is dropped.
    package func cancel() { self.buffer.cancel() }
}

/// What the thread that receives and the task that takes share: a buffer of bounded size.
final class ReplyBuffer: Sendable {
    /// Most bytes that wait to be taken.
    ///
    /// *Source:* our own choice: sixteen of curl's buffers, so that a slow taker seldom stops a quick network.
    /// *Applies to:* bodies that are taken while they come.
    static let capacity = 256 * 1024

    private struct State {
        var bytes: [UInt8] = []
        var waiting: CheckedContinuation<[UInt8]?, any Error>?
        /// How the body ended, once it has.
        var end: Result<Void, any Error>?
        /// Whether the sender is held back until bytes are taken.
        var isHeldBack = false
    }
    private let state = Lock(State())
    /// Tells the thread that receives to go on, or to give up.
    private let resumeSender: @Sendable () -> Void
    private let cancelSender: @Sendable () -> Void

    init(resumeSender: @escaping @Sendable () -> Void, cancelSender: @escaping @Sendable () -> Void) {
        self.resumeSender = resumeSender
        self.cancelSender = cancelSender
    }

    // MARK: The thread that receives

    /// Takes in bytes of the body; false, and nothing is taken in, where there is no room for them.
    func offer(_ bytes: Span<UInt8>) -> Bool {
        var handOver: (CheckedContinuation<[UInt8]?, any Error>, [UInt8])?
        let isTaken = self.state.withLock { state in
            // After a cancellation nobody wants them.
            guard state.end == nil else { return true }
            // A single piece larger than the buffer must not wait for ever.
            guard state.bytes.isEmpty || state.bytes.count + bytes.count <= Self.capacity else {
                state.isHeldBack = true
                return false
            }
            // SAFETY: the pointer is used within the closure.
            unsafe bytes.withUnsafeBufferPointer { unsafe state.bytes.append(contentsOf: $0) }
            if let waiting = state.waiting {
                handOver = (waiting, state.bytes)
                (state.waiting, state.bytes) = (nil, [])
            }
            return true
        }
        if let (waiting, bytes) = handOver { waiting.resume(returning: bytes) }
        return isTaken
    }

    /// Notes that the body is over; the second and later times nothing happens.
    func finish(_ result: Result<Void, any Error>) {
        let waiting: CheckedContinuation<[UInt8]?, any Error>? = self.state.withLock { state in
            guard state.end == nil else { return nil }
            state.end = result
            defer { state.waiting = nil }
            return state.waiting
        }
        waiting?.resume(with: result.map { nil })
    }

    // MARK: The task that takes

    func take(_ continuation: CheckedContinuation<[UInt8]?, any Error>) {
        var resumes = false
        let answer: Result<[UInt8]?, any Error>? = self.state.withLock { state in
            if !state.bytes.isEmpty {
                defer { state.bytes = [] }
                (resumes, state.isHeldBack) = (state.isHeldBack, false)
                return .success(state.bytes)
            }
            if let end = state.end { return end.map { nil } }
            state.waiting = continuation
            return nil
        }
        if let answer { continuation.resume(with: answer) }
        if resumes { self.resumeSender() }
    }

    /// Drops what is there and tells the thread that receives to give up, unless it is done.
    func cancel() {
        let (isUnderWay, waiting) = self.state.withLock { state in
            let isUnderWay = state.end == nil
            if isUnderWay { state.end = .failure(CancellationError()) }
            state.bytes = []
            defer { state.waiting = nil }
            return (isUnderWay, state.waiting)
        }
        waiting?.resume(throwing: CancellationError())
        if isUnderWay { self.cancelSender() }
    }
}
