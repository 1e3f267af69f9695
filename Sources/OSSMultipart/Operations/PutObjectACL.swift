// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// What PutObjectACL needs.
public struct PutObjectACLRequest: Sendable {
    /// The bucket's name.
    public var bucket: String
    /// The object's key.
    public var key: String
    /// `default` (the bucket's), `private`, `public-read` or `public-read-write`.
    public var acl: String
    /// The version; nil is the newest.
    ///
    /// Default: nil.
    public var versionID: String?

    /// Makes a request.
    public init(bucket: String, key: String, acl: String) {
        self.bucket = bucket
        self.key = key
        self.acl = acl
    }
}

extension OSSClient {
    /// Changes who may use an object.
    ///
    /// - Throws: `OSSError` with `invalidArgument` before anything is sent; `service`, `connection` or `timeout` after.
    ///   `CancellationError` where the task is cancelled; the ACL may then have been changed.
    ///
    /// OSS document: PutObjectACL.
    public func putObjectACL(_ request: PutObjectACLRequest) async throws {
        let operation = OSSError.Operation.putObjectACL
        try ObjectName.validate(bucket: request.bucket, key: request.key, operation: operation)
        try AccessControlRules.validate(request.acl, operation)
        var call = ServiceRequest(operation: operation, method: "PUT", bucket: request.bucket, key: request.key)
        call.query = [QueryItem("acl")]
        if let versionID = request.versionID { call.query.append(QueryItem("versionId", versionID)) }
        call.headers["x-oss-object-acl"] = request.acl
        call.body = .bytes([])
        try await self.perform(call) { (_) throws(OSSError) in }
    }
}
