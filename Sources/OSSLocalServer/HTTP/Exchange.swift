// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// One request and its reply, step by step; used by its connection's thread alone.
final class Exchange {
    /// What the connection does next.
    enum Step {
        /// Goes on reading.
        case proceed
        /// Sends this.
        case reply(Reply)
        /// Sends this at once, whatever is still to be read, and closes the connection.
        case replyAndClose(Reply)
        /// Closes the connection without a reply.
        case close
    }

    private enum Sink {
        case discard
        case document([UInt8], limit: Int)
        case file(IncomingFile)
        case form(PostForm)
    }

    private let service: Service
    private let rawTarget: String
    private let connectionID: Int
    // Waits, but no longer than the server runs and the client is there.
    private let pause: (Duration) -> Void
    private let clock = ContinuousClock()

    private var request: Request?
    private var record: OSSServer.RequestRecord?
    private var plan = FaultPlan([])
    private var handler: (any OperationHandler)?
    private var failure: ServiceError?
    private var sink = Sink.discard
    private var bytesReceived: Int64 = 0
    private var bodyBegan: ContinuousClock.Instant?

    /// Bodies that a refused request may still send: up to this it is read, so that the connection can go on.
    ///
    /// *Source:* own choice. *Applies to:* requests that are refused by their header fields.
    private static let patience: Int64 = 16 * 1024 * 1024

    /// Takes the request line's target as it stood there.
    init(service: Service, rawTarget: String, connectionID: Int, pause: @escaping (Duration) -> Void) {
        self.service = service
        self.rawTarget = rawTarget
        self.connectionID = connectionID
        self.pause = pause
    }

    /// The rate that a fault rule imposes on bodies.
    var bytesPerSecond: Int? { self.plan.bytesPerSecond }

    // MARK: Steps

    /// The header fields are there.
    func begin(method: String, headers: HTTPFields) -> Step {
        var request = Request(
            method: method, target: .none, headers: headers, received: self.service.now(), id: Identifier.request())
        do throws(ServiceError) {
            request.target = try RequestTarget(
                self.rawTarget, host: headers["Host"] ?? "", serviceHosts: self.service.configuration.serviceHosts)
        } catch {
            self.failure = error
        }
        self.request = request
        let operation = Router.operation(request)
        let record = OSSServer.RequestRecord(
            request, operation: operation?.name ?? "Unknown", connectionID: self.connectionID)
        self.plan = FaultPlan(
            self.service.faults.match(
                operation: record.operation, bucket: record.bucket, key: record.key, partNumber: record.partNumber))
        self.record = record
        self.record?.metFault = !self.plan.isEmpty
        // Where a body ends must not depend on who reads the header fields.
        guard !request.hasAmbiguousLength else {
            return .replyAndClose(
                self.finished(Reply(ServiceError.invalidArgument("The length of the body is told more than once."))))
        }
        self.wait(self.plan.delay)
        switch self.plan.outcome {
        case .respondEarly(let error): return .replyAndClose(self.finished(Reply(error)))
        case .cut(let count) where count <= 0: return self.drop()
        case .respond, .dropBeforeReply, .cut: return .proceed
        case .commitThenDrop, .commitThenRespond, nil: break
        }
        if self.failure == nil {
            do throws(ServiceError) { try self.prepare(request, operation) } catch { self.failure = error }
        }
        guard let failure = self.failure else { return .proceed }
        // Whoever asks before sending gets the answer at once, and so does whoever has too much to send.
        let isLong = (request.contentLength ?? 0) > Self.patience
        guard isLong || headers["Expect"] != nil else { return .proceed }
        return .replyAndClose(self.finished(Reply(failure)))
    }

    /// A piece of the body is there.
    func receive(_ bytes: Span<UInt8>) -> Step {
        guard let rate = self.plan.bytesPerSecond else { return self.take(bytes) }
        let began = self.bodyBegan ?? self.clock.now
        self.bodyBegan = began
        var done = 0
        while done < bytes.count {
            let count = min(bytes.count - done, max(1, rate / 20))
            let step = self.take(bytes.extracting(done..<done + count))
            guard case .proceed = step else { return step }
            done += count
            let due = began.advanced(by: .seconds(Double(self.bytesReceived) / Double(rate)))
            self.wait(due - self.clock.now)
        }
        return .proceed
    }

    /// The body is there as a whole.
    func finish() -> Step {
        switch self.plan.outcome {
        case .respond(let reply):
            self.wait(self.plan.stall)
            return .reply(self.finished(reply))
        case .dropBeforeReply, .cut:
            self.wait(self.plan.stall)
            return self.drop()
        default: break
        }
        var reply: Reply
        do throws(ServiceError) { reply = try self.carryOut() } catch { reply = Reply(error) }
        self.handler = nil
        self.sink = .discard
        self.wait(self.plan.stall)
        switch self.plan.outcome {
        case .commitThenDrop: return self.drop()
        case .commitThenRespond(let error): reply = Reply(error)
        default: break
        }
        return .reply(self.finished(reply))
    }

    /// The request is over, with or without a reply.
    func end() {
        self.handler = nil
        self.sink = .discard
        // Nothing was logged: the connection broke before the request was there.
        self.writeRecord()
    }

    // MARK: Work

