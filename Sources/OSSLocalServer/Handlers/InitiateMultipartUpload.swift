// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// Begins an upload.
///
/// OSS document: InitiateMultipartUpload.
struct InitiateMultipartUpload: OperationHandler {
    static let name = "InitiateMultipartUpload"
    static let access = Access.write

    private let request: Request
    private let service: Service
    private let encoding: EncodingType
    private let headers: HTTPFields

    init(_ request: Request, _ service: Service) throws(ServiceError) {
        self.request = request
        self.service = service
        self.encoding = try EncodingType(request)
        _ = try service.store.bucket(request.bucket)
        self.headers = try ObjectHeaders.given(request)
    }

    func respond(to body: ReceivedBody) throws(ServiceError) -> Reply {
        let key = try self.request.key()
        if self.request.forbidsOverwrite, try self.service.store.object(bucket: self.request.bucket, key: key) != nil {
            // The document allows the header here and at Complete: each looks at its own moment.
            throw ServiceError.fileAlreadyExists()
        }
        let upload = try self.service.store.initiateUpload(
            bucket: self.request.bucket, key: key, headers: self.headers,
            isSequential: self.request.has("sequential"), now: self.service.now())
        var writer = XMLWriter()
        writer.element("InitiateMultipartUploadResult") { writer in
            self.encoding.write(to: &writer)
            writer.element("Bucket", upload.bucket)
            writer.element("Key", self.encoding(key.text))
            writer.element("UploadId", upload.id)
        }
        return .document(writer)
    }
}
