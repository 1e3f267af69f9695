// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// What is known of a part that the service has stored.
struct PartReceipt: Sendable, Hashable {
    /// From 1 on.
    let number: Int
    /// Size in bytes.
    let size: Int64
    /// MD5 of the local bytes, 16 bytes; nil where it was not computed.
    let md5: [UInt8]?
    /// CRC-64 of the local bytes; nil where it was not computed.
    let crc64: UInt64?
    /// The service's ETag, without quotes.
    let eTag: String

    init(number: Int, size: Int64, md5: [UInt8]?, crc64: UInt64?, eTag: String) {
        self.number = number
        self.size = size
        self.md5 = md5
        self.crc64 = crc64
        self.eTag = eTag
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

    /// Whether the service's listing shows this very part.
    func matches(_ stored: OSSStoredPart) -> Bool {
        guard stored.info.partNumber == self.number, stored.size == self.size else { return false }
        // A part that was sent again by somebody else has another ETag unless it has the same bytes.
        if stored.info.eTag.equalsIgnoringASCIICase(self.eTag) { return true }
        guard let ours = self.crc64, let theirs = stored.info.crc64 else { return false }
        return ours == theirs
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
        return self.info.eTag.equalsIgnoringASCIICase(Hex.upper(md5))
    }
}
