// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import SystemIO

/// One call of ``CurlTransport/execute(_:)``: the lock box that the caller's task and the loop's thread share.
///
/// Whoever comes first decides: a call that is cancelled before it begins never reaches the loop.
final class CurlCall: Sendable {
    private enum Phase {
        case new
        case waiting(CheckedContinuation<TransportResponse, any Error>)
        /// The caller has the head, and takes the body from there.
        case streaming(ReplyBuffer)
        /// A thread carries it, and takes the result itself.
        case onThread
        case answered(Result<TransportResponse, any Error>)
        case finished
    }

    private struct State {
        var phase = Phase.new
        var isCancelled = false
    }

    /// What is to be sent.
    let request: TransportRequest
    /// The host and port of the request, for messages.
    let origin: String
    /// When the attempt began.
    let start: ContinuousClock.Instant
    private let state = Lock(State())

    init(request: TransportRequest, origin: String) {
        self.request = request
        self.origin = origin
        self.start = .now
    }

    /// Whether the caller's task has been cancelled.
    var isCancelled: Bool { self.state.withLock { $0.isCancelled } }

    /// Takes the continuation that waits for the reply; false where the call had been cancelled and is over already.
    func begin(_ continuation: CheckedContinuation<TransportResponse, any Error>) -> Bool {
        let begins = self.state.withLock { state in
            if state.isCancelled {
                state.phase = .finished
            } else {
                state.phase = .waiting(continuation)
            }
            return !state.isCancelled
        }
        if !begins { continuation.resume(throwing: CancellationError()) }
        return begins
    }

    /// Notes that this thread carries the call; false where the call had been cancelled.
    func beginOnThread() -> Bool {
        self.state.withLock { state in
            state.phase = state.isCancelled ? .finished : .onThread
            return !state.isCancelled
        }
    }

    /// What came of a call that this thread carries; nil while it is under way.
    var resultOnThread: Result<TransportResponse, any Error>? {
        self.state.withLock { state in
            guard case .answered(let result) = state.phase else { return nil }
            return result
        }
    }

    /// Notes the cancellation; true where the call is under way, so that the loop must be told.
    func cancel() -> Bool {
        self.state.withLock { state in
            state.isCancelled = true
            switch state.phase {
            case .waiting, .streaming, .onThread: return true
            case .new, .answered, .finished: return false
            }
        }
    }

    /// Answers the call with the reply's head, while the body goes into `buffer` until the call is finished.
    func beginStream(_ response: TransportResponse, _ buffer: ReplyBuffer) {
        let continuation: CheckedContinuation<TransportResponse, any Error>? = self.state.withLock { state in
            guard case .waiting(let continuation) = state.phase else { return nil }
            state.phase = .streaming(buffer)
            return continuation
        }
        continuation?.resume(returning: response)
    }

    /// Ends the call; the second and later times nothing happens.
    func finish(_ result: Result<TransportResponse, any Error>) {
        let phase = self.state.withLock { state in
            defer {
                switch state.phase {
                case .new, .answered: break
                case .onThread: state.phase = .answered(result)
                case .waiting, .streaming, .finished: state.phase = .finished
                }
            }
            return state.phase
        }
        switch phase {
        case .waiting(let continuation): continuation.resume(with: result)
        case .streaming(let buffer): buffer.finish(result.map { _ in })
        case .new, .onThread, .answered, .finished: break
        }
    }
}
