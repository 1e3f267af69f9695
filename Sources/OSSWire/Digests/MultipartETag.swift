// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

/// The ETag that OSS gives to an object made of parts.
///
/// The rule is not documented; every published pair of part ETags and object ETag follows it: the upper-case MD5 of
/// the parts' upper-case ETag texts, without quotes, one behind the other, then a hyphen and the number of parts.
package enum MultipartETag {
    /// The object's ETag, without quotes, from the parts' ETags in order, with or without quotes, of either case.
    package static func of(partETags: some Sequence<String>) throws(DigestError) -> String {
        var digest = try MessageDigest(.md5)
        // All ETags of one chunk at a time: a digest costs more by the call than by the byte.
        var text: [UInt8] = []
        var count = 0
        for eTag in partETags {
            count += 1
            text.append(contentsOf: Self.unquoted(eTag).utf8)
            guard text.count > 4096 else { continue }
            for index in text.indices { text[index] = text[index].raisedASCII }
            try digest.update(text.span)
            text.removeAll(keepingCapacity: true)
        }
        for index in text.indices { text[index] = text[index].raisedASCII }
        try digest.update(text.span)
        return Hex.upper(try digest.finish()) + "-\(count)"
    }

    /// An ETag without the quotes that headers and documents put around it, and without blanks and line breaks around those.
    package static func unquoted(_ eTag: some StringProtocol) -> String {
        eTag.withUTF8Bytes { bytes in
            let quote = UInt8(ascii: "\"")
            var start = 0, end = bytes.count
            while start < end, bytes[start].isXMLBlank { start += 1 }
            while end > start, bytes[end - 1].isXMLBlank { end -= 1 }
            if end - start >= 2, bytes[start] == quote, bytes[end - 1] == quote { (start, end) = (start + 1, end - 1) }
            return end - start == bytes.count ? String(eTag) : String(utf8: bytes.extracting(start..<end))
        }
    }
}

extension UInt8 {
    /// Whether it is what XML takes for white space.
    fileprivate var isXMLBlank: Bool { self.isBlank || self == 0x0A || self == 0x0D }

    /// The byte, with a to z raised.
    fileprivate var raisedASCII: UInt8 { self &- UInt8(ascii: "a") < 26 ? self & ~0x20 : self }
}
