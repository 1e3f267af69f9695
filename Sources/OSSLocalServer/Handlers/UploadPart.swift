// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// Stores a part.
///
/// OSS document: UploadPart.
struct UploadPart: OperationHandler {
    static let name = "UploadPart"
    static let access = Access.write

    private let service: Service
    private let upload: StoredUpload
    private let number: Int

    init(_ request: Request, _ service: Service) throws(ServiceError) {
        self.service = service
        self.number = try Self.partNumber(request)
        guard let id = request.query.value(of: "uploadId") else {
            throw ServiceError.invalidArgument("Unexpected query string parameter", ec: "0017-00000219")
        }
        if let value = request.headers["x-oss-server-side-encryption"] {
            throw ServiceError.invalidArgument(
                "x-oss-server-side-encryption header is not supported for this operation.",
                name: "x-oss-server-side-encryption", value: value)
        }
        if let length = request.contentLength, length > Limits.maximumPartSize { throw ServiceError.entityTooLarge }
        self.upload = try service.store.upload(
            id, bucket: request.bucket, key: try request.key(), ec: "0017-00000244")
    }

    /// The parameter `partNumber`.
    static func partNumber(_ request: Request) throws(ServiceError) -> Int {
        guard let text = request.query.value(of: "partNumber") else {
            throw ServiceError.invalidArgument("Unexpected query string parameter", ec: "0017-00000219")
        }
        guard let number = Int(text), (1...Limits.maximumPartNumber).contains(number) else {
            throw ServiceError.invalidArgument(
                "Part number must be an integer between 1 and 10000, inclusive.", name: "PartNumber", value: text,
                ec: "0017-00000220")
        }
        return number
    }

    func planBody() throws(ServiceError) -> BodyPlan { .file(try self.service.store.receivePart(of: self.upload)) }

    func respond(to body: ReceivedBody) throws(ServiceError) -> Reply {
        guard case .file(let file) = body else { throw ServiceError.internalError("no file") }
        let part = try self.service.store.storePart(
            self.number, upload: self.upload, file: file, now: self.service.now())
        return Reply(headers: ObjectHeaders.stored(eTag: part.eTag, crc64: part.crc64, given: self.upload.headers))
    }
}
