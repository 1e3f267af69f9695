// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// Removes an object.
///
/// OSS document: DeleteObject.
struct DeleteObject: OperationHandler {
    static let name = "DeleteObject"
    static let access = Access.write

    private let request: Request
    private let service: Service

    init(_ request: Request, _ service: Service) throws(ServiceError) {
        self.request = request
        self.service = service
    }

    func respond(to body: ReceivedBody) throws(ServiceError) -> Reply {
        try self.service.store.deleteObject(bucket: self.request.bucket, key: try self.request.key())
        return Reply(status: 204)
    }
}
