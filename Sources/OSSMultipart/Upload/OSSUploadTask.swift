// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

/// An upload in a task of its own: it runs whether somebody waits for it or not.
public struct OSSUploadTask: Sendable {
    private let task: Task<OSSUploadResult, any Error>
    private let progress: UploadProgress

    init(uploader: OSSUploader, source: OSSUploadSource, destination: OSSUploader.Destination) {
        let progress = UploadProgress()
        self.progress = progress
        // Unstructured by design: the caller asked for an upload with a life of its own.
        self.task = Task { try await uploader.upload(source, to: destination, progress: progress) }
    }

    /// What the upload came to; waits for its end.
    ///
    /// A waiter that is cancelled goes on waiting, and the upload goes on: ``cancel()`` stops it.
    ///
    /// - Throws: as ``OSSUploader/upload(_:to:)``.
    public var value: OSSUploadResult {
        get async throws { try await self.task.value }
    }

    /// How far the upload is, at this moment.
    public var snapshot: OSSUploadSnapshot { self.progress.snapshot }

    /// What happens to the upload: a stream for each reader, a snapshot first.
    ///
    /// It ends with the upload.
    public var events: AsyncStream<OSSUploadEvent> { self.progress.events() }

    /// Stops the upload for good: requests in flight end at once, the record is kept, `value` throws `CancellationError`.
    public func cancel() { self.task.cancel() }
}
