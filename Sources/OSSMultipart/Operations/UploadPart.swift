// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import CurlTransport
internal import OSSWire

/// What UploadPart needs.
public struct UploadPartRequest: Sendable {
    /// The upload that the part belongs to.
    public var upload: OSSMultipartUpload
    /// The part's number, 1 to 10,000; parts are joined in the order of their numbers, gaps are allowed.
    public var partNumber: Int
    /// The part's bytes: 102,400 to 5 GiB, the last part 1 byte to 5 GiB.
    public var body: OSSBody
    /// Whether it is the last part, which alone may be smaller than 102,400 bytes.
    ///
    /// Default: false.
    public var isLastPart: Bool
    /// How the bytes are protected on their way.
    ///
    /// Default: `Content-MD5` sent, CRC-64 compared.
    public var integrity: OSSIntegrity = .md5AndCRC64

    /// Makes a request.
    public init(upload: OSSMultipartUpload, partNumber: Int, body: OSSBody, isLastPart: Bool = false) {
        self.upload = upload
        self.partNumber = partNumber
        self.body = body
        self.isLastPart = isLastPart
    }
}

/// A part as CompleteMultipartUpload lists it.
public struct OSSPartInfo: Sendable, Hashable {
    /// The part's number.
    public var partNumber: Int
    /// The part's ETag, without quotes.
    public var eTag: String
    /// The part's size in bytes; nil where it is not known, and then not checked before Complete.
    public var size: Int64?
    /// The part's CRC-64; nil where it is not known.
    public var crc64: UInt64?

    /// Makes a part of a list.
    public init(partNumber: Int, eTag: String, size: Int64? = nil, crc64: UInt64? = nil) {
        self.partNumber = partNumber
        self.eTag = eTag
        self.size = size
        self.crc64 = crc64
    }
}

/// What UploadPart returns.
public struct UploadPartResult: Sendable, Hashable {
    /// The part as CompleteMultipartUpload lists it.
    public let info: OSSPartInfo
    /// MD5 of the bytes sent, 16 bytes; nil where it was not computed.
    public let md5: [UInt8]?
    /// The service's ID of the request.
    public let requestID: String?
}

extension OSSClient {
    /// Uploads one part.
    ///
    /// A part of the same number is replaced.
    ///
    /// A request that failed on its way is sent again, whole. With ``OSSIntegrity/md5AndCRC64`` the result is only returned
    /// when the service has the very bytes that were read.
    ///
    /// - Throws: `OSSError` with `invalidArgument` before anything is sent; `sourceUnreadable`, `sourceChanged`, `integrity`,
    ///   `service`, `connection`, `timeout` or `malformedReply` after. `CancellationError` where the task is cancelled.
    ///
    /// OSS document: UploadPart.
    public func uploadPart(_ request: UploadPartRequest) async throws -> UploadPartResult {
        try request.upload.validate(.uploadPart)
        try PartRules.validate(partNumber: request.partNumber, .uploadPart)
        let body = try await request.body.open(on: self.blocking)
        try PartRules.validate(
            size: body.length, partNumber: request.partNumber, isLastPart: request.isLastPart, .uploadPart
        )
        return try await self.uploadPart(
            request.partNumber, of: request.upload, body: body, integrity: request.integrity
        )
    }

    /// Uploads a region of a source as a part; the source is looked at before its bytes go.
    func uploadPart(
        _ partNumber: Int, of upload: OSSMultipartUpload, source: OpenSource, offset: Int64, length: Int64,
        integrity: OSSIntegrity, progress: TransferProgress, overloadSigns: OverloadSigns? = nil
    ) async throws -> UploadPartResult {
        try await self.uploadPart(
            partNumber, of: upload, body: .region(source.region(at: offset, length: length)), watching: source,
            integrity: integrity, progress: progress, overloadSigns: overloadSigns
        )
    }

    private func uploadPart(
        _ partNumber: Int, of upload: OSSMultipartUpload, body: ServiceBody, watching source: OpenSource? = nil,
        integrity: OSSIntegrity, progress: TransferProgress? = nil, overloadSigns: OverloadSigns? = nil
    ) async throws -> UploadPartResult {
        var call = ServiceRequest(
            operation: .uploadPart, partNumber: partNumber, method: "PUT", bucket: upload.bucket, key: upload.key
        )
        call.query = [QueryItem("partNumber", String(partNumber)), QueryItem("uploadId", upload.uploadID)]
        call.body = body
        call.watchedSource = source
        call.integrity = integrity
        call.progress = progress
        call.overloadSigns = overloadSigns
        return try await self.perform(call) { (reply) throws(OSSError) in
            // Without an ETag the part cannot be listed at Complete. The rule that it is the MD5 would do for most buckets,
            // but not for encrypted ones: the part is sent again.
            guard let eTag = reply.eTag, !eTag.isEmpty else {
                throw OSSError(
                    .malformedReply,
                    "the reply has no ETag, so it cannot be told whether the part is stored; run again",
                    operation: .uploadPart, partNumber: partNumber
                )
            }
            let info = OSSPartInfo(
                partNumber: partNumber, eTag: eTag, size: body.length, crc64: reply.crc64 ?? reply.serviceCRC64
            )
            return UploadPartResult(info: info, md5: reply.md5, requestID: reply.requestID)
        }
    }
}