    private func prepare(_ request: Request, _ operation: (any OperationHandler.Type)?) throws(ServiceError) {
        try request.target.check()
        if operation?.isSignedInBody != true {
            try self.service.authenticator.authenticate(request) { () throws(ServiceError) in
                try self.service.isPublic(request, operation?.access ?? .owner)
            }
        }
        try self.service.expireUploads()
        guard let operation else {
            throw ServiceError.notImplemented("\(request.method) with \(request.query.map(\.name))")
        }
        if request.method == "PUT" || request.method == "POST", request.contentLength == nil, !request.isChunked {
            throw ServiceError(
                411, "MissingContentLength", "You must provide the Content-Length HTTP header.")
        }
        if let digest = request.headers["Content-MD5"], Base64.decode(digest)?.count != 16 {
            throw ServiceError.invalidDigest(ec: "0017-00000502")
        }
        if let limit = try request.trafficLimit() {
            self.plan.bytesPerSecond = min(limit, self.plan.bytesPerSecond ?? limit)
        }
        let handler = try operation.init(request, self.service)
        switch try handler.planBody() {
        case .discard: self.sink = .discard
        case .document(let limit): self.sink = .document([], limit: limit)
        case .file(let file): self.sink = .file(file)
        case .form(let form): self.sink = .form(form)
        }
        self.handler = handler
    }

    private func take(_ bytes: Span<UInt8>) -> Step {
        self.bytesReceived += Int64(bytes.count)
        if case .cut(let count) = self.plan.outcome, self.bytesReceived >= count { return self.drop() }
        guard self.failure == nil else { return .proceed }
        do throws(ServiceError) {
            switch self.sink {
            case .discard: break
            case .document(var document, let limit):
                self.sink = .discard
                guard document.count + bytes.count <= limit else {
                    throw ServiceError(400, "EntityTooLarge", "The request's document is too long.")
                }
                for index in bytes.indices { document.append(bytes[index]) }
                self.sink = .document(document, limit: limit)
            case .file(let file):
                guard self.bytesReceived <= Limits.maximumPartSize else { throw ServiceError.entityTooLarge }
                try file.write(bytes)
            case .form(let form):
                defer { self.record?.key = form.order?.request.target.key }
                try form.receive(bytes)
            }
        } catch {
            self.failure = error
            self.sink = .discard
        }
        return .proceed
    }

    private func carryOut() throws(ServiceError) -> Reply {
        if let failure { throw failure }
        guard let handler, let request else { throw ServiceError.internalError("no handler") }
        let wanted = request.headers["Content-MD5"].flatMap { Base64.decode($0) }
        switch self.sink {
        case .discard:
            if let wanted, self.bytesReceived == 0 { try Self.check(wanted, try Self.md5([])) }
            return try handler.respond(to: .none)
        case .document(let document, _):
            if let wanted { try Self.check(wanted, try Self.md5(document)) }
            return try handler.respond(to: .document(document))
        case .file(let file):
            let summary = try file.finish()
            if let wanted { try Self.check(wanted, summary.md5) }
            if let text = request.headers["x-oss-hash-crc64ecma"], UInt64(text) != summary.crc64 {
                throw ServiceError(
                    400, "InvalidCRC64", "The x-oss-hash-crc64ecma you specified does not match what we calculated.",
                    details: [("ServerCRC64", String(summary.crc64)), ("ClientCRC64", text)])
            }
            return try handler.respond(to: .file(file))
        case .form(let form):
            let digest = try form.finish()
            if let wanted, let digest { try Self.check(wanted, digest) }
            return try handler.respond(to: .form(form))
        }
    }

    private static func md5(_ bytes: [UInt8]) throws(ServiceError) -> [UInt8] {
        do throws(DigestError) { return try MessageDigest.of(bytes, .md5) } catch {
            throw ServiceError.internalError(error)
        }
    }

    private static func check(_ wanted: [UInt8], _ computed: [UInt8]) throws(ServiceError) {
        guard wanted == computed else { throw ServiceError.invalidDigest(ec: "0017-00000503") }
    }

    // MARK: Replies

    private func drop() -> Step {
        self.sink = .discard
        self.handler = nil
        self.writeRecord()
        return .close
    }

    /// Completes a reply and writes the record, so that whoever has the reply finds the request in the log.
    private func finished(_ reply: Reply) -> Reply {
        var reply = reply
        if let request = self.request, !reply.isRaw {
            reply.headers["x-oss-request-id"] = request.id
            reply.headers["Server"] = "AliyunOSS"
            reply.headers["Date"] = self.service.now().httpDate
            reply.headers["x-oss-server-time"] = String(
                max(0, self.service.now().milliseconds - request.received.milliseconds))
            if let error = reply.error { self.describe(error, in: &reply, request) }
        }
        self.plan.edit(&reply)
        self.record?.status = reply.status
        self.record?.errorCode = reply.error?.code
        self.writeRecord()
        return reply
    }

    private func describe(_ error: ServiceError, in reply: inout Reply, _ request: Request) {
        if let ec = error.ec { reply.headers["x-oss-ec"] = ec }
        let document = error.document(requestID: request.id, host: request.target.host)
        if request.method == "HEAD" {
            reply.headers["x-oss-err"] = Base64.encode(document)
        } else if reply.status != 304 {
            reply.headers["Content-Type"] = "application/xml"
            reply.body = .bytes(document)
        }
    }

    private func writeRecord() {
        guard var record = self.record else { return }
        self.record = nil
        record.bytesReceived = self.bytesReceived
        self.service.log.add(record)
    }

    private func wait(_ duration: Duration) { if duration > .zero { self.pause(duration) } }
}
