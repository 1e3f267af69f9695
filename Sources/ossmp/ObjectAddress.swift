// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

/// `oss://BUCKET/KEY`; the key is taken as it stands, nothing in it is decoded.
struct ObjectAddress: CustomStringConvertible {
    let bucket: String
    let key: String

    /// Reads a bucket with or without a key.
    init(_ text: String) throws {
        guard text.hasPrefix("oss://") else {
            throw UsageError("\(text): an object is written oss://BUCKET/KEY")
        }
        let rest = text.dropFirst("oss://".count)
        let slash = rest.utf8.firstIndex(of: Self.slash)
        self.bucket = String(rest[..<(slash ?? rest.endIndex)])
        self.key = slash.map { String(rest[rest.utf8.index(after: $0)...]) } ?? ""
        guard !self.bucket.isEmpty else { throw UsageError("\(text): the bucket is missing; write oss://BUCKET/KEY") }
    }

    /// Reads a bucket with a key.
    init(object text: String) throws {
        try self.init(text)
        guard !self.key.isEmpty else { throw UsageError("\(text): the key is missing; write oss://BUCKET/KEY") }
    }

    /// The address of what a file becomes: a key that is empty or ends with a slash gets the file's name behind it.
    func completed(for path: String) throws -> ObjectAddress {
        guard self.key.isEmpty || self.key.utf8.last == Self.slash else { return self }
        guard path != "-" else { throw UsageError("standard input has no name; write the whole key") }
        return ObjectAddress(bucket: self.bucket, key: self.key + (Self.names(path).last { !$0.isEmpty } ?? ""))
    }

    private init(bucket: String, key: String) {
        self.bucket = bucket
        self.key = key
    }

    var description: String { "oss://\(self.bucket)/\(self.key)" }

    /// The key's last component; empty where it ends with a slash.
    var name: String { Self.names(self.key).last ?? "" }

    // Bytes, for a slash with an accent behind it is no slash to Swift, and one to everybody else.
    private static let slash = UInt8(ascii: "/")

    private static func names(_ path: String) -> [String] {
        path.utf8.split(separator: self.slash, omittingEmptySubsequences: false).map { String(Substring($0)) }
    }
}
