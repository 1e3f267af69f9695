// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// Parts of sequential uploads, which can be sent once only.
extension OSSClient {
    /// Finds out whether the part that the service has already is the one that was to be sent: the reply that would have told
    /// was lost.
    ///
    /// - Parameters:
    ///   - part: number and size.
    ///   - region: its bytes.
    ///   - upload: what it belongs to.
    ///   - refusal: what the service answered: `PartAlreadyExist`, with the stored part's ETag.
    /// - Returns: the receipt, or the refusal where the stored part has other bytes.
    func receipt(
        of part: PartPlan.Part, _ region: SourceRegion, in upload: OSSMultipartUpload, after refusal: OSSError
    ) async -> Result<PartReceipt, any Error> {
        do {
            let digests = try await self.digests(of: region, md5: true, crc64: true)
            let eTag = MultipartETag.unquoted(refusal.service?.details["PartEtag"] ?? "")
            if let md5 = digests.md5, Hex.isEqual(eTag, md5) {
                return .success(
                    PartReceipt(number: part.number, size: part.size, md5: md5, crc64: digests.crc64, eTag: eTag))
            }
            // Where the service encrypts, the ETag is not the MD5; then the CRC-64 tells.
            var request = ListPartsRequest(upload: upload)
            (request.partNumberMarker, request.maxParts) = (part.number - 1, 1)
            let listed = try await self.listParts(request).parts.first { $0.info.partNumber == part.number }
            let candidate = StoredCandidate(recorded: nil, listed: listed)
            guard listed?.size == part.size,
                let receipt = candidate.receipt(ifSameAs: digests, number: part.number, size: part.size)
            else { return .failure(refusal) }
            return .success(receipt)
        } catch let error as OSSError where error.code == .service {
            // Listing is not allowed, so it cannot be told: what counts is that the part was refused.
            return .failure(refusal)
        } catch {
            return .failure(error)
        }
    }
}
