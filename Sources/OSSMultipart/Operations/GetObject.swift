// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import CurlTransport
public import FoundationEssentials
internal import OSSWire
internal import SystemIO

/// What GetObject needs.
public struct GetObjectRequest: Sendable {
    /// The bucket's name.
    public var bucket: String
    /// The object's key.
    public var key: String
    /// The version to get; nil is the newest.
    ///
    /// Default: nil.
    public var versionID: String?
    /// The region to get; nil is all of it.
    ///
    /// Default: nil.
    public var range: OSSByteRange?
    /// What has to be true of the object.
    ///
    /// Default: nothing.
    public var conditions = OSSConditions()
    /// Header fields that the reply is to have in the place of the object's own.
    ///
    /// Default: none.
    public var replyHeaders = ReplyHeaders()
    /// Whether the CRC-64 of all bytes is compared with the object's, where the whole object is got.
    ///
    /// Default: true.
    public var comparesCRC64 = true

    /// Header fields that a reply has in the place of the object's own.
    ///
    /// OSS document: GetObject, the `response-*` parameters.
    public struct ReplyHeaders: Sendable, Hashable {
        /// The type of the content.
        public var contentType: String?
        /// The language of the content.
        public var contentLanguage: String?
        /// When a cached copy expires.
        public var expires: String?
        /// How the reply may be cached.
        public var cacheControl: String?
        /// How a browser presents the content.
        public var contentDisposition: String?
        /// How the content is encoded.
        public var contentEncoding: String?

        /// Leaves the object's own.
        public init() {}

        var query: [QueryItem] {
            [
                ("content-type", self.contentType), ("content-language", self.contentLanguage),
                ("expires", self.expires), ("cache-control", self.cacheControl),
                ("content-disposition", self.contentDisposition), ("content-encoding", self.contentEncoding),
            ].compactMap { name, value in value.map { QueryItem("response-" + name, $0) } }
        }
    }

    /// Makes a request.
    public init(bucket: String, key: String) {
        self.bucket = bucket
        self.key = key
    }
}

/// What GetObject returns.
public struct GetObjectResult: Sendable {
    /// What the service tells about the object, its whole size among it.
    public let object: HeadObjectResult
    /// Which bytes of the object these are.
    public let range: Range<Int64>
    /// The bytes, as they come.
    public let body: OSSObjectBytes
}

extension OSSClient {
    /// Gets an object, or a region of one, as a sequence of pieces.
    ///
    /// It returns when the head of the reply is there. The bytes wait in the network until they are asked for: what is not
    /// taken costs at most half a megabyte of memory. A transfer that breaks off is taken up again at the byte where it broke,
    /// as often as the retry policy says, and only while the object is still the same.
    ///
    /// - Throws: `OSSError` with `invalidArgument` before anything is sent; `service` (`NoSuchKey`, `InvalidRange`,
    ///   `PreconditionFailed`, `NotModified`), `connection`, `timeout` or `malformedReply` after. `CancellationError` where
    ///   the task is cancelled. What goes wrong later is thrown by the sequence.
    ///
    /// OSS document: GetObject.
    public func getObject(_ request: GetObjectRequest) async throws -> GetObjectResult {
        let operation = OSSError.Operation.getObject
        try ObjectName.validate(bucket: request.bucket, key: request.key, operation: operation)
        try request.range?.validate(operation)
        try request.conditions.validate(operation)
        let opening = try await self.open(request, range: request.range, conditions: request.conditions)
        let reply = opening.reply
        return GetObjectResult(
            object: reply.object, range: reply.range,
            body: OSSObjectBytes(client: self, request: request, reply: reply, stream: opening.stream)
        )
    }

