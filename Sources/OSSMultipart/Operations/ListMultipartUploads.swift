// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

public import FoundationEssentials
internal import OSSWire

/// What ListMultipartUploads needs.
public struct ListMultipartUploadsRequest: Sendable {
    /// The bucket's name.
    public var bucket: String
    /// Only uploads whose keys begin with this.
    ///
    /// Default: all.
    public var prefix: String?
    /// Uploads of one page, 1 to 1000.
    ///
    /// Default: 1000.
    public var maxUploads = 1000
    /// The page begins behind this key.
    ///
    /// Default: at the first.
    public var keyMarker: String?
    /// With `keyMarker`: the page begins behind this upload of that key.
    ///
    /// Default: none.
    public var uploadIDMarker: String?
    /// Only uploads that were begun at least so long ago, by the service's clock; not those whose begin the reply leaves out.
    ///
    /// The service has no such parameter: the client leaves the others out, so that a page may be empty and not be the last.
    /// Default: nil, all.
    public var minimumAge: Duration?

    /// Makes a request.
    public init(bucket: String) { self.bucket = bucket }
}

/// An upload that is neither completed nor aborted.
public struct OSSOpenUpload: Sendable, Hashable {
    /// Bucket, key and ID.
    public let upload: OSSMultipartUpload
    /// When it was begun, by the service's clock; nil where the reply does not say.
    public let initiated: Date?
    /// Its storage class; nil where the reply does not say.
    public let storageClass: String?

    /// Whether it is known to have been begun at least so long before a moment, in milliseconds since 1970.
    fileprivate func wasBegun(_ age: Duration, before now: Int64) -> Bool {
        guard let initiated else { return false }
        return Double(now) - initiated.timeIntervalSince1970 * 1000 >= age / .milliseconds(1)
    }
}

/// One page of ListMultipartUploads.
public struct ListMultipartUploadsResult: Sendable, Hashable {
    /// The uploads of this page, by key and then by ID.
    public let uploads: [OSSOpenUpload]
    /// Whether there are more.
    public let isTruncated: Bool
    /// Where the next page begins; nil where there is none.
    public let nextKeyMarker: String?
    /// With `nextKeyMarker`: the upload of that key behind which the next page begins.
    public let nextUploadIDMarker: String?
    /// The service's ID of the request.
    public let requestID: String?
}

extension OSSClient {
    /// Lists one page of a bucket's uploads that are neither completed nor aborted; `listMultipartUploadsPages` lists all.
    ///
    /// - Throws: `OSSError` with `invalidArgument` before anything is sent; `service`, `connection`, `timeout` or
    ///   `malformedReply` after. `CancellationError` where the task is cancelled.
    ///
    /// OSS document: ListMultipartUploads.
    public func listMultipartUploads(_ request: ListMultipartUploadsRequest) async throws -> ListMultipartUploadsResult
    {
        let operation = OSSError.Operation.listMultipartUploads
        try ObjectName.validate(bucket: request.bucket, operation: operation)
        guard (1...Limits.maximumPageSize).contains(request.maxUploads) else {
            throw OSSError(
                .invalidArgument, "maxUploads is \(request.maxUploads); the service takes 1 to 1000",
                operation: operation
            )
        }
        var call = ServiceRequest(operation: operation, method: "GET", bucket: request.bucket, key: nil)
        call.query = [
            QueryItem("uploads"), QueryItem("encoding-type", "url"),
            QueryItem("max-uploads", String(request.maxUploads)),
        ]
        if let prefix = request.prefix, !prefix.isEmpty { call.query.append(QueryItem("prefix", prefix)) }
        if let marker = request.keyMarker, !marker.isEmpty {
            call.query.append(QueryItem("key-marker", marker))
            if let uploadID = request.uploadIDMarker, !uploadID.isEmpty {
                call.query.append(QueryItem("upload-id-marker", uploadID))
            }
        }
        return try await self.perform(call) { (reply) throws(OSSError) in
            let root = try Document.read(reply, root: "ListMultipartUploadsResult", operation)
            if let date = RetryClassifier.date(of: reply.headers) {
                self.observedClockOffset.value = date.milliseconds - self.surroundings.now()
            }
            let now = self.surroundings.now() + self.observedClockOffset.value
            let encoding = root.string("EncodingType")
            var uploads: [OSSOpenUpload] = []
            for element in root.all("Upload") {
                let (key, uploadID) = try Document.value(operation) { () throws(XMLError) in
                    (try element.requiredString("Key"), try element.requiredString("UploadId"))
                }
                uploads.append(
                    OSSOpenUpload(
                        upload: OSSMultipartUpload(
                            bucket: request.bucket, key: try Document.decoded(key, encodingType: encoding, operation),
                            uploadID: uploadID
                        ),
                        initiated: element.string("Initiated").flatMap { Timestamp(iso8601: $0)?.date },
                        storageClass: element.string("StorageClass")
                    )
                )
            }
            if let age = request.minimumAge { uploads = uploads.filter { $0.wasBegun(age, before: now) } }
            let isTruncated = try Document.value(operation) { () throws(XMLError) in try root.boolean("IsTruncated") }
            var nextKey: String?
            if isTruncated == true, let marker = root.string("NextKeyMarker") {
                nextKey = try Document.decoded(marker, encodingType: encoding, operation)
            }
            return ListMultipartUploadsResult(
                uploads: uploads, isTruncated: isTruncated ?? false, nextKeyMarker: nextKey,
                nextUploadIDMarker: nextKey == nil ? nil : root.string("NextUploadIdMarker"), requestID: reply.requestID
            )
        }
    }

