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
            Self.unquoted(eTag).withUTF8Bytes { bytes in
                for index in bytes.indices { text.append(bytes[index].raisedASCII) }
            }
            guard text.count > 4096 else { continue }
            try digest.update(text.span)
            text.removeAll(keepingCapacity: true)
        }
        try digest.update(text.span)
        return Hex.upper(try digest.finish()) + "-\(count)"
    }

    /// An ETag without the quotes that headers and documents put around it.
    package static func unquoted(_ eTag: some StringProtocol) -> String {
        eTag.withUTF8Bytes { bytes in
            let quote = UInt8(ascii: "\"")
            guard bytes.count >= 2, bytes[0] == quote, bytes[bytes.count - 1] == quote else { return String(eTag) }
            return String(utf8Count: bytes.count - 2) { bytes[$0 + 1] }
        }
    }
}

extension UInt8 {
    /// The byte, with a to z raised.
    fileprivate var raisedASCII: UInt8 { self &- UInt8(ascii: "a") < 26 ? self & ~0x20 : self }
}
