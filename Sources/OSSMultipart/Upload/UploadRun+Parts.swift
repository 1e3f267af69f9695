// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import SystemIO

/// Sending the parts.
extension UploadRun {
    /// What became of a part, of the record on its way to the disk, or of the time that the others are given once one has
    /// failed.
    private enum Outcome: Sendable {
        case part(Int, Result<PartReceipt, any Error>)
        case recordIsDurable((any Error)?)
        case graceIsOver
    }

    /// How long parts in flight may go on once another has failed for good: what is all but stored is worth keeping, and an
    /// abort must not overtake it.
    ///
    /// *Source:* our own choice. *Applies to:* failures; a cancelled upload stops at once.
    static let grace: Duration = .seconds(5)

    /// Sends every part that is not stored, several at a time, and records each as it is stored.
    ///
    /// The first part that fails for good stops the others; those that were stored meanwhile are recorded all the same.
    ///
    /// - Returns: how many parts and bytes were sent.
    func sendParts(_ session: inout Session) async throws -> (parts: Int, bytes: Int64) {
        guard self.sendsByItself else { return try await self.sendAll(&session) }
        // Digest, look at the source and line of the record are calls that block: the way from thread to thread would take
        // longer than they do for a small part.
        return try await self.client.blocking.carry { try await self.sendAll(&session) }
    }

    /// Whether no code of the caller's runs while parts are sent: no source, middleware, signer, clock or wait of theirs.
    private var sendsByItself: Bool {
        switch self.source.content {
        case .custom, .stream: return false
        case .file, .memory: break
        }
        let client = self.client
        return client.authority.usesOwnClock && client.configuration.middlewares.isEmpty
            && !client.surroundings.areForeign
    }

    private func sendAll(_ session: inout Session) async throws -> (parts: Int, bytes: Int64) {
        var sent: (parts: Int, bytes: Int64) = (0, 0)
        var failure: (any Error)?
        let upload = session.upload
        // The machine stays where it is: a copy of ten thousand receipts is a copy for each run.
        let signs = OverloadSigns()
        var window: AdaptiveWindow?
        if self.options.partsInFlight.isAdaptive {
            let adaptive = AdaptiveWindow(
                maximum: self.options.partsInFlight.maximum, at: self.start.duration(to: .now))
            session.machine.window = adaptive.size
            window = adaptive
        }
        await withTaskGroup(of: Outcome.self) { group in
            loop: while true {
                switch session.machine.next() {
                case .send(let part):
                    let (client, source, integrity) = (self.client, self.source, self.options.integrity)
                    let (progress, share, isSequential) = (self.progress, self.share, self.options.isSequential)
                    group.addTask {
                        do {
                            let result = try await share.withSlot {
                                try await client.uploadPart(
                                    part.number, of: upload, source: source, offset: part.offset, length: part.size,
                                    integrity: integrity, progress: progress.partBegan(part.number),
                                    overloadSigns: signs
                                )
                            }
                            return .part(part.number, .success(PartReceipt(result, part, integrity)))
                        } catch let error as OSSError where isSequential && error.service?.code == .partAlreadyExist {
                            let region = source.region(at: part.offset, length: part.size)
                            return .part(part.number, await client.receipt(of: part, region, in: upload, after: error))
                        } catch {
                            return .part(part.number, .failure(error))
                        }
                    }
                case .wait:
                    guard let outcome = await group.next() else { break loop }
                    switch outcome {
                    case .graceIsOver: group.cancelAll()
                    case .recordIsDurable(let failure): self.ended(failure)
                    case .part(_, .success(let receipt)):
                        session.machine.stored(receipt)
                        window?.stored(
                            bytes: receipt.size, at: self.start.duration(to: .now), isOverloaded: signs.take())
                        if let window { session.machine.window = window.size }
                        sent = (sent.parts + 1, sent.bytes + receipt.size)
                        self.progress.partStored(receipt.number, bytes: receipt.size)
                        await self.appendLine(Journal.line(receipt))
                        // A slow disk holds up no part.
                        if let synchronization = self.dueSynchronization() {
                            group.addTask { .recordIsDurable(await synchronization()) }
                        }
                    case .part(let number, .failure(let error)):
                        session.machine.failed(number)
                        self.progress.partFailed(number, wasStopped: error is CancellationError)
                        guard failure == nil else { continue }
                        failure = error
                        let wait = self.client.surroundings.wait
                        group.addTask {
                            // Cancelled when all have ended before: then nothing waits for it.
                            try? await wait(Self.grace)
                            return .graceIsOver
                        }
                    }
                case .allStored, .stopped:
                    group.cancelAll()
                    for await case .recordIsDurable(let failure) in group { self.ended(failure) }
                    break loop
                }
            }
        }
        if let failure { throw self.gone(after: failure) ?? failure }
        try Task.checkCancellation()
        return sent
    }

    /// What a part's failure says of the upload; nil where it says nothing.
    func gone(after failure: any Error) -> UploadGone? {
        switch (failure as? OSSError)?.service?.code {
        case .noSuchUpload?: UploadGone()
        case .partAlreadyExist? where self.options.isSequential, .partNotSequential? where self.options.isSequential:
            .sequenceIsBroken
        default: nil
        }
    }

    /// The service says that parts are missing: finds out which, so that they are sent again.
    func findLostParts(_ session: inout Session) async throws {
        let receipts = session.machine.receipts
        let listing = try await self.listing(of: session.upload, comparedWith: receipts)
        // Without a listing none of them can be relied on.
        let lost = receipts.filter { !(listing?.confirmed.contains($0.number) ?? false) }
        self.progress.warn("the service has lost \(lost.count) parts that it had confirmed; they are sent again")
        self.progress.partsLost(lost.map(\.number), bytes: lost.reduce(0) { $0 + $1.size })
        session.machine.lost(lost.map(\.number))
        for receipt in lost {
            await self.writeLine(Journal.line(dropping: receipt.number))
        }
    }
}
