// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import FoundationEssentials
internal import OSSWire

/// Going on with an upload, or beginning one.
extension UploadRun {
    /// What there is to work on.
    enum Opening {
        /// An upload that is open.
        case open(Session)
        /// An earlier run had completed it; only its record was left.
        case stored(StoredObject, PartPlan)
    }

    /// Reads the record and goes on with its upload where that can be, else begins one.
    func resumeOrBegin() async throws -> Opening {
        if let (upload, journal) = try await self.recordedUpload() {
            if let opening = try await self.resume(upload, journal) { return opening }
            try await self.emptyRecord()
        }
        if let session = try await self.adopt() { return .open(session) }
        return .open(try await self.begin())
    }

    /// Reads the record; nil where it names no upload to go on with, and then it is empty.
    ///
    /// What a lost Initiate left behind is removed. A record that cannot be read, or is another object's, is set aside; the
    /// upload that it names is given up where its ID can be read.
    ///
    /// - Throws: `OSSError.checkpointUnusable` where a later version of this package wrote it.
    func recordedUpload() async throws -> (Journal.Upload, Journal)? {
        switch Journal.read(try await self.readRecord()) {
        case .empty: return nil
        case .ofLaterVersion(let version):
            throw OSSError.laterVersion(version, at: self.checkpoints.store?.location(of: self.recordName))
        case .damaged(let uploadID):
            try await self.setRecordAside(because: "is damaged")
            if let uploadID {
                try await self.giveUp(uploadID, because: nil)
            } else {
                try await self.reportOpenUploads()
            }
            return nil
        case .journal(let journal):
            try await self.truncateRecord(to: journal.length)
            guard self.isOfThisObject(journal) else {
                try await self.setRecordAside(because: "is that of another object")
                return nil
            }
            guard let upload = journal.upload else {
                try await self.removeEmptyUploads(begunAfter: journal.intent.begun, except: nil)
                try await self.emptyRecord()
                return nil
            }
            if upload.mayHaveSiblings {
                try await self.removeSiblings(of: upload.uploadID, begunAfter: journal.intent.begun)
            }
            return (upload, journal)
        }
    }

    /// Whether a journal is that of the object to be.
    func isOfThisObject(_ journal: Journal) -> Bool {
        journal.isOf(self.destination, at: self.client.endpoint)
    }

    // MARK: Begin

    private func begin() async throws -> Session {
        let plan = self.requestedPlan
        let upload = try await self.initiate(plan.sizes)
        self.progress.begin(bytesTotal: plan.size, partsTotal: plan.count)
        self.progress.resumed(parts: [], bytes: 0)
        return Session(
            upload: upload,
            machine: UploadStateMachine(
                plan: plan, stored: PartReceipts(capacity: plan.count), window: self.options.partsInFlight.initial),
            isResumed: false
        )
    }

    /// Begins an upload on the service and records it.
    func initiate(_ sizes: PartSizes) async throws -> OSSMultipartUpload {
        // Durable before Initiate: an upload that it leaves behind will be found.
        let intent = self.intent
        try await self.writeDurably(Journal.beginning(intent), isFirst: true)
        var request = InitiateMultipartUploadRequest(bucket: self.destination.bucket, key: self.destination.key)
        request.headers = self.destination.headers
        request.isSequential = self.options.isSequential
        let (upload, mayHaveSiblings): (OSSMultipartUpload, Bool)
        self.lostInitiate = intent.begun
        do {
            (upload, mayHaveSiblings) = try await self.client.initiate(request)
        } catch let error as OSSError where !error.followsLostReply {
            // Refused, or never sent: there is no upload, and nothing to look for later.
            self.lostInitiate = nil
            await self.removeRecord()
            throw error
        }
        if !mayHaveSiblings { self.lostInitiate = nil }
        self.openUpload = upload
        do {
            let line = self.uploadLine(upload, sizes, mayHaveSiblings: mayHaveSiblings)
            try await self.writeDurably(line, isFirst: false)
        } catch {
            // Without its ID the record is of no use, and the caller wants one.
            await self.abortShielded(upload)
            self.openUpload = nil
            throw error
        }
        if mayHaveSiblings {
            try await self.removeSiblings(of: upload.uploadID, begunAfter: intent.begun)
            self.lostInitiate = nil
        }
        return upload
    }

