// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// What is known of a part that the service has stored.
struct PartReceipt: Sendable, Equatable {
    /// From 1 on.
    let number: Int
    /// Size in bytes.
    let size: Int64
    /// CRC-64 of the local bytes; nil where it was not computed.
    let crc64: UInt64?
    // An upload keeps up to 10,000 of these: the MD5 lies in two words, and an ETag that is its digits is not kept at all.
    private let digest: (UInt64, UInt64)?
    private let otherETag: String?

    init(number: Int, size: Int64, md5: [UInt8]?, crc64: UInt64?, eTag: String) {
        self.number = number
        self.size = size
        self.crc64 = crc64
        self.digest = md5.map { md5 in
            precondition(md5.count == 16, "an MD5 has 16 bytes")
            return (Self.word(md5[..<8]), Self.word(md5[8...]))
        }
        self.otherETag = md5.map { Hex.isUpper(eTag, of: $0) } == true ? nil : eTag
    }

    /// MD5 of the local bytes, 16 bytes; nil where it was not computed.
    var md5: [UInt8]? {
        self.digest.map { high, low in
            var bytes: [UInt8] = []
            bytes.reserveCapacity(16)
            Self.append(high, to: &bytes)
            Self.append(low, to: &bytes)
            return bytes
        }
    }

    /// The service's ETag, without quotes.
    var eTag: String { self.otherETag ?? self.digits }

    /// Whether the ETag is the MD5 of the local bytes.
    var isETagMD5: Bool {
        self.digest != nil && (self.otherETag.map { $0.equalsIgnoringASCIICase(self.digits) } ?? true)
    }

    private var digits: String {
        self.md5.map { Hex.upper($0) } ?? ""
    }

    private static func word(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }

    private static func append(_ word: UInt64, to bytes: inout [UInt8]) {
        for place in 1...8 { bytes.append(UInt8(truncatingIfNeeded: word >> (64 - 8 * UInt64(place)))) }
    }

    /// The part as CompleteMultipartUpload lists it.
    var info: OSSPartInfo { OSSPartInfo(partNumber: self.number, eTag: self.eTag, size: self.size, crc64: self.crc64) }

    /// What came of sending a part.
    init(_ result: UploadPartResult, _ part: PartPlan.Part, _ integrity: OSSIntegrity) {
        self.init(
            number: part.number, size: part.size, md5: result.md5,
            crc64: integrity.comparesCRC64 ? result.info.crc64 : nil, eTag: result.info.eTag
        )
    }

    static func == (left: Self, right: Self) -> Bool {
        left.number == right.number && left.size == right.size && left.crc64 == right.crc64 && left.md5 == right.md5
            && left.eTag == right.eTag
    }

    /// Whether the service's listing shows this very part.
    func matches(_ stored: OSSStoredPart) -> Bool {
        guard stored.info.partNumber == self.number, stored.size == self.size else { return false }
        // A part that was sent again by somebody else has another ETag unless it has the same bytes.
        if stored.info.eTag.equalsIgnoringASCIICase(self.eTag) { return true }
        guard let ours = self.crc64, let theirs = stored.info.crc64 else { return false }
        return ours == theirs
    }

    /// Whether the service's listing shows this very part under this very ETag, which is what Complete has to name.
    func isListed(as stored: OSSStoredPart) -> Bool {
        self.matches(stored) && stored.info.eTag.equalsIgnoringASCIICase(self.eTag)
    }

    /// Whether the part was sent with the bytes of those digests: by its own, else by an ETag that is their MD5.
    func has(_ digests: SourceDigests) -> Bool {
        guard self.crc64 != nil || self.md5 != nil else {
            return digests.md5.map { self.eTag.equalsIgnoringASCIICase(Hex.upper($0)) } ?? false
        }
        return self.crc64.map { $0 == digests.crc64 } ?? true && self.md5.map { $0 == digests.md5 } ?? true
    }
}

extension OSSStoredPart {
    /// Whether the stored part has the bytes of those digests.
    func has(_ digests: SourceDigests) -> Bool {
        if let ours = digests.crc64, let theirs = self.info.crc64 { return ours == theirs }
        guard let md5 = digests.md5 else { return false }
        return Hex.isEqual(self.info.eTag, md5)
    }
}
