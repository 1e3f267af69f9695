// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import CurlTransport
internal import OSSWire
internal import SystemIO

extension OSSClient {
    /// Carries one operation to its end: sign, send, judge, wait, until there is a reply of 2xx or an error to throw.
    ///
    /// Each attempt is signed anew and sends the whole body from its start.
    ///
    /// - Parameter check: looks at a reply of 2xx; an `OSSError` with the code `malformedReply` or `integrity` counts as a
    ///   failed attempt that may be made again.
    func perform<Result>(
        _ request: ServiceRequest, check: (ServiceResponse) throws(OSSError) -> Result
    ) async throws -> Result {
        var attempt = 0
        var digest: [UInt8]?
        var isClockCorrected = false, areCredentialsRenewed = false, mayBeApplied = false
        var grant = try await self.authority.grant()
        while true {
            try Task.checkCancellation()
            attempt += 1
            if request.integrity.sendsMD5, digest == nil {
                digest = try await self.md5(of: request.body, operation: request.operation, part: request.partNumber)
            }
            if let source = request.watchedSource {
                try await source.checkUnchanged(on: self.blocking)
            }
            let outcome = try await self.attempt(
                request, number: attempt, md5: digest, grant)

            let verdict: RetryVerdict
            let failure: OSSError
            switch outcome.result {
            case .success(let response):
                request.overloadSigns?.note(response)
                let service = Self.errorDocument(of: response)
                verdict = RetryClassifier.verdict(on: response, service: service, now: self.surroundings.now())
                if case .success = verdict {
                    let reply = ServiceResponse(
                        status: response.status, headers: response.headers, body: response.body,
                        stream: response.stream,
                        md5: digest ?? response.sentMD5, crc64: response.sentCRC64, followsLostReply: mayBeApplied
                    )
                    do throws(OSSError) {
                        try self.compareCRC64(of: reply, request)
                        try self.compareETag(of: reply, request)
                        return try check(reply)
                    } catch {
                        // What the operation makes of a good reply is its answer; only a reply that is none is no answer.
                        guard error.code == .malformedReply || error.code == .integrity else { throw error }
                        var error = error
                        error.reply = OSSError.Reply(status: response.status, requestID: response.requestID)
                        mayBeApplied = true
                        guard request.mayBeResent, attempt < self.configuration.retryPolicy.maximumAttempts else {
                            throw error.givingUp(afterAttempts: attempt, followsLostReply: true)
                        }
                        // The bytes may have been read wrong as well as sent wrong.
                        digest = nil
                        try await self.waitBeforeAttempt(attempt + 1, asked: nil)
                        continue
                    }
                }
                let refusal = service ?? ServiceErrorDocument.standIn(for: response, operation: request.operation)
                failure = self.error(for: refusal, request, response, outcome.signed)
                if RetryClassifier.mayHaveBeenApplied(response, service) { mayBeApplied = true }
            case .failure(.signer(let error)):
                // Nothing was sent.
                verdict = .again(after: nil)
                failure = error
            case .failure(.transport(let error)):
                request.overloadSigns?.note(error)
                if error.kind == .shutDown {
                    throw OSSError(.shutDown, "the client has been shut down; make a new one")
                }
                verdict = RetryClassifier.verdict(on: error)
                failure = Self.error(for: error, request)
                if RetryClassifier.mayHaveBeenApplied(error) { mayBeApplied = true }
            }
            if mayBeApplied, !request.mayBeResent {
                throw OSSError(
                    .outcomeUnknown, "it is not known whether the request was applied: \(failure.message)",
                    operation: request.operation, service: failure.service, underlying: failure
                )
            }
            var isPastLimit = attempt >= self.configuration.retryPolicy.maximumAttempts
            switch verdict {
            case .success, .hopeless: isPastLimit = true
            case .again(let asked):
                if !isPastLimit { try await self.waitBeforeAttempt(attempt + 1, asked: asked) }
            case .againFromSource:
                digest = nil
                if !isPastLimit { try await self.waitBeforeAttempt(attempt + 1, asked: nil) }
            case .againWithClockOffset(let milliseconds) where self.authority.usesOwnClock:
                // Once, and not counted: the second refusal for the same reason is an answer.
                isPastLimit = isClockCorrected
                isClockCorrected = true
                self.clockOffset.value = milliseconds
                attempt -= 1
            case .againWithNewCredentials, .againWithClockOffset:
                isPastLimit = areCredentialsRenewed
                areCredentialsRenewed = true
                if !isPastLimit {
                    let next = try await self.authority.grant(
                        after: grant, refusedWith: failure.service?.code.name)
                    if let next { grant = next } else { isPastLimit = true }
                }
                attempt -= 1
            }
            if isPastLimit { throw failure.givingUp(afterAttempts: max(1, attempt), followsLostReply: mayBeApplied) }
        }
    }

    // MARK: Sign

