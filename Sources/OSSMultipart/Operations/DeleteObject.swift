// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// What DeleteObject needs.
public struct DeleteObjectRequest: Sendable {
    /// The bucket's name.
    public var bucket: String
    /// The object's key.
    public var key: String
    /// The version to remove for good; nil removes the object, which a bucket with versioning marks as deleted.
    ///
    /// Default: nil.
    public var versionID: String?

    /// Makes a request.
    public init(bucket: String, key: String) {
        self.bucket = bucket
        self.key = key
    }
}

/// What DeleteObject returns.
public struct DeleteObjectResult: Sendable, Hashable {
    /// In a bucket with versioning: the version that was removed, or the deletion mark that was set.
    public let versionID: String?
    /// Whether that is a deletion mark.
    public let isDeleteMarker: Bool
    /// The service's ID of the request.
    public let requestID: String?
}

extension OSSClient {
    /// Removes an object.
    ///
    /// An object that is not there counts as removed.
    ///
    /// - Throws: `OSSError` with `invalidArgument` before anything is sent; `service`, `connection` or `timeout` after.
    ///   `CancellationError` where the task is cancelled; the object may then have been removed.
    ///
    /// OSS document: DeleteObject.
    public func deleteObject(_ request: DeleteObjectRequest) async throws -> DeleteObjectResult {
        let operation = OSSError.Operation.deleteObject
        try ObjectName.validate(bucket: request.bucket, key: request.key, operation: operation)
        var call = ServiceRequest(operation: operation, method: "DELETE", bucket: request.bucket, key: request.key)
        if let versionID = request.versionID { call.query.append(QueryItem("versionId", versionID)) }
        return try await self.perform(call) { (reply) throws(OSSError) in
            DeleteObjectResult(
                versionID: reply.headers["x-oss-version-id"],
                isDeleteMarker: reply.headers["x-oss-delete-marker"]?.loweredASCII == "true", requestID: reply.requestID
            )
        }
    }
}
