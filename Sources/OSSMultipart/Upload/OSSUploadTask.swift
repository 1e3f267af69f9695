// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

/// The future of an upload: it runs whether somebody waits for it or not, and can be paused.
public struct OSSUploadTask: Sendable {
    /// The upload as a plain future, for what takes futures.
    ///
    /// Cancelling it is ``cancel()``.
    public let future: OSSTask<OSSUploadResult>
    private let control: UploadControl
    private let progress: UploadProgress

    init(uploader: OSSUploader, source: OSSUploadSource, destination: OSSUploader.Destination) {
        let progress = UploadProgress()
        let control = UploadControl(uploader: uploader, source: source, destination: destination)
        self.progress = progress
        self.control = control
        // Unstructured by design: the caller asked for an upload with a life of its own.
        let task = Task {
            defer { progress.end() }
            return try await control.drive(source, progress)
        }
        self.future = OSSTask(task) { control.cancel() }
    }

    /// What the upload came to; waits for its end, also while it is paused.
    ///
    /// A waiter that is cancelled goes on waiting, and the upload goes on: ``cancel()`` stops it.
    ///
    /// - Throws: as ``OSSUploader/upload(_:to:)``; `CancellationError` after ``cancel()`` and ``abort()``.
    public var value: OSSUploadResult {
        get async throws { try await self.future.value }
    }

    /// What the upload came to, as a value; waits as ``value`` does.
    public var result: Result<OSSUploadResult, any Error> {
        get async { await self.future.result }
    }

    /// As ``OSSTask/waitUntilFinished()``.
    @available(*, noasync, message: "It would block one of Swift's threads; use value.")
    public func waitUntilFinished() throws -> OSSUploadResult { try self.future.waitUntilFinished() }

    /// As ``OSSTask/continueWith(priority:_:)``.
    public func continueWith<Next: Sendable>(
        priority: TaskPriority? = nil,
        _ body: @escaping @concurrent @Sendable (Result<OSSUploadResult, any Error>) async throws -> Next
    ) -> OSSTask<Next> {
        self.future.continueWith(priority: priority, body)
    }

    /// How far the upload is, at this moment.
    public var snapshot: OSSUploadSnapshot { self.progress.snapshot }

    /// Where each part is, at this moment: part 1 first.
    ///
    /// Empty until the source has been opened.
    public var partStates: [OSSPartState] { self.progress.partStates }

    /// What happens to the upload: a stream for each reader, a snapshot and the warnings so far first.
    ///
    /// It ends with the upload.
    public var events: AsyncStream<OSSUploadEvent> { self.progress.events() }

    /// As ``events``, but only of some kinds beside the snapshot: an upload of many small parts has little to tell then.
    public func events(of kinds: Set<OSSUploadEvent.Kind>) -> AsyncStream<OSSUploadEvent> {
        self.progress.events(of: kinds)
    }

    /// Stops what is on its way and keeps what is stored, until ``resume()``.
    ///
    /// An upload that has ended is not changed.
    ///
    /// A stream that can be read once goes on instead: what was read of it would be lost.
    ///
    /// It returns at once; the event `paused` tells when nothing is on its way any more. The record's lock is given up then.
    public func pause() { self.control.pause() }

    /// Goes on with a paused upload, as a new run would: what is stored is compared and not sent again.
    public func resume() { self.control.resume() }

    /// Stops the upload for good: requests in flight end at once, the record is kept, `value` throws `CancellationError`.
    ///
    /// It returns at once. Without a record the upload is aborted on the service.
    public func cancel() { self.control.cancel() }

    /// Stops the upload for good and gives it up on the service: parts first, then the upload, then its record.
    ///
    /// It returns when that is done, also where the caller's task is cancelled. An upload that has ended is not changed.
    ///
    /// - Throws: what ``OSSUploader/abandon(_:)`` throws; the record is then kept.
    public func abort() async throws {
        self.control.cancel()
        // Its own outcome is what `value` tells; here it only has to be over.
        _ = await self.future.result
        let control = self.control
        // A task of its own, awaited: giving up must not be cut short.
        try await Task { try await control.abandon() }.value
    }
}

/// Runs an upload again and again, as often as it is paused, and leaves things in order at the end.
final class UploadControl: Sendable {
    private let uploader: OSSUploader
    private let destination: OSSUploader.Destination
    /// Whether nobody can go on with the upload once this task has ended.
    private let isTransient: Bool
    /// Whether the source can be read again after a pause.
    private let isPausable: Bool
    private let run = PausableRun<OSSUploadResult>()

    init(uploader: OSSUploader, source: OSSUploadSource, destination: OSSUploader.Destination) {
        self.destination = destination
        self.isPausable = source.canBeReadAgain
        self.isTransient = uploader.checkpoints.store == nil
        // Pausing needs a record; where none was asked for it lives as long as the task.
        self.uploader =
            self.isTransient
            ? OSSUploader(
                client: uploader.client, checkpoints: .transient(uploader.checkpoints),
                configuration: uploader.configuration)
            : uploader
    }

    /// Uploads, waits while paused, goes on, until there is an end.
    func drive(_ source: OSSUploadSource, _ progress: UploadProgress) async throws -> OSSUploadResult {
        let (uploader, destination) = (self.uploader, self.destination)
        let result = await self.run.drive {
            try await uploader.upload(source, to: destination, progress: progress)
        } whenPaused: {
            progress.paused()
        } whenResumed: {
            progress.goesOn()
        }
        guard self.isTransient, case .failure(let error) = result else { return try result.get() }
        // One that was taken over can be taken over again.
        if uploader.configuration.adoption == .never { await self.abandonQuietly(progress) }
        guard var failure = error as? OSSError else { throw error }
        failure.resumption = nil
        throw failure
    }

    func pause() { if self.isPausable { self.run.pause() } }
    func resume() { self.run.resume() }
    func cancel() { self.run.cancel() }

    /// Gives up what the record names, if there is one.
    func abandon() async throws { try await self.uploader.abandon(self.destination) }

    private func abandonQuietly(_ progress: UploadProgress) async {
        let (uploader, destination) = (self.uploader, self.destination)
        // A task of its own, awaited: clean-up must run although this one may be cancelled. The first error is the one to
        // throw; this one is told.
        if let failure = await Task(operation: { await uploader.abandonQuietly(destination) }).value {
            progress.warn("the upload could not be aborted: \(failure)")
        }
    }
}
