// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// What DeleteBucket needs.
public struct DeleteBucketRequest: Sendable {
    /// The bucket's name.
    public var bucket: String

    /// Makes a request.
    public init(bucket: String) { self.bucket = bucket }
}

extension OSSClient {
    /// Removes an empty bucket.
    ///
    /// - Throws: `OSSError` with `invalidArgument` before anything is sent; `service` (`BucketNotEmpty`, also for open
    ///   uploads; `NoSuchBucket`), `connection` or `timeout` after. `CancellationError` where the task is cancelled; the
    ///   bucket may then be gone.
    ///
    /// OSS document: DeleteBucket.
    public func deleteBucket(_ request: DeleteBucketRequest) async throws {
        let operation = OSSError.Operation.deleteBucket
        try ObjectName.validate(bucket: request.bucket, operation: operation)
        let call = ServiceRequest(operation: operation, method: "DELETE", bucket: request.bucket, key: nil)
        do { try await self.perform(call) { (_) throws(OSSError) in } } catch let error as OSSError
            where error.followsLostReply && error.service?.code == .noSuchBucket
        {
            // The first request removed it, and its reply was lost.
        }
    }
}