    /// Gets an object, or a region of one, into a file.
    ///
    /// The bytes go into a file beside the named one, which takes its name, and the place of a file that had it, when
    /// all of them are there and their CRC-64 is right; else it is removed. Bytes that do not agree with the CRC-64 are got
    /// once more. The new file has the permissions of the one whose place it takes.
    ///
    /// - Parameters:
    ///   - request: what to get.
    ///   - file: where to; not a symbolic link, a pipe or a device, for it would be replaced.
    ///   - progress: told how many bytes are written, of how many.
    /// - Throws: what ``getObject(_:)`` and its sequence throw; `fileUnwritable` where the file cannot be made or written,
    ///   `invalidArgument` where the path names none.
    ///
    /// OSS document: GetObject.
    @concurrent public func getObject(
        _ request: GetObjectRequest, toFile file: URL,
        progress: (@Sendable (_ bytesDone: Int64, _ bytesTotal: Int64) -> Void)? = nil
    ) async throws -> HeadObjectResult {
        let path = file.filePath
        do { return try await self.download(request, to: path, progress) } catch let error as OSSError
            where error.code == .integrity
        {
            return try await self.download(request, to: path, progress)
        }
    }

    private func download(
        _ request: GetObjectRequest, to path: String, _ progress: (@Sendable (Int64, Int64) -> Void)?
    ) async throws -> HeadObjectResult {
        let result = try await self.getObject(request)
        let file = try await self.blocking.run { () throws(OSSError) in try PartialFile(for: path) }
        do {
            var offset: Int64 = 0
            for try await piece in result.body {
                let start = offset
                try await self.blocking.run { () throws(OSSError) in try file.write(piece, at: start) }
                offset += Int64(piece.count)
                progress?(offset, Int64(result.range.count))
            }
            try await self.blocking.run { () throws(OSSError) in try file.publish() }
        } catch {
            await self.blocking.run { file.remove() }
            throw error
        }
        return result.object
    }

    /// Sends one GetObject and looks at the head of its reply.
    fileprivate func open(
        _ request: GetObjectRequest, range: OSSByteRange?, conditions: OSSConditions
    ) async throws -> (reply: GetObjectReply, stream: ObjectStream) {
        let operation = OSSError.Operation.getObject
        var call = ServiceRequest(operation: operation, method: "GET", bucket: request.bucket, key: request.key)
        call.query = request.replyHeaders.query
        if let versionID = request.versionID { call.query.append(QueryItem("versionId", versionID)) }
        call.headers = conditions.fields()
        if let range {
            call.headers["Range"] = range.text
            // Else a range that the object has not gets the whole object.
            call.headers["x-oss-range-behavior"] = "standard"
        }
        call.streamsReply = true
        return try await self.perform(call) { (response) throws(OSSError) in
            (try GetObjectReply(response, asksForRange: range != nil), ObjectStream(response))
        }
    }
}

/// The head of a reply to GetObject.
struct GetObjectReply: Sendable {
    /// What it tells about the object.
    let object: HeadObjectResult
    /// Which bytes come.
    let range: Range<Int64>

    init(_ reply: ServiceResponse, asksForRange: Bool) throws(OSSError) {
        let operation = OSSError.Operation.getObject
        guard let length = reply.headers["Content-Length"].flatMap({ Int64($0) }), length >= 0 else {
            throw Document.malformed("it does not say how long it is", operation)
        }
        if reply.status == 206 {
            guard let region = reply.headers["Content-Range"].flatMap({ ContentRange($0) }),
                Int64(region.range.count) == length
            else { throw Document.malformed("its Content-Range is missing or contradicts its length", operation) }
            self.range = region.range
            self.object = HeadObjectResult(reply, size: region.size)
        } else {
            guard !asksForRange else { throw Document.malformed("it is not the range that was asked for", operation) }
            self.range = 0..<length
            self.object = HeadObjectResult(reply, size: length)
        }
    }
}

/// The bytes of one reply: from a stream, or all at once where the transport has none.
struct ObjectStream: Sendable {
    private let stream: TransportReplyStream?
    private var bytes: [UInt8]

    init(_ reply: ServiceResponse) {
        self.stream = reply.stream
        self.bytes = reply.body
    }

    mutating func next() async throws -> [UInt8]? {
        if let stream { return try await stream.next() }
        defer { self.bytes = [] }
        return self.bytes.isEmpty ? nil : self.bytes
    }
}

