// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// A source that is read from its beginning to its end: its parts are in memory while they are sent.
extension UploadRun {
    /// What there is to work on.
    private struct StreamSession {
        let upload: OSSMultipartUpload
        let sizes: PartSizes
        /// Parts that may be stored already, by number.
        var candidates: [Int: StoredCandidate] = [:]
        /// The parts that are stored.
        var receipts = PartReceipts()
        var isResumed = false
        var partsSent = 0
        var bytesSent: Int64 = 0
    }

    /// What became of a part, of the reading, or of the time that the others are given once something has failed.
    private enum StreamOutcome: Sendable {
        case read(Result<[UInt8], any Error>)
        case part(Int, Result<PartReceipt, any Error>, wasKept: Bool)
        case graceIsOver
    }

    /// What the tasks that send parts need.
    private struct Courier: Sendable {
        let client: OSSClient
        let upload: OSSMultipartUpload
        let integrity: OSSIntegrity
        let progress: UploadProgress
        let share: SlotShare?
        let isSequential: Bool

        /// Sends a part, unless the very bytes are stored already.
        func send(
            _ part: PartPlan.Part, _ source: OpenSource, unlessStoredAs candidate: StoredCandidate?
        ) async -> StreamOutcome {
            do {
                if let candidate, candidate.size == part.size {
                    let region = source.region(at: 0, length: part.size)
                    let digests = try await self.client.digests(of: region, md5: true, crc64: true)
                    if let receipt = candidate.receipt(ifSameAs: digests, number: part.number, size: part.size) {
                        return .part(part.number, .success(receipt), wasKept: true)
                    }
                }
                let result = try await self.share.withSlot {
                    try await self.client.uploadPart(
                        part.number, of: self.upload, source: source, offset: 0, length: part.size,
                        integrity: self.integrity, progress: self.progress.partBegan(part.number)
                    )
                }
                return .part(part.number, .success(PartReceipt(result, part, self.integrity)), wasKept: false)
            } catch let error as OSSError where self.isSequential && error.service?.code == .partAlreadyExist {
                let region = source.region(at: 0, length: part.size)
                let receipt = await self.client.receipt(of: part, region, in: self.upload, after: error)
                return .part(part.number, receipt, wasKept: false)
            } catch {
                return .part(part.number, .failure(error), wasKept: false)
            }
        }
    }

    func uploadStream(_ stream: StreamSource) async throws -> OSSUploadResult {
        guard self.options.adoption == .never else {
            throw OSSError(
                .invalidConfiguration,
                "an open upload can only be taken over for a source that can be read at any place, and "
                    + "\(stream.name) is a stream; leave adoption out"
            )
        }
        let sizes = self.partSizes(of: stream)
        var reader = try await stream.open(on: self.client.blocking)
        if let bytes = try await reader.whole(ifShorterThan: min(sizes.first, Self.wholeObjectLimit)) {
            self.source = OpenSource(bytes: bytes, name: stream.name)
            return try await self.uploadWhole()
        }
        try await self.openRecord(creating: true)
        var hasRestarted = false
        while true {
            var session: StreamSession
            switch try await self.resumeOrBegin(stream, sizes) {
            case .stored(let object, let plan):
                return try await self.succeed(object, plan: plan, uploadID: nil, partsSent: 0, bytesSent: 0)
            case .open(let opened): session = opened
            }
            do {
                return try await self.carryOn(&session, stream, reader)
            } catch let gone as UploadGone {
                guard stream.isReplayable, !hasRestarted else {
                    throw OSSError(
                        .service,
                        "the upload vanished from the service while it was under way; see whether something aborts uploads of "
                            + "this bucket",
                        operation: .completeMultipartUpload
                    )
                }
                hasRestarted = true
                try await self.leave(session.upload, gone)
                self.openUpload = nil
                self.mayBeCompleted = false
                try await self.emptyRecord()
                reader = try await stream.open(on: self.client.blocking)
            }
        }
    }

