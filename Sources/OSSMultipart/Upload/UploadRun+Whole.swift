// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire
internal import SystemIO

/// A source that is smaller than one part: it goes up with one PutObject.
extension UploadRun {
    func uploadWhole() async throws -> OSSUploadResult {
        // An earlier run, when the source was larger, may have left an upload of this key.
        if self.record == nil { try await self.openRecord(creating: false) }
        try await self.abortRecordedUpload()

        let size = self.source.size
        self.progress.begin(bytesTotal: size, partsTotal: 1)
        var request = PutObjectRequest(bucket: self.destination.bucket, key: self.destination.key, body: .bytes([]))
        request.headers = self.destination.headers
        request.integrity = self.options.integrity
        request.callback = self.destination.callback
        let object: StoredObject
        do {
            let result = try await self.share.withSlot {
                try await self.client.putObject(request, source: self.source, progress: self.progress.partBegan(1))
            }
            try await self.checkSource(sentWith: result)
            // An ETag of PutObject is the MD5, except where the service encrypts.
            let expectation = Expectation(size: size, crc64: result.sentCRC64, md5: result.md5)
            object = try await self.prove(
                StoredObject(
                    eTag: result.eTag, crc64: result.crc64, versionID: result.versionID, requestID: result.requestID,
                    proof: .none, callback: result.callback
                ), expectation, .putObject
            )
        } catch let error as OSSError where error.service?.code == .fileAlreadyExists && error.followsLostReply {
            object = try await self.afterLostReply(error)
        }
        self.progress.partStored(1, bytes: size)
        // A record that an earlier run had left is of no use any more.
        return try await self.succeed(
            object, plan: PartPlan(size: size, sizes: PartSizes(max(1, size))), uploadID: nil, partsSent: 1,
            bytesSent: size, partsResumed: 0
        )
    }

    /// Checks that what was stored is what the source was: by its bytes where a file's change time is another.
    ///
    /// Bytes whose MD5 went ahead of them need no such look: they are those that were there when the source was looked at.
    private func checkSource(sentWith result: PutObjectResult) async throws {
        guard !self.options.integrity.sendsMD5 else { return }
        let changed = OSSError(
            .sourceChanged,
            "the source \(self.source.name) changed while it was sent, and what is stored may be a mixture of old and new: let it "
                + "rest, then run again",
            operation: .putObject
        )
        let now: FileStatus?
        do { now = try await self.source.checkUnchanged(on: self.client.blocking) } catch let error as OSSError
            where error.code == .sourceChanged
        { throw changed }
        guard let now, now.changeTime != self.source.status?.changeTime else { return }
        let digests = try await self.client.digests(
            of: self.source.region(at: 0, length: self.source.size), md5: true, crc64: true)
        // Where nothing is known of what was sent, nothing can be said of it.
        let isSame =
            (result.sentCRC64 ?? result.crc64).map { $0 == digests.crc64 } ?? result.md5.map { $0 == digests.md5 }
            ?? true
        guard isSame else { throw changed }
    }

    /// Overwriting is forbidden and the first reply was lost: the object that is there may be ours.
    private func afterLostReply(_ error: OSSError) async throws -> StoredObject {
        let region = self.source.region(at: 0, length: self.source.size)
        let digests = try await self.client.digests(of: region, md5: true, crc64: true)
        let expectation = Expectation(size: region.length, crc64: digests.crc64, md5: digests.md5)
        guard case .ours(let object) = try await self.lookOrThrow(expectation, after: error) else { throw error }
        return object
    }

    /// Aborts the upload that a record names, where there is one.
    private func abortRecordedUpload() async throws {
        guard let (upload, _) = try await self.recordedUpload() else { return }
        let reason =
            self.reasonToBeginAnew(upload)
            ?? "the source was \(upload.source.sizeText) when it was begun and is smaller than one part now"
        try await self.giveUp(upload.uploadID, because: reason)
    }
}
