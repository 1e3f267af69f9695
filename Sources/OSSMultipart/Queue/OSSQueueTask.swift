// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

/// The future of a queue: it runs whether somebody waits for it or not, and can be paused.
public struct OSSQueueTask: Sendable {
    /// The queue as a plain future, for what takes futures.
    ///
    /// Cancelling it is ``cancel()``.
    public let future: OSSTask<OSSQueueResult>
    private let progress: QueueProgress
    private let run: PausableRun<OSSQueueResult>

    init(queue: OSSUploadQueue, items: [OSSUploadQueue.Item], manifest: String?) {
        let progress = QueueProgress(items)
        let pausable = PausableRun<OSSQueueResult>()
        let run = QueueRun(queue: queue, items: items, manifest: manifest, progress: progress)
        self.progress = progress
        self.run = pausable
        // Unstructured by design: the caller asked for a queue with a life of its own.
        let task = Task {
            defer { progress.end() }
            return try await pausable.drive {
                try await run.run()
            } whenPaused: {
                progress.paused()
            } whenResumed: {
                progress.goesOn()
            }.get()
        }
        self.future = OSSTask(task) { pausable.cancel() }
    }

    /// What the queue came to; waits for its end, also while it is paused.
    ///
    /// - Throws: as ``OSSUploadQueue/upload(_:manifest:)``.
    public var value: OSSQueueResult {
        get async throws { try await self.future.value }
    }

    /// How far the queue is, at this moment.
    public var snapshot: OSSQueueSnapshot { self.progress.snapshot }

    /// What happens to the queue: a stream for each reader, a snapshot and the warnings so far first; it ends with the queue.
    public var events: AsyncStream<OSSQueueEvent> { self.progress.events() }

    /// Stops what is on its way and keeps what is stored, until ``resume()``; returns at once.
    public func pause() { self.run.pause() }

    /// Goes on with a paused queue: files that are done with are not touched again.
    public func resume() { self.run.resume() }

    /// Stops the queue for good; records and manifest are kept.
    ///
    /// It returns at once; `value` throws `CancellationError`.
    public func cancel() { self.run.cancel() }
}
