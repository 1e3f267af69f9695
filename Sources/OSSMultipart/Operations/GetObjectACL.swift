// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// What GetObjectACL needs.
public struct GetObjectACLRequest: Sendable {
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

/// What GetObjectACL returns.
public struct GetObjectACLResult: Sendable, Hashable {
    /// `default` (the bucket's), `private`, `public-read` or `public-read-write`.
    public let acl: String
    /// The ID of the object's owner.
    public let ownerID: String?
    /// The service's ID of the request.
    public let requestID: String?
}

extension OSSClient {
    /// Tells who may use an object.
    ///
    /// - Throws: `OSSError` with `invalidArgument` before anything is sent; `service`, `connection`, `timeout` or
    ///   `malformedReply` after. `CancellationError` where the task is cancelled.
    ///
    /// OSS document: GetObjectACL.
    public func getObjectACL(_ request: GetObjectACLRequest) async throws -> GetObjectACLResult {
        let operation = OSSError.Operation.getObjectACL
        try ObjectName.validate(bucket: request.bucket, key: request.key, operation: operation)
        var call = ServiceRequest(operation: operation, method: "GET", bucket: request.bucket, key: request.key)
        call.query = [QueryItem("acl")]
        if let versionID = request.versionID { call.query.append(QueryItem("versionId", versionID)) }
        return try await self.perform(call) { (reply) throws(OSSError) in
            let root = try Document.read(reply, root: "AccessControlPolicy", operation)
            guard let grant = root["AccessControlList"]?.string("Grant"), !grant.trimmedBlanks.isEmpty else {
                throw Document.malformed("it has no Grant", operation)
            }
            return GetObjectACLResult(
                acl: grant.trimmedBlanks, ownerID: root["Owner"]?.string("ID"), requestID: reply.requestID)
        }
    }
}