    /// Sends what is not stored and joins the parts.
    private func carryOn(
        _ session: inout StreamSession, _ stream: StreamSource, _ first: StreamReader
    ) async throws -> OSSUploadResult {
        var reader = first
        if stream.size == nil {
            self.progress.beginOpenEnded()
        } else {
            let plan = PartPlan(size: self.source.size, sizes: session.sizes)
            self.progress.begin(bytesTotal: plan.size, partsTotal: plan.count)
        }
        self.progress.resumed(parts: [], bytes: 0)
        // A service that says that parts are missing is believed and given them, but not for ever.
        for _ in 1...3 {
            let size = try await self.sendParts(of: reader, &session, recordsParts: stream.isReplayable)
            self.progress.streamEnded()
            let plan = PartPlan(size: size, sizes: session.sizes)
            var complete = Session(
                upload: session.upload,
                machine: UploadStateMachine(plan: plan, stored: session.receipts, window: 1),
                isResumed: session.isResumed
            )
            switch try await self.complete(complete) {
            case .stored(let object):
                return try await self.succeed(
                    object, plan: plan, uploadID: session.upload.uploadID, partsSent: session.partsSent,
                    bytesSent: session.bytesSent, partsResumed: max(0, plan.count - session.partsSent)
                )
            case .gone: throw UploadGone()
            case .partsMissing where self.options.isSequential && stream.isReplayable: throw UploadGone.sequenceIsBroken
            case .partsMissing:
                guard stream.isReplayable else {
                    throw OSSError(
                        .service,
                        "the service has lost parts that it had confirmed, and \(stream.name) cannot be read again; "
                            + "upload it anew",
                        operation: .completeMultipartUpload
                    )
                }
                try await self.findLostParts(&complete)
                session.receipts = complete.machine.receipts
                reader = try await stream.open(on: self.client.blocking)
            }
        }
        throw OSSError(
            .service, "the service keeps saying that parts are missing which it has confirmed; run again later",
            operation: .completeMultipartUpload
        )
    }

    // MARK: Sizes

    /// How the stream is cut: by its length where that is known, else so that it may become long.
    private func partSizes(of stream: StreamSource) -> PartSizes {
        guard stream.size == nil else { return self.requestedPlan.sizes }
        let limit = min(self.options.streamBufferLimit, Limits.maximumPartSize)
        let asked = self.requestedPlan.sizes.first
        if asked > limit {
            self.progress.warn(
                "parts of \(asked) bytes do not fit into streamBufferLimit; they begin with \(limit) bytes")
        }
        let sizes = PartSizes.growing(from: min(asked, limit), limit: limit)
        if sizes.capacity < Limits.maximumObjectSize {
            self.progress.note("the length of \(stream.name) is not known; it may have up to \(sizes.capacity) bytes")
        }
        return sizes
    }

    /// How many parts of that size may be in memory at a time.
    private func window(for size: Int64) -> Int {
        max(1, min(self.options.partsInFlight.initial, Int(self.options.streamBufferLimit / size)))
    }

    // MARK: Resume or begin

    private enum StreamOpening {
        case open(StreamSession)
        case stored(StoredObject, PartPlan)
    }

    private func resumeOrBegin(_ stream: StreamSource, _ sizes: PartSizes) async throws -> StreamOpening {
        if let (upload, journal) = try await self.recordedUpload() {
            if let opening = try await self.resume(upload, journal, stream) { return opening }
            try await self.emptyRecord()
        }
        return .open(StreamSession(upload: try await self.initiate(sizes), sizes: sizes))
    }

    private func resume(
        _ upload: Journal.Upload, _ journal: Journal, _ stream: StreamSource
    ) async throws -> StreamOpening? {
        let reason =
            stream.isReplayable
            ? self.reasonToBeginAnew(upload) : "a stream that can be read once does not go on with it"
        if let reason {
            try await self.giveUp(upload.uploadID, because: reason)
            return nil
        }
        if let asked = self.options.partSize, asked != upload.sizes.first {
            self.progress.warn("the upload was begun with parts of \(upload.sizes.first) bytes, and goes on with them")
        }
        let handle = OSSMultipartUpload(
            bucket: self.destination.bucket, key: self.destination.key, uploadID: upload.uploadID
        )
        let listing: Listing?
        do {
            listing = try await self.listing(of: handle)
        } catch let error as OSSError where error.service?.code == .noSuchUpload {
            return try await self.afterDisappearance(handle, upload.sizes, journal, stream)
        }
        self.openUpload = handle
        var session = StreamSession(upload: handle, sizes: upload.sizes, isResumed: true)
        for number in listing.map({ Array($0.others.keys) }) ?? Array(journal.parts.numbers) {
            session.candidates[number] = StoredCandidate(
                recorded: journal.parts[number], listed: listing?.others[number])
        }
        return .open(session)
    }

    /// The recorded upload is gone: perhaps an earlier run had completed it.
    private func afterDisappearance(
        _ upload: OSSMultipartUpload, _ sizes: PartSizes, _ journal: Journal, _ stream: StreamSource
    ) async throws -> StreamOpening? {
        let list = journal.parts
        let plan = PartPlan(size: list.reduce(0) { $0 + $1.size }, sizes: sizes)
        let expectation = try Expectation(list, size: plan.size)
        if journal.isCompleting, list.count == plan.count, let expected = expectation.crc64,
            case .ours(let object) = try await self.lookIfAllowed(expectation)
        {
            // The record's digests are the object's; whether they are the stream's, only the stream tells.
            let reader = try await stream.open(on: self.client.blocking)
            var (crc, size) = (CRC64(), Int64(0))
            while true {
                let piece = try await reader.next(Limits.minimumPartSize)
                crc.update(piece.span)
                size += Int64(piece.count)
                if piece.count < Limits.minimumPartSize { break }
            }
            if size == plan.size, crc.value == expected {
                self.openUpload = upload
                self.progress.begin(bytesTotal: plan.size, partsTotal: plan.count)
                self.progress.resumed(parts: 1...plan.count, bytes: plan.size)
                return .stored(object, plan)
            }
        }
        self.progress.warn("the upload \(upload.uploadID) is gone from the service; it begins anew")
        return nil
    }