    /// Signs an attempt, or has it signed.
    ///
    /// - Returns: what is sent; an error where the signer may be asked again.
    func sign(
        _ request: ServiceRequest, md5: [UInt8]?, _ grant: RequestAuthority.Grant
    ) async throws -> Result<SignedRequest, OSSError> {
        var signable = SignableRequest(
            method: request.method, bucket: request.bucket, key: request.key, query: request.query,
            headers: request.headers
        )
        try self.address.validate(
            bucket: request.bucket, self.configuration.addressing, request.operation)
        if self.configuration.paysForRequests { signable.headers["x-oss-request-payer"] = "requester" }
        if let limit = self.configuration.trafficLimit, request.operation.carriesObject {
            signable.headers["x-oss-traffic-limit"] = String(limit)
        }
        if let md5 { signable.headers["Content-MD5"] = Base64.encode(md5) }
        var url = self.address.address(
            bucket: request.bucket, key: request.key, addressing: self.configuration.addressing
        )
        if !signable.query.isEmpty { url += "?" + signable.query.encoded }
        var signed: SignedRequest
        switch grant {
        // A form has its policy and the policy's signature.
        case .credentials(let access) where !request.isSignedInBody:
            let date = Timestamp(milliseconds: self.surroundings.now() + self.clockOffset.value)
            try self.signer.sign(&signable, date: date, with: access.credentials, for: request.operation)
            signed = SignedRequest(url: url, headers: signable.headers)
        case .signer(let signer, let refusal) where !request.isSignedInBody:
            let answer = try await SignerCall.ask(signer, refusal: refusal, url: url, signable, request)
            guard case .success(let given) = answer else { return answer }
            signed = given
        case .credentials, .signer:
            signed = SignedRequest(url: url, headers: signable.headers)
        }
        signed.headers["User-Agent"] = self.configuration.userAgent
        return .success(signed)
    }

    // MARK: Send

    func send(
        _ signed: SignedRequest, _ request: ServiceRequest
    ) async throws -> Result<TransportResponse, AttemptFailure> {
        var maker: BodyMaker?
        let body: TransportBody
        switch request.body {
        case .none: body = .none
        case .bytes(let bytes): body = .bytes(bytes)
        case .region(let region):
            switch region.content {
            case .file(let file, let origin):
                body = .file(file, offset: origin + region.offset, length: region.length)
            case .memory(let bytes):
                body = .memory(bytes[Int(region.offset)..<Int(region.offset + region.length)])
            case .custom:
                let pipe = BodyPipe(length: region.length)
                maker = BodyMaker(region: region, pipe: pipe, executor: self.blocking)
                body = .pipe(pipe)
            // Not a matter of input: no caller makes a region of a stream, UploadRun sends its pieces from memory.
            case .stream: preconditionFailure("a stream is sent in pieces that are in memory")
            }
        case .form(let head, let region, let tail):
            let pipe = BodyPipe(length: request.body.length)
            maker = BodyMaker(head: head, region: region, tail: tail, pipe: pipe, executor: self.blocking)
            body = .pipe(pipe)
        }
        var outgoing = TransportRequest(method: request.method, url: signed.url, headers: signed.headers, body: body)
        outgoing.computesCRC64 = request.integrity.comparesCRC64
        outgoing.computesMD5 = request.integrity.comparesETag
        outgoing.replyLimit = request.replyLimit
        outgoing.streamsReply = request.streamsReply
        outgoing.isIdempotent = request.isIdempotent
        outgoing.progress = request.progress
        outgoing.timeouts.connect = self.configuration.connectTimeout
        outgoing.timeouts.idle = self.configuration.idleTimeout
        outgoing.timeouts.total = self.configuration.totalTimeout
        do {
            guard let maker else { return .success(try await self.transport.execute(outgoing)) }
            return .success(try await self.execute(outgoing, maker))
        } catch let error as TransportError {
            // A cancelled request can also fail in other ways; the caller asked for one answer.
            try Task.checkCancellation()
            return .failure(.transport(error))
        }
    }

    /// Sends a request whose body is made while it is sent; when it has ended nobody makes it any more.
    private func execute(_ request: TransportRequest, _ maker: BodyMaker) async throws -> TransportResponse {
        enum Outcome: Sendable {
            case made(Result<Void, any Error>)
            case answered(Result<TransportResponse, any Error>)
        }
        let transport = self.transport
        return try await withThrowingTaskGroup(of: Outcome.self) { group in
            group.addTask { .made(await maker.make()) }
            group.addTask {
                do { return .answered(.success(try await transport.execute(request))) } catch {
                    return .answered(.failure(error))
                }
            }
            var answer: Result<TransportResponse, any Error> = .failure(CancellationError())
            var failure: (any Error)?
            for try await outcome in group {
                switch outcome {
                case .made(.success): break
                case .made(.failure(let error)): failure = error
                case .answered(let result):
                    answer = result
                    maker.pipe.close()
                    group.cancelAll()
                }
            }
            if case .failure(let error as TransportError) = answer, error.kind == .brokenBody, let failure {
                throw failure
            }
            return try answer.get()
        }
    }

    // MARK: Judge

    private static func errorDocument(of response: TransportResponse) -> OSSError.Service? {
        if (200...299).contains(response.status) {
            // 203 says that the object is stored and only the callback failed: that is for the operation to say.
            guard response.status != 203, !response.body.isEmpty else { return nil }
        }
        return ServiceErrorDocument.read(response)
    }

