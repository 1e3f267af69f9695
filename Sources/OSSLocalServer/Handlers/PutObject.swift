// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// Stores an object that comes in one piece.
///
/// OSS document: PutObject.
struct PutObject: OperationHandler {
    static let name = "PutObject"
    static let access = Access.write

    private let request: Request
    private let service: Service
    private let headers: HTTPFields
    private let callback: Callback?

    init(_ request: Request, _ service: Service) throws(ServiceError) {
        self.request = request
        self.service = service
        _ = try service.store.bucket(request.bucket)
        self.headers = try ObjectHeaders.given(request)
        self.callback = try Callback(request, allowsRemote: service.configuration.allowsRemoteCallbacks)
        if let length = request.contentLength, length > Limits.maximumPartSize { throw ServiceError.entityTooLarge }
        if request.forbidsOverwrite, try service.store.object(bucket: request.bucket, key: try request.key()) != nil {
            throw ServiceError.fileAlreadyExists(ec: "0026-00000002")
        }
    }

    func planBody() throws(ServiceError) -> BodyPlan {
        .file(try self.service.store.receiveObject(bucket: self.request.bucket))
    }

    func respond(to body: ReceivedBody) throws(ServiceError) -> Reply {
        guard case .file(let file) = body else { throw ServiceError.internalError("no file") }
        let object = try self.service.store.storeObject(
            bucket: self.request.bucket, key: try self.request.key(), file: file, headers: self.headers,
            forbidsOverwrite: self.request.forbidsOverwrite, now: self.service.now())
        return CallbackPost.reply(
            self.callback, self.request, object, operation: Self.name,
            otherwise: Reply(
                headers: ObjectHeaders.stored(
                    eTag: object.eTag, crc64: object.crc64, given: object.headers)))
    }
}
