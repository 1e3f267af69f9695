// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import SystemIO

/// The future of one operation or upload: it runs whether somebody waits for it or not.
///
/// ```swift
/// let part = client.tasks.uploadPart(.init(upload: upload, partNumber: 1, body: .bytes(bytes), isLastPart: true))
/// let eTag = part.continueWith { result in try result.get().info.eTag }
/// print(try await eTag.value)
/// ```
///
/// It begins at once, on Swift's own threads and never on the main actor. Its outcome, success or error, is there for everybody
/// who asks, as often as they ask. A future that nobody keeps still runs to its end, and nothing of it is left then.
public struct OSSTask<Success: Sendable>: Sendable {
    private let task: Task<Success, any Error>
    private let stop: @Sendable () -> Void

    /// Begins an operation.
    ///
    /// - Parameters:
    ///   - priority: the task's priority; nil is the caller's.
    ///   - operation: what to do; it is cancelled by ``cancel()``.
    public init(
        priority: TaskPriority? = nil, operation: @escaping @concurrent @Sendable () async throws -> Success
    ) {
        // Unstructured by design: a future has a life of its own.
        let task = Task(priority: priority, operation: operation)
        self.init(task) { task.cancel() }
    }

    /// The future of a task that is cancelled in a way of its own.
    init(_ task: Task<Success, any Error>, stop: @escaping @Sendable () -> Void) {
        self.task = task
        self.stop = stop
    }

    // MARK: The outcome

    /// What the operation came to; waits for its end.
    ///
    /// A waiter that is cancelled goes on waiting, and so does the operation: ``cancel()`` stops it.
    ///
    /// - Throws: what the operation throws; `CancellationError` after ``cancel()`` where that came in time.
    public var value: Success {
        get async throws { try await self.task.value }
    }

    /// What the operation came to, as a value; waits as ``value`` does.
    public var result: Result<Success, any Error> {
        get async { await self.task.result }
    }

    /// Blocks the calling thread until the operation has ended, and returns what it came to.
    ///
    /// For scripts and threads of one's own.
    ///
    /// - Throws: what the operation throws; ``OSSError/Code/wouldBlock``, at once, where it is called within a Swift task, for
    ///   that would take one of Swift's few threads: use ``value`` there.
    @available(*, noasync, message: "It would block one of Swift's threads; use value.")
    public func waitUntilFinished() throws -> Success {
        // SAFETY: the task is only compared with nil.
        guard unsafe withUnsafeCurrentTask(body: { unsafe $0 == nil }) else {
            throw OSSError(
                .wouldBlock,
                "waitUntilFinished was called within a Swift task and would block one of Swift's threads; await value instead"
            )
        }
        let outcome = Lock<Result<Success, any Error>?>(nil)
        let hasEnded = Semaphore()
        let task = self.task
        // Unstructured: it ends with the operation, which this call waits for.
        Task.detached {
            let result = await task.result
            outcome.withLock { $0 = result }
            hasEnded.post()
        }
        hasEnded.wait()
        guard let result = outcome.withLock({ $0 }) else { throw CancellationError() }
        return try result.get()
    }

    // MARK: Cancelling

    /// Asks the operation to stop; returns at once.
    ///
    /// What it throws then is `CancellationError`, unless it had ended. Whoever continues from it gets that result.
    public func cancel() { self.stop() }

    // MARK: What comes after

    /// Begins another future when this one has ended, well or not.
    ///
    /// Cancelling the new future does not cancel this one: where that happens before this one has ended, `body` is not called
    /// and the new future ends at once by `CancellationError`.
    ///
    /// - Parameters:
    ///   - priority: the new task's priority; nil is the caller's.
    ///   - body: what to do with the result; it is called once, on Swift's own threads, never on the main actor unless it says so.
    public func continueWith<Next: Sendable>(
        priority: TaskPriority? = nil,
        _ body: @escaping @concurrent @Sendable (Result<Success, any Error>) async throws -> Next
    ) -> OSSTask<Next> {
        let task = self.task
        return OSSTask<Next>(priority: priority) { try await body(try await Self.resultUnlessCancelled(of: task)) }
    }

    /// The future of many: their values in the same order, when all have ended.
    ///
    /// Where some failed it throws the error of the first of those in the list, not before all have ended. Cancelling it cancels
    /// none of them.
    public static func whenAll(_ tasks: [OSSTask<Success>]) -> OSSTask<[Success]> {
        OSSTask<[Success]> {
            var results: [Result<Success, any Error>] = []
            for task in tasks { results.append(try await Self.resultUnlessCancelled(of: task.task)) }
            return try results.map { try $0.get() }
        }
    }

    /// Waits for a task, but no longer than until the waiter is cancelled.
    private static func resultUnlessCancelled(
        of task: Task<Success, any Error>
    ) async throws -> Result<Success, any Error> {
        let (results, continuation) = AsyncStream.makeStream(of: Result<Success, any Error>.self)
        // Unstructured: it goes on waiting where its waiter was cancelled, and ends with the task it waits for.
        Task {
            continuation.yield(await task.result)
            continuation.finish()
        }
        for await result in results {
            try Task.checkCancellation()
            return result
        }
        // The stream ends without a result only for a waiter that was cancelled.
        throw CancellationError()
    }
}
