// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// Who may use a bucket or an object, beside the owner.
enum AccessControl: String, Sendable {
    case `private`
    case publicRead = "public-read"
    case publicReadWrite = "public-read-write"
    /// An object's only: as its bucket has it.
    case `default`

    /// Reads the value of a header or an element; nil where it is none that a bucket can have.
    static func ofBucket(_ text: String) -> AccessControl? {
        AccessControl(rawValue: text).flatMap { $0 == .default ? nil : $0 }
    }

    /// Whether everybody may read.
    var allowsReading: Bool { self == .publicRead || self == .publicReadWrite }
    /// Whether everybody may write.
    var allowsWriting: Bool { self == .publicReadWrite }
}

/// One bucket.
struct Bucket: Sendable {
    /// Its name.
    var name: String
    /// Its folder.
    var path: String
    /// When it was made.
    var created: Timestamp
    /// Who may use it.
    var acl = AccessControl.private
    /// What its objects are stored as where they do not say.
    var storageClass = "Standard"

    /// First line of a bucket's document.
    static let documentKind = "oss-local-server bucket 1"

    var objectsPath: String { self.path + "/objects" }
    var dataPath: String { self.path + "/data" }
    var temporaryPath: String { self.path + "/temporary" }

    /// The bucket's document.
    var document: StoreDocument {
        var document = StoreDocument(kind: Self.documentKind)
        document.add("created", String(self.created.milliseconds))
        document.add("acl", self.acl.rawValue)
        document.add("storage-class", self.storageClass)
        return document
    }

    /// Names a bucket.
    init(
        name: String, path: String, created: Timestamp, acl: AccessControl = .private, storageClass: String = "Standard"
    ) {
        self.name = name
        self.path = path
        self.created = created
        self.acl = acl
        self.storageClass = storageClass
    }

    /// Reads a bucket's document; nil where something is missing.
    init?(_ document: StoreDocument, name: String, path: String) {
        guard let created = document["created"].flatMap({ Int64($0) }) else { return nil }
        self.init(
            name: name, path: path, created: Timestamp(milliseconds: created),
            acl: document["acl"].flatMap(AccessControl.ofBucket) ?? .private,
            storageClass: document["storage-class"] ?? "Standard")
    }
}
