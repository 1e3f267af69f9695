// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// The parts of an open upload.
struct PartTable: Sendable {
    /// The parts by number.
    var parts: [Int: StoredPart] = [:]
    /// Grows with each change of the parts.
    var generation = 0

    /// The parts in order of their numbers.
    var sorted: [StoredPart] { self.parts.values.sorted { $0.number < $1.number } }
}

/// An upload that is neither completed nor aborted; its parts are in a table of their own.
struct StoredUpload: Sendable {
    /// 32 upper-case hexadecimal digits.
    var id: String
    /// The bucket's name.
    var bucket: String
    /// The key of the object to be.
    var key: ObjectKey
    /// When it was begun.
    var initiated: Timestamp
    /// The header fields that the object will have.
    var headers: HTTPFields
    /// Whether parts have to come in order.
    var isSequential: Bool
    /// Where its parts are.
    var folder: DataFolder

    /// First line of an upload's document.
    static let documentKind = "oss-local-server upload 1"
    /// The name of an upload's document in its folder; a folder without one is no open upload.
    static let documentName = "upload"

    /// The upload's document; its parts are not in it, their files tell all.
    var document: StoreDocument {
        var document = StoreDocument(kind: Self.documentKind)
        document.add("key", self.key.text)
        document.add("initiated", String(self.initiated.milliseconds))
        document.add("sequential", String(self.isSequential))
        document.add(self.headers)
        return document
    }

    /// Begins an upload.
    init(
        id: String, bucket: String, key: ObjectKey, initiated: Timestamp, headers: HTTPFields, isSequential: Bool,
        folder: DataFolder
    ) {
        self.id = id
        self.bucket = bucket
        self.key = key
        self.initiated = initiated
        self.headers = headers
        self.isSequential = isSequential
        self.folder = folder
    }

    /// Reads an upload's document; nil where something is missing.
    init?(_ document: StoreDocument, bucket: String, folder: DataFolder) {
        guard let key = document["key"], let initiated = document["initiated"].flatMap({ Int64($0) }) else {
            return nil
        }
        self.init(
            id: folder.name, bucket: bucket, key: ObjectKey(key), initiated: Timestamp(milliseconds: initiated),
            headers: document.headers, isSequential: document["sequential"] == "true", folder: folder
        )
    }
}
