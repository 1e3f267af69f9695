// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import CurlTransport
internal import OSSWire

/// What PutObject needs.
public struct PutObjectRequest: Sendable {
    /// The bucket's name: 3 to 63 lower-case letters, digits and hyphens.
    public var bucket: String
    /// The object's key: 1 to 1023 bytes of UTF-8, without a leading slash or backslash.
    public var key: String
    /// The object's bytes: at most 5 GiB.
    public var body: OSSBody
    /// What is stored with the object.
    ///
    /// Default: nothing.
    public var headers = OSSObjectHeaders()
    /// How the bytes are protected on their way.
    ///
    /// Default: `Content-MD5` sent, CRC-64 compared.
    public var integrity: OSSIntegrity = .md5AndCRC64
    /// What the service posts to an application's server when the object is stored.
    ///
    /// Default: nothing.
    public var callback: OSSCallback?

    /// Makes a request.
    public init(bucket: String, key: String, body: OSSBody) {
        self.bucket = bucket
        self.key = key
        self.body = body
    }
}

/// What PutObject returns.
public struct PutObjectResult: Sendable, Hashable {
    /// The object's ETag, without quotes; nil where the reply has none.
    public let eTag: String?
    /// CRC-64 of the object as the service computed it; nil where the reply has none.
    public let crc64: UInt64?
    /// CRC-64 of the bytes sent; nil where it was not computed.
    public let sentCRC64: UInt64?
    /// MD5 of the bytes sent, 16 bytes; nil where it was not computed.
    public let md5: [UInt8]?
    /// The object's version in a bucket with versioning.
    public let versionID: String?
    /// What came of the callback; nil where none was asked for.
    ///
    /// One that failed takes nothing from the object, which is stored.
    public let callback: OSSCallbackOutcome?
    /// The service's ID of the request.
    public let requestID: String?
}

extension OSSClient {
    /// Stores an object with one request.
    ///
    /// - Throws: `OSSError` with `invalidArgument` before anything is sent; `sourceUnreadable`, `sourceChanged`, `integrity`,
    ///   `service`, `connection` or `timeout` after. `CancellationError` where the
    ///   task is cancelled; the object may then have been stored.
    ///
    /// OSS document: PutObject.
    public func putObject(_ request: PutObjectRequest) async throws -> PutObjectResult {
        try ObjectName.validate(bucket: request.bucket, key: request.key, operation: .putObject)
        try request.headers.validate(.putObject)
        let body = try await request.body.open(on: self.blocking)
        return try await self.putObject(request, body: body)
    }

    /// Stores a source as an object, whatever the request's body is; the source is looked at before its bytes go.
    func putObject(
        _ request: PutObjectRequest, source: OpenSource, progress: TransferProgress
    ) async throws -> PutObjectResult {
        try await self.putObject(
            request, body: .region(source.region(at: 0, length: source.size)), watching: source,
            progress: progress
        )
    }

    private func putObject(
        _ request: PutObjectRequest, body: ServiceBody, watching source: OpenSource? = nil,
        progress: TransferProgress? = nil
    ) async throws -> PutObjectResult {
        guard body.length <= Limits.maximumPartSize else {
            throw OSSError(
                .invalidArgument,
                "the object has \(body.length) bytes, more than the 5 GiB that one request takes; upload it "
                    + "in parts, with OSSUploader or by hand",
                operation: .putObject
            )
        }
        var call = ServiceRequest(operation: .putObject, method: "PUT", bucket: request.bucket, key: request.key)
        call.headers = await self.completed(request.headers, key: request.key).fields(withACL: true)
        if let callback = request.callback {
            for field in try callback.fields(.putObject).all { call.headers[field.name] = field.value }
        }
        call.body = body
        call.watchedSource = source
        call.integrity = request.integrity
        // The second of two gets FileAlreadyExists: whoever hears that must know of the first.
        call.isIdempotent = !request.headers.forbidsOverwrite
        call.progress = progress
        return try await self.perform(call) { (reply) throws(OSSError) in
            let callback = try OSSCallbackOutcome(reply, wasAsked: request.callback != nil, .putObject)
            // Every store gives one. A reply without it is somebody else's: a portal's page, say.
            guard reply.eTag != nil || reply.serviceCRC64 != nil || callback != nil else {
                throw Document.malformed("it has neither an ETag nor a CRC-64", .putObject)
            }
            return PutObjectResult(
                eTag: reply.eTag, crc64: reply.serviceCRC64, sentCRC64: reply.crc64, md5: reply.md5,
                versionID: reply.headers["x-oss-version-id"], callback: callback, requestID: reply.requestID
            )
        }
    }
}
