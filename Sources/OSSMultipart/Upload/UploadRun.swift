// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import SystemIO

/// One run of an upload, from the open source to the stored object.
///
/// It is used by one task at a time and alone writes the record; the tasks that send parts take values and return values.
/// The files beside this one hold its chapters: the record, resuming, sending parts, completing, the whole object.
final class UploadRun {
    /// An upload that is open on the service, and what is known of its parts.
    struct Session {
        let upload: OSSMultipartUpload
        var machine: UploadStateMachine
        /// Whether an earlier run may have sent Complete already.
        let isResumed: Bool

        var plan: PartPlan { self.machine.plan }
    }

    /// The upload is gone from the service, and no object came of it; or it is still open and cannot be gone on with.
    struct UploadGone: Error {
        /// Why an upload that is still open cannot be gone on with; nil where it is gone.
        var reason: String?

        /// A part of a sequential upload is missing, or not the source's, and it cannot be sent again.
        static let sequenceIsBroken = UploadGone(
            reason: "its parts have to be sent in order and once, and one is amiss")
    }

    /// A source below this goes up with one request, where its part size is not smaller still: 64 MiB.
    ///
    /// *Source:* our own choice: what one broken request costs. *Applies to:* sources smaller than one part.
    static let wholeObjectLimit: Int64 = 64 * 1024 * 1024

    /// How long an abort may hold up an upload that has ended.
    ///
    /// *Source:* our own choice. *Applies to:* the abort after a failure or a cancellation without a checkpoint.
    static let longestAbort: Duration = .seconds(5)

    let client: OSSClient
    let options: OSSUploader.Configuration
    let checkpoints: OSSCheckpoints
    /// The source; a stream that turns out to be small is one of bytes from then on.
    var source: OpenSource
    let requestedPlan: PartPlan
    let destination: OSSUploader.Destination
    let progress: UploadProgress
    let start = ContinuousClock.now
    let recordName: String
    /// The share of a queue's slots.
    let share: SlotShare?
    /// Told of the result before the record is removed.
    private let stored: (@Sendable (OSSUploadResult, SourceIdentity) async -> Void)?

    /// The record; nil where the upload goes without one.
    var record: (any CheckpointRecord)?
    /// Length of the record's whole lines, for cutting off a line that could not be written to its end.
    var recordLength = 0
    /// When the record was last made durable.
    var lastSynchronization = ContinuousClock.now
    /// Whether it is being made durable at this moment.
    var isSynchronizing = false
    /// Whether the user has been told that the record cannot be written.
    var hasWarnedOfRecord = false
    /// The upload that is open; an error's clean-up needs to know.
    var openUpload: OSSMultipartUpload?
    /// The moment of the intent while an Initiate may have begun uploads that no reply told of, in milliseconds since 1970.
    var lostInitiate: Int64?
    /// Whether Complete is on its way or was sent with an unknown outcome: then nothing is aborted.
    var mayBeCompleted = false

    init(
        uploader: OSSUploader, source: OpenSource, plan: PartPlan, destination: OSSUploader.Destination,
        progress: UploadProgress, share: SlotShare? = nil,
        stored: (@Sendable (OSSUploadResult, SourceIdentity) async -> Void)? = nil
    ) throws(OSSError) {
        self.client = uploader.client
        var options = uploader.configuration
        if options.isSequential { options.partsInFlight = .fixed(1) }
        self.options = options
        self.checkpoints = uploader.checkpoints
        self.source = source
        self.requestedPlan = plan
        self.destination = destination
        self.progress = progress
        self.share = share
        self.stored = stored
        self.recordName = try OSSCheckpoints.recordName(of: destination, at: uploader.client.endpoint)
    }

    /// Uploads the source.
    func run() async throws -> OSSUploadResult {
        // Others may have the record from the moment that this returns, not from when the last reference happens to go.
        defer { self.record?.close() }
        if let stream = self.source.stream {
            do { return try await self.uploadStream(stream) } catch { throw await self.settle(error) }
        }
        if try await self.goesUpWhole() { return try await self.uploadWhole() }
        do {
            if self.record == nil { try await self.openRecord(creating: true) }
            return try await self.uploadInParts()
        } catch {
            throw await self.settle(error)
        }
    }

