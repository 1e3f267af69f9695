// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// What AppendObject needs.
public struct AppendObjectRequest: Sendable {
    /// The bucket's name.
    public var bucket: String
    /// The object's key.
    public var key: String
    /// Where the bytes go: the object's length so far, 0 for a new object.
    public var position: Int64
    /// The bytes to append: at most 5 GiB.
    public var body: OSSBody
    /// CRC-64 of the object so far, as the last append returned it; nil where it is not known.
    ///
    /// With it the CRC-64 of the whole object is checked. At position 0 it is known. Default: nil.
    public var crc64SoFar: UInt64?
    /// What is stored with the object; it counts at position 0 alone.
    ///
    /// Default: nothing.
    public var headers = OSSObjectHeaders()
    /// How the bytes are protected on their way.
    ///
    /// Default: `Content-MD5` sent, CRC-64 compared where the one so far is known.
    public var integrity: OSSIntegrity = .md5AndCRC64

    /// Makes a request.
    public init(bucket: String, key: String, position: Int64, body: OSSBody) {
        self.bucket = bucket
        self.key = key
        self.position = position
        self.body = body
    }
}

/// What AppendObject returns.
public struct AppendObjectResult: Sendable, Hashable {
    /// Where the next append begins: the object's length.
    public let nextPosition: Int64
    /// CRC-64 of the whole object; nil where the reply has none.
    public let crc64: UInt64?
    /// The object's version in a bucket with versioning.
    public let versionID: String?
    /// The service's ID of the request.
    public let requestID: String?
}

extension OSSClient {
    /// Appends to an object, or begins one that can be appended to.
    ///
    /// When a reply is lost the bytes are sent again, and the service refuses them where it had stored them: then the object
    /// itself tells, and no byte is ever appended twice.
    ///
    /// - Throws: `OSSError` with `invalidArgument` before anything is sent; `service` (`PositionNotEqualToLength`,
    ///   `ObjectNotAppendable`), `sourceUnreadable`, `integrity`, `connection`, `timeout` or `malformedReply` after;
    ///   `outcomeUnknown` where a reply was lost and the object does not tell. `CancellationError` where the task is
    ///   cancelled; the bytes may then have been appended.
    ///
    /// OSS document: AppendObject.
    public func appendObject(_ request: AppendObjectRequest) async throws -> AppendObjectResult {
        let operation = OSSError.Operation.appendObject
        try ObjectName.validate(bucket: request.bucket, key: request.key, operation: operation)
        try request.headers.validate(operation)
        guard request.position >= 0 else {
            throw OSSError(
                .invalidArgument, "the position is \(request.position); it is the object's length so far",
                operation: operation
            )
        }
        let body = try await request.body.open(on: self.blocking)
        guard body.length <= Limits.maximumPartSize else {
            throw OSSError(
                .invalidArgument,
                "there are \(body.length) bytes to append, more than the 5 GiB that one request takes; append them in pieces",
                operation: operation
            )
        }
        let known = request.position == 0 ? 0 : request.crc64SoFar
        var call = ServiceRequest(operation: operation, method: "POST", bucket: request.bucket, key: request.key)
        call.query = [QueryItem("append"), QueryItem("position", String(request.position))]
        call.headers = await self.completed(request.headers, key: request.key).fields(withACL: true)
        call.body = body
        call.integrity = request.integrity
        call.replyCRC64 = known.map { .following($0) } ?? .unrelated
        call.isIdempotent = false
        do {
            return try await self.perform(call) { (reply) throws(OSSError) in
                guard let next = reply.headers["x-oss-next-append-position"].flatMap({ Int64($0) }),
                    next >= request.position
                else { throw Document.malformed("it does not say where the next append begins", operation) }
                return AppendObjectResult(
                    nextPosition: next, crc64: reply.serviceCRC64, versionID: reply.headers["x-oss-version-id"],
                    requestID: reply.requestID
                )
            }
        } catch let error as OSSError
            where error.followsLostReply && error.service?.code == "PositionNotEqualToLength"
        {
            return try await self.findAppended(request, body: body, crc64SoFar: known, error)
        }
    }

    /// Finds out whether the bytes of an append whose reply was lost are those at the object's end.
    private func findAppended(
        _ request: AppendObjectRequest, body: ServiceBody, crc64SoFar: UInt64?, _ error: OSSError
    ) async throws -> AppendObjectResult {
        let unknown = OSSError(
            .outcomeUnknown,
            "it is not known whether the bytes were appended, for a reply was lost and the object does not tell: compare its "
                + "end with them before anything else",
            operation: .appendObject, service: error.service, underlying: error
        )
        guard let crc64SoFar else { throw unknown }
        let object = try await self.headObject(.init(bucket: request.bucket, key: request.key))
        let appended = try await self.crc64(of: body)
        guard object.size == request.position + body.length,
            object.crc64 == CRC64.combine(crc64SoFar, appended, lengthOfSecond: body.length)
        else { throw unknown }
        return AppendObjectResult(
            nextPosition: object.size, crc64: object.crc64, versionID: object.versionID, requestID: object.requestID
        )
    }

    private func crc64(of body: ServiceBody) async throws -> UInt64 {
        switch body {
        case .none: 0
        case .bytes(let bytes): CRC64.of(bytes)
        case .region(let region), .form(_, let region, _):
            try await self.digests(of: region, md5: false, crc64: true).crc64 ?? 0
        }
    }
}
