// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// What GetObjectTagging needs.
public struct GetObjectTaggingRequest: Sendable {
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
    /// Tells the tags of an object; one without any has an empty list.
    ///
    /// - Throws: `OSSError` with `invalidArgument` before anything is sent; `service`, `connection`, `timeout` or
    ///   `malformedReply` after. `CancellationError` where the task is cancelled.
    ///
    /// OSS document: GetObjectTagging.
    public func getObjectTagging(_ request: GetObjectTaggingRequest) async throws -> [OSSTag] {
        let operation = OSSError.Operation.getObjectTagging
        try ObjectName.validate(bucket: request.bucket, key: request.key, operation: operation)
        var call = ServiceRequest(operation: operation, method: "GET", bucket: request.bucket, key: request.key)
        call.query = [QueryItem("tagging")]
        if let versionID = request.versionID { call.query.append(QueryItem("versionId", versionID)) }
        return try await self.perform(call) { (reply) throws(OSSError) in
            let root = try Document.read(reply, root: "Tagging", operation)
            return try Document.value(operation) { () throws(XMLError) in
                var tags: [OSSTag] = []
                for tag in root["TagSet"]?.all("Tag") ?? [] {
                    tags.append(OSSTag(try tag.requiredString("Key"), tag.string("Value") ?? ""))
                }
                return tags
            }
        }
    }
}
