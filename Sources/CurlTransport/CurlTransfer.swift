// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import CCurl
internal import OSSWire
internal import SystemIO

/// One request under way: what the callbacks of curl read from and write to.
///
/// It belongs to the loop's thread, which is also the one that the callbacks run on.
final class CurlTransfer {
    /// Who waits for it.
    let call: CurlCall
    /// The handle that carries it.
    let easy: CurlEasyHandle
    /// Where a taker of the reply says that there is room again.
    private let loop: CurlMultiLoop
    /// What has come back.
    private(set) var reply = CurlReply()
    /// Whether curl waits, after a yield, to be told to go on sending.
    var isPaused = false
    /// Whether curl waits for the task that makes the body, or for the disk that it comes from.
    private var isStarved = false
    /// Where the next bytes of the file come from a disk.
    private var fetch: FileFetch?
    /// Whether the file system tells which bytes are in the system's memory.
    private var asksForCached = true
    /// Until when curl waits because enough was sent.
    private var throttledUntil: ContinuousClock.Instant?
    /// What a callback found wrong; it ended the transfer.
    private var failure: TransportError?
    /// Bytes of the body that curl has taken, from the beginning of the attempt.
    private var bytesTaken: Int64 = 0
    private var checksum = CRC64()
    private var md5: MessageDigest?
    /// Whether the request has been begun on a connection, be it one that broke.
    private var hasBegun = false
    /// Whether a connection has been made for the request; else it is on one that was kept.
    private var isOnNewConnection = false
    /// Whether curl is still on the way to a connection: looking up, connecting, shaking hands.
    private(set) var isConnecting = true
    /// The connection's socket, while the request is on it.
    private var socket: CurlSocket?
    /// Whether the last call for bytes gave way to a reply.
    private var hasYielded = false
    /// Where the reply's body goes when it is taken while it comes.
    private var buffer: ReplyBuffer?
    /// Whether curl waits for the taker of the reply's body.
    private var isHeldBack = false
    private var movement = Movement()
    private var lastMovement: ContinuousClock.Instant

    init(call: CurlCall, easy: CurlEasyHandle, loop: CurlMultiLoop) {
        self.call = call
        self.easy = easy
        self.loop = loop
        self.lastMovement = call.start
    }

    /// Whether curl waits, and need not any more.
    var canGoOn: Bool {
        // After a refusal curl sends no more, but does not end a transfer that waits for something to send.
        if self.reply.hasFinalHead, self.reply.status >= 300 {
            return self.isPaused || self.isStarved || self.throttledUntil != nil
        }
        if let throttledUntil { return throttledUntil <= .now }
        guard self.isStarved else { return self.isPaused }
        if case .pipe(let pipe) = self.call.request.body { return pipe.hasNews }
        return self.fetch?.isDone ?? true
    }

    /// When it goes on by itself; nil where it does not wait for a time.
    var nextStep: ContinuousClock.Instant? { self.throttledUntil }

    /// Lets curl ask for bytes again.
    ///
    /// A failure ends the transfer, which the next round sees.
    func goOn() {
        self.isPaused = false
        self.isStarved = false
        self.throttledUntil = nil
        _ = self.easy.resume()
    }

    private var rateLimit: UploadRateLimit { self.loop.configuration.uploadRateLimit }

    /// Length of the body in bytes; 0 where there is none.
    private var bodyLength: Int64 { self.call.request.body.length ?? 0 }

    // MARK: Callbacks

    /// curl has made a socket: the request is on its way to a new connection, perhaps once more.
    func connectionBegins(_ descriptor: Int32) {
        self.isConnecting = true
        self.isOnNewConnection = true
        self.easy.sockets.add(descriptor)
    }

    /// The connection stands, and the request is about to be sent on it from its beginning.
    ///
    /// curl does so again by itself where a connection that it reused broke before any reply came. The first may have
    /// been carried out all the same; where that matters, whoever sent it must know: then false is returned, which ends the
    /// transfer.
    func attemptBegins(on ends: CurlSocket.Ends) -> Bool {
        guard !self.hasBegun || self.call.request.isIdempotent else {
            let message =
                "The connection broke before any reply came (\(self.call.origin)): it had been kept for reuse."
            self.failure = TransportError(.send, message)
            return false
        }
        self.hasBegun = true
        guard self.rewind() else {
            let message =
                "The connection broke before any reply came (\(self.call.origin)); the body has to be made anew."
            self.failure = TransportError(.send, message)
            return false
        }
        self.reply = CurlReply()
        self.isConnecting = false
        self.lastMovement = .now
        self.socket?.keepsLastInput = false
        self.socket = self.easy.sockets.socket(connecting: ends)
        // Behind TLS the bytes could not be read.
        self.socket?.keepsLastInput = self.call.request.isPlain && self.bodyLength > 0
        return true
    }

