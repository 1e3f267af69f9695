// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// Tells about an object.
///
/// OSS document: HeadObject.
struct HeadObject: OperationHandler {
    static let name = "HeadObject"
    static let access = Access.read

    private let request: Request
    private let object: StoredObject

    init(_ request: Request, _ service: Service) throws(ServiceError) {
        self.request = request
        self.object = try ObjectLookup.object(request, service)
    }

    func respond(to body: ReceivedBody) throws(ServiceError) -> Reply {
        let headers = ObjectHeaders.reply(self.object)
        if ObjectLookup.isUnmodified(self.request, self.object) { return Reply(status: 304, headers: headers) }
        return Reply(headers: headers, body: .object(self.object, range: 0..<self.object.size))
    }
}
