// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

public import FoundationEssentials
internal import OSSWire

/// What UploadPartCopy needs.
public struct UploadPartCopyRequest: Sendable {
    /// The upload that the part belongs to.
    public var upload: OSSMultipartUpload
    /// The part's number, 1 to 10,000.
    public var partNumber: Int
    /// The object that the part is copied from; not one that can be appended to.
    public var source: OSSCopySource
    /// The region of the source in bytes: 102,400 to 5 GiB, the last part 1 byte to 5 GiB; nil is all of it.
    ///
    /// Default: nil.
    public var range: Range<Int64>?
    /// Whether it is the last part, which alone may be smaller than 102,400 bytes.
    ///
    /// Default: false.
    public var isLastPart = false
    /// What has to be true of the source.
    ///
    /// Default: nothing. Where an object is copied in several parts, `ifMatch` keeps them parts of the same one.
    public var conditions = OSSConditions()

    /// Makes a request.
    public init(upload: OSSMultipartUpload, partNumber: Int, source: OSSCopySource) {
        self.upload = upload
        self.partNumber = partNumber
        self.source = source
    }
}

/// What UploadPartCopy returns.
public struct UploadPartCopyResult: Sendable, Hashable {
    /// The part as CompleteMultipartUpload lists it; its size is known where the service told it.
    public let info: OSSPartInfo
    /// When the part was stored.
    public let lastModified: Date?
    /// The version that was copied, in a bucket with versioning.
    public let sourceVersionID: String?
    /// The service's ID of the request.
    public let requestID: String?
}

extension OSSClient {
    /// Makes a part of an object, or of a region of one, in the same region, without its bytes coming here.
    ///
    /// - Throws: `OSSError` with `invalidArgument` before anything is sent; `service`, `connection`, `timeout` or
    ///   `malformedReply` after; `integrity` where the service copied another region than the one that was asked for.
    ///   `CancellationError` where the task is cancelled.
    ///
    /// OSS document: UploadPartCopy.
    public func uploadPartCopy(_ request: UploadPartCopyRequest) async throws -> UploadPartCopyResult {
        let operation = OSSError.Operation.uploadPartCopy
        try request.upload.validate(operation)
        try PartRules.validate(partNumber: request.partNumber, operation)
        try request.source.validate(operation)
        try request.conditions.validate(operation)
        if let range = request.range {
            try OSSByteRange.bytes(range).validate(operation)
            try PartRules.validate(
                size: Int64(range.count), partNumber: request.partNumber, isLastPart: request.isLastPart, operation
            )
        }
        var call = ServiceRequest(
            operation: operation, partNumber: request.partNumber, method: "PUT", bucket: request.upload.bucket,
            key: request.upload.key
        )
        call.query = [
            QueryItem("partNumber", String(request.partNumber)), QueryItem("uploadId", request.upload.uploadID),
        ]
        call.headers = request.conditions.fields(prefix: "x-oss-copy-source-")
        call.headers["x-oss-copy-source"] = request.source.text
        call.headers["x-oss-copy-source-range"] = request.range.map { OSSByteRange.bytes($0).text }
        call.body = .bytes([])
        return try await self.perform(call) { (reply) throws(OSSError) in
            let root = try Document.read(reply, root: "CopyPartResult", operation)
            let eTag = try Document.value(operation) { () throws(XMLError) in try root.requiredString("ETag") }
            let copied = reply.headers["Content-Range"].flatMap { ContentRange($0) }
            // A range that the service cannot use makes it copy everything, without a word.
            if let range = request.range, copied?.range != range {
                throw OSSError(
                    .integrity,
                    "the service copied \(copied.map { "the bytes \($0.range)" } ?? "all of the source"), not the bytes "
                        + "\(range): look at the source's size, and copy the part again",
                    operation: operation, partNumber: request.partNumber
                )
            }
            return UploadPartCopyResult(
                info: OSSPartInfo(
                    partNumber: request.partNumber, eTag: MultipartETag.unquoted(eTag),
                    size: copied.map { Int64($0.range.count) }, crc64: reply.serviceCRC64
                ),
                lastModified: root.string("LastModified").flatMap { Timestamp(iso8601: $0)?.date },
                sourceVersionID: reply.headers["x-oss-copy-source-version-id"], requestID: reply.requestID
            )
        }
    }
}