    /// Lists all uploads of a bucket that are neither completed nor aborted, page by page as they are asked for.
    ///
    /// Each step may throw what ``listMultipartUploads(_:)`` throws; a service whose pages do not go on is `malformedReply`.
    public func listMultipartUploadsPages(_ request: ListMultipartUploadsRequest) -> OSSOpenUploads {
        OSSOpenUploads(client: self, request: request)
    }
}

/// All uploads of a bucket that are neither completed nor aborted.
public struct OSSOpenUploads: AsyncSequence, Sendable {
    /// One entry of the listing.
    public typealias Element = OSSOpenUpload
    let client: OSSClient
    let request: ListMultipartUploadsRequest

    /// Begins at the first page.
    public func makeAsyncIterator() -> Iterator { Iterator(client: self.client, next: self.request) }

    /// Asks for one page after the other.
    public struct Iterator: AsyncIteratorProtocol {
        let client: OSSClient
        /// The page to ask for; nil behind the last.
        var next: ListMultipartUploadsRequest?
        private var page: ArraySlice<OSSOpenUpload> = []

        init(client: OSSClient, next: ListMultipartUploadsRequest) {
            self.client = client
            self.next = next
        }

        /// The next upload; nil behind the last.
        public mutating func next() async throws -> OSSOpenUpload? {
            while true {
                if let upload = self.page.popFirst() { return upload }
                guard var request = self.next else { return nil }
                let result = try await self.client.listMultipartUploads(request)
                self.page = result.uploads[...]
                guard result.isTruncated else {
                    self.next = nil
                    continue
                }
                let (key, uploadID) = (result.nextKeyMarker, result.nextUploadIDMarker)
                guard let key, Self.precedes(request, key, uploadID ?? "") else {
                    throw Document.malformed("its pages do not go on", .listMultipartUploads)
                }
                (request.keyMarker, request.uploadIDMarker) = (key, uploadID)
                self.next = request
            }
        }

        /// Whether a page begins before that place, by the bytes of the keys: Swift's own order of texts is another one.
        private static func precedes(_ page: ListMultipartUploadsRequest, _ key: String, _ uploadID: String) -> Bool {
            let marker = page.keyMarker ?? ""
            guard marker.hasSameBytes(as: key) else { return marker.utf8.lexicographicallyPrecedes(key.utf8) }
            return (page.uploadIDMarker ?? "").utf8.lexicographicallyPrecedes(uploadID.utf8)
        }
    }
}