    /// Goes back to the body's beginning; false where what was sent cannot be had again.
    func rewind() -> Bool {
        if case .pipe = self.call.request.body, self.bytesTaken > 0 { return false }
        self.bytesTaken = 0
        self.checksum = CRC64()
        self.hasYielded = false
        self.call.request.progress?.bytesSent = 0
        return true
    }

    /// Fills curl's buffer with the next bytes of the body, and returns how many there are or what curl is to do.
    @unsafe func fill(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        // curl asks for more when all it had has been handed to the system.
        self.call.request.progress?.bytesSent = self.bytesTaken
        let wanted = Int(min(Int64(buffer.count), self.bodyLength - self.bytesTaken))
        guard wanted > 0 else { return 0 }
        let count: Int
        switch self.rateLimit.take(wanted) {
        case .bytes(let granted): count = granted
        case .wait(let end):
            self.throttledUntil = end
            return Int(CURL_READFUNC_PAUSE)
        }
        // What is granted and does not go is for others.
        var unused = count
        defer { if unused > 0 { self.rateLimit.giveBack(unused) } }
        // SAFETY: the buffer is curl's for the length of the call, and `count` lies within.
        var memory = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
        do throws(TransportError) {
            let copied = try unsafe self.copyBody(into: memory)
            guard copied > 0 else {
                self.isStarved = true
                return Int(CURL_READFUNC_PAUSE)
            }
            unsafe memory = UnsafeMutableRawBufferPointer(rebasing: memory[..<copied])
        } catch {
            self.failure = error
            return Int(CURL_READFUNC_ABORT)
        }
        // A server that refuses a request answers early and often closes at once. Once the system knows of that, sending
        // fails and curl gives up without a look at the reply; so whatever has come in is read before more is sent.
        // Before the first bytes there is nothing that it could have refused.
        if self.bytesTaken > 0, !self.hasYielded, self.socket?.hasInput == true {
            self.hasYielded = true
            self.isPaused = true
            return Int(CURL_READFUNC_PAUSE)
        }
        self.hasYielded = false
        do throws(DigestError) {
            // SAFETY: as above; the span ends with the call.
            try unsafe self.digest(Span(_unsafeElements: memory.assumingMemoryBound(to: UInt8.self)))
        } catch {
            self.failure = TransportError(.configuration, "\(error).")
            return Int(CURL_READFUNC_ABORT)
        }
        unused -= memory.count
        self.bytesTaken += Int64(memory.count)
        if case .pipe(let pipe) = self.call.request.body { pipe.drop(memory.count) }
        return memory.count
    }

    /// Takes bytes that are about to be sent into the digests that are asked for.
    private func digest(_ bytes: Span<UInt8>) throws(DigestError) {
        if self.call.request.computesCRC64 { self.checksum.update(bytes) }
        guard self.call.request.computesMD5 else { return }
        if self.bytesTaken == 0 { self.md5 = try MessageDigest(.md5) }
        try self.md5?.update(bytes)
    }

    /// The MD5 of all that was sent; the last call.
    private func finishMD5() throws(DigestError) -> [UInt8] {
        guard let md5 = self.md5.take() else { return try MessageDigest.of([], .md5) }
        return try md5.finish()
    }

    /// Takes one line of the reply's head.
    func takeHeadLine(_ line: Span<UInt8>) {
        self.reply.appendHeadLine(line)
        if self.call.request.streamsReply, self.buffer == nil, self.reply.hasFinalHead, self.reply.status < 300 {
            self.beginStream()
        }
    }

    /// What a call for a reply's body comes to.
    enum Taking {
        /// The bytes are taken.
        case taken
        /// There is no room: curl keeps them and offers them again.
        case heldBack
        /// The transfer ends.
        case refused
    }

    /// Takes bytes of the reply's body.
    func takeBody(_ bytes: Span<UInt8>) -> Taking {
        guard let buffer else {
            return self.reply.appendBody(bytes, limit: self.call.request.replyLimit) ? .taken : .refused
        }
        guard buffer.offer(bytes) else {
            self.isHeldBack = true
            return .heldBack
        }
        self.reply.count(bytes)
        return .taken
    }

    /// Answers the call with the head, and lets the body go to whoever takes it.
    private func beginStream() {
        // The closures hold the loop and the call, not this object, which belongs to the thread.
        let (call, loop) = (self.call, self.loop)
        let buffer = ReplyBuffer(
            resumeSender: { loop.resume(call) },
            cancelSender: { if call.cancel() { loop.cancel(call) } })
        self.buffer = buffer
        var response = TransportResponse(status: self.reply.status, headers: self.reply.headers)
        response.stream = TransportReplyStream(buffer)
        call.beginStream(response, buffer)
    }

