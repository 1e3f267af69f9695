// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

public import FoundationEssentials
internal import OSSWire

/// What HeadObject needs.
public struct HeadObjectRequest: Sendable {
    /// The bucket's name.
    public var bucket: String
    /// The object's key.
    public var key: String
    /// The version to look at; nil is the newest.
    ///
    /// Default: nil.
    public var versionID: String?

    /// Makes a request.
    public init(bucket: String, key: String) {
        self.bucket = bucket
        self.key = key
    }
}

/// What HeadObject returns.
public struct HeadObjectResult: Sendable, Hashable {
    /// The object's size in bytes.
    public let size: Int64
    /// The object's ETag, without quotes; nil where the reply has none.
    public let eTag: String?
    /// CRC-64 of the object; nil where the reply has none.
    public let crc64: UInt64?
    /// The type of the content.
    public let contentType: String?
    /// `Normal`, `Multipart` or `Appendable`.
    public let objectType: String?
    /// The storage class.
    public let storageClass: String?
    /// When it was stored.
    public let lastModified: Date?
    /// The object's version in a bucket with versioning.
    public let versionID: String?
    /// The user's metadata, names in lower case without `x-oss-meta-`.
    public let metadata: [String: String]
    /// The service's ID of the request.
    public let requestID: String?
}

extension OSSClient {
    /// Looks at an object without its bytes.
    ///
    /// - Throws: `OSSError` with `invalidArgument` before anything is sent; `service` (an object that is not there has the
    ///   service code `NoSuchKey`), `connection`, `timeout` or `malformedReply` after. `CancellationError` where the task is
    ///   cancelled.
    ///
    /// OSS document: HeadObject.
    public func headObject(_ request: HeadObjectRequest) async throws -> HeadObjectResult {
        let operation = OSSError.Operation.headObject
        try ObjectName.validate(bucket: request.bucket, key: request.key, operation: operation)
        var call = ServiceRequest(operation: operation, method: "HEAD", bucket: request.bucket, key: request.key)
        if let versionID = request.versionID { call.query.append(QueryItem("versionId", versionID)) }
        return try await self.perform(call) { (reply) throws(OSSError) in
            guard let size = reply.headers["Content-Length"].flatMap({ Int64($0) }), size >= 0 else {
                throw Document.malformed("it has no Content-Length", operation)
            }
            var metadata: [String: String] = [:]
            for field in reply.headers.all {
                let name = field.name.loweredASCII
                if name.hasPrefix("x-oss-meta-") { metadata[String(name.dropFirst("x-oss-meta-".count))] = field.value }
            }
            return HeadObjectResult(
                size: size, eTag: reply.eTag, crc64: reply.serviceCRC64, contentType: reply.headers["Content-Type"],
                objectType: reply.headers["x-oss-object-type"], storageClass: reply.headers["x-oss-storage-class"],
                lastModified: reply.headers["Last-Modified"].flatMap { Timestamp(httpDate: $0)?.date },
                versionID: reply.headers["x-oss-version-id"], metadata: metadata, requestID: reply.requestID
            )
        }
    }
}
