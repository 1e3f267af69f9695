// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// An object as it is stored; it never changes, a new one takes its place.
struct StoredObject: Sendable {
    /// How an object came about, as `x-oss-object-type` says it.
    enum Kind: String, Sendable {
        case normal = "Normal"
        case multipart = "Multipart"
        case appendable = "Appendable"
    }

    /// The object's key.
    var key: ObjectKey
    /// How it came about.
    var kind: Kind
    /// Size in bytes.
    var size: Int64
    /// Without quotes.
    var eTag: String
    /// CRC-64 of all bytes.
    var crc64: UInt64
    /// When it was stored.
    var modified: Timestamp
    /// The header fields given with it.
    var headers: HTTPFields
    /// Where its bytes are.
    var folder: DataFolder
    /// The files, in order.
    var parts: [StoredPart]
    /// The MD5 of all bytes, where it is known and the ETag is not it.
    var md5: [UInt8]?

    /// First line of an object's document.
    static let documentKind = "oss-local-server object 1"

    /// The object's document.
    var document: StoreDocument {
        var document = StoreDocument(kind: Self.documentKind)
        document.add("key", self.key.text)
        document.add("kind", self.kind.rawValue)
        document.add("size", String(self.size))
        document.add("etag", self.eTag)
        document.add("crc64", String(self.crc64))
        document.add("modified", String(self.modified.milliseconds))
        document.add(self.headers)
        if let md5 { document.add("md5", Hex.lower(md5)) }
        document.add("folder", self.folder.name)
        for part in self.parts { document.add("part", part.fileName) }
        return document
    }

    /// Makes an object of its bytes' parts.
    init(
        key: ObjectKey, kind: Kind, eTag: String, modified: Timestamp, headers: HTTPFields, folder: DataFolder,
        parts: [StoredPart], md5: [UInt8]? = nil
    ) {
        self.md5 = md5
        self.key = key
        self.kind = kind
        self.size = parts.reduce(0) { $0 + $1.size }
        self.eTag = eTag
        self.crc64 = parts.reduce(0) { CRC64.combine($0, $1.crc64, lengthOfSecond: $1.size) }
        self.modified = modified
        self.headers = headers
        self.folder = folder
        self.parts = parts
    }

    /// Reads an object's document; nil where something is missing.
    init?(_ document: StoreDocument, dataPath: String) {
        guard let key = document["key"], let kind = document["kind"].flatMap(Kind.init(rawValue:)),
            let size = document["size"].flatMap({ Int64($0) }), let eTag = document["etag"],
            let crc64 = document["crc64"].flatMap({ UInt64($0) }),
            let modified = document["modified"].flatMap({ Int64($0) }), let folder = document["folder"]
        else { return nil }
        let names = document.all("part")
        self.parts = names.compactMap { StoredPart(fileName: $0) }
        guard self.parts.count == names.count else { return nil }
        self.key = ObjectKey(key)
        self.kind = kind
        self.size = size
        self.eTag = eTag
        self.crc64 = crc64
        self.modified = Timestamp(milliseconds: modified)
        self.headers = document.headers
        self.md5 = document["md5"].flatMap { Hex.decode($0) }
        self.folder = DataFolder(name: folder, in: dataPath)
    }

    /// What it is stored as.
    var storageClass: String { self.headers["x-oss-storage-class"] ?? "Standard" }

    /// Who may use it.
    var acl: AccessControl { self.headers["x-oss-object-acl"].flatMap(AccessControl.init(rawValue:)) ?? .default }

    /// Whether it is the same object still, changed in nothing.
    func isSame(as other: StoredObject?) -> Bool {
        guard let other else { return false }
        return self.folder === other.folder && self.parts == other.parts && self.headers == other.headers
    }
}