    /// Bytes of the reply have been taken: the time before that was not the server's.
    func goesOnReceiving() {
        self.isHeldBack = false
        self.lastMovement = .now
    }

    /// Copies the next bytes of the body, and returns how many: all that were asked for, or, from a pipe, those that are
    /// there.
    @unsafe private func copyBody(into memory: UnsafeMutableRawBufferPointer) throws(TransportError) -> Int {
        switch self.call.request.body {
        case .none: return 0
        case .pipe(let pipe):
            switch unsafe pipe.copy(into: memory) {
            case .bytes(let count): return count
            case .nothing: return 0
            case .broken:
                throw TransportError(.brokenBody, "The body ended after \(self.bytesTaken) of \(pipe.length) bytes.")
            }
        case .memory(let bytes):
            // SAFETY: at most as many bytes are asked for as there are behind `bytesTaken`.
            unsafe bytes.withUnsafeBytes {
                unsafe memory.copyMemory(from: .init(rebasing: $0[Int(self.bytesTaken)...].prefix(memory.count)))
            }
        case .file(let file, let offset, let length):
            if let cached = unsafe self.copyCached(file, offset, into: memory) { return cached }
            let count: Int
            do throws(SystemError) {
                // SAFETY: the memory is the caller's for the length of the call.
                count = try unsafe file.read(at: offset + self.bytesTaken, into: memory)
            } catch {
                throw TransportError(.source(error), "The source cannot be read: \(error).")
            }
            guard count == memory.count else {
                let end = self.bytesTaken + Int64(count)
                throw TransportError(.sourceTooShort, "\(file.path) ended after \(end) of \(length) bytes.")
            }
        }
        return memory.count
    }

    /// Copies the next bytes of the file as far as that needs no wait: 0 where they are being fetched; nil where they are
    /// to be read whatever it takes.
    @unsafe private func copyCached(
        _ file: PosixFile, _ offset: Int64, into memory: UnsafeMutableRawBufferPointer
    ) -> Int? {
        if let fetch = self.fetch {
            guard fetch.isDone else { return 0 }
            // What was fetched is read even where the system has let it go again: else it might never come to an end.
            self.fetch = nil
            return nil
        }
        guard self.asksForCached else { return nil }
        let place = offset + self.bytesTaken
        // SAFETY: the memory is the caller's for the length of the call.
        switch unsafe file.readCached(at: place, into: memory) {
        case .bytes(let count): return count > 0 ? count : nil
        case .unknown:
            self.asksForCached = false
            return nil
        case .none:
            let loop = self.loop
            self.fetch = FileFetch(
                file, at: place, left: self.bodyLength - self.bytesTaken, on: loop.disk, announce: { loop.wake() })
            return 0
        }
    }

    /// Runs `body` when nothing reads the file any more, which may be now.
    func whenFileIsLetGo(_ body: @escaping @Sendable () -> Void) {
        guard let fetch = self.fetch else { return body() }
        fetch.whenDone(body)
    }

    // MARK: Time-outs

    /// What shows that bytes move, in either direction, in curl or in the system.
    private struct Movement: Equatable {
        var bytesTaken: Int64 = 0
        var bytesReceived: Int64 = 0
        var bytesSent: Int64 = 0
        /// Bytes in the socket's send queue: a slow server empties it long after curl filled it.
        var queue: Int32 = 0
    }

    /// The time-out that has passed, if one has.
    func expiredTimeout(at now: ContinuousClock.Instant) -> TransportError? {
        let timeouts = self.call.request.timeouts
        if let total = timeouts.total, now - self.call.start >= total {
            return TransportError(
                .totalTimeout, "The attempt took longer than \(total) (\(self.call.origin)).")
        }
        // One who takes slowly is no reason to end the transfer.
        guard !self.isConnecting, !self.isHeldBack else { return nil }
        let movement = Movement(
            bytesTaken: self.bytesTaken, bytesReceived: self.reply.bytesReceived, bytesSent: self.easy.bytesSent,
            queue: self.socket?.sendQueue ?? -1)
        // A source that is slow, or a limit, is no fault of the network's.
        guard movement == self.movement, !self.isStarved, self.throttledUntil == nil else {
            self.movement = movement
            self.lastMovement = now
            if self.bodyLength > 0 { self.call.request.progress?.bytesSent = self.bytesSent }
            return nil
        }
        guard now - self.lastMovement >= timeouts.idle else { return nil }
        return TransportError(.idleTimeout, "No byte moved for \(timeouts.idle) (\(self.call.origin)).")
    }

