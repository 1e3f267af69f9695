// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// An object's key, compared by its bytes.
///
/// Swift's texts are equal where Unicode calls them equivalent; keys are not.
struct ObjectKey: Hashable, Comparable, Sendable {
    /// The key's UTF-8.
    let bytes: [UInt8]

    /// Takes a key as it is.
    init(_ text: String) { self.bytes = Array(text.utf8) }

    /// The key as text.
    var text: String { String(decoding: self.bytes, as: UTF8.self) }

    static func < (left: Self, right: Self) -> Bool { left.bytes.lexicographicallyPrecedes(right.bytes) }

    /// Whether the key begins with these bytes.
    func hasPrefix(_ prefix: ObjectKey) -> Bool { self.bytes.starts(with: prefix.bytes) }

    /// The name of the key's document: no key is ever a file's name.
    func documentName() throws(DigestError) -> String { Hex.lower(try MessageDigest.of(self.bytes, .sha256)) }
}
