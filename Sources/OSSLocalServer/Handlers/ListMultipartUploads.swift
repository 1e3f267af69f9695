// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// Lists the open uploads of a bucket.
///
/// OSS document: ListMultipartUploads.
struct ListMultipartUploads: OperationHandler {
    static let name = "ListMultipartUploads"

    private let request: Request
    private let service: Service
    private let encoding: EncodingType
    private let maximum: Int
    private let prefix: String
    private let delimiter: String
    private let keyMarker: String
    private let idMarker: String

    init(_ request: Request, _ service: Service) throws(ServiceError) {
        self.request = request
        self.service = service
        self.encoding = try EncodingType(request)
        self.maximum = try request.number("max-uploads", in: 1...Limits.maximumPageSize) ?? Limits.maximumPageSize
        self.prefix = request.query.value(of: "prefix") ?? ""
        self.delimiter = request.query.value(of: "delimiter") ?? ""
        self.keyMarker = request.query.value(of: "key-marker") ?? ""
        self.idMarker = self.keyMarker.isEmpty ? "" : request.query.value(of: "upload-id-marker") ?? ""
        _ = try service.store.bucket(request.bucket)
    }

    func respond(to body: ReceivedBody) throws(ServiceError) -> Reply {
        let uploads = try self.service.store.uploads(bucket: self.request.bucket)
        let page = ListingPage(
            uploads, prefix: self.prefix, delimiter: self.delimiter, marker: self.keyMarker, limit: self.maximum,
            key: \.key, isBehindMarker: { !self.idMarker.isEmpty && $0.id > self.idMarker })
        var writer = XMLWriter()
        writer.element("ListMultipartUploadsResult") { writer in
            self.encoding.write(to: &writer)
            writer.element("Bucket", self.request.bucket)
            writer.element("KeyMarker", self.encoding(self.keyMarker))
            writer.element("UploadIdMarker", self.idMarker)
            writer.element("NextKeyMarker", page.isTruncated ? self.encoding(page.lastName) : "")
            writer.element("NextUploadIdMarker", page.isTruncated ? page.lastItem?.id ?? "" : "")
            writer.element("Delimiter", self.encoding(self.delimiter))
            writer.element("Prefix", self.encoding(self.prefix))
            writer.element("MaxUploads", self.maximum)
            writer.element("IsTruncated", String(page.isTruncated))
            for upload in page.items {
                writer.element("Upload") { writer in
                    writer.element("Key", self.encoding(upload.key.text))
                    writer.element("UploadId", upload.id)
                    writer.element("StorageClass", upload.headers["x-oss-storage-class"] ?? "Standard")
                    writer.element("Initiated", upload.initiated.inDocuments)
                }
            }
            for prefix in page.commonPrefixes {
                writer.element("CommonPrefixes") { $0.element("Prefix", self.encoding(prefix.text)) }
            }
        }
        return .document(writer)
    }
}
