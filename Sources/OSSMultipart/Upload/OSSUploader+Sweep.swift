// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire
internal import SystemIO

/// Giving up uploads that nobody will go on with.
extension OSSUploader {
    /// Looks through a bucket for open uploads that are old, and aborts those that none of the uploader's records names.
    ///
    /// An upload is left alone where a record names it, whatever endpoint it was begun at; where an upload to the same key is
    /// under way; and where a record cannot be read, for it could name it. While one is aborted its record's lock is held, so
    /// that no other upload of the same checkpoints takes it over at that moment. Records elsewhere, those of other machines
    /// say, are not seen: `age` is what protects their uploads.
    ///
    /// - Parameters:
    ///   - bucket: the bucket's name.
    ///   - prefix: only uploads whose keys begin with this; nil for all.
    ///   - age: only uploads that were begun at least so long ago, by the service's clock.
    ///   - isDryRun: whether nothing is aborted; the result then says what would be.
    /// - Returns: each upload of that age, as it is looked at; what is asked for is aborted before the step returns.
    public func sweep(
        bucket: String, prefix: String? = nil, olderThan age: Duration, isDryRun: Bool = false
    ) -> OSSSweep {
        var request = ListMultipartUploadsRequest(bucket: bucket)
        request.prefix = prefix
        request.minimumAge = age
        return OSSSweep(
            uploader: self, uploads: self.client.listMultipartUploadsPages(request), isDryRun: isDryRun)
    }

    /// Deals with one upload that is old enough.
    fileprivate func sweep(_ open: OSSOpenUpload, isDryRun: Bool) async throws -> OSSSweptUpload {
        var swept = OSSSweptUpload(open: open)
        do {
            swept.reasonKept = try await self.reasonToKeep(open.upload)
            guard swept.reasonKept == nil, !isDryRun else { return swept }
            try await self.locked(open.upload) {
                // Looked at again, for what was there before the lock may have changed.
                swept.reasonKept = try await self.reasonToKeep(open.upload)
                guard swept.reasonKept == nil else { return }
                try await self.client.abortAndLook(open.upload)
                swept.wasAborted = true
            }
        } catch let error as OSSError where error.code == .checkpointInUse {
            swept.reasonKept = "an upload to this key is under way"
        } catch let error as OSSError where error.code == .checkpointUnusable {
            swept.reasonKept = "it cannot be told whether a checkpoint names it (\(error.message))"
        } catch let error as OSSError where error.code == .service {
            swept.error = error
        }
        return swept
    }

    /// Runs something while no other upload to that key can begin with these checkpoints.
    private func locked(_ upload: OSSMultipartUpload, _ body: () async throws -> Void) async throws {
        guard let store = self.checkpoints.store else { return try await body() }
        let name = try OSSCheckpoints.recordName(
            endpoint: self.client.endpoint, bucket: upload.bucket, key: upload.key)
        let record = try await self.client.blocking.run { () throws(any Error) -> (any CheckpointRecord)? in
            // No folder has no locks, and none is made for this.
            try store.names() == nil ? nil : try store.open(name, creating: true)
        }
        let result: Result<Void, any Error>
        do { result = .success(try await body()) } catch { result = .failure(error) }
        if let record {
            try await self.client.blocking.run { () throws(any Error) in
                // One that was made for the lock alone goes again.
                if try record.read().isEmpty { try record.remove() } else { record.close() }
            }
        }
        try result.get()
    }

    /// How much of a record is read to find out which upload it names, in bytes: more than its first three lines can take.
    ///
    /// *Source:* a key of 1023 and metadata of 8192 bytes, each byte in three characters, twice over.
    /// *Applies to:* sweeping.
    private static let headSize = 64 * 1024

    /// Why an open upload is not to be aborted; nil where no record says anything of it.
    private func reasonToKeep(_ upload: OSSMultipartUpload) async throws -> String? {
        guard let store = self.checkpoints.store else { return nil }
        return try await self.client.blocking.run { () throws(any Error) in
            for name in try store.names() ?? [] where !QueueManifest.isName(name) {
                guard let head = try store.peek(name, limit: Self.headSize) else { continue }
                if let reason = Self.reasonToKeep(upload, Journal.read(head), store.location(of: name)) {
                    return reason
                }
            }
            return nil
        }
    }

    private static func reasonToKeep(
        _ upload: OSSMultipartUpload, _ record: Journal.Reading, _ place: String
    ) -> String? {
        switch record {
        case .empty, .damaged(uploadID: _?): break
        case .damaged(uploadID: nil): return "the checkpoint \(place) cannot be read, and could name it"
        case .ofLaterVersion: return "the checkpoint \(place) is of a later version, and could name it"
        case .journal(let journal) where journal.upload == nil:
            let isOfKey = journal.intent.bucket == upload.bucket && journal.intent.key.hasSameBytes(as: upload.key)
            return isOfKey ? "the checkpoint \(place) is of this key, and its upload has no ID yet" : nil
        case .journal: break
        }
        return record.uploadID == upload.uploadID ? "the checkpoint \(place) names it" : nil
    }
}

extension Journal.Reading {
    /// The upload that it names.
    fileprivate var uploadID: String? {
        switch self {
        case .journal(let journal): journal.upload?.uploadID
        case .damaged(let uploadID): uploadID
        case .empty, .ofLaterVersion: nil
        }
    }
}

/// What a sweep did with an open upload.
public struct OSSSweptUpload: Sendable {
    /// The upload.
    public let open: OSSOpenUpload
    /// Whether it was aborted.
    public internal(set) var wasAborted = false
    /// Why it was left alone; nil where it was aborted, could not be, or would have been but for the dry run.
    public internal(set) var reasonKept: String?
    /// Why it could not be aborted; the sweep goes on with the others.
    public internal(set) var error: OSSError?
}

/// The old open uploads of a bucket, each dealt with when it is asked for.
public struct OSSSweep: AsyncSequence, Sendable {
    /// One upload.
    public typealias Element = OSSSweptUpload
    let uploader: OSSUploader
    let uploads: OSSOpenUploads
    let isDryRun: Bool

    /// Begins at the first upload.
    public func makeAsyncIterator() -> Iterator {
        Iterator(uploader: self.uploader, uploads: self.uploads.makeAsyncIterator(), isDryRun: self.isDryRun)
    }

    /// Deals with one upload after the other.
    public struct Iterator: AsyncIteratorProtocol {
        let uploader: OSSUploader
        var uploads: OSSOpenUploads.Iterator
        let isDryRun: Bool

        /// The next upload; nil behind the last.
        ///
        /// - Throws: what listing throws; `OSSError` with `connection`, `timeout` or `shutDown` where an abort could not be sent;
        ///   `CancellationError` where the task is cancelled.
        public mutating func next() async throws -> OSSSweptUpload? {
            guard let open = try await self.uploads.next() else { return nil }
            return try await self.uploader.sweep(open, isDryRun: self.isDryRun)
        }
    }
}