/// The bytes of an object, or of a region of one, in pieces of at most 256 KiB.
///
/// A second pass over the sequence gets them anew. A step may throw `CancellationError`, or `OSSError`: `objectChanged` where
/// the object was replaced or removed since the first byte; `integrity` behind the last piece, where the bytes have not the
/// object's CRC-64: nothing of them is good then; `connection` or `timeout` where the transfer broke off and could not be
/// taken up again; what `getObject` throws.
public struct OSSObjectBytes: AsyncSequence, Sendable {
    /// A piece of the object.
    public typealias Element = [UInt8]
    private let client: OSSClient
    private let request: GetObjectRequest
    private let reply: GetObjectReply
    /// The first reply's bytes, until a pass takes them.
    private let first: FirstStream

    init(client: OSSClient, request: GetObjectRequest, reply: GetObjectReply, stream: ObjectStream) {
        self.client = client
        self.request = request
        self.reply = reply
        self.first = FirstStream(stream)
    }

    /// Begins at the first byte.
    public func makeAsyncIterator() -> Iterator {
        Iterator(client: self.client, request: self.request, reply: self.reply, stream: self.first.take())
    }

    /// All bytes in memory.
    ///
    /// - Parameter limit: the most bytes to take.
    /// - Throws: what a step throws; `OSSError.invalidArgument` where there are more bytes than the limit.
    public func collect(upTo limit: Int) async throws -> [UInt8] {
        guard self.reply.range.count <= limit else {
            throw OSSError(
                .invalidArgument,
                "the object has \(self.reply.range.count) bytes, more than the limit of \(limit); take it piece by piece",
                operation: .getObject
            )
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(self.reply.range.count)
        for try await piece in self { bytes += piece }
        return bytes
    }

    /// Takes one piece after the other, and takes up again what broke off.
    public struct Iterator: AsyncIteratorProtocol {
        private let client: OSSClient
        private let request: GetObjectRequest
        private let reply: GetObjectReply
        private var stream: ObjectStream?
        /// The next byte's place in the object.
        private var position: Int64
        private var checksum = CRC64()
        /// Breaks since the last byte.
        private var failures = 0
        private var isOver = false

        init(client: OSSClient, request: GetObjectRequest, reply: GetObjectReply, stream: ObjectStream?) {
            self.client = client
            self.request = request
            self.reply = reply
            self.stream = stream
            self.position = reply.range.lowerBound
        }

        private var end: Int64 { self.reply.range.upperBound }

        /// The next piece; nil behind the last.
        public mutating func next() async throws -> [UInt8]? {
            while !self.isOver {
                do {
                    if self.stream == nil, self.position < self.end { try await self.reopen() }
                    if let piece = try await self.stream?.next() {
                        try self.take(piece)
                        return piece
                    }
                    guard self.position < self.end else {
                        self.isOver = true
                        try self.compareCRC64()
                        return nil
                    }
                    throw TransportError(.receive, "The reply ended before its last byte.")
                } catch let error as TransportError {
                    self.stream = nil
                    try await self.wait(after: error)
                } catch {
                    self.isOver = true
                    self.stream = nil
                    throw error
                }
            }
            return nil
        }

        private mutating func take(_ piece: [UInt8]) throws(OSSError) {
            self.position += Int64(piece.count)
            guard self.position <= self.end else {
                throw Document.malformed("it is longer than it said", .getObject)
            }
            if self.request.comparesCRC64 { self.checksum.update(piece.span) }
            self.failures = 0
        }

        /// Asks for the rest of the very object that the bytes so far are of.
        private mutating func reopen() async throws {
            var conditions = OSSConditions()
            conditions.ifMatch = self.reply.object.eTag
            let isAll = self.position == 0 && self.end == self.reply.object.size
            let opening: (reply: GetObjectReply, stream: ObjectStream)
            do {
                opening = try await self.client.open(
                    self.request, range: isAll ? nil : .bytes(self.position..<self.end), conditions: conditions
                )
            } catch let error as OSSError where Self.says(error, thatObjectChanged: self.reply) {
                throw self.changed(error.service, error)
            }
            let now = opening.reply
            guard now.object.eTag == self.reply.object.eTag, now.object.size == self.reply.object.size,
                now.object.crc64 == self.reply.object.crc64, now.range == self.position..<self.end
            else { throw self.changed(nil, nil) }
            self.stream = opening.stream
        }

        private static func says(_ error: OSSError, thatObjectChanged reply: GetObjectReply) -> Bool {
            let codes: [OSSError.ServiceCode] = [.preconditionFailed, .noSuchKey, "NoSuchVersion", "InvalidRange"]
            return error.service.map { codes.contains($0.code) } ?? false
        }

        private func changed(_ service: OSSError.Service?, _ error: OSSError?) -> OSSError {
            OSSError(
                .objectChanged,
                "the object was replaced or removed after \(self.position - self.reply.range.lowerBound) bytes of it had "
                    + "come; get it again from its beginning",
                operation: .getObject, service: service, underlying: error
            )
        }

        private func compareCRC64() throws(OSSError) {
            guard self.request.comparesCRC64, self.reply.range == 0..<self.reply.object.size,
                let stored = self.reply.object.crc64, stored != self.checksum.value
            else { return }
            throw OSSError(
                .integrity,
                "the bytes that came have the CRC-64 \(self.checksum.value), the object has \(stored): they changed on the "
                    + "way; get it again, and look at the network and the machine's memory if it stays",
                operation: .getObject
            )
        }

        private mutating func wait(after error: TransportError) async throws {
            self.failures += 1
            // Without an ETag nobody could tell whether the rest is of the same object.
            let canGoOn = self.reply.object.eTag != nil || self.position == self.reply.range.lowerBound
            guard canGoOn, self.failures < self.client.configuration.retryPolicy.maximumAttempts,
                case .again = RetryClassifier.verdict(on: error)
            else {
                self.isOver = true
                throw OSSClient.error(
                    for: error, ServiceRequest(operation: .getObject, method: "GET", bucket: self.request.bucket))
            }
            try await self.client.waitBeforeAttempt(self.failures + 1, asked: nil)
        }
    }
}

/// The bytes of the reply that came first: the first pass has them.
private final class FirstStream: Sendable {
    private let stream: Lock<ObjectStream?>

