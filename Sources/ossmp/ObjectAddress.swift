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
        let halves = rest.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        self.bucket = String(halves[0])
        self.key = halves.count > 1 ? String(halves[1]) : ""
        guard !self.bucket.isEmpty else { throw UsageError("\(text): the bucket is missing; write oss://BUCKET/KEY") }
    }

    /// Reads a bucket with a key.
    init(object text: String) throws {
        try self.init(text)
        guard !self.key.isEmpty else { throw UsageError("\(text): the key is missing; write oss://BUCKET/KEY") }
    }

    /// The address of what a file becomes: a key that is empty or ends with a slash gets the file's name behind it.
    func completed(for path: String) throws -> ObjectAddress {
        guard self.key.isEmpty || self.key.hasSuffix("/") else { return self }
        guard path != "-" else { throw UsageError("standard input has no name; write the whole key") }
        return ObjectAddress(bucket: self.bucket, key: self.key + (path.split(separator: "/").last ?? ""))
    }

    private init(bucket: String, key: String) {
        self.bucket = bucket
        self.key = key
    }

    var description: String { "oss://\(self.bucket)/\(self.key)" }

    /// The key's last component; empty where it ends with a slash.
    var name: String { self.key.split(separator: "/", omittingEmptySubsequences: false).last.map { String($0) } ?? "" }
}
