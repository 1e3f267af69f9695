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
    /// What has to be true of the object.
    ///
    /// Default: nothing.
    public var conditions = OSSConditions()

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
    /// MD5 of the object, 16 bytes; nil where the reply has none, as for objects that were uploaded in parts.
    public let md5: [UInt8]?
    /// The type of the content.
    public let contentType: String?
    /// How the object may be cached.
    public let cacheControl: String?
    /// How a browser presents the object.
    public let contentDisposition: String?
    /// How the content is encoded.
    public let contentEncoding: String?
    /// The language of the content.
    public let contentLanguage: String?
    /// When a cached copy expires, as it was stored.
    public let expires: String?
    /// `Normal`, `Multipart`, `Appendable` or `Symlink`.
    public let objectType: String?
    /// The storage class.
    public let storageClass: String?
    /// When it was stored.
    public let lastModified: Date?
    /// The object's version in a bucket with versioning.
    public let versionID: String?
    /// How the service encrypts it: `AES256`, `KMS` or `SM4`; nil where it does not.
    public let serverSideEncryption: String?
    /// The key of the key management service that encrypts it.
    public let serverSideEncryptionKeyID: String?
    /// How many tags it has; nil where it has none.
    public let taggingCount: Int?
    /// Where the next AppendObject begins, for objects that can be appended to.
    public let nextAppendPosition: Int64?
    /// The state of an archived object's restoration, as the service writes it.
    public let restore: String?
    /// The user's metadata, names in lower case without `x-oss-meta-`, values as they were given to `OSSObjectHeaders`.
    public let metadata: [String: String]
    /// Every header field of the reply, names in lower case: for those that have no property here.
    public let fields: [String: String]
    /// The service's ID of the request.
    public let requestID: String?

    /// Reads the header fields of a reply that tells about an object of that size.
    init(_ reply: ServiceResponse, size: Int64) {
        let headers = reply.headers
        var metadata: [String: String] = [:], fields: [String: String] = [:]
        for field in headers.all {
            let name = field.name.loweredASCII
            fields[name] = field.value
            if name.hasPrefix("x-oss-meta-") {
                metadata[String(name.dropFirst("x-oss-meta-".count))] = field.value
            }
        }
        self.size = size
        self.eTag = reply.eTag
        self.crc64 = reply.serviceCRC64
        self.md5 = headers["Content-MD5"].flatMap { Base64.decode($0) }
        self.contentType = headers["Content-Type"]
        self.cacheControl = headers["Cache-Control"]
        self.contentDisposition = headers["Content-Disposition"]
        self.contentEncoding = headers["Content-Encoding"]
        self.contentLanguage = headers["Content-Language"]
        self.expires = headers["Expires"]
        self.objectType = headers["x-oss-object-type"]
        self.storageClass = headers["x-oss-storage-class"]
        self.lastModified = headers["Last-Modified"].flatMap { Timestamp(httpDate: $0)?.date }
        self.versionID = headers["x-oss-version-id"]
        self.serverSideEncryption = headers["x-oss-server-side-encryption"]
        self.serverSideEncryptionKeyID = headers["x-oss-server-side-encryption-key-id"]
        self.taggingCount = headers["x-oss-tagging-count"].flatMap { Int($0) }
        self.nextAppendPosition = headers["x-oss-next-append-position"].flatMap { Int64($0) }
        self.restore = headers["x-oss-restore"]
        self.metadata = metadata
        self.fields = fields
        self.requestID = reply.requestID
    }
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
        try request.conditions.validate(operation)
        var call = ServiceRequest(operation: operation, method: "HEAD", bucket: request.bucket, key: request.key)
        if let versionID = request.versionID { call.query.append(QueryItem("versionId", versionID)) }
        call.headers = request.conditions.fields()
        return try await self.perform(call) { (reply) throws(OSSError) in
            guard let size = reply.headers["Content-Length"].flatMap({ Int64($0) }), size >= 0 else {
                throw Document.malformed("it has no Content-Length", operation)
            }
            return HeadObjectResult(reply, size: size)
        }
    }
}
