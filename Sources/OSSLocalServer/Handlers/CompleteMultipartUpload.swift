// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// Makes an object of an upload's parts.
///
/// OSS document: CompleteMultipartUpload.
struct CompleteMultipartUpload: OperationHandler {
    static let name = "CompleteMultipartUpload"
    static let access = Access.write

    /// Longest document taken: 10,000 parts with room to spare.
    ///
    /// *Source:* own choice. *Applies to:* the body.
    private static let documentLimit = 8 * 1024 * 1024

    private let request: Request
    private let service: Service
    private let encoding: EncodingType
    private let isCompleteAll: Bool
    private let upload: StoredUpload
    private let callback: Callback?

    init(_ request: Request, _ service: Service) throws(ServiceError) {
        self.request = request
        self.service = service
        self.encoding = try EncodingType(request)
        _ = try AccessControlPolicy.ofObject(request)
        self.callback = try Callback(request, allowsRemote: service.configuration.allowsRemoteCallbacks)
        switch request.headers["x-oss-complete-all"]?.loweredASCII {
        case nil: self.isCompleteAll = false
        case "yes": self.isCompleteAll = true
        case let other?:
            throw ServiceError.invalidArgument(
                "The x-oss-complete-all header must be yes.", name: "x-oss-complete-all", value: other)
        }
        self.upload = try service.store.upload(
            request.query.value(of: "uploadId") ?? "", bucket: request.bucket, key: try request.key(),
            ec: "0042-00000203")
    }

    func planBody() throws(ServiceError) -> BodyPlan { .document(limit: Self.documentLimit) }

    func respond(to body: ReceivedBody) throws(ServiceError) -> Reply {
        guard case .document(let document) = body else { throw ServiceError.malformedXML }
        let list = try self.list(document)
        let object = try self.service.store.completeUpload(
            self.upload, forbidsOverwrite: self.request.forbidsOverwrite,
            acl: self.request.headers["x-oss-object-acl"], now: self.service.now()
        ) { table throws(ServiceError) in try self.choose(list, from: table) }
        var writer = XMLWriter()
        writer.element("CompleteMultipartUploadResult") { writer in
            self.encoding.write(to: &writer)
            writer.element("Location", self.request.location)
            writer.element("Bucket", self.upload.bucket)
            writer.element("Key", self.encoding(self.upload.key.text))
            writer.element("ETag", "\"\(object.eTag)\"")
        }
        let headers = ObjectHeaders.stored(eTag: object.eTag, crc64: object.crc64, given: object.headers)
        return CallbackPost.reply(
            self.callback, self.request, object, operation: Self.name, otherwise: .document(writer, headers: headers))
    }

    /// The parts that the body names; nil where all are meant.
    private func list(_ document: [UInt8]) throws(ServiceError) -> [(number: Int, eTag: String)]? {
        if self.isCompleteAll {
            guard document.isEmpty else {
                throw ServiceError.invalidArgument(
                    "Should not speficy both complete all header and http body.", ec: "0042-00000216")
            }
            return nil
        }
        do throws(XMLError) {
            let root = try XMLElement.parse(document, root: "CompleteMultipartUpload")
            var list: [(number: Int, eTag: String)] = []
            for part in root.all("Part") {
                let number = try part.requiredInteger("PartNumber", as: Int.self)
                list.append((number, MultipartETag.unquoted(try part.requiredString("ETag")).uppercased()))
            }
            if !list.isEmpty { return list }
        } catch {
            throw ServiceError.malformedXML
        }
        throw ServiceError.malformedXML
    }

    private func choose(
        _ list: [(number: Int, eTag: String)]?, from table: PartTable
    ) throws(ServiceError) -> [StoredPart] {
        guard let list else {
            let all = table.sorted
            if all.isEmpty { throw self.invalidPart(1, "") }
            try self.checkSizes(all)
            return all
        }
        var chosen: [StoredPart] = []
        chosen.reserveCapacity(list.count)
        for (number, eTag) in list {
            if let last = chosen.last, number <= last.number {
                throw ServiceError(
                    400, "InvalidPartOrder", "The list of parts was not in ascending order.",
                    details: [("PartNumber", String(number)), ("UploadId", self.upload.id)])
            }
            guard let part = table.parts[number], part.eTag == eTag else { throw self.invalidPart(number, eTag) }
            chosen.append(part)
        }
        if self.upload.isSequential, let index = chosen.indices.first(where: { chosen[$0].number != $0 + 1 }) {
            throw ServiceError.partNotSequential(chosen[index].number)
        }
        try self.checkSizes(chosen)
        return chosen
    }

    private func invalidPart(_ number: Int, _ eTag: String) -> ServiceError {
        ServiceError(
            400, "InvalidPart",
            "One or more of the specified parts could not be found or the specified entity tag might not have matched the"
                + " part's entity tag.",
            details: [("PartNumber", String(number)), ("ETag", eTag), ("UploadId", self.upload.id)])
    }

    private func checkSizes(_ parts: [StoredPart]) throws(ServiceError) {
        let minimum = self.service.configuration.minimumPartSize
        guard let small = parts.dropLast().first(where: { $0.size < minimum }) else { return }
        throw ServiceError(
            400, "EntityTooSmall", "Your proposed upload smaller than the minimum allowed size.", ec: "0042-00000213",
            details: [
                ("MinSizeAllowed", String(minimum)), ("ProposedSize", String(small.size)),
                ("PartNumber", String(small.number)), ("ETag", small.eTag), ("UploadId", self.upload.id),
            ])
    }
}
