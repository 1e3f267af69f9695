// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// Makes an object of another one.
///
/// OSS document: CopyObject.
struct CopyObject: OperationHandler {
    static let name = "CopyObject"

    private let request: Request
    private let service: Service
    private let source: CopySource
    private let headers: HTTPFields

    init(_ request: Request, _ service: Service) throws(ServiceError) {
        self.request = request
        self.service = service
        _ = try service.store.bucket(request.bucket)
        self.source = try CopySource(request, service)
        let given = try ObjectHeaders.given(request)
        var headers: HTTPFields
        if try Self.replaces(request, "x-oss-metadata-directive") {
            headers = given
        } else {
            headers = self.source.object.headers
            for name in ObjectHeaders.ownFields { headers[name] = given[name] }
        }
        let tags = try Self.replaces(request, "x-oss-tagging-directive") ? given : self.source.object.headers
        headers["x-oss-tagging"] = tags["x-oss-tagging"]
        self.headers = headers
    }

    func respond(to body: ReceivedBody) throws(ServiceError) -> Reply {
        let object = try self.service.store.copyObject(
            self.source.object, bucket: self.request.bucket, key: try self.request.key(), headers: self.headers,
            forbidsOverwrite: self.request.forbidsOverwrite, now: self.service.now())
        var writer = XMLWriter()
        writer.element("CopyObjectResult") { writer in
            writer.element("LastModified", object.modified.inDocuments)
            writer.element("ETag", "\"\(object.eTag)\"")
        }
        var headers = ObjectHeaders.stored(eTag: object.eTag, crc64: object.crc64, given: object.headers)
        // The digest of the object, not of the document that tells of it.
        headers["Content-MD5"] = nil
        return .document(writer, headers: headers)
    }

    /// Whether a directive wants the request's own values and not the source's.
    private static func replaces(_ request: Request, _ name: String) throws(ServiceError) -> Bool {
        switch request.headers[name]?.loweredASCII {
        case nil, "copy": return false
        case "replace": return true
        case let other?:
            throw ServiceError.invalidArgument("Unknown \(name).", name: name, value: other)
        }
    }
}

/// Makes a part of an object, or of a region of it.
///
/// OSS document: UploadPartCopy.
struct UploadPartCopy: OperationHandler {
    static let name = "UploadPartCopy"

    private let service: Service
    private let number: Int
    private let upload: StoredUpload
    private let source: CopySource
    private let range: Range<Int64>
    private let hasRange: Bool

    init(_ request: Request, _ service: Service) throws(ServiceError) {
        self.service = service
        self.number = try UploadPart.partNumber(request)
        self.upload = try service.store.upload(
            request.query.value(of: "uploadId") ?? "", bucket: request.bucket, key: try request.key(),
            ec: "0017-00000244")
        self.source = try CopySource(request, service)
        let size = self.source.object.size
        // A range that cannot be read, or that the source has not, copies everything.
        let range = request.headers["x-oss-copy-source-range"].flatMap {
            ByteRange.parse($0, size: size, isStandard: false)
        }
        self.range = range ?? 0..<size
        self.hasRange = range != nil
        if Int64(self.range.count) > Limits.maximumPartSize { throw ServiceError.entityTooLarge }
        if self.source.object.kind == .appendable {
            throw ServiceError(
                400, "OperationNotSupported", "The operation is not supported for objects that are appended to.")
        }
    }

    func respond(to body: ReceivedBody) throws(ServiceError) -> Reply {
        let file = try self.service.store.receivePart(of: self.upload)
        try ObjectReader.read(self.source.object, range: self.range) { bytes throws(ServiceError) in
            try file.write(bytes)
        }
        let part = try self.service.store.storePart(
            self.number, upload: self.upload, file: file, now: self.service.now())
        var writer = XMLWriter()
        writer.element("CopyPartResult") { writer in
            writer.element("LastModified", part.modified.inDocuments)
            writer.element("ETag", "\"\(part.eTag)\"")
        }
        var headers = ObjectHeaders.stored(eTag: part.eTag, crc64: part.crc64, given: self.upload.headers)
        // The digest of the part, not of the document that tells of it.
        headers["Content-MD5"] = nil
        if self.hasRange {
            headers["Content-Range"] =
                "bytes \(self.range.lowerBound)-\(self.range.upperBound - 1)/\(self.source.object.size)"
        }
        return .document(writer, headers: headers)
    }
}
