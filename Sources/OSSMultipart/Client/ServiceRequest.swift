// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import CurlTransport
internal import OSSWire

/// One operation's request before it is signed, the same for every attempt.
struct ServiceRequest: Sendable {
    /// The operation, for messages.
    var operation: OSSError.Operation
    /// The part's number, for messages.
    var partNumber: Int?
    var method: String
    var bucket: String
    /// The key; nil for operations on the bucket.
    var key: String?
    var query: [QueryItem] = []
    var headers: HTTPFields = [:]
    /// What is sent; its digests are computed for each attempt that needs them.
    var body: ServiceBody = .none
    /// The source that the body is a region of, where it must not change: it is looked at when the body has been read for its
    /// digest, and before it is sent.
    var watchedSource: OpenSource?
    /// How the body is protected.
    var integrity: OSSIntegrity = .none
    /// What the CRC-64 of the reply is one of.
    var replyCRC64: ReplyCRC64 = .body
    /// Whether a request that may have been applied, its reply lost, may be sent again as it is.
    ///
    /// Without it such a failure is thrown as `OSSError.outcomeUnknown`, for the caller to find out.
    var mayBeResent = true
    /// Whether sending it twice is the same as sending it once; else nothing below us may send it again unseen.
    var isIdempotent = true
    /// Whether the body carries the signature: then no header does.
    var isSignedInBody = false
    /// Where the number of bytes sent so far can be seen by others.
    var progress: TransferProgress?
    /// Whether the body of a reply of success is handed over while it comes in.
    var streamsReply = false
    /// Where signs of overload are counted.
    var overloadSigns: OverloadSigns?
    /// Longest reply body taken, in bytes.
    var replyLimit = 16 * 1024 * 1024
}

/// What the CRC-64 of a reply is one of.
enum ReplyCRC64: Sendable {
    /// The body that was sent.
    case body
    /// Bytes of this CRC-64 and the body behind them.
    case following(UInt64)
    /// Something whose CRC-64 is not known here.
    case unrelated
}

/// What a request sends.
enum ServiceBody: Sendable {
    /// No body at all.
    case none
    /// Bytes in memory.
    case bytes([UInt8])
    /// A region of an open source.
    case region(SourceRegion)
    /// A region of an open source within a form.
    case form(head: [UInt8], SourceRegion, tail: [UInt8])

    var length: Int64 {
        switch self {
        case .none: 0
        case .bytes(let bytes): Int64(bytes.count)
        case .region(let region): region.length
        case .form(let head, let region, let tail): Int64(head.count) + region.length + Int64(tail.count)
        }
    }
}

/// A reply with a status of 2xx.
struct ServiceResponse: Sendable {
    let status: Int
    let headers: HTTPFields
    let body: [UInt8]
    /// The body while it comes in, where that was asked for.
    var stream: TransportReplyStream?
    /// MD5 of the bytes that were sent, where it was computed.
    let md5: [UInt8]?
    /// CRC-64 of the bytes that were sent, where it was computed.
    let crc64: UInt64?
    /// Whether an attempt before the one that was answered may have been applied.
    let followsLostReply: Bool

    /// The service's ID of the request.
    var requestID: String? { self.headers["x-oss-request-id"] }
    /// The ETag of the header, without quotes.
    var eTag: String? {
        guard let header = self.headers["ETag"], !header.isEmpty else { return nil }
        return MultipartETag.unquoted(header)
    }
    /// The CRC-64 that the service computed.
    var serviceCRC64: UInt64? { self.headers["x-oss-hash-crc64ecma"].flatMap { UInt64($0) } }
}
