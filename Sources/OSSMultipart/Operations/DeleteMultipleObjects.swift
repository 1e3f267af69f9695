// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// What DeleteMultipleObjects needs.
public struct DeleteMultipleObjectsRequest: Sendable {
    /// The bucket's name.
    public var bucket: String
    /// The objects to remove: 1 to 1000.
    public var objects: [Object]
    /// Whether the service leaves out what it removed; the result then lists nothing.
    ///
    /// Default: false.
    public var isQuiet = false

    /// An object to remove.
    public struct Object: Sendable, Hashable {
        /// Its key.
        public var key: String
        /// The version to remove for good; nil removes the object.
        public var versionID: String?

        /// Makes an entry.
        public init(key: String, versionID: String? = nil) {
            self.key = key
            self.versionID = versionID
        }
    }

    /// Makes a request.
    public init(bucket: String, objects: [Object]) {
        self.bucket = bucket
        self.objects = objects
    }

    /// Makes a request for the newest versions of these keys.
    public init(bucket: String, keys: [String]) {
        self.init(bucket: bucket, objects: keys.map { Object(key: $0) })
    }
}

/// What DeleteMultipleObjects returns.
public struct DeleteMultipleObjectsResult: Sendable, Hashable {
    /// What was removed; empty where the request was quiet.
    public let deleted: [Deleted]
    /// The service's ID of the request.
    public let requestID: String?

    /// An object that was removed.
    public struct Deleted: Sendable, Hashable {
        /// Its key.
        public let key: String
        /// The version that was removed, where one was named.
        public let versionID: String?
        /// The deletion mark that was set or removed, in a bucket with versioning.
        public let deleteMarkerVersionID: String?
    }
}

extension OSSClient {
    /// Removes up to 1000 objects with one request.
    ///
    /// Objects that are not there count as removed.
    ///
    /// - Throws: `OSSError` with `invalidArgument` before anything is sent, also for a key with characters that the request's
    ///   document cannot hold (`deleteObject` removes such); `service`, `connection`, `timeout` or `malformedReply` after.
    ///   `CancellationError` where the task is cancelled; objects may then have been removed.
    ///
    /// OSS document: DeleteMultipleObjects.
    public func deleteMultipleObjects(
        _ request: DeleteMultipleObjectsRequest
    ) async throws -> DeleteMultipleObjectsResult {
        let operation = OSSError.Operation.deleteMultipleObjects
        try Self.validate(request, operation)
        var call = ServiceRequest(operation: operation, method: "POST", bucket: request.bucket, key: nil)
        call.query = [QueryItem("delete"), QueryItem("encoding-type", "url")]
        call.headers["Content-Type"] = "application/xml"
        var writer = XMLWriter()
        writer.element("Delete") { writer in
            writer.element("Quiet", String(request.isQuiet))
            for object in request.objects {
                writer.element("Object") { writer in
                    writer.element("Key", object.key)
                    if let versionID = object.versionID { writer.element("VersionId", versionID) }
                }
            }
        }
        call.body = .bytes(writer.bytes)
        // The service refuses the document without its digest.
        call.integrity = .md5
        return try await self.perform(call) { (reply) throws(OSSError) in
            if request.isQuiet, reply.body.isEmpty {
                return DeleteMultipleObjectsResult(deleted: [], requestID: reply.requestID)
            }
            let root = try Document.read(reply, root: "DeleteResult", operation)
            let encoding = root.string("EncodingType")
            var deleted: [DeleteMultipleObjectsResult.Deleted] = []
            for element in root.all("Deleted") {
                let key = try Document.value(operation) { () throws(XMLError) in try element.requiredString("Key") }
                deleted.append(
                    .init(
                        key: try Document.decoded(key, encodingType: encoding, operation),
                        versionID: element.string("VersionId"),
                        deleteMarkerVersionID: element.string("DeleteMarkerVersionId")
                    )
                )
            }
            return DeleteMultipleObjectsResult(deleted: deleted, requestID: reply.requestID)
        }
    }

    private static func validate(
        _ request: DeleteMultipleObjectsRequest, _ operation: OSSError.Operation
    ) throws(OSSError) {
        try ObjectName.validate(bucket: request.bucket, operation: operation)
        guard (1...Limits.maximumPageSize).contains(request.objects.count) else {
            throw OSSError(
                .invalidArgument, "there are \(request.objects.count) objects to remove; one request takes 1 to 1000",
                operation: operation
            )
        }
        for object in request.objects {
            try ObjectName.validate(bucket: request.bucket, key: object.key, operation: operation)
            // Another character in its place could name another object.
            guard object.key.unicodeScalars.allSatisfy(XMLWriter.canHold) else {
                throw OSSError(
                    .invalidArgument,
                    "the object key \"\(object.key.prefix(64))\" holds a character that no XML document can; remove it with "
                        + "deleteObject",
                    operation: operation
                )
            }
        }
    }
}
