// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

/// The ETag that OSS gives to an object made of parts, while their ETags come in order.
///
/// The rule is not documented; every published pair of part ETags and object ETag follows it: the upper-case MD5 of
/// the parts' upper-case ETag texts, without quotes, one behind the other, then a hyphen and the number of parts.
package struct MultipartETag: ~Copyable {
    private var digest: MessageDigest
    /// ETags that are not in the digest yet: it costs more by the call than by the byte.
    private var text: [UInt8] = []
    private var count = 0

    /// Begins with no part.
    package init() throws(DigestError) { self.digest = try MessageDigest(.md5) }

    /// Takes the ETag of the next part, with or without quotes, of either case.
    package mutating func append(_ eTag: String) throws(DigestError) {
        self.count += 1
        self.text.append(utf8: Self.unquoted(eTag))
        if self.text.count > 4096 { try self.updateDigest() }
    }

    /// The object's ETag, without quotes; the last call.
    package consuming func finish() throws(DigestError) -> String {
        try self.updateDigest()
        let count = self.count
        return Hex.upper(try self.digest.finish()) + "-\(count)"
    }

    private mutating func updateDigest() throws(DigestError) {
        for index in self.text.indices { self.text[index] = self.text[index].raisedASCII }
        let text = self.text
        try self.digest.update(text.span)
        self.text = []
    }

    /// The object's ETag, without quotes, from all parts' ETags.
    package static func of(partETags: some Sequence<String>) throws(DigestError) -> String {
        var whole = try MultipartETag()
        for eTag in partETags { try whole.append(eTag) }
        return try whole.finish()
    }

    /// An ETag without the quotes that headers and documents put around it, and without blanks and line breaks around those.
    package static func unquoted(_ eTag: String) -> String {
        eTag.withUTF8Bytes { bytes in
            let quote = UInt8(ascii: "\"")
            var start = 0, end = bytes.count
            while start < end, bytes[start].isXMLBlank { start += 1 }
            while end > start, bytes[end - 1].isXMLBlank { end -= 1 }
            if end - start >= 2, bytes[start] == quote, bytes[end - 1] == quote { (start, end) = (start + 1, end - 1) }
            return end - start == bytes.count ? eTag : String(utf8: bytes.extracting(start..<end))
        }
    }
}

extension UInt8 {
    /// Whether it is what XML takes for white space.
    fileprivate var isXMLBlank: Bool { self.isBlank || self == 0x0A || self == 0x0D }

    /// The byte, with a to z raised.
    fileprivate var raisedASCII: UInt8 { self &- UInt8(ascii: "a") < 26 ? self & ~0x20 : self }
}
