// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// Tells the little about an object that needs no look at its header fields.
///
/// OSS document: GetObjectMeta.
struct GetObjectMeta: OperationHandler {
    static let name = "GetObjectMeta"
    static let access = Access.read

    private let object: StoredObject

    init(_ request: Request, _ service: Service) throws(ServiceError) {
        self.object = try ObjectLookup.existing(request, service)
    }

    func respond(to body: ReceivedBody) throws(ServiceError) -> Reply {
        let all = ObjectHeaders.reply(self.object)
        var headers: HTTPFields = [:]
        for name in ["ETag", "Last-Modified", "x-oss-hash-crc64ecma"] { headers[name] = all[name] }
        return Reply(headers: headers, body: .object(self.object, range: 0..<self.object.size))
    }
}

/// Tells who may use an object.
///
/// OSS document: GetObjectAcl.
struct GetObjectACL: OperationHandler {
    static let name = "GetObjectAcl"

    private let object: StoredObject

    init(_ request: Request, _ service: Service) throws(ServiceError) {
        self.object = try ObjectLookup.existing(request, service)
    }

    func respond(to body: ReceivedBody) throws(ServiceError) -> Reply {
        .document(AccessControlPolicy.document(self.object.acl))
    }
}

/// Changes who may use an object.
///
/// OSS document: PutObjectAcl.
struct PutObjectACL: OperationHandler {
    static let name = "PutObjectAcl"

    private let request: Request
    private let service: Service
    private let acl: AccessControl

    init(_ request: Request, _ service: Service) throws(ServiceError) {
        self.request = request
        self.service = service
        _ = try ObjectLookup.existing(request, service)
        self.acl = try AccessControlPolicy.ofObject(request) ?? .default
    }

    func respond(to body: ReceivedBody) throws(ServiceError) -> Reply {
        _ = try self.service.store.changeHeaders(ofObject: try self.request.key(), bucket: self.request.bucket) {
            $0["x-oss-object-acl"] = self.acl.rawValue
        }
        return Reply()
    }
}

/// Tells the tags of an object.
///
/// OSS document: GetObjectTagging.
struct GetObjectTagging: OperationHandler {
    static let name = "GetObjectTagging"

    private let object: StoredObject

    init(_ request: Request, _ service: Service) throws(ServiceError) {
        self.object = try ObjectLookup.existing(request, service)
    }

    func respond(to body: ReceivedBody) throws(ServiceError) -> Reply {
        let tags = self.object.headers["x-oss-tagging"].flatMap { [QueryItem](encoded: $0) } ?? []
        var writer = XMLWriter()
        writer.element("Tagging") { writer in
            writer.element("TagSet") { writer in
                for tag in tags {
                    writer.element("Tag") { writer in
                        writer.element("Key", tag.name)
                        writer.element("Value", tag.value ?? "")
                    }
                }
            }
        }
        return .document(writer)
    }
}

/// Gives an object its tags, in the place of those that it had.
///
/// OSS document: PutObjectTagging.
struct PutObjectTagging: OperationHandler {
    static let name = "PutObjectTagging"

    private let request: Request
    private let service: Service

    init(_ request: Request, _ service: Service) throws(ServiceError) {
        self.request = request
        self.service = service
        _ = try ObjectLookup.existing(request, service)
    }

    func planBody() throws(ServiceError) -> BodyPlan { .document(limit: 64 * 1024) }

    func respond(to body: ReceivedBody) throws(ServiceError) -> Reply {
        guard case .document(let document) = body else { throw ServiceError.malformedXML }
        var tags: [QueryItem] = []
        do throws(XMLError) {
            let root = try XMLElement.parse(document, root: "Tagging")
            for tag in root["TagSet"]?.all("Tag") ?? [] {
                tags.append(QueryItem(try tag.requiredString("Key"), tag.string("Value")))
            }
        } catch {
            throw ServiceError.malformedXML
        }
        let text = tags.encoded
        try ObjectHeaders.checkTags(text)
        _ = try self.service.store.changeHeaders(ofObject: try self.request.key(), bucket: self.request.bucket) {
            $0["x-oss-tagging"] = tags.isEmpty ? nil : text
        }
        return Reply()
    }
}

/// Takes an object's tags away.
///
/// OSS document: DeleteObjectTagging.
struct DeleteObjectTagging: OperationHandler {
    static let name = "DeleteObjectTagging"

    private let request: Request
    private let service: Service

    init(_ request: Request, _ service: Service) throws(ServiceError) {
        self.request = request
        self.service = service
        _ = try ObjectLookup.existing(request, service)
    }

    func respond(to body: ReceivedBody) throws(ServiceError) -> Reply {
        _ = try self.service.store.changeHeaders(ofObject: try self.request.key(), bucket: self.request.bucket) {
            $0["x-oss-tagging"] = nil
        }
        return Reply(status: 204)
    }
}