    /// What the record says before the upload has an ID.
    var intent: Journal.Intent {
        Journal.Intent(
            endpoint: self.client.endpoint, bucket: self.destination.bucket, key: self.destination.key,
            begun: self.client.surroundings.now()
        )
    }

    /// The record's line of an upload.
    func uploadLine(
        _ upload: OSSMultipartUpload, _ sizes: PartSizes, mayHaveSiblings: Bool = false
    ) -> [UInt8] {
        Journal.line(
            Journal.Upload(
                uploadID: upload.uploadID, sizes: sizes, source: self.source.identity,
                headers: self.headersText, mayHaveSiblings: mayHaveSiblings,
                isSequential: self.options.isSequential
            )
        )
    }

    /// The object headers in one spelling, for comparing those of two runs.
    private var headersText: String {
        self.destination.headers.fields(withACL: true).all.map { "\($0.name.loweredASCII):\($0.value)" }.sorted()
            .joined(separator: "\n")
    }

    // MARK: Resume

    /// Goes on with a recorded upload; nil where a new one has to begin.
    private func resume(_ upload: Journal.Upload, _ journal: Journal) async throws -> Opening? {
        if let reason = self.reasonToBeginAnew(upload) {
            try await self.giveUp(upload.uploadID, because: reason)
            return nil
        }
        let plan = PartPlan(size: self.source.size, sizes: upload.sizes)
        if let asked = self.options.partSize, asked != plan.partSize {
            self.progress.warn("the upload was begun with parts of \(plan.partSize) bytes, and goes on with them")
        }
        let handle = OSSMultipartUpload(
            bucket: self.destination.bucket, key: self.destination.key, uploadID: upload.uploadID
        )
        let readsAgain =
            switch self.options.verification {
            case .record: false
            case .content: true
            default: !self.source.identity.isSurely(upload.source)
            }
        func isPlanned(_ part: PartReceipt) -> Bool {
            part.number <= plan.count && part.size == plan[part.number].size
        }
        // As a rule all are, and no copy is needed.
        let recorded =
            journal.parts.allSatisfy(isPlanned) ? journal.parts : PartReceipts(journal.parts.lazy.filter(isPlanned))

        let listing: Listing?
        do {
            // Parts that are read again may need the service's own word of them.
            listing = try await self.listing(of: handle, comparedWith: readsAgain ? PartReceipts() : recorded)
        } catch let error as OSSError where error.service?.code == .noSuchUpload {
            return try await self.afterDisappearance(
                handle, plan, recorded, mayBeCompleted: journal.isCompleting, readsAgain: readsAgain)
        }
        let stored = try await self.keep(recorded, listing, plan, readsAgain: readsAgain)
        if self.options.isSequential,
            stored.numbers.max() ?? 0 != stored.count || listing?.count ?? stored.count != stored.count
        {
            try await self.giveUp(upload.uploadID, because: UploadGone.sequenceIsBroken.reason)
            return nil
        }
        self.openUpload = handle
        let dropped = journal.parts.filter { stored[$0.number] != $0 }.map(\.number)
        if !dropped.isEmpty || upload.source != self.source.identity {
            // Parts of the old content go before the new identity comes.
            try await self.writeDurably(Journal.lines(dropping: dropped, source: self.source.identity), isFirst: false)
        }
        for receipt in stored where journal.parts[receipt.number] != receipt {
            await self.writeLine(Journal.line(receipt))
        }
        self.progress.begin(bytesTotal: plan.size, partsTotal: plan.count)
        self.progress.resumed(parts: stored.numbers, bytes: stored.reduce(0) { $0 + $1.size })
        return .open(
            Session(
                upload: handle,
                machine: UploadStateMachine(plan: plan, stored: stored, window: self.options.partsInFlight.initial),
                isResumed: true
            )
        )
    }

