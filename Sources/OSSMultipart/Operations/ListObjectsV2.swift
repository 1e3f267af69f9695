// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

public import FoundationEssentials
internal import OSSWire

/// What ListObjectsV2 needs.
public struct ListObjectsV2Request: Sendable {
    /// The bucket's name.
    public var bucket: String
    /// Only objects whose keys begin with this.
    ///
    /// Default: all.
    public var prefix: String?
    /// Keys that are alike up to this text behind the prefix are told as one common prefix, for example `/`.
    ///
    /// Default: none.
    public var delimiter: String?
    /// The listing begins behind this key.
    ///
    /// Default: at the first.
    public var startAfter: String?
    /// The page begins where the one before ended, as its ``ListObjectsV2Result/nextContinuationToken`` says.
    ///
    /// Default: nil.
    public var continuationToken: String?
    /// Entries of one page, 1 to 1000.
    ///
    /// Default: 1000.
    public var maxKeys = 1000
    /// Whether each object's owner is told.
    ///
    /// Default: false.
    public var fetchesOwner = false

    /// Makes a request.
    public init(bucket: String) { self.bucket = bucket }
}

/// An object as a listing tells of it.
public struct OSSObjectSummary: Sendable, Hashable {
    /// Its key.
    public let key: String
    /// Its size in bytes.
    public let size: Int64
    /// Its ETag, without quotes.
    public let eTag: String
    /// When it was stored; nil where the reply does not say.
    public let lastModified: Date?
    /// Its storage class.
    public let storageClass: String?
    /// `Normal`, `Multipart`, `Appendable` or `Symlink`.
    public let objectType: String?
    /// The ID of its owner, where it was asked for.
    public let ownerID: String?
}

/// One page of ListObjectsV2.
public struct ListObjectsV2Result: Sendable, Hashable {
    /// The objects of this page, by key.
    public let objects: [OSSObjectSummary]
    /// What stands for the keys that have the delimiter behind the prefix.
    public let commonPrefixes: [String]
    /// Whether there are more.
    public let isTruncated: Bool
    /// Where the next page begins; nil where there is none.
    public let nextContinuationToken: String?
    /// The service's ID of the request.
    public let requestID: String?

    /// Objects and common prefixes as the keys are ordered: by their bytes.
    var entries: [OSSListingEntry] {
        guard !self.commonPrefixes.isEmpty else { return self.objects.map { .object($0) } }
        return (self.objects.map { .object($0) } + self.commonPrefixes.map { .commonPrefix($0) })
            .sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    }
}

/// What a listing holds at a place: an object, or a common prefix of several keys.
public enum OSSListingEntry: Sendable, Hashable {
    /// An object.
    case object(OSSObjectSummary)
    /// A common prefix, with the delimiter at its end.
    case commonPrefix(String)

    /// The key, or the common prefix.
    public var name: String {
        switch self {
        case .object(let object): object.key
        case .commonPrefix(let prefix): prefix
        }
    }
}

extension OSSClient {
    /// Lists one page of a bucket's objects; `listObjectsV2Pages` lists all.
    ///
    /// - Throws: `OSSError` with `invalidArgument` before anything is sent; `service`, `connection`, `timeout` or
    ///   `malformedReply` after. `CancellationError` where the task is cancelled.
    ///
    /// OSS document: ListObjectsV2 (GetBucketV2).
    public func listObjectsV2(_ request: ListObjectsV2Request) async throws -> ListObjectsV2Result {
        let operation = OSSError.Operation.listObjectsV2
        try ObjectName.validate(bucket: request.bucket, operation: operation)
        guard (1...Limits.maximumPageSize).contains(request.maxKeys) else {
            throw OSSError(
                .invalidArgument, "maxKeys is \(request.maxKeys); the service takes 1 to 1000", operation: operation)
        }
        var call = ServiceRequest(operation: operation, method: "GET", bucket: request.bucket, key: nil)
        call.query = [
            QueryItem("list-type", "2"), QueryItem("encoding-type", "url"),
            QueryItem("max-keys", String(request.maxKeys)),
        ]
        for (name, value) in [
            ("prefix", request.prefix), ("delimiter", request.delimiter), ("start-after", request.startAfter),
            ("continuation-token", request.continuationToken),
        ] {
            if let value, !value.isEmpty { call.query.append(QueryItem(name, value)) }
        }
        if request.fetchesOwner { call.query.append(QueryItem("fetch-owner", "true")) }
        return try await self.perform(call) { (reply) throws(OSSError) in try Self.listResult(reply, operation) }
    }

