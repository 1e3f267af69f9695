// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import CCurl

/// What the transport's thread owns and does: the multi handle, with its connections, and the transfers on it.
///
/// Every call of curl but `curl_multi_wakeup` is made here. The corresponding C functions are those of `curl_multi_*`.
@safe final class CurlMultiWorker {
    /// Handles kept for reuse, with their buffers; as many transfers as that are common.
    private static let pooledHandles = 8
    /// Longest wait while nothing is under way.
    ///
    /// Commands end it at once; it could as well be for ever.
    private static let idleWait = Duration.seconds(60)
    /// Longest wait where nobody can end it, in milliseconds.
    ///
    /// *Source:* our own choice. *Applies to:* a process that had no descriptor left when the thread began.
    private static let deafWait: Int32 = 20

    private static let globalResult = curl_global_init(Int(CURL_GLOBAL_DEFAULT))

    private let loop: CurlMultiLoop
    // Owned: made in init, freed in deinit, used on the loop's thread.
    private let multi: UnsafeMutableRawPointer
    /// Whether others can wake the thread: curl goes without the descriptors for that where there are none left.
    private let canBeWoken: Bool
    private var transfers: [ObjectIdentifier: CurlTransfer] = [:]
    private var pool: [CurlEasyHandle] = []
    /// Used by the connections until deinit has closed them.
    private let sockets = CurlSockets()
    private var nextCheck = ContinuousClock.now

    init(loop: CurlMultiLoop) throws(TransportError) {
        guard Self.globalResult == CURLE_OK, let multi = unsafe curl_multi_init() else {
            throw TransportError(.configuration, "libcurl cannot be started.")
        }
        self.loop = loop
        unsafe self.multi = multi
        // SAFETY: the handle is the one just made.
        self.canBeWoken = unsafe curl_multi_wakeup(multi) == CURLM_OK
        unsafe loop.setWakeup(multi)
    }

    deinit {
        // SAFETY: nobody wakes it any more, and its transfers have been removed.
        _ = unsafe curl_multi_cleanup(self.multi)
    }

    /// Carries transfers until the loop is told to stop.
    func run() {
        while true {
            if self.takeWork() { break }
            self.wait(self.advance())
        }
        self.close()
    }

    /// Carries one call on the thread that asks for it, to its end.
    ///
    /// - Returns: what came of it.
    func carry(_ call: CurlCall) -> Result<TransportResponse, any Error> {
        guard call.beginOnThread() else { return .failure(CancellationError()) }
        self.start(call)
        while true {
            if self.takeWork() { self.endAll() }
            let wait = self.advance()
            if let result = call.resultOnThread { return result }
            self.wait(wait)
        }
    }

    /// Ends what is under way, and lets go of what the transfers used; the handle is freed with this object.
    func close() {
        self.endAll()
        self.pool = []
        unsafe self.loop.setWakeup(nil)
    }

    private func endAll() {
        for transfer in self.transfers.values { self.end(transfer, .failure(TransportError.transportIsShutDown)) }
    }

    /// Does what it is asked to, and returns whether it must stop.
    private func takeWork() -> Bool {
        guard let work = self.loop.takeWork() else { return false }
        for command in work.commands { self.perform(command, mustStop: work.mustStop) }
        return work.mustStop
    }

    private func perform(_ command: CurlMultiLoop.Command, mustStop: Bool) {
        switch command {
        case .start(let call):
            if call.isCancelled {
                call.finish(.failure(CancellationError()))
            } else if mustStop {
                call.finish(.failure(TransportError.transportIsShutDown))
            } else {
                self.start(call)
            }
        case .cancel(let call):
            if let transfer = self.transfers[ObjectIdentifier(call)] {
                self.end(transfer, .failure(CancellationError()))
            }
        case .resume(let call):
            if let transfer = self.transfers[ObjectIdentifier(call)] {
                transfer.goesOnReceiving()
                // A failure ends the transfer, which the next round sees.
                _ = transfer.easy.resume()
            }
        }
    }

    /// Does what can be done now, and returns how long to wait for more at most, in milliseconds.
    private func advance() -> Int32 {
        var running: Int32 = 0
        // SAFETY, for the calls on the handle: it lives as long as this object.
        let code = unsafe curl_multi_perform(self.multi, &running)
        self.endFinished()
        if code != CURLM_OK { self.failAll(code) }
        var wait = self.checkTimeouts()
        for transfer in self.transfers.values {
            if transfer.canGoOn {
                transfer.goOn()
            } else if let step = transfer.nextStep {
                wait = min(wait, Self.milliseconds(step - .now))
            }
        }
        return self.canBeWoken ? wait : min(wait, Self.deafWait)
    }

