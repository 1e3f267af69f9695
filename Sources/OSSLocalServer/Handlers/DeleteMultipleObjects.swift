// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// Removes many objects.
///
/// OSS document: DeleteMultipleObjects.
struct DeleteMultipleObjects: OperationHandler {
    static let name = "DeleteMultipleObjects"

    /// Longest document taken.
    ///
    /// *Source:* OSS document DeleteMultipleObjects. *Applies to:* the body.
    private static let documentLimit = 2 * 1024 * 1024
    /// Most objects of one request.
    ///
    /// *Source:* OSS document DeleteMultipleObjects. *Applies to:* the body.
    private static let maximumObjects = 1000

    private let request: Request
    private let service: Service
    private let encoding: EncodingType

    init(_ request: Request, _ service: Service) throws(ServiceError) {
        self.request = request
        self.service = service
        self.encoding = try EncodingType(request)
        _ = try service.store.bucket(request.bucket)
    }

    func planBody() throws(ServiceError) -> BodyPlan { .document(limit: Self.documentLimit) }

    func respond(to body: ReceivedBody) throws(ServiceError) -> Reply {
        guard case .document(let document) = body else { throw ServiceError.malformedXML }
        var keys: [String] = []
        let isQuiet: Bool
        do throws(XMLError) {
            let root = try XMLElement.parse(document, root: "Delete")
            isQuiet = try root.boolean("Quiet") ?? false
            for object in root.all("Object") { keys.append(try object.requiredString("Key")) }
        } catch {
            throw ServiceError.malformedXML
        }
        guard (1...Self.maximumObjects).contains(keys.count) else { throw ServiceError.malformedXML }
        for key in keys {
            try self.service.store.deleteObject(bucket: self.request.bucket, key: ObjectKey(key))
        }
        if isQuiet { return Reply() }
        var writer = XMLWriter()
        writer.element("DeleteResult") { writer in
            self.encoding.write(to: &writer)
            for key in keys { writer.element("Deleted") { $0.element("Key", self.encoding(key)) } }
        }
        return .document(writer)
    }
}
