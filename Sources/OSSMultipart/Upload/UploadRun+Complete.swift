// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// The object as it is stored.
struct StoredObject: Sendable {
    var eTag: String?
    var crc64: UInt64?
    var versionID: String?
    var requestID: String?
    var proof: OSSUploadResult.Proof
    /// What the reply said of the callback.
    var callback: OSSCallbackOutcome?
}

/// What the stored object must be.
struct Expectation: Sendable {
    let size: Int64
    /// CRC-64 of the whole; nil where it was not computed for every part.
    let crc64: UInt64?
    /// The ETag that the parts' ETags give; the service does not promise the rule.
    let eTag: String
    /// Whether each of those ETags is the MD5 of the bytes sent: only then the ETag says something of the bytes.
    let eTagProvesBytes: Bool

    init(_ parts: some Sequence<PartReceipt>, size: Int64) throws(OSSError) {
        self.size = size
        var whole: UInt64? = 0
        for part in parts {
            guard let before = whole, let crc64 = part.crc64 else {
                whole = nil
                break
            }
            whole = CRC64.combine(before, crc64, lengthOfSecond: part.size)
        }
        self.crc64 = whole
        self.eTagProvesBytes = parts.allSatisfy { $0.isETagMD5 }
        do throws(DigestError) {
            var eTag = try MultipartETag()
            for part in parts { try eTag.append(part.eTag) }
            self.eTag = try eTag.finish()
        } catch {
            // Where MD5 is forbidden there is no ETag to compare; the CRC-64 decides.
            self.eTag = ""
        }
    }

    /// An object of one request.
    init(size: Int64, crc64: UInt64?, md5: [UInt8]?) {
        self.size = size
        self.crc64 = crc64
        self.eTag = md5.map { Hex.upper($0) } ?? ""
        self.eTagProvesBytes = md5 != nil
    }
}

/// Joining the parts, exactly once, and the proof that the object is the source.
extension UploadRun {
    /// What Complete came to.
    enum Completion {
        case stored(StoredObject)
        /// The service says that parts are missing.
        case partsMissing
        /// The upload is gone, and the object is not there.
        case gone
    }

    /// What is under the key.
    enum Look {
        /// The source, with the proof.
        case ours(StoredObject)
        /// Nothing, or something else.
        case notOurs
        /// There is an object of the right size, and nothing that tells whether it is the source.
        case cannotTell
    }

    /// Sends Complete and finds out what came of it.
    func complete(_ session: Session) async throws -> Completion {
        guard session.machine.isComplete else {
            throw OSSError(
                .integrity, "the parts that are stored do not sum to the source; nothing was published: run again",
                operation: .completeMultipartUpload
            )
        }
        let parts = session.machine.receipts
        let expectation = try Expectation(parts, size: session.plan.size)
        let document = OSSClient.completeDocument(parts.lazy.map(\.info), count: session.plan.count)
        var request = CompleteMultipartUploadRequest(upload: session.upload, parts: [])
        request.forbidsOverwrite = self.destination.headers.forbidsOverwrite
        request.acl = self.destination.headers.acl
        request.callback = self.destination.callback
        self.progress.completing()
        await self.writeLine(Journal.completingLine)
        // A resumed upload may have been completed by the run before, which did not live to hear of it.
        var replyWasLost = session.isResumed
        let policy = self.client.configuration.retryPolicy
        for attempt in 1...policy.maximumAttempts {
            do {
                self.mayBeCompleted = true
                let result = try await self.client.completeMultipartUpload(
                    request, document: document, mayBeResent: false)
                return .stored(try await self.prove(result, expectation))
            } catch let error as OSSError {
                switch (error.code, error.service?.code) {
                case (.outcomeUnknown, _), (.malformedReply, _):
                    replyWasLost = true
                    if let completion = try await self.findOut(session.upload, expectation, after: error) {
                        return completion
                    }
                    guard attempt < policy.maximumAttempts else { throw Self.neverStored(after: attempt, error) }
                    // Not stored, and still open: Complete may be sent again.
                    let cap = policy.delayCap(afterAttempts: attempt)
                    try await self.client.surroundings.wait(cap * self.client.surroundings.random())
                case (.service, .noSuchUpload?):
                    if case .ours(let object) = try await self.lookOrThrow(expectation, after: error) {
                        return .stored(object)
                    }
                    self.mayBeCompleted = false
                    return .gone
                case (.service, .fileAlreadyExists?) where replyWasLost:
                    if case .ours(let object) = try await self.lookOrThrow(expectation, after: error) {
                        return .stored(object)
                    }
                    await self.discard(session.upload)
                    throw error
                case (.service, .fileAlreadyExists?):
                    // Another object is there, and it must not be replaced: no later run can finish this upload.
                    await self.discard(session.upload)
                    throw error
                case (.service, .invalidPart?):
                    self.mayBeCompleted = false
                    return .partsMissing
                case (.service, _), (.connection, _), (.timeout, _), (.invalidConfiguration, _),
                    (.missingCredentials, _), (.signerFailed, _):
                    // Refused, or never sent: what is not completed can be gone on with.
                    self.mayBeCompleted = false
                    throw error
                default: throw error
                }
            }
        }
        throw OSSError(
            .outcomeUnknown, "it could not be found out whether the object is stored; run again to find out",
            operation: .completeMultipartUpload
        )
    }

    /// Gives up an upload that can never be completed, and its record.
    private func discard(_ upload: OSSMultipartUpload) async {
        self.mayBeCompleted = false
        await self.abortShielded(upload)
        self.openUpload = nil
        await self.removeRecord()
    }