    private static func listResult(
        _ reply: ServiceResponse, _ operation: OSSError.Operation
    ) throws(OSSError) -> ListObjectsV2Result {
        let root = try Document.read(reply, root: "ListBucketResult", operation)
        let encoding = root.string("EncodingType")
        var objects: [OSSObjectSummary] = [], prefixes: [String] = []
        for element in root.all("Contents") {
            let (key, size) = try Document.value(operation) { () throws(XMLError) in
                (try element.requiredString("Key"), try element.requiredInteger("Size", as: Int64.self))
            }
            objects.append(
                OSSObjectSummary(
                    key: try Document.decoded(key, encodingType: encoding, operation), size: size,
                    eTag: MultipartETag.unquoted(element.string("ETag") ?? ""),
                    lastModified: element.string("LastModified").flatMap { Timestamp(iso8601: $0)?.date },
                    storageClass: element.string("StorageClass"), objectType: element.string("Type"),
                    ownerID: element["Owner"]?.string("ID")
                )
            )
        }
        for element in root.all("CommonPrefixes") {
            for prefix in element.all("Prefix") {
                prefixes.append(try Document.decoded(prefix.text, encodingType: encoding, operation))
            }
        }
        let isTruncated = try Document.value(operation) { () throws(XMLError) in try root.boolean("IsTruncated") }
        return ListObjectsV2Result(
            objects: objects, commonPrefixes: prefixes, isTruncated: isTruncated ?? false,
            nextContinuationToken: isTruncated == true ? root.string("NextContinuationToken") : nil,
            requestID: reply.requestID
        )
    }

    /// Lists all objects and common prefixes of a bucket in the order of their names, page by page as they are asked for.
    ///
    /// Each step may throw what ``listObjectsV2(_:)`` throws; a service whose pages do not go on is `malformedReply`.
    public func listObjectsV2Pages(_ request: ListObjectsV2Request) -> OSSListing {
        OSSListing(client: self, request: request)
    }
}

/// All objects and common prefixes of a bucket.
public struct OSSListing: AsyncSequence, Sendable {
    /// One entry of the listing.
    public typealias Element = OSSListingEntry
    let client: OSSClient
    let request: ListObjectsV2Request

    /// Begins at the first page.
    public func makeAsyncIterator() -> Iterator { Iterator(client: self.client, next: self.request) }

    /// Asks for one page after the other.
    public struct Iterator: AsyncIteratorProtocol {
        let client: OSSClient
        /// The page to ask for; nil behind the last.
        var next: ListObjectsV2Request?
        private var page: ArraySlice<OSSListingEntry> = []
        private var lastName: String?

        init(client: OSSClient, next: ListObjectsV2Request) {
            self.client = client
            self.next = next
        }

        /// The next entry; nil behind the last.
        public mutating func next() async throws -> OSSListingEntry? {
            while true {
                if let entry = self.page.popFirst() {
                    self.lastName = entry.name
                    return entry
                }
                guard var request = self.next else { return nil }
                let result = try await self.client.listObjectsV2(request)
                self.page = result.entries[...]
                guard result.isTruncated else {
                    self.next = nil
                    continue
                }
                let first = self.page.first?.name
                let grows = first.map { first in
                    self.lastName.map { $0.utf8.lexicographicallyPrecedes(first.utf8) } ?? true
                }
                guard let token = result.nextContinuationToken, token != request.continuationToken, grows ?? true else {
                    throw Document.malformed("its pages do not go on", .listObjectsV2)
                }
                request.continuationToken = token
                self.next = request
            }
        }
    }
}
