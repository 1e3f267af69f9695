// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// Lists the parts of an upload.
///
/// OSS document: ListParts.
struct ListParts: OperationHandler {
    static let name = "ListParts"
    static let access = Access.write

    private let service: Service
    private let upload: StoredUpload
    private let encoding: EncodingType
    private let maximum: Int
    private let marker: Int

    init(_ request: Request, _ service: Service) throws(ServiceError) {
        self.service = service
        self.encoding = try EncodingType(request)
        self.maximum = try request.number("max-parts", in: 1...Limits.maximumPageSize) ?? Limits.maximumPageSize
        self.marker = try request.number("part-number-marker", in: 0...Int(Int32.max)) ?? 0
        self.upload = try service.store.upload(
            request.query.value(of: "uploadId") ?? "", bucket: request.bucket, key: try request.key())
    }

    func respond(to body: ReceivedBody) throws(ServiceError) -> Reply {
        let all = try self.service.store.parts(of: self.upload).sorted
        let rest = all.drop { $0.number <= self.marker }
        let page = rest.prefix(self.maximum)
        var writer = XMLWriter()
        writer.element("ListPartsResult") { writer in
            self.encoding.write(to: &writer)
            writer.element("Bucket", self.upload.bucket)
            writer.element("Key", self.encoding(self.upload.key.text))
            writer.element("UploadId", self.upload.id)
            writer.element("StorageClass", self.upload.headers["x-oss-storage-class"] ?? "Standard")
            writer.element("PartNumberMarker", self.marker)
            writer.element("NextPartNumberMarker", page.last?.number ?? self.marker)
            writer.element("MaxParts", self.maximum)
            writer.element("IsTruncated", String(page.count < rest.count))
            for part in page {
                writer.element("Part") { writer in
                    writer.element("PartNumber", part.number)
                    writer.element("LastModified", part.modified.inDocuments)
                    writer.element("ETag", "\"\(part.eTag)\"")
                    writer.element("HashCrc64ecma", part.crc64)
                    writer.element("Size", part.size)
                }
            }
        }
        return .document(writer)
    }
}
