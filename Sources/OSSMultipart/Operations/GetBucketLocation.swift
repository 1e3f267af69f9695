// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// What GetBucketLocation needs.
public struct GetBucketLocationRequest: Sendable {
    /// The bucket's name.
    public var bucket: String

    /// Makes a request.
    public init(bucket: String) { self.bucket = bucket }
}

extension OSSClient {
    /// Tells the region of a bucket as the service names it, for example `oss-cn-hangzhou`.
    ///
    /// - Throws: `OSSError` with `invalidArgument` before anything is sent; `service`, `connection`, `timeout` or
    ///   `malformedReply` after. `CancellationError` where the task is cancelled.
    ///
    /// OSS document: GetBucketLocation.
    public func getBucketLocation(_ request: GetBucketLocationRequest) async throws -> String {
        let operation = OSSError.Operation.getBucketLocation
        try ObjectName.validate(bucket: request.bucket, operation: operation)
        var call = ServiceRequest(operation: operation, method: "GET", bucket: request.bucket, key: nil)
        call.query = [QueryItem("location")]
        return try await self.perform(call) { (reply) throws(OSSError) in
            let location = try Document.read(reply, root: "LocationConstraint", operation).text.trimmedBlanks
            guard !location.isEmpty else { throw Document.malformed("it is empty", operation) }
            return location
        }
    }
}