    /// A reply was lost: looks at the key, then at the upload.
    ///
    /// Nil: not stored, and still open.
    private func findOut(
        _ upload: OSSMultipartUpload, _ expectation: Expectation, after error: OSSError
    ) async throws -> Completion? {
        if case .ours(let object) = try await self.lookOrThrow(expectation, after: error) { return .stored(object) }
        do {
            var request = ListPartsRequest(upload: upload)
            request.maxParts = 1
            _ = try await self.client.listParts(request)
            self.mayBeCompleted = false
            return nil
        } catch let listError as OSSError where listError.service?.code == .noSuchUpload {
            // It may have been completed between the two looks.
            if case .ours(let object) = try await self.lookOrThrow(expectation, after: error) { return .stored(object) }
            self.mayBeCompleted = false
            return .gone
        } catch let listError as OSSError where listError.service?.code == .accessDenied {
            // Sending Complete again does no harm: it does nothing to an upload that is gone.
            return nil
        } catch is OSSError {
            throw Self.outcomeUnknown(after: error)
        }
    }

    /// Looks at the key after a lost reply; where that shows nothing, the outcome is unknown.
    func lookOrThrow(_ expectation: Expectation, after error: OSSError) async throws -> Look {
        let look: Look
        do { look = try await self.look(for: expectation) } catch is OSSError {
            throw Self.outcomeUnknown(after: error)
        }
        if case .cannotTell = look { throw Self.outcomeUnknown(after: error) }
        return look
    }

    private static func neverStored(after attempts: Int, _ error: OSSError) -> OSSError {
        var failure = OSSError(
            .outcomeUnknown,
            "the parts were to be joined \(attempts) times, and no object came of it; all parts are stored: run again later; the last "
                + "answer was: \((error.underlying as? OSSError ?? error).message)",
            operation: .completeMultipartUpload, service: error.service, underlying: error
        )
        failure.reply = error.reply ?? (error.underlying as? OSSError)?.reply
        return failure
    }

    private static func outcomeUnknown(after error: OSSError) -> OSSError {
        OSSError(
            .outcomeUnknown,
            "the object may be stored or not, and it could not be found out; nothing was given up, run again to find out; what "
                + "happened first: \(error.message)",
            operation: error.operation, service: error.service, underlying: error
        )
    }

    /// Looks at the key and compares what is there with what must be.
    func look(for expectation: Expectation) async throws -> Look {
        let head: HeadObjectResult
        do {
            head = try await self.client.headObject(.init(bucket: self.destination.bucket, key: self.destination.key))
        } catch let error as OSSError where error.service?.status == 404 {
            return .notOurs
        }
        guard head.size == expectation.size else { return .notOurs }
        var object = StoredObject(
            eTag: head.eTag, crc64: head.crc64 ?? expectation.crc64, versionID: head.versionID,
            requestID: head.requestID,
            proof: .size
        )
        if let theirs = head.crc64, let ours = expectation.crc64 {
            guard theirs == ours else { return .notOurs }
            object.proof = .crc64
            return .ours(object)
        }
        guard let eTag = head.eTag, eTag.equalsIgnoringASCIICase(expectation.eTag) else { return .cannotTell }
        if expectation.eTagProvesBytes { object.proof = .eTag }
        return .ours(object)
    }

    /// Compares the reply of Complete, and where it says too little the object's head, with what must be.
    private func prove(
        _ result: CompleteMultipartUploadResult, _ expectation: Expectation
    ) async throws -> StoredObject {
        try await self.prove(
            StoredObject(
                eTag: result.eTag, crc64: result.crc64, versionID: result.versionID, requestID: result.requestID,
                proof: .none, callback: result.callback
            ), expectation, .completeMultipartUpload
        )
    }

    /// Compares what the service said of an object that it has stored with what must be.
    func prove(
        _ said: StoredObject, _ expectation: Expectation, _ operation: OSSError.Operation
    ) async throws -> StoredObject {
        var object = said
        func contradicted(_ what: String) -> OSSError {
            OSSError(
                .integrity,
                "the stored object is not the source: \(what); nothing was deleted, the next run uploads it anew",
                operation: operation
            )
        }
        if let theirs = said.crc64, let ours = expectation.crc64 {
            guard theirs == ours else { throw contradicted("its CRC-64 is \(theirs), that of the source \(ours)") }
            object.proof = .crc64
            return object
        }
        object.crc64 = expectation.crc64
        do {
            let head = try await self.client.headObject(
                .init(bucket: self.destination.bucket, key: self.destination.key))
            guard head.size == expectation.size else {
                throw contradicted("it has \(head.size) bytes, the source \(expectation.size)")
            }
            if let told = said.eTag, let found = head.eTag, !told.equalsIgnoringASCIICase(found) {
                throw contradicted("its ETag is \(found), and the service had said \(told)")
            }
            object.eTag = object.eTag ?? head.eTag
            object.proof = .size
            if let theirs = head.crc64, let ours = expectation.crc64 {
                guard theirs == ours else { throw contradicted("its CRC-64 is \(theirs), that of the source \(ours)") }
                object.proof = .crc64
                return object
            }
        } catch let error as OSSError where error.service?.status == 404 {
            throw OSSError(
                .outcomeUnknown,
                "the service said that the object is stored, but there is none under the key; something other than the service may "
                    + "have answered: check the endpoint and the proxy, then run again",
                operation: operation, service: error.service, underlying: error
            )
        } catch let error as OSSError where error.code != .integrity {
            // The service said that it is stored; that it cannot be looked at takes nothing from that.
            self.progress.warn("the stored object could not be looked at (\(error.message))")
        }
        if expectation.eTagProvesBytes, let eTag = object.eTag, eTag.equalsIgnoringASCIICase(expectation.eTag) {
            object.proof = .eTag
        }
        return object
    }
}
