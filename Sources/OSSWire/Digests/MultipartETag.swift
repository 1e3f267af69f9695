// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

/// The ETag that OSS gives to an object made of parts.
///
/// The rule is not documented; every published pair of part ETags and object ETag follows it: the upper-case MD5 of
/// the parts' upper-case ETag texts, without quotes, one behind the other, then a hyphen and the number of parts.
package enum MultipartETag {
    /// The object's ETag, without quotes, from the parts' ETags in order, with or without quotes, of either case.
    package static func of(partETags: some Collection<String>) throws(DigestError) -> String {
        var digest = try MessageDigest(.md5)
        for eTag in partETags {
            try digest.update(Self.unquoted(eTag).uppercased().utf8.span)
        }
        return Hex.upper(try digest.finish()) + "-\(partETags.count)"
    }

    /// An ETag without the quotes that headers and documents put around it.
    package static func unquoted(_ eTag: some StringProtocol) -> String {
        guard eTag.utf8.count >= 2, eTag.hasPrefix("\""), eTag.hasSuffix("\"") else { return String(eTag) }
        return String(eTag.dropFirst().dropLast())
    }
}
