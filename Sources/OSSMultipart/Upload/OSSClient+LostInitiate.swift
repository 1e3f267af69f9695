// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import FoundationEssentials
internal import OSSWire

/// What an Initiate without a reply left behind: an upload that nobody has the ID of.
extension OSSClient {
    /// By how much an upload may seem to have begun before the intent to begin it, in milliseconds.
    ///
    /// *Source:* dates of the HTTP header have whole seconds. *Applies to:* uploads that a lost Initiate left behind.
    private static let dateTolerance: Int64 = 2000

    /// By how much an Initiate may be later than the intent to send it, in milliseconds: its attempts and their time-outs.
    ///
    /// *Source:* our own choice; what is begun later is another machine's. *Applies to:* uploads that a lost Initiate left
    /// behind.
    private static let longestInitiate: Int64 = 5 * 60 * 1000

    /// Aborts the uploads of a key that were begun soon after an intent and are still empty.
    ///
    /// - Parameters:
    ///   - destination: bucket and key.
    ///   - intent: when the intent to begin an upload was written, in milliseconds since 1970 by our own clock.
    ///   - known: the upload whose ID did arrive.
    /// - Returns: the IDs of those that were begun then and have parts: they are somebody's, and left alone.
    /// - Throws: what listing and aborting throw.
    func abortEmptyUploads(
        of destination: OSSUploader.Destination, begunAfter intent: Int64, except known: String?
    ) async throws -> [String] {
        let moments = intent - Self.dateTolerance...intent + Self.longestInitiate
        var others: [String] = []
        var request = ListMultipartUploadsRequest(bucket: destination.bucket)
        request.prefix = destination.key
        for try await open in self.listMultipartUploadsPages(request)
        where open.upload.key.hasSameBytes(as: destination.key) && open.upload.uploadID != known {
            guard let initiated = open.initiated else { continue }
            let begun = Int64(initiated.timeIntervalSince1970 * 1000) - self.observedClockOffset.value
            guard moments.contains(begun) else { continue }
            if try await self.listParts(.init(upload: open.upload)).parts.isEmpty {
                try await self.abortAndLook(open.upload)
            } else {
                others.append(open.upload.uploadID)
            }
        }
        return others
    }
}
