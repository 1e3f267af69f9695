// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// What CompleteMultipartUpload needs.
public struct CompleteMultipartUploadRequest: Sendable {
    /// The upload.
    public var upload: OSSMultipartUpload
    /// The parts that make the object, in ascending order of their numbers; parts left out are dropped.
    public var parts: [OSSPartInfo]
    /// Whether an object of that key must not be replaced.
    ///
    /// Default: false.
    public var forbidsOverwrite = false
    /// `default`, `private`, `public-read` or `public-read-write`; nil is the bucket's.
    ///
    /// Default: nil.
    public var acl: String?
    /// What the service posts to an application's server when the object is stored.
    ///
    /// Default: nothing.
    public var callback: OSSCallback?

    /// Makes a request.
    public init(upload: OSSMultipartUpload, parts: [OSSPartInfo]) {
        self.upload = upload
        self.parts = parts
    }
}

/// What CompleteMultipartUpload returns.
public struct CompleteMultipartUploadResult: Sendable, Hashable {
    /// The object's ETag, without quotes; nil where the reply has none.
    public let eTag: String?
    /// The object's address; nil where the reply has none.
    public let location: String?
    /// CRC-64 of the whole object; nil where the reply has none.
    public let crc64: UInt64?
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
    /// Joins the parts of an upload into the object, which appears as a whole or not at all.
    ///
    /// When a reply is lost the request is sent again; a service that then knows the upload no more may have joined the parts
    /// the first time, and that is thrown as `outcomeUnknown`: `headObject` tells. `OSSUploader` finds out by itself.
    ///
    /// - Throws: `OSSError` with `invalidArgument` before anything is sent, where the list is empty or does not ascend, or a
    ///   part that is not the last is below 102,400 bytes; `outcomeUnknown`, `service`, `connection`, `timeout` or `malformedReply` after. `CancellationError` where the task is cancelled; the
    ///   parts may then have been joined.
    ///
    /// OSS document: CompleteMultipartUpload.
    public func completeMultipartUpload(
        _ request: CompleteMultipartUploadRequest
    ) async throws -> CompleteMultipartUploadResult {
        try request.upload.validate(.completeMultipartUpload)
        try PartRules.validate(parts: request.parts)
        return try await self.completeMultipartUpload(
            request, document: Self.completeDocument(request.parts, count: request.parts.count), mayBeResent: true)
    }

    /// As the public operation, but with the list as it is sent, which is not checked; a reply that leaves the outcome open
    /// is thrown at once where it may not be resent.
    func completeMultipartUpload(
        _ request: CompleteMultipartUploadRequest, document: [UInt8], mayBeResent: Bool
    ) async throws -> CompleteMultipartUploadResult {
        let operation = OSSError.Operation.completeMultipartUpload
        var call = ServiceRequest(
            operation: operation, method: "POST", bucket: request.upload.bucket, key: request.upload.key
        )
        call.query = [QueryItem("encoding-type", "url"), QueryItem("uploadId", request.upload.uploadID)]
        call.headers["Content-Type"] = "application/xml"
        if request.forbidsOverwrite { call.headers["x-oss-forbid-overwrite"] = "true" }
        call.headers["x-oss-object-acl"] = request.acl
        if let callback = request.callback {
            for field in try callback.fields(operation).all { call.headers[field.name] = field.value }
        }
        call.body = .bytes(document)
        call.integrity = .md5
        call.mayBeResent = mayBeResent
        // The second of two gets NoSuchUpload: whoever hears that must know of the first.
        call.isIdempotent = false
        do {
            return try await self.perform(call) { (reply) throws(OSSError) in
                try Self.completeResult(reply, hasCallback: request.callback != nil, operation)
            }
        } catch let error as OSSError where Self.leavesOutcomeOpen(error) {
            throw OSSError(
                .outcomeUnknown,
                "it is not known whether the parts were joined, for a reply was lost: look at the object with headObject "
                    + "before anything else; the service's last word was: \(error.message)",
                operation: operation, service: error.service, underlying: error
            )
        }
    }

    /// The list of parts as it is sent.
    static func completeDocument(_ parts: some Sequence<OSSPartInfo>, count: Int) -> [UInt8] {
        // Room for most lists at once: the longest are a million bytes, which would be copied again and again.
        var writer = XMLWriter(capacity: 256 + 112 * count)
        writer.element("CompleteMultipartUpload") { writer in
            for part in parts {
                writer.element("Part") {
                    $0.element("PartNumber", part.partNumber)
                    $0.element("ETag", "\"\(part.eTag)\"")
                }
            }
        }
        return writer.bytes
    }

    private static func completeResult(
        _ reply: ServiceResponse, hasCallback: Bool, _ operation: OSSError.Operation
    ) throws(OSSError) -> CompleteMultipartUploadResult {
        let callback = try OSSCallbackOutcome(reply, wasAsked: hasCallback, operation)
        // With a callback the body is the application server's, or says why that failed.
        let root = callback == nil ? try Document.read(reply, root: "CompleteMultipartUploadResult", operation) : nil
        return CompleteMultipartUploadResult(
            eTag: reply.eTag ?? root?.string("ETag").map { MultipartETag.unquoted($0) },
            location: root?.string("Location"), crc64: reply.serviceCRC64,
            versionID: reply.headers["x-oss-version-id"], callback: callback, requestID: reply.requestID
        )
    }

    private static func leavesOutcomeOpen(_ error: OSSError) -> Bool {
        if error.code == .outcomeUnknown { return false }
        if error.code == .malformedReply { return true }
        guard error.followsLostReply else { return false }
        switch error.code {
        case .connection, .timeout: return true
        case .service:
            return error.service?.code == .noSuchUpload || error.service?.code == .fileAlreadyExists
                || (error.service?.status ?? 0) >= 500
        default: return false
        }
    }
}
