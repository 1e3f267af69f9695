// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// What PutObjectTagging needs.
public struct PutObjectTaggingRequest: Sendable {
    /// The bucket's name.
    public var bucket: String
    /// The object's key.
    public var key: String
    /// The tags that the object has from then on: at most ten, in the place of those that it had.
    public var tags: [OSSTag]
    /// The version; nil is the newest.
    ///
    /// Default: nil.
    public var versionID: String?

    /// Makes a request.
    public init(bucket: String, key: String, tags: [OSSTag]) {
        self.bucket = bucket
        self.key = key
        self.tags = tags
    }
}

extension OSSClient {
    /// Gives an object its tags, in the place of those that it had.
    ///
    /// - Throws: `OSSError` with `invalidArgument` before anything is sent; `service`, `connection` or `timeout` after.
    ///   `CancellationError` where the task is cancelled; the tags may then have been changed.
    ///
    /// OSS document: PutObjectTagging.
    public func putObjectTagging(_ request: PutObjectTaggingRequest) async throws {
        let operation = OSSError.Operation.putObjectTagging
        try ObjectName.validate(bucket: request.bucket, key: request.key, operation: operation)
        if let problem = OSSTag.problem(with: request.tags) {
            throw OSSError(.invalidArgument, problem, operation: operation)
        }
        var call = ServiceRequest(operation: operation, method: "PUT", bucket: request.bucket, key: request.key)
        call.query = [QueryItem("tagging")]
        if let versionID = request.versionID { call.query.append(QueryItem("versionId", versionID)) }
        call.headers["Content-Type"] = "application/xml"
        var writer = XMLWriter()
        writer.element("Tagging") { writer in
            writer.element("TagSet") { writer in
                for tag in request.tags {
                    writer.element("Tag") { writer in
                        writer.element("Key", tag.name)
                        writer.element("Value", tag.value)
                    }
                }
            }
        }
        call.body = .bytes(writer.bytes)
        call.integrity = .md5
        try await self.perform(call) { (_) throws(OSSError) in }
    }
}
