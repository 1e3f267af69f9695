// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// Appends to an object, or begins one that can be appended to.
///
/// OSS document: AppendObject.
struct AppendObject: OperationHandler {
    static let name = "AppendObject"
    static let access = Access.write

    private let request: Request
    private let service: Service
    private let position: Int64
    private let headers: HTTPFields

    init(_ request: Request, _ service: Service) throws(ServiceError) {
        self.request = request
        self.service = service
        self.headers = try ObjectHeaders.given(request)
        let text = request.query.value(of: "position") ?? ""
        guard let position = Int64(text), position >= 0 else {
            throw ServiceError.invalidArgument(
                "The position must be a number that is not negative.", name: "position", value: text)
        }
        self.position = position
        try self.check(try service.store.object(bucket: request.bucket, key: try request.key()))
    }

    func planBody() throws(ServiceError) -> BodyPlan {
        .file(try self.service.store.receiveAppendix(bucket: self.request.bucket, key: try self.request.key()))
    }

    func respond(to body: ReceivedBody) throws(ServiceError) -> Reply {
        guard case .file(let file) = body else { throw ServiceError.internalError("no file") }
        let object = try self.service.store.appendObject(
            bucket: self.request.bucket, key: try self.request.key(), file: file, headers: self.headers,
            now: self.service.now(), check: self.check)
        return Reply(headers: [
            "ETag": "\"\(object.eTag)\"", "x-oss-hash-crc64ecma": String(object.crc64),
            "x-oss-next-append-position": String(object.size),
        ])
    }

    private func check(_ object: StoredObject?) throws(ServiceError) {
        if let object, object.kind != .appendable {
            throw ServiceError(409, "ObjectNotAppendable", "The object is not appendable.")
        }
        let length = object?.size ?? 0
        guard self.position == length else { throw ServiceError.positionNotEqualToLength(length) }
    }
}