    /// When to look at the time-outs again.
    func nextCheck(after now: ContinuousClock.Instant) -> ContinuousClock.Instant {
        // Often enough to be late by little, seldom enough to cost nothing.
        let interval = min(max(self.call.request.timeouts.idle / 8, .milliseconds(5)), .seconds(1))
        guard let total = self.call.request.timeouts.total else { return now + interval }
        return min(now + interval, self.call.start + total)
    }

    // MARK: End

    /// Bytes of the body that were handed to the network in this attempt.
    private var bytesSent: Int64 { min(self.easy.bytesSent, self.bytesTaken) }

    /// Whether the request is to be sent once more, on a new connection and without the caller's knowledge: it was on one that
    /// had been kept, and that broke before any reply came.
    ///
    /// curl does so by itself as well, but not wherever sending fails before receiving does.
    func goesAnew(after code: CURLcode) -> Bool {
        guard CurlFailure.isBrokenConnection(code), self.failure == nil, self.reply.bytesReceived == 0, self.hasBegun,
            !self.isOnNewConnection, self.call.request.isIdempotent
        else { return false }
        if case .pipe = self.call.request.body, self.bytesTaken > 0 { return false }
        self.rescueRefusal(after: code)
        guard !self.reply.hasFinalHead else { return false }
        self.isConnecting = true
        self.isPaused = false
        self.isStarved = false
        self.throttledUntil = nil
        self.leaveConnection()
        return true
    }

    /// What comes of the transfer, now that curl is done with it.
    func result(of code: CURLcode) -> Result<TransportResponse, any Error> {
        if let failure = self.failure { return .failure(failure) }
        self.rescueRefusal(after: code)
        let isAnswered =
            self.reply.hasFinalHead
            && (code == CURLE_OK || self.reply.status >= 400 && CurlFailure.isBrokenConnection(code))
        guard isAnswered else { return .failure(self.error(of: code)) }
        let isSent = self.bytesTaken == self.bodyLength
        guard isSent || self.reply.status >= 300 else {
            let message = "A reply of success came before the whole body was sent (\(self.call.origin))."
            return .failure(TransportError(.send, message))
        }
        if self.bodyLength > 0 { self.call.request.progress?.bytesSent = self.bytesSent }
        var response = TransportResponse(
            status: self.reply.status, headers: self.reply.headers, body: self.reply.body, bytesSent: self.bytesSent)
        guard self.call.request.body.length != nil, isSent, self.bytesSent == self.bodyLength else {
            return .success(response)
        }
        if self.call.request.computesCRC64 { response.sentCRC64 = self.checksum.value }
        do throws(DigestError) {
            if self.call.request.computesMD5 { response.sentMD5 = try self.finishMD5() }
        } catch {
            return .failure(TransportError(.configuration, "\(error)."))
        }
        return .success(response)
    }

    /// The connection goes to others, or is gone.
    func leaveConnection() {
        self.socket?.keepsLastInput = false
        self.socket = nil
    }

    /// Looks, where sending failed, for a refusal that curl did not get to see.
    ///
    /// A server that refuses a request often replies and closes at once, with the body unread; the system then resets the
    /// connection. Where that happens between curl's look at the socket and its sending, sending fails, and curl closes
    /// the socket with the reply unread.
    private func rescueRefusal(after code: CURLcode) {
        guard code == CURLE_SEND_ERROR, !self.reply.hasFinalHead, let input = self.socket?.lastInput else { return }
        let refusal = CurlReply.refusal(in: input, limit: self.call.request.replyLimit)
        if let refusal { self.reply = refusal }
    }

    private func error(of code: CURLcode) -> TransportError {
        let circumstances = CurlFailure.Circumstances(
            isConnected: !self.isConnecting, hasReply: self.reply.bytesReceived > 0,
            proxyStatus: self.easy.proxyStatus, text: self.easy.errorText)
        if code != CURLE_OK {
            var kind = CurlFailure.kind(of: code, circumstances)
            // The request had been begun on a connection that broke, and may have been carried out there; that no other one came
            // about is only what happened last.
            if self.hasBegun, CurlFailure.isOfConnecting(kind) { kind = .send }
            return TransportError(
                kind, CurlFailure.message(kind, code: code, origin: self.call.origin, circumstances))
        }
        // curl is content with a head that ends too soon, and with any status of three digits.
        if self.reply.bytesReceived == 0 {
            return TransportError(.send, "The connection ended before any reply came (\(self.call.origin)).")
        }
        if self.reply.isHeadComplete, !(100...199).contains(self.reply.status) {
            return TransportError(.malformedReply, "The reply has no status from 200 to 599 (\(self.call.origin)).")
        }
        return TransportError(.receive, "The connection ended within the reply's head (\(self.call.origin)).")
    }
}
