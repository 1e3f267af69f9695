// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// Stores an object that comes in an HTML form.
///
/// OSS document: PostObject.
struct PostObject: OperationHandler {
    static let name = "PostObject"
    static let access = Access.write
    static let isSignedInBody = true

    private let service: Service
    private let form: PostForm

    init(_ request: Request, _ service: Service) throws(ServiceError) {
        self.service = service
        _ = try service.store.bucket(request.bucket)
        self.form = try PostForm(request, service)
    }

    func planBody() throws(ServiceError) -> BodyPlan { .form(self.form) }

    func respond(to body: ReceivedBody) throws(ServiceError) -> Reply {
        guard case .form(let form) = body, let order = form.order else { throw ServiceError.internalError("no form") }
        let object = try self.service.store.storeObject(
            bucket: order.request.bucket, key: try order.request.key(), file: order.file, headers: order.headers,
            forbidsOverwrite: order.request.forbidsOverwrite, now: self.service.now())
        return CallbackPost.reply(
            order.callback, order.request, object, operation: Self.name, otherwise: self.reply(object, order))
    }

    /// The reply without a callback: where the form wants it to lead, or with the status that it names.
    private func reply(_ object: StoredObject, _ order: PostForm.Order) -> Reply {
        var headers = ObjectHeaders.stored(eTag: object.eTag, crc64: object.crc64, given: object.headers)
        if let target = self.form.fields["success_action_redirect"], Self.canLead(target) {
            headers["Location"] = target
            return Reply(status: 303, headers: headers)
        }
        switch self.form.fields["success_action_status"] {
        case "200": return Reply(headers: headers)
        case "201":
            var writer = XMLWriter()
            writer.element("PostResponse") { writer in
                writer.element("Bucket", order.request.bucket)
                writer.element("Location", order.request.location)
                writer.element("Key", object.key.text)
                writer.element("ETag", "\"\(object.eTag)\"")
            }
            // The digest of the object, not of the document that tells of it.
            headers["Content-MD5"] = nil
            var reply = Reply.document(writer, headers: headers)
            reply.status = 201
            return reply
        // Any other value counts as none.
        default: return Reply(status: 204, headers: headers)
        }
    }

    /// Whether a client can be sent to a URL: what is none is passed over.
    private static func canLead(_ target: String) -> Bool {
        ["http://", "https://"].contains { target.loweredASCII.hasPrefix($0) }
            && target.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    }
}
