// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

/// How a body is protected on its way.
public struct OSSIntegrity: Sendable, Hashable, CustomStringConvertible {
    private enum Mode: String { case md5AndCRC64 = "md5+crc64", md5, crc64, eTag = "etag", none }
    private let mode: Mode

    /// `Content-MD5` is sent, and the CRC-64 of the reply is compared with that of the bytes sent.
    ///
    /// The service refuses a body that differs from its MD5. The default.
    public static let md5AndCRC64 = OSSIntegrity(mode: .md5AndCRC64)
    /// `Content-MD5` is sent.
    public static let md5 = OSSIntegrity(mode: .md5)
    /// The CRC-64 of the reply is compared with that of the bytes sent: the body is read once instead of twice.
    public static let crc64 = OSSIntegrity(mode: .crc64)
    /// The ETag of the reply is compared with the MD5 of the bytes sent: the body is read once instead of twice.
    ///
    /// An ETag that is no MD5, as where the service encrypts, says nothing and is not compared.
    public static let eTag = OSSIntegrity(mode: .eTag)
    /// Nothing is compared.
    public static let none = OSSIntegrity(mode: .none)

    /// Every mode, in the order of strength.
    public static let all: [OSSIntegrity] = [.md5AndCRC64, .md5, .crc64, .eTag, .none]

    /// The name, as the tool takes it: `md5+crc64`, `md5`, `crc64`, `etag` or `none`.
    public var description: String { self.mode.rawValue }

    var sendsMD5: Bool { self.mode == .md5AndCRC64 || self.mode == .md5 }
    /// Whether the MD5 is computed while the body is sent.
    var comparesETag: Bool { self.mode == .eTag }
    var comparesCRC64: Bool { self.mode == .md5AndCRC64 || self.mode == .crc64 }
}
