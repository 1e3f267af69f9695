// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

/// A part that may be stored already: what the record says of it, and what the service says.
struct StoredCandidate: Sendable {
    /// The record's word; nil where it does not know the part.
    var recorded: PartReceipt?
    /// The service's word; nil where parts cannot be listed.
    var listed: OSSStoredPart?

    /// The part's receipt, where what is stored has the digests of the local bytes; nil where it has not, or that cannot be
    /// told.
    func receipt(ifSameAs digests: SourceDigests, number: Int, size: Int64) -> PartReceipt? {
        let isSame: Bool
        if let recorded, self.listed.map(recorded.matches) ?? true, recorded.md5 != nil || recorded.crc64 != nil {
            isSame = recorded.has(digests)
        } else {
            isSame = self.listed?.has(digests) ?? false
        }
        guard isSame, let eTag = self.listed?.info.eTag ?? self.recorded?.eTag else { return nil }
        return PartReceipt(number: number, size: size, md5: digests.md5, crc64: digests.crc64, eTag: eTag)
    }

    /// Size in bytes, as far as it is known.
    var size: Int64? { self.listed?.size ?? self.recorded?.size }
}