    // MARK: Parts

    /// Reads the stream to its end, keeps the parts that are stored and sends the others, several at a time.
    ///
    /// A part's place in the window is taken before its bytes are read, so memory is bounded by the window.
    ///
    /// - Returns: the stream's size in bytes.
    private func sendParts(
        of reader: StreamReader, _ session: inout StreamSession, recordsParts: Bool
    ) async throws -> Int64 {
        let (upload, sizes, candidates) = (session.upload, session.sizes, session.candidates)
        var (receipts, partsSent, bytesSent) = (session.receipts, session.partsSent, session.bytesSent)
        defer { (session.receipts, session.partsSent, session.bytesSent) = (receipts, partsSent, bytesSent) }
        let courier = Courier(
            client: self.client, upload: upload, integrity: self.options.integrity, progress: self.progress,
            share: self.share, isSequential: self.options.isSequential
        )
        var next = 1
        var size: Int64 = 0
        var isAtEnd = false
        var isReading = false
        var inFlight = 0
        var failure: (any Error)?
        await withTaskGroup(of: StreamOutcome.self) { group in
            func fail(_ error: any Error) {
                guard failure == nil else { return }
                failure = error
                let wait = self.client.surroundings.wait
                group.addTask {
                    // Cancelled when all have ended before: then nothing waits for it.
                    try? await wait(Self.grace)
                    return .graceIsOver
                }
            }
            while true {
                if failure == nil, !isAtEnd, !isReading, inFlight < self.window(for: sizes[next]) {
                    isReading = true
                    let count = sizes[next]
                    group.addTask {
                        do { return .read(.success(try await reader.next(count))) } catch {
                            return .read(.failure(error))
                        }
                    }
                }
                // A sequence that hangs is not waited for once something has failed; it is cancelled with the group.
                guard isReading && failure == nil || inFlight > 0, let outcome = await group.next() else { break }
                switch outcome {
                case .graceIsOver: group.cancelAll()
                case .read(.failure(let error)):
                    isReading = false
                    fail(error)
                case .read(.success(let bytes)):
                    isReading = false
                    isAtEnd = bytes.count < sizes[next]
                    guard !bytes.isEmpty, failure == nil else { continue }
                    guard next <= Limits.maximumPartNumber else {
                        fail(Self.tooLong(sizes))
                        continue
                    }
                    let part = PartPlan.Part(number: next, offset: size, size: Int64(bytes.count))
                    size += part.size
                    next += 1
                    self.progress.partRead(part.number, bytes: part.size)
                    let source = OpenSource(bytes: bytes, name: self.source.name)
                    let candidate =
                        receipts[part.number].map { StoredCandidate(recorded: $0, listed: nil) }
                        ?? candidates[part.number]
                    inFlight += 1
                    let courier = courier
                    group.addTask { await courier.send(part, source, unlessStoredAs: candidate) }
                case .part(let number, .success(let receipt), let wasKept):
                    inFlight -= 1
                    let isNew = receipts[number] == nil
                    receipts.insert(receipt)
                    if !wasKept {
                        partsSent += 1
                        bytesSent += receipt.size
                        self.progress.partStored(number, bytes: receipt.size)
                    } else if isNew {
                        self.progress.partKept(number, bytes: receipt.size)
                    }
                    if recordsParts, !wasKept || candidates[number]?.recorded != receipt {
                        await self.writeLine(Journal.line(receipt))
                    }
                case .part(let number, .failure(let error), _):
                    inFlight -= 1
                    self.progress.partFailed(number, wasStopped: error is CancellationError)
                    fail(error)
                }
            }
            group.cancelAll()
        }
        if let failure { throw self.gone(after: failure) ?? failure }
        try Task.checkCancellation()
        return size
    }

    private static func tooLong(_ sizes: PartSizes) -> OSSError {
        OSSError(
            .invalidArgument,
            "the stream has more than \(sizes.capacity) bytes, which is all that \(Limits.maximumPartNumber) parts take; "
                + "nothing was published: give its length, a larger part size or a larger streamBufferLimit",
            operation: .uploadPart
        )
    }
}
