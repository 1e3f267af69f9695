// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// What AbortMultipartUpload needs.
public struct AbortMultipartUploadRequest: Sendable {
    /// The upload to give up.
    public var upload: OSSMultipartUpload

    /// Makes a request.
    public init(upload: OSSMultipartUpload) { self.upload = upload }
}

extension OSSClient {
    /// Gives up an upload and removes its parts.
    ///
    /// An upload that is not there counts as given up.
    ///
    /// Parts still on their way are not removed: end their requests first.
    ///
    /// - Throws: `OSSError` with `invalidArgument` before anything is sent; `service`, `connection` or `timeout` after.
    ///   `CancellationError` where the task is cancelled.
    ///
    /// OSS document: AbortMultipartUpload.
    public func abortMultipartUpload(_ request: AbortMultipartUploadRequest) async throws {
        try request.upload.validate(.abortMultipartUpload)
        var call = ServiceRequest(
            operation: .abortMultipartUpload, method: "DELETE", bucket: request.upload.bucket, key: request.upload.key
        )
        call.query = [QueryItem("uploadId", request.upload.uploadID)]
        do {
            try await self.perform(call) { (_) throws(OSSError) in }
        } catch let error as OSSError where error.service?.code == .noSuchUpload {
            // It is gone, which is what was asked for.
        }
    }
}
