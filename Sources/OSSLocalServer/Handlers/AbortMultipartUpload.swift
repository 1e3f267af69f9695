// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// Ends an upload and removes its parts.
///
/// OSS document: AbortMultipartUpload.
struct AbortMultipartUpload: OperationHandler {
    static let name = "AbortMultipartUpload"
    static let access = Access.write

    private let request: Request
    private let service: Service

    init(_ request: Request, _ service: Service) throws(ServiceError) {
        self.request = request
        self.service = service
    }

    func respond(to body: ReceivedBody) throws(ServiceError) -> Reply {
        try self.service.store.abortUpload(
            self.request.query.value(of: "uploadId") ?? "", bucket: self.request.bucket, key: try self.request.key())
        return Reply(status: 204)
    }
}