    /// Why a recorded upload cannot be gone on with; nil where it can.
    func reasonToBeginAnew(_ upload: Journal.Upload) -> String? {
        if self.options.startsAnew { return "a new beginning was asked for" }
        if upload.source.size != self.source.identity.size {
            return
                "the source was \(upload.source.sizeText) when it was begun and is \(self.source.identity.sizeText) now"
        }
        if upload.headers != self.headersText { return "it was begun with other object headers" }
        if upload.isSequential != self.options.isSequential {
            return "it was begun \(upload.isSequential ? "as a sequential one" : "without being sequential")"
        }
        if let size = upload.source.size, upload.sizes.count(for: size) > Limits.maximumPartNumber {
            return "it was begun with parts so small that 10000 do not suffice"
        }
        return nil
    }

    /// All parts that the service has.
    struct Listing {
        /// The numbers of those that are as recorded: of ten thousand, as a rule, nothing else is kept.
        var confirmed: Set<Int> = []
        /// The other ones, by number.
        var others: [Int: OSSStoredPart] = [:]

        /// How many there are.
        var count: Int { self.confirmed.count + self.others.count }
    }

    /// All parts that the service has, compared with what is recorded of them; nil where listing is not allowed.
    func listing(
        of upload: OSSMultipartUpload, comparedWith recorded: PartReceipts = PartReceipts()
    ) async throws -> Listing? {
        var listing = Listing()
        do {
            for try await part in self.client.listPartsPages(.init(upload: upload)) {
                let number = part.info.partNumber
                if recorded[number]?.isListed(as: part) ?? false {
                    listing.confirmed.insert(number)
                } else {
                    listing.others[number] = part
                }
            }
        } catch let error as OSSError where error.service?.code == .accessDenied {
            self.progress.warn(
                "the parts on the service cannot be listed (oss:ListParts is denied); the checkpoint is trusted")
            return nil
        }
        return listing
    }

    /// The parts that count: those whose bytes on the service are, as far as can be known, those of the source.
    func keep(
        _ recorded: PartReceipts, _ listing: Listing?, _ plan: PartPlan, readsAgain: Bool
    ) async throws -> PartReceipts {
        // What is recorded is kept unless something speaks against it: as a rule that is all of it, and no copy is made.
        var kept = recorded
        var doubtful: [PartPlan.Part] = []
        for number in 1...plan.count {
            let isConfirmed = recorded[number] != nil && (listing?.confirmed.contains(number) ?? true)
            if isConfirmed, !readsAgain { continue }
            kept.remove(number)
            let part = plan[number]
            if isConfirmed || listing?.others[number]?.size == part.size { doubtful.append(part) }
        }
        for (part, digests) in try await self.digests(of: doubtful) {
            let candidate = StoredCandidate(recorded: recorded[part.number], listed: listing?.others[part.number])
            if let receipt = candidate.receipt(ifSameAs: digests, number: part.number, size: part.size) {
                kept.insert(receipt)
            }
        }
        return kept
    }

    /// Reads parts of the source again, several at a time.
    func digests(of parts: [PartPlan.Part]) async throws -> [(PartPlan.Part, SourceDigests)] {
        let (client, source) = (self.client, self.source)
        return try await withThrowingTaskGroup(of: (PartPlan.Part, SourceDigests).self) { group in
            var results: [(PartPlan.Part, SourceDigests)] = []
            for (index, part) in parts.enumerated() {
                if index >= self.options.partsInFlight.initial, let result = try await group.next() {
                    results.append(result)
                }
                group.addTask {
                    let region = source.region(at: part.offset, length: part.size)
                    return (part, try await client.digests(of: region, md5: true, crc64: true))
                }
            }
            for try await result in group { results.append(result) }
            return results
        }
    }

    /// The recorded upload is gone: perhaps an earlier run had completed it.
    ///
    /// Where none had sent Complete, an object with the same bytes is an older one, which need not have the same headers.
    private func afterDisappearance(
        _ upload: OSSMultipartUpload, _ plan: PartPlan, _ recorded: PartReceipts, mayBeCompleted: Bool,
        readsAgain: Bool
    ) async throws -> Opening? {
        if mayBeCompleted, recorded.count == plan.count {
            var isSource = true
            if readsAgain {
                let digests = try await self.digests(of: (1...plan.count).map { plan[$0] })
                isSource = digests.allSatisfy { part, digests in
                    recorded[part.number].map { $0.crc64 == digests.crc64 || $0.md5 == digests.md5 } ?? false
                }
            }
            if isSource,
                case .ours(let object) = try await self.lookIfAllowed(try Expectation(recorded, size: plan.size))
            {
                self.openUpload = upload
                self.progress.begin(bytesTotal: plan.size, partsTotal: plan.count)
                self.progress.resumed(parts: 1...plan.count, bytes: plan.size)
                return .stored(object, plan)
            }
        }
        self.progress.warn("the upload \(upload.uploadID) is gone from the service; it begins anew")
        return nil
    }

