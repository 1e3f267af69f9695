// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// What DeleteObjectTagging needs.
public struct DeleteObjectTaggingRequest: Sendable {
    /// The bucket's name.
    public var bucket: String
    /// The object's key.
    public var key: String
    /// The version; nil is the newest.
    ///
    /// Default: nil.
    public var versionID: String?

    /// Makes a request.
    public init(bucket: String, key: String) {
        self.bucket = bucket
        self.key = key
    }
}

extension OSSClient {
    /// Takes an object's tags away.
    ///
    /// - Throws: `OSSError` with `invalidArgument` before anything is sent; `service`, `connection` or `timeout` after.
    ///   `CancellationError` where the task is cancelled; the tags may then be gone.
    ///
    /// OSS document: DeleteObjectTagging.
    public func deleteObjectTagging(_ request: DeleteObjectTaggingRequest) async throws {
        let operation = OSSError.Operation.deleteObjectTagging
        try ObjectName.validate(bucket: request.bucket, key: request.key, operation: operation)
        var call = ServiceRequest(operation: operation, method: "DELETE", bucket: request.bucket, key: request.key)
        call.query = [QueryItem("tagging")]
        if let versionID = request.versionID { call.query.append(QueryItem("versionId", versionID)) }
        try await self.perform(call) { (_) throws(OSSError) in }
    }
}