    /// Compares what was sent with what the service got, where both are known.
    private func compareCRC64(of reply: ServiceResponse, _ request: ServiceRequest) throws(OSSError) {
        guard request.integrity.comparesCRC64, var sent = reply.crc64, let got = reply.serviceCRC64,
            request.body.length > 0
        else { return }
        switch request.replyCRC64 {
        case .body: break
        case .following(let first): sent = CRC64.combine(first, sent, lengthOfSecond: request.body.length)
        case .unrelated: return
        }
        guard sent != got else { return }
        throw OSSError(
            .integrity,
            "the service stored bytes with the CRC-64 \(got), but those sent have \(sent): they changed on the way; run it "
                + "again, and look at the network and the machine's memory if it stays",
            operation: request.operation, partNumber: request.partNumber
        )
    }

    /// Compares the ETag with the MD5 that was sent, where the service offers no CRC-64 to compare and the ETag can only be
    /// an MD5: 32 digits, of an object that the service does not encrypt.
    private func compareETag(of reply: ServiceResponse, _ request: ServiceRequest) throws(OSSError) {
        guard request.operation == .uploadPart || request.operation == .putObject, let md5 = reply.md5,
            !request.integrity.comparesCRC64 || reply.serviceCRC64 == nil,
            reply.headers["x-oss-server-side-encryption"] == nil, let eTag = reply.eTag,
            let stored = Hex.decode(eTag), stored.count == 16, stored != md5
        else { return }
        throw OSSError(
            .integrity,
            "the service stored bytes with the MD5 \(eTag), but those sent have \(Hex.upper(md5)): they changed on the way; run "
                + "it again, and look at the network and the machine's memory if it stays",
            operation: request.operation, partNumber: request.partNumber
        )
    }

    private func error(
        for service: OSSError.Service, _ request: ServiceRequest, _ response: TransportResponse,
        _ signed: SignedRequest?
    ) -> OSSError {
        var circumstances = ServiceAdvice.Circumstances(
            operation: request.operation, now: self.surroundings.now(), region: self.region)
        if service.code == .signatureDoesNotMatch, let signed {
            circumstances.signature =
                signed.isOurs
                ? SignatureDifference.advice(
                    on: response, request, signedHeaders: signed.headers, region: self.region)
                : "the signer signed another request than it was asked to and than its answer made be sent, or with another "
                    + "secret or region: compare them there"
        }
        return OSSError(
            service.code == .invalidDigest ? .integrity : .service, ServiceAdvice.message(on: service, circumstances),
            operation: request.operation, partNumber: request.partNumber, service: service
        )
    }

    static func error(for failure: AttemptFailure, _ request: ServiceRequest) -> OSSError {
        switch failure {
        case .transport(let error): self.error(for: error, request)
        case .signer(let error): error
        }
    }

    static func error(for error: TransportError, _ request: ServiceRequest) -> OSSError {
        let (code, advice): (OSSError.Code, String) =
            switch error.kind {
            case .resolve: (.connection, "check the endpoint's spelling, the addressing style and the name service")
            case .connect:
                (.connection, "check the endpoint, its port and scheme, the proxy if there is one, and the network")
            case .connectTimeout: (.timeout, "check the endpoint and the network, or allow a longer connectTimeout")
            case .tls: (.connection, "check the certificate, the CA file and the machine's clock")
            case .send, .receive: (.connection, "try again when the network is steady")
            case .idleTimeout: (.timeout, "try again, or allow a longer idleTimeout")
            case .totalTimeout: (.timeout, "allow a longer totalTimeout, or none")
            case .replyTooLarge, .malformedReply:
                (.malformedReply, "something other than the service answered; check the endpoint and the proxy")
            case .source: (.sourceUnreadable, "check the file and its disk")
            case .sourceTooShort, .brokenBody:
                (.sourceChanged, "the source became shorter while it was read; let it rest, then run again")
            case .configuration: (.invalidConfiguration, "check the proxy and the CA file")
            case .shutDown: (.shutDown, "make a new client")
            }
        return OSSError(
            code, "\(error.message.last == "." ? String(error.message.dropLast()) : error.message); \(advice)",
            operation: request.operation, partNumber: request.partNumber,
            underlying: error
        )
    }

    // MARK: Wait

    func waitBeforeAttempt(_ attempt: Int, asked: Duration?) async throws {
        let cap = self.configuration.retryPolicy.delayCap(afterAttempts: attempt - 1)
        try await self.surroundings.wait(asked ?? cap * self.surroundings.random())
    }
}

extension OSSError {
    /// The error with the number of attempts in its message, where there was more than one.
    fileprivate func givingUp(afterAttempts attempts: Int, followsLostReply: Bool) -> OSSError {
        var error = self
        error.followsLostReply = followsLostReply
        guard attempts > 1 else { return error }
        error = OSSError(
            self.code, "\(self.message) (gave up after \(attempts) attempts)", operation: self.operation,
            partNumber: self.partNumber, service: self.service, underlying: self.underlying
        )
        error.followsLostReply = followsLostReply
        error.reply = self.reply
        return error
    }
}