    /// Looks at the key; where that is denied nothing is known of what is there, and sending all again is the way that is right
    /// whatever it is.
    func lookIfAllowed(_ expectation: Expectation) async throws -> Look {
        do { return try await self.look(for: expectation) } catch let error as OSSError
            where error.service?.status == 403
        {
            self.progress.warn("whether an earlier run had completed the upload cannot be seen (\(error.message))")
            return .notOurs
        }
    }

    // MARK: What earlier runs left

    /// Aborts an upload of this key that will not be gone on with, and says why.
    ///
    /// Where the service refuses, that is told and the new upload begins; where it cannot be reached, or the task is
    /// cancelled, the error is thrown, so that the record is not lost.
    func giveUp(_ uploadID: String, because reason: String?) async throws {
        let upload = OSSMultipartUpload(
            bucket: self.destination.bucket, key: self.destination.key, uploadID: uploadID
        )
        if let reason {
            self.progress.warn("the earlier upload \(uploadID) is aborted, for \(reason); a new one begins")
        }
        do { try await self.client.abortAndLook(upload) } catch let error as OSSError where error.code == .service {
            self.progress.warn("it could not be aborted (\(error)); its parts are stored until it is: abort it by hand")
        }
    }

    /// An Initiate that was sent again may have begun uploads of which no reply told: aborts them.
    private func removeSiblings(of uploadID: String, begunAfter intent: Int64) async throws {
        try await self.removeEmptyUploads(begunAfter: intent, except: uploadID)
        await self.writeLine(Journal.aloneLine)
    }

    /// Aborts uploads of this key that a lost Initiate left behind: begun soon after the intent, and still empty.
    private func removeEmptyUploads(begunAfter intent: Int64, except known: String?) async throws {
        do {
            let others = try await self.client.abortEmptyUploads(
                of: self.destination, begunAfter: intent, except: known)
            for uploadID in others {
                self.progress.warn("the upload \(uploadID) of this key is open and has parts; it is left alone")
            }
        } catch let error as OSSError where error.code == .service {
            self.progress.warn(
                "an Initiate whose reply was lost may have left an empty upload of this key, and it could not be looked for or "
                    + "aborted (\(error))"
            )
        }
    }

    /// Tells of open uploads of this key that no record names.
    private func reportOpenUploads() async throws {
        do {
            var request = ListMultipartUploadsRequest(bucket: self.destination.bucket)
            request.prefix = self.destination.key
            var others: [String] = []
            for try await open in self.client.listMultipartUploadsPages(request)
            where open.upload.key.hasSameBytes(as: self.destination.key) {
                others.append(open.upload.uploadID)
            }
            guard !others.isEmpty else { return }
            self.progress.warn(
                "there are open uploads of this key that no checkpoint names: \(others.joined(separator: ", ")); "
                    + "abort them if nobody goes on with them"
            )
        } catch let error as OSSError {
            // Looking was a courtesy; what matters is that the new upload can begin, and that will say its own errors.
            self.progress.warn("open uploads of this key could not be looked for (\(error))")
        }
    }
}

extension OSSError {
    /// The error of a record that a later version of this package wrote; it stays as it is.
    static func laterVersion(_ version: Int, at place: String?) -> OSSError {
        OSSError(
            .checkpointUnusable,
            "the checkpoint \(place ?? "") is of version \(version), written by a later version of this package; use that one, "
                + "or another checkpoint folder"
        )
    }
}

extension Journal {
    /// Whether it is that of an upload to a destination at an endpoint.
    func isOf(_ destination: OSSUploader.Destination, at endpoint: String) -> Bool {
        self.intent.endpoint == endpoint && self.intent.bucket == destination.bucket
            && self.intent.key.hasSameBytes(as: destination.key)
    }
}
