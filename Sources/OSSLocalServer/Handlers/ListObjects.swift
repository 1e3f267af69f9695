// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// Lists the objects of a bucket.
///
/// OSS document: GetBucket (ListObjects).
struct ListObjects: OperationHandler {
    static let name = "ListObjects"
    static let access = Access.list

    private let request: Request
    private let service: Service
    private let encoding: EncodingType
    private let maximum: Int
    private let prefix: String
    private let delimiter: String
    private let marker: String

    init(_ request: Request, _ service: Service) throws(ServiceError) {
        self.request = request
        self.service = service
        self.encoding = try EncodingType(request)
        self.maximum = try request.number("max-keys", in: 1...Limits.maximumPageSize) ?? 100
        self.prefix = request.query.value(of: "prefix") ?? ""
        self.delimiter = request.query.value(of: "delimiter") ?? ""
        self.marker = request.query.value(of: "marker") ?? ""
        _ = try service.store.bucket(request.bucket)
    }

    func respond(to body: ReceivedBody) throws(ServiceError) -> Reply {
        let page = try ObjectListing(
            self.service.store, bucket: self.request.bucket, prefix: self.prefix, delimiter: self.delimiter,
            marker: self.marker, limit: self.maximum)
        var writer = XMLWriter()
        writer.element("ListBucketResult") { writer in
            self.encoding.write(to: &writer)
            writer.element("Name", self.request.bucket)
            writer.element("Prefix", self.encoding(self.prefix))
            writer.element("Marker", self.encoding(self.marker))
            writer.element("MaxKeys", self.maximum)
            writer.element("Delimiter", self.encoding(self.delimiter))
            writer.element("IsTruncated", String(page.page.isTruncated))
            if page.page.isTruncated { writer.element("NextMarker", self.encoding(page.page.lastName)) }
            page.write(to: &writer, self.encoding, withOwner: true)
        }
        return .document(writer)
    }
}

/// Lists the objects of a bucket, version 2.
///
/// OSS document: ListObjectsV2 (GetBucketV2).
struct ListObjectsV2: OperationHandler {
    static let name = "ListObjectsV2"
    static let access = Access.list

    private let request: Request
    private let service: Service
    private let encoding: EncodingType
    private let maximum: Int
    private let prefix: String
    private let delimiter: String
    private let startAfter: String
    private let token: String?
    private let marker: String

    init(_ request: Request, _ service: Service) throws(ServiceError) {
        self.request = request
        self.service = service
        self.encoding = try EncodingType(request)
        self.maximum = try request.number("max-keys", in: 1...Limits.maximumPageSize) ?? 100
        self.prefix = request.query.value(of: "prefix") ?? ""
        self.delimiter = request.query.value(of: "delimiter") ?? ""
        self.startAfter = request.query.value(of: "start-after") ?? ""
        self.token = request.query.value(of: "continuation-token")
        if let token = self.token, !token.isEmpty {
            guard let bytes = Base64.decode(token), let marker = String(validating: bytes, as: UTF8.self) else {
                throw ServiceError.invalidArgument(
                    "The continuation token provided is incorrect.", name: "continuation-token", value: token)
            }
            self.marker = marker
        } else {
            self.marker = self.startAfter
        }
        _ = try service.store.bucket(request.bucket)
    }

    func respond(to body: ReceivedBody) throws(ServiceError) -> Reply {
        let page = try ObjectListing(
            self.service.store, bucket: self.request.bucket, prefix: self.prefix, delimiter: self.delimiter,
            marker: self.marker, limit: self.maximum)
        var writer = XMLWriter()
        writer.element("ListBucketResult") { writer in
            self.encoding.write(to: &writer)
            writer.element("Name", self.request.bucket)
            writer.element("Prefix", self.encoding(self.prefix))
            if !self.startAfter.isEmpty { writer.element("StartAfter", self.encoding(self.startAfter)) }
            if let token { writer.element("ContinuationToken", token) }
            writer.element("MaxKeys", self.maximum)
            writer.element("Delimiter", self.encoding(self.delimiter))
            writer.element("IsTruncated", String(page.page.isTruncated))
            if page.page.isTruncated {
                writer.element("NextContinuationToken", Base64.encode(Array(page.page.lastName.utf8)))
            }
            writer.element("KeyCount", page.page.items.count + page.page.commonPrefixes.count)
            page.write(to: &writer, self.encoding, withOwner: self.request.query.value(of: "fetch-owner") == "true")
        }
        return .document(writer)
    }
}

/// What both versions list.
private struct ObjectListing {
    let page: ListingPage<StoredObject>

    init(
        _ store: Store, bucket: String, prefix: String, delimiter: String, marker: String, limit: Int
    ) throws(ServiceError) {
        self.page = ListingPage(
            try store.objects(bucket: bucket, prefix: ObjectKey(prefix)), prefix: prefix, delimiter: delimiter,
            marker: marker, limit: limit, key: \.key)
    }

    func write(to writer: inout XMLWriter, _ encoding: EncodingType, withOwner: Bool) {
        for object in self.page.items {
            writer.element("Contents") { writer in
                writer.element("Key", encoding(object.key.text))
                writer.element("LastModified", object.modified.inDocuments)
                writer.element("ETag", "\"\(object.eTag)\"")
                writer.element("Type", object.kind.rawValue)
                writer.element("Size", object.size)
                writer.element("StorageClass", object.storageClass)
                if withOwner { Owner.write(to: &writer) }
            }
        }
        for prefix in self.page.commonPrefixes {
            writer.element("CommonPrefixes") { $0.element("Prefix", encoding(prefix.text)) }
        }
    }
}

/// The one owner of everything.
enum Owner {
    /// Writes the element that tells who owns something.
    static func write(to writer: inout XMLWriter) {
        writer.element("Owner") { writer in
            writer.element("ID", "0000000000000000")
            writer.element("DisplayName", "oss-local-server")
        }
    }
}
