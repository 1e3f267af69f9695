// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

public import FoundationEssentials
internal import OSSWire

/// What CopyObject needs.
public struct CopyObjectRequest: Sendable {
    /// The object to copy.
    public var source: OSSCopySource
    /// The bucket of the copy.
    public var bucket: String
    /// The key of the copy.
    public var key: String
    /// What has to be true of the source.
    ///
    /// Default: nothing.
    public var conditions = OSSConditions()
    /// What is stored with the copy.
    ///
    /// ACL, storage class, encryption and the ban on overwriting always count; the others only with
    /// ``replacesMetadata``, the tags with ``replacesTagging``. Default: nothing.
    public var headers = OSSObjectHeaders()
    /// Whether the copy has the metadata of `headers` and not that of its source.
    ///
    /// A copy of an object onto itself needs it. Default: false.
    public var replacesMetadata = false
    /// Whether the copy has the tags of `headers` and not those of its source.
    ///
    /// Default: false.
    public var replacesTagging = false

    /// Makes a request.
    public init(source: OSSCopySource, bucket: String, key: String) {
        self.source = source
        self.bucket = bucket
        self.key = key
    }
}

/// What CopyObject returns.
public struct CopyObjectResult: Sendable, Hashable {
    /// The copy's ETag, without quotes; nil where the reply has none.
    public let eTag: String?
    /// When the copy was stored.
    public let lastModified: Date?
    /// CRC-64 of the copy; nil where the reply has none.
    public let crc64: UInt64?
    /// The copy's version in a bucket with versioning.
    public let versionID: String?
    /// The version that was copied, in a bucket with versioning.
    public let sourceVersionID: String?
    /// The service's ID of the request.
    public let requestID: String?
}

extension OSSClient {
    /// Makes an object of another one in the same region, without its bytes coming here.
    ///
    /// An object over 5 GiB is copied in parts, with `uploadPartCopy`.
    ///
    /// - Throws: `OSSError` with `invalidArgument` before anything is sent, also where headers are set that would not count;
    ///   `service`, `connection`, `timeout` or `malformedReply` after. `CancellationError` where the task is cancelled; the
    ///   copy may then have been stored.
    ///
    /// OSS document: CopyObject.
    public func copyObject(_ request: CopyObjectRequest) async throws -> CopyObjectResult {
        let operation = OSSError.Operation.copyObject
        try ObjectName.validate(bucket: request.bucket, key: request.key, operation: operation)
        try request.source.validate(operation)
        try request.conditions.validate(operation)
        try request.headers.validate(operation)
        guard request.replacesMetadata || !request.headers.hasMetadata else {
            throw OSSError(
                .invalidArgument,
                "headers are set that the copy would not get; set replacesMetadata, or leave them out",
                operation: operation
            )
        }
        guard request.replacesTagging || request.headers.tagging == nil else {
            throw OSSError(
                .invalidArgument, "tags are set that the copy would not get; set replacesTagging, or leave them out",
                operation: operation
            )
        }
        var call = ServiceRequest(operation: operation, method: "PUT", bucket: request.bucket, key: request.key)
        call.headers = request.headers.fields(withACL: true)
        for field in request.conditions.fields(prefix: "x-oss-copy-source-").all {
            call.headers[field.name] = field.value
        }
        call.headers["x-oss-copy-source"] = request.source.text
        call.headers["x-oss-metadata-directive"] = request.replacesMetadata ? "REPLACE" : "COPY"
        call.headers["x-oss-tagging-directive"] = request.replacesTagging ? "Replace" : "Copy"
        call.body = .bytes([])
        // The second of two gets FileAlreadyExists: whoever hears that must know of the first.
        call.isIdempotent = !request.headers.forbidsOverwrite
        return try await self.perform(call) { (reply) throws(OSSError) in
            let root = try Document.read(reply, root: "CopyObjectResult", operation)
            return CopyObjectResult(
                eTag: root.string("ETag").map { MultipartETag.unquoted($0) } ?? reply.eTag,
                lastModified: root.string("LastModified").flatMap { Timestamp(iso8601: $0)?.date },
                crc64: reply.serviceCRC64, versionID: reply.headers["x-oss-version-id"],
                sourceVersionID: reply.headers["x-oss-copy-source-version-id"], requestID: reply.requestID
            )
        }
    }
}
