// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

/// `oss://BUCKET/KEY`; the key is taken as it stands, nothing in it is decoded.
struct ObjectAddress {
    let bucket: String
    let key: String

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
}