    init(_ stream: ObjectStream) { self.stream = Lock(stream) }

    func take() -> ObjectStream? {
        self.stream.withLock { stream in
            defer { stream = nil }
            return stream
        }
    }
}

/// A file that takes its name when it is whole.
private struct PartialFile: Sendable {
    private let path: String
    private let file: PosixFile

    init(for path: String) throws(OSSError) {
        self.path = path
        guard !path.isEmpty, !path.hasSuffix("/") else {
            throw OSSError(.invalidArgument, "the path \"\(path)\" names no file", operation: .getObject)
        }
        // What only the owner could read stays so. Where there is no file yet the process's mask alone decides.
        let permissions = (try? FileStatus.of(path: path))?.permissions
        do throws(SystemError) {
            self.file = try PosixFile(
                path: Self.name(besides: path), [.write, .create, .exclusive],
                permissions: (permissions ?? 0o666) & 0o777
            )
            if let permissions { try self.file.setPermissions(permissions & 0o777) }
        } catch { throw Self.failure(error) }
    }

    /// A name that is not taken, in the same folder, that is not too long where the file's own is not.
    private static func name(besides path: String) -> String {
        let number = "\(UInt64.random(in: 0..<UInt64.max)).part"
        let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        let start = slash.map { path.utf8.index(after: $0) } ?? path.startIndex
        return path.utf8[start...].count < 200 ? "\(path).\(number)" : "\(path[..<start])\(number)"
    }

    func write(_ bytes: [UInt8], at offset: Int64) throws(OSSError) {
        do throws(SystemError) { try self.file.write(bytes.span, at: offset) } catch { throw Self.failure(error) }
    }

    func publish() throws(OSSError) {
        do throws(SystemError) {
            // Without this a full disk, or a power failure, could leave a name with nothing behind it.
            try self.file.synchronizeContent()
            try Directory.rename(self.file.path, to: self.path)
        } catch { throw Self.failure(error) }
    }

    func remove() {
        // The error that led here is the one to report.
        try? Directory.removeFile(self.file.path)
    }

    private static func failure(_ error: SystemError) -> OSSError {
        OSSError(
            .fileUnwritable, "the file cannot be written: \(error); check its folder and the disk",
            operation: .getObject,
            underlying: error
        )
    }
}
