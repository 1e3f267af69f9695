// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// The header fields that an object is given and gives back.
enum ObjectHeaders {
    private static let standard = [
        "Cache-Control", "Content-Disposition", "Content-Encoding", "Content-Language", "Content-Type", "Expires",
    ]
    private static let encryption = [
        "x-oss-server-side-data-encryption", "x-oss-server-side-encryption", "x-oss-server-side-encryption-key-id",
    ]
    private static let service =
        ["x-oss-object-acl", "x-oss-storage-class", "x-oss-tagging"] + ObjectHeaders.encryption
    /// What a copy never takes from its source.
    static let ownFields = ObjectHeaders.service.filter { $0 != "x-oss-tagging" }
    private static let storageClasses: Set<String> = ["Standard", "IA", "Archive", "ColdArchive", "DeepColdArchive"]
    private static let encryptions: Set<String> = ["AES256", "KMS", "SM4"]
    private static let metaPrefix = "x-oss-meta-"
    /// Most user metadata.
    ///
    /// *Source:* OSS document PutObject. *Applies to:* names and values of `x-oss-meta-*` together, in bytes.
    private static let maximumMetaSize = 8 * 1024
    /// Most tags of an object.
    ///
    /// *Source:* OSS document Object tagging. *Applies to:* `x-oss-tagging`.
    private static let maximumTags = 10

    /// Whether the object keeps a field of that name.
    static func isGiven(_ name: String) -> Bool {
        name.loweredASCII.hasPrefix(self.metaPrefix)
            || (self.standard + self.service).contains { $0.equalsIgnoringASCIICase(name) }
    }

    /// The fields of a request that the object keeps.
    static func given(_ request: Request) throws(ServiceError) -> HTTPFields {
        var kept: HTTPFields = [:]
        for name in self.standard + self.service { kept[name] = request.headers[name] }
        var metaSize = 0
        for field in request.headers.all where field.name.loweredASCII.hasPrefix(self.metaPrefix) {
            kept[field.name.loweredASCII] = field.value
            metaSize += field.name.utf8.count - self.metaPrefix.utf8.count + field.value.utf8.count
        }
        guard metaSize <= self.maximumMetaSize else {
            throw ServiceError(
                400, "MetadataTooLarge", "Your metadata headers exceed the maximum allowed metadata size.")
        }
        if let value = kept["x-oss-storage-class"], !self.storageClasses.contains(value) {
            throw ServiceError.invalidArgument(
                "The storage class you specified is invalid.", name: "x-oss-storage-class", value: value)
        }
        if let value = kept["x-oss-server-side-encryption"], !self.encryptions.contains(value) {
            throw ServiceError(
                400, "InvalidEncryptionAlgorithmError", "The Encryption request you specified is not valid.")
        }
        if let value = kept["x-oss-tagging"] { try self.checkTags(value) }
        _ = try AccessControlPolicy.ofObject(request)
        return kept
    }

    /// Refuses tags that no object can have.
    static func checkTags(_ value: String) throws(ServiceError) {
        guard let tags = [QueryItem](encoded: value), tags.count <= self.maximumTags,
            Set(tags.map(\.name)).count == tags.count, tags.allSatisfy({ !$0.name.isEmpty })
        else { throw ServiceError(400, "InvalidTag", "The tagging you specified is invalid.") }
    }

    /// The fields of a reply that tell about an object.
    static func reply(_ object: StoredObject) -> HTTPFields {
        var headers: HTTPFields = [:]
        for field in object.headers.all where field.name != "x-oss-tagging" && field.name != "x-oss-object-acl" {
            headers.append(name: field.name, value: field.value)
        }
        if headers["Content-Type"] == nil { headers["Content-Type"] = "application/octet-stream" }
        headers["x-oss-storage-class"] = object.storageClass
        if let tags = object.headers["x-oss-tagging"].flatMap({ [QueryItem](encoded: $0) }) {
            headers["x-oss-tagging-count"] = String(tags.count)
        }
        headers["ETag"] = "\"\(object.eTag)\""
        headers["Last-Modified"] = object.modified.httpDate
        headers["Accept-Ranges"] = "bytes"
        headers["x-oss-object-type"] = object.kind.rawValue
        headers["x-oss-hash-crc64ecma"] = String(object.crc64)
        if let md5 = object.md5 ?? (object.kind == .normal ? Hex.decode(object.eTag) : nil) {
            headers["Content-MD5"] = Base64.encode(md5)
        }
        if object.kind == .appendable { headers["x-oss-next-append-position"] = String(object.size) }
        return headers
    }

    /// The fields of a reply to what was stored.
    ///
    /// - Parameter given: the fields that the object has or will have; what it is encrypted with is told.
    static func stored(eTag: String, crc64: UInt64, given: HTTPFields) -> HTTPFields {
        var headers: HTTPFields = ["ETag": "\"\(eTag)\"", "x-oss-hash-crc64ecma": String(crc64)]
        if let md5 = Hex.decode(eTag) { headers["Content-MD5"] = Base64.encode(md5) }
        for name in self.encryption { headers[name] = given[name] }
        return headers
    }
}