    /// Whether the source goes up with one request: it is small, and no upload of it is recorded that could be gone on with.
    private func goesUpWhole() async throws -> Bool {
        guard self.requestedPlan.goesUpWhole else { return false }
        // What is to be taken over may have smaller parts; an empty source has none.
        guard self.options.adoption == .never || self.source.size == 0 else { return false }
        // An earlier run, when the source was larger or the parts smaller, may have left an upload of this key.
        try await self.openRecord(creating: false)
        guard case .journal(let journal) = Journal.read(try await self.readRecord()), let upload = journal.upload,
            self.isOfThisObject(journal)
        else { return true }
        return self.reasonToBeginAnew(upload) != nil
    }

    private func uploadInParts() async throws -> OSSUploadResult {
        var hasRestarted = false
        while true {
            switch try await self.resumeOrBegin() {
            case .stored(let object, let plan):
                return try await self.succeed(object, plan: plan, uploadID: nil, partsSent: 0, bytesSent: 0)
            case .open(var session):
                do {
                    return try await self.carryOn(&session)
                } catch let gone as UploadGone {
                    // It expired, or somebody aborted it. Once is bad luck; twice is a service that loses uploads.
                    guard !hasRestarted else {
                        throw OSSError(
                            .service,
                            "the upload vanished from the service twice in one run; see whether something aborts "
                                + "uploads of this bucket",
                            operation: .completeMultipartUpload
                        )
                    }
                    hasRestarted = true
                    try await self.leave(session.upload, gone)
                    self.openUpload = nil
                    self.mayBeCompleted = false
                    try await self.emptyRecord()
                }
            }
        }
    }

    /// Says why an upload is not gone on with, and aborts it where it is still open.
    func leave(_ upload: OSSMultipartUpload, _ gone: UploadGone) async throws {
        if let reason = gone.reason { return try await self.giveUp(upload.uploadID, because: reason) }
        self.progress.warn("the upload \(upload.uploadID) is gone from the service; it begins anew")
    }

    /// Sends what is missing and joins the parts.
    private func carryOn(_ session: inout Session) async throws -> OSSUploadResult {
        let resumed = session.machine.receipts.count
        var sent: (parts: Int, bytes: Int64) = (0, 0)
        // A service that says that parts are missing is believed and given them, but not for ever.
        for _ in 1...3 {
            let new = try await self.sendParts(&session)
            sent = (sent.parts + new.parts, sent.bytes + new.bytes)
            try await self.checkSource(session)
            switch try await self.complete(session) {
            case .stored(let object):
                return try await self.succeed(
                    object, plan: session.plan, uploadID: session.upload.uploadID, partsSent: sent.parts,
                    bytesSent: sent.bytes, partsResumed: max(0, min(resumed, session.plan.count - sent.parts))
                )
            case .gone: throw UploadGone()
            case .partsMissing where self.options.isSequential: throw UploadGone.sequenceIsBroken
            case .partsMissing: try await self.findLostParts(&session)
            }
        }
        throw OSSError(
            .service, "the service keeps saying that parts are missing which it has confirmed; run again later",
            operation: .completeMultipartUpload
        )
    }

    func succeed(
        _ object: StoredObject, plan: PartPlan, uploadID: String?, partsSent: Int, bytesSent: Int64,
        partsResumed: Int? = nil
    ) async throws -> OSSUploadResult {
        func result() -> OSSUploadResult {
            OSSUploadResult(
                bucket: self.destination.bucket, key: self.destination.key, size: plan.size,
                uploadID: uploadID ?? self.openUpload?.uploadID, eTag: object.eTag, crc64: object.crc64,
                versionID: object.versionID, proof: object.proof, callback: self.callbackOutcome(object),
                partsTotal: plan.count, partsSent: partsSent, partsResumed: partsResumed ?? plan.count,
                bytesSent: bytesSent, duration: self.start.duration(to: .now), requestID: object.requestID,
                warnings: self.progress.warnings, sourceIdentity: self.source.identity
            )
        }
        await self.stored?(result(), self.source.identity)
        await self.removeRecord()
        // Again: what was to be told of the removal belongs to it.
        return result()
    }

