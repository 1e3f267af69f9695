// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

public import FoundationEssentials
internal import OSSWire

/// What ListParts needs.
public struct ListPartsRequest: Sendable {
    /// The upload whose parts are listed.
    public var upload: OSSMultipartUpload
    /// Parts of one page, 1 to 1000.
    ///
    /// Default: 1000.
    public var maxParts = 1000
    /// The page begins behind this part number.
    ///
    /// Default: 0.
    public var partNumberMarker = 0

    /// Makes a request.
    public init(upload: OSSMultipartUpload) { self.upload = upload }
}

/// A part that the service has stored.
public struct OSSStoredPart: Sendable, Hashable {
    /// The part as CompleteMultipartUpload lists it; its size is always known.
    public let info: OSSPartInfo
    /// The part's size in bytes.
    public let size: Int64
    /// When it was stored; nil where the reply does not say.
    public let lastModified: Date?
}

/// One page of ListParts.
public struct ListPartsResult: Sendable, Hashable {
    /// The parts of this page, in ascending order of their numbers.
    public let parts: [OSSStoredPart]
    /// Whether there are more.
    public let isTruncated: Bool
    /// Where the next page begins; nil where there is none.
    public let nextPartNumberMarker: Int?
    /// The service's ID of the request.
    public let requestID: String?
}

extension OSSClient {
    /// Lists one page of the parts that are stored of an upload; `listPartsPages` lists all.
    ///
    /// - Throws: `OSSError` with `invalidArgument` before anything is sent; `service`, `connection`, `timeout` or
    ///   `malformedReply` after. `CancellationError` where the task is cancelled.
    ///
    /// OSS document: ListParts.
    public func listParts(_ request: ListPartsRequest) async throws -> ListPartsResult {
        let operation = OSSError.Operation.listParts
        try request.upload.validate(operation)
        guard (1...Limits.maximumPageSize).contains(request.maxParts) else {
            throw OSSError(
                .invalidArgument, "maxParts is \(request.maxParts); the service takes 1 to 1000", operation: operation
            )
        }
        guard (0...Limits.maximumPartNumber).contains(request.partNumberMarker) else {
            throw OSSError(
                .invalidArgument, "partNumberMarker is \(request.partNumberMarker); it lies between 0 and 10000",
                operation: operation
            )
        }
        var call = ServiceRequest(
            operation: operation, method: "GET", bucket: request.upload.bucket, key: request.upload.key
        )
        call.query = [
            QueryItem("encoding-type", "url"), QueryItem("max-parts", String(request.maxParts)),
            QueryItem("uploadId", request.upload.uploadID),
        ]
        if request.partNumberMarker > 0 {
            call.query.append(QueryItem("part-number-marker", String(request.partNumberMarker)))
        }
        return try await self.perform(call) { (reply) throws(OSSError) in
            let root = try Document.read(reply, root: "ListPartsResult", operation)
            return try Document.value(operation) { () throws(XMLError) in
                try Self.listPartsResult(root, requestID: reply.requestID)
            }
        }
    }

    private static func listPartsResult(_ root: XMLElement, requestID: String?) throws(XMLError) -> ListPartsResult {
        var parts: [OSSStoredPart] = []
        for element in root.all("Part") {
            let size = try element.requiredInteger("Size", as: Int64.self)
            let number = try element.requiredInteger("PartNumber", as: Int.self)
            guard size >= 0, (1...Limits.maximumPartNumber).contains(number) else {
                throw XMLError("a part has a number or a size that no part has")
            }
            let info = OSSPartInfo(
                partNumber: number, eTag: MultipartETag.unquoted(try element.requiredString("ETag")),
                size: size, crc64: try element.integer("HashCrc64ecma", as: UInt64.self)
            )
            let date = element.string("LastModified").flatMap { Timestamp(iso8601: $0) }
            parts.append(OSSStoredPart(info: info, size: size, lastModified: date?.date))
        }
        let isTruncated = try root.boolean("IsTruncated") ?? false
        return ListPartsResult(
            parts: parts, isTruncated: isTruncated,
            nextPartNumberMarker: isTruncated ? try root.requiredInteger("NextPartNumberMarker", as: Int.self) : nil,
            requestID: requestID
        )
    }

    /// Lists all parts that are stored of an upload, page by page as they are asked for.
    ///
    /// Each step may throw what ``listParts(_:)`` throws; a service whose pages do not go on is `malformedReply`.
    public func listPartsPages(_ request: ListPartsRequest) -> OSSStoredParts {
        OSSStoredParts(client: self, request: request)
    }
}

/// All parts of an upload, in ascending order of their numbers, each once.
public struct OSSStoredParts: AsyncSequence, Sendable {
    /// One entry of the listing.
    public typealias Element = OSSStoredPart
    let client: OSSClient
    let request: ListPartsRequest

    /// Begins at the first page.
    public func makeAsyncIterator() -> Iterator { Iterator(client: self.client, next: self.request) }

    /// Asks for one page after the other.
    public struct Iterator: AsyncIteratorProtocol {
        let client: OSSClient
        /// The page to ask for; nil behind the last.
        var next: ListPartsRequest?
        private var page: ArraySlice<OSSStoredPart> = []
        private var lastNumber: Int

        init(client: OSSClient, next: ListPartsRequest) {
            self.client = client
            self.next = next
            self.lastNumber = next.partNumberMarker
        }

        /// The next part; nil behind the last.
        public mutating func next() async throws -> OSSStoredPart? {
            while true {
                while let part = self.page.popFirst() {
                    // A service that does not heed the marker lists parts again.
                    guard part.info.partNumber > self.lastNumber else { continue }
                    self.lastNumber = part.info.partNumber
                    return part
                }
                guard var request = self.next else { return nil }
                let result = try await self.client.listParts(request)
                self.page = result.parts[...]
                guard let marker = result.nextPartNumberMarker else {
                    self.next = nil
                    continue
                }
                guard marker > request.partNumberMarker else {
                    throw Document.malformed("its pages do not go on behind part \(marker)", .listParts)
                }
                request.partNumberMarker = marker
                self.next = request
            }
        }
    }
}

extension Timestamp {
    /// The moment as Foundation's type.
    var date: Date { Date(timeIntervalSince1970: Double(self.milliseconds) / 1000) }
}