    /// Waits until there is more to do, or for so many milliseconds.
    private func wait(_ milliseconds: Int32) {
        // SAFETY: as above.
        let code = self.loop.wait { unsafe curl_multi_poll(self.multi, nil, 0, milliseconds, nil) } ?? CURLM_OK
        if code != CURLM_OK { self.failAll(code) }
    }

    // MARK: Transfers

    private func start(_ call: CurlCall) {
        do throws(TransportError) {
            let easy =
                if let pooled = self.pool.popLast() { pooled } else {
                    try CurlEasyHandle(self.loop.configuration, sockets: self.sockets)
                }
            let transfer = CurlTransfer(call: call, easy: easy, loop: self.loop)
            do throws(TransportError) {
                try easy.attach(transfer)
                // SAFETY: the transfer holds the easy handle until it has been removed.
                let code = unsafe curl_multi_add_handle(self.multi, easy.pointer)
                guard code == CURLM_OK else { throw Self.error(code) }
            } catch {
                easy.detach()
                throw error
            }
            self.transfers[ObjectIdentifier(call)] = transfer
            if case .pipe(let pipe) = call.request.body {
                let loop = self.loop
                pipe.setWake { loop.wake() }
            }
            self.nextCheck = min(self.nextCheck, transfer.nextCheck(after: .now))
            self.setConnectionLimit()
        } catch {
            call.finish(.failure(error))
        }
    }

    /// Takes the transfer from curl and answers the call; nothing of it is under way then.
    private func end(_ transfer: CurlTransfer, _ result: Result<TransportResponse, any Error>) {
        // SAFETY: the easy handle was added to this handle and is removed once, here.
        _ = unsafe curl_multi_remove_handle(self.multi, transfer.easy.pointer)
        transfer.easy.detach()
        transfer.leaveConnection()
        self.transfers[ObjectIdentifier(transfer.call)] = nil
        if self.pool.count < Self.pooledHandles { self.pool.append(transfer.easy) }
        self.setConnectionLimit()
        let call = transfer.call
        transfer.whenFileIsLetGo { call.finish(result) }
    }

    private func endFinished() {
        var left: Int32 = 0
        // SAFETY: a message is read before the next call on the handle, and the pointer in it was made by `attach`.
        while let message = unsafe curl_multi_info_read(self.multi, &left) {
            var code = CURLE_OK
            guard let easy = unsafe ccurl_message_done(message, &code) else { continue }
            guard let transfer = self.transfers.values.first(where: { unsafe $0.easy.pointer == easy }) else {
                continue
            }
            guard transfer.goesAnew(after: code) else {
                self.end(transfer, transfer.result(of: code))
                continue
            }
            transfer.easy.takeNewConnection()
            // Added again, it begins from its start.
            _ = unsafe curl_multi_remove_handle(self.multi, easy)
            let added = unsafe curl_multi_add_handle(self.multi, easy)
            if added != CURLM_OK { self.end(transfer, .failure(Self.error(added))) }
        }
    }

    private func failAll(_ code: CURLMcode) {
        for transfer in self.transfers.values { self.end(transfer, .failure(Self.error(code))) }
    }

    /// curl counts connections in use too, and closes an idle one where there are more than it may keep when a transfer is done:
    /// then the transfer's own is among the idle ones, and the transfer among those counted here.
    private func setConnectionLimit() {
        let limit = max(1, self.loop.idleConnections) + max(0, self.transfers.count - 1)
        // Never refused: any number will do.
        _ = unsafe ccurl_multi_set_long(self.multi, CURLMOPT_MAXCONNECTS, limit)
    }

    private static func error(_ code: CURLMcode) -> TransportError {
        // SAFETY: curl returns a text that lives for ever.
        TransportError(.connect, "libcurl cannot go on: \(unsafe String(cString: curl_multi_strerror(code))).")
    }

    // MARK: Time-outs

    /// Ends transfers whose time is up, and returns how long to wait at most, in milliseconds.
    private func checkTimeouts() -> Int32 {
        guard !self.transfers.isEmpty else { return Self.milliseconds(Self.idleWait) }
        let now = ContinuousClock.now
        if now >= self.nextCheck {
            self.nextCheck = now + .seconds(1)
            for transfer in self.transfers.values {
                if let error = transfer.expiredTimeout(at: now) {
                    self.end(transfer, .failure(error))
                } else {
                    self.nextCheck = min(self.nextCheck, transfer.nextCheck(after: now))
                }
            }
        }
        return Self.milliseconds(self.nextCheck - now)
    }

    /// Rounded up, so that the time has passed when the wait ends.
    private static func milliseconds(_ duration: Duration) -> Int32 {
        let (seconds, rest) = duration.components
        guard seconds >= 0, rest >= 0 else { return 0 }
        return Int32(clamping: seconds * 1000 + (rest + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
}