    /// What came of the callback, also where the reply that would have told was lost.
    func callbackOutcome(_ object: StoredObject) -> OSSCallbackOutcome? {
        object.callback ?? (self.destination.callback == nil ? nil : .unknown)
    }

    /// Checks that the source is what it was when it was opened: by its bytes where a file's change time is another.
    private func checkSource(_ session: Session) async throws {
        let now = try await self.source.checkUnchanged(on: self.client.blocking)
        guard let now, now.changeTime != self.source.status?.changeTime else { return }
        let plan = session.plan
        for (part, digests) in try await self.digests(of: (1...plan.count).map { plan[$0] }) {
            guard session.machine.receipts[part.number]?.has(digests) ?? false else {
                throw self.source.changed(size: plan.size)
            }
        }
        let later = try await self.source.checkUnchanged(on: self.client.blocking)
        guard later == now else { throw self.source.changed(size: plan.size) }
    }

    /// Leaves things in order after an error, and returns the error to throw: the first one, always.
    private func settle(_ error: any Error) async -> any Error {
        if let failure = error as? OSSError {
            switch failure.code {
            case .integrity where self.mayBeCompleted:
                // What is stored is wrong: nothing of this upload is left to go on with.
                await self.removeRecord()
                return failure
            default: break
            }
        }
        if let upload = self.openUpload, self.source.stream?.isReplayable == false {
            // Nobody can go on with it. Where it cannot be aborted now, the record lets a later run do so.
            if await self.abortShielded(upload), self.lostInitiate == nil { await self.removeRecord() }
            if self.record == nil, let intent = self.lostInitiate { await self.abortLostShielded(begunAfter: intent) }
            return error
        }
        guard self.record == nil else {
            guard let upload = self.openUpload else { return error }
            await self.synchronizeRecord()
            guard var failure = error as? OSSError else { return error }
            failure.resumption = OSSError.Resumption(
                uploadID: upload.uploadID, bytesUploaded: self.progress.bytesStored,
                checkpoint: self.checkpoints.store?.location(of: self.recordName) ?? ""
            )
            return failure
        }
        // Nobody could go on with it, unless it was taken over and can be again.
        if self.options.adoption == .never, let upload = self.openUpload { await self.abortShielded(upload) }
        if let intent = self.lostInitiate { await self.abortLostShielded(begunAfter: intent) }
        return error
    }

    /// Aborts an upload that nobody will go on with, also where the task is cancelled; a failure is told, not thrown.
    ///
    /// - Returns: whether it is gone.
    @discardableResult
    func abortShielded(_ upload: OSSMultipartUpload) async -> Bool {
        let client = self.client, limit = Self.longestAbort, mayBeCompleted = self.mayBeCompleted
        // A task of its own, awaited: clean-up must run although this task may be cancelled.
        let failure = await Task {
            // A Complete on its way is not overtaken.
            mayBeCompleted
                ? await client.abortUnlessCompleted(upload, within: limit) : await client.abort(upload, within: limit)
        }.value
        if let failure {
            self.progress.warn(
                "the upload \(upload.uploadID) could not be aborted (\(failure)); its parts are stored until it is: abort it by "
                    + "hand, or let a lifecycle rule do it"
            )
        }
        return failure == nil
    }

    /// Aborts what an Initiate without a reply may have begun, where no record lets a later run look; as ``abortShielded(_:)``.
    private func abortLostShielded(begunAfter intent: Int64) async {
        let client = self.client, destination = self.destination, known = self.openUpload?.uploadID
        let limit = Self.longestAbort
        // A task of its own, awaited: clean-up must run although this task may be cancelled.
        let failure = await Task {
            await client.cleanUp(within: limit) {
                _ = try await client.abortEmptyUploads(of: destination, begunAfter: intent, except: known)
            }
        }.value
        if let failure {
            self.progress.warn(
                "an Initiate whose reply was lost may have left an empty upload of this key, and it could not be looked for or "
                    + "aborted (\(failure))"
            )
        }
    }
}
