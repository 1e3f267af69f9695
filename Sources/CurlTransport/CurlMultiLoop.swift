// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import CCurl
private import Glibc
internal import Synchronization
internal import SystemIO

/// The way to the thread that owns curl: commands go in at any time from anywhere, and wake it.
///
/// The thread holds the loop and not the transport, so a transport that is let go can end it.
final class CurlMultiLoop: Sendable {
    /// What the thread is asked to do.
    enum Command: Sendable {
        case start(CurlCall)
        case cancel(CurlCall)
        /// There is room again for the reply's body.
        case resume(CurlCall)
    }

    /// What the thread finds when it looks.
    struct Work: Sendable {
        var commands: [Command]
        var mustStop: Bool
    }

    private enum Phase {
        /// No request has come yet.
        case new
        /// There is a thread, or there is about to be one.
        case running
        /// The thread has been told to end.
        case stopping
        /// There is no thread any more.
        case stopped
    }

    /// The multi handle of the thread, for the one call that any thread may make.
    @safe private struct Wakeup: Sendable {
        // Used under the lock of `wakeup` alone; the thread takes it from there before it frees it.
        private nonisolated(unsafe) let multi: UnsafeMutableRawPointer

        @unsafe init(multi: UnsafeMutableRawPointer) { unsafe self.multi = multi }

        // SAFETY: the handle is there for as long as `wakeup` has it.
        func wake() { _ = unsafe curl_multi_wakeup(self.multi) }
    }

    private struct State {
        var phase = Phase.new
        var commands: [Command] = []
        /// The thread, until somebody has taken it upon itself to join or detach it.
        var thread: pthread_t?
        var whenStopped: [CheckedContinuation<Void, Never>] = []
    }

    /// The options of the transport.
    let configuration: CurlTransportConfiguration
    /// The threads that wait for disks.
    let disk: BlockingExecutor
    /// Which of the transport's loops it is, from 1 on.
    private let number: Int
    private let share: IdleConnections.Share
    private let state: Lock<State>
    /// Whether the thread has something to look at in the state; set behind every change that is for it.
    private let hasWork = Atomic(false)
    /// Whether the thread waits in curl, or is about to: else it will look by itself.
    private let isWaiting = Atomic(false)
    /// From when the thread has made its multi handle until it frees it; apart, so that a thread that is woken does not
    /// meet the lock of the one that woke it.
    private let wakeup = Lock<Wakeup?>(nil)

    /// Makes a loop.
    ///
    /// - Parameters:
    ///   - share: how many of the connections it may keep.
    ///   - isThreadless: whether the threads of others carry its requests, one at a time; it begins none then.
    init(
        configuration: CurlTransportConfiguration, number: Int, share: IdleConnections.Share, disk: BlockingExecutor,
        isThreadless: Bool = false
    ) {
        self.state = Lock(State(phase: isThreadless ? .running : .new))
        self.configuration = configuration
        self.disk = disk
        self.number = number
        self.share = share
    }

    /// Most idle connections that it may keep as things are.
    var idleConnections: Int { self.share.count }

    // MARK: From outside

    /// Hands a call to the thread, which begins where there is none; after the end it fails at once.
    func submit(_ call: CurlCall) {
        let failure: TransportError? = self.state.withLock { state in
            switch state.phase {
            case .new:
                guard let thread = self.makeThread() else {
                    return TransportError(.connect, "The system has no thread left for the transport.")
                }
                state.thread = thread
                state.phase = .running
            case .running: break
            case .stopping, .stopped: return .transportIsShutDown
            }
            state.commands.append(.start(call))
            return nil
        }
        if let failure { call.finish(.failure(failure)) } else { self.wake() }
    }

    /// Tells the thread that a call is not wanted any more.
    func cancel(_ call: CurlCall) {
        self.state.withLock { state in
            // Where the thread is about to end it ends this call too.
            if state.phase == .running { state.commands.append(.cancel(call)) }
        }
        self.wake()
    }

    /// Tells the thread that there is room again for a call's reply.
    func resume(_ call: CurlCall) {
        self.state.withLock { state in
            if state.phase == .running { state.commands.append(.resume(call)) }
        }
        self.wake()
    }

    /// Tells the thread to end, and does not wait for it.
    func stop() {
        if let thread = self.beginStop() { _ = pthread_detach(thread) }
    }

    /// Tells the thread to end, and waits until it has.
    func shutDown() async {
        let thread = self.beginStop()
        await withCheckedContinuation { continuation in
            let isStopped = self.state.withLock { state in
                if state.phase == .stopped { return true }
                state.whenStopped.append(continuation)
                return false
            }
            if isStopped { continuation.resume() }
        }
        // Its last act was to resume us, so this waits for a return and no more.
        if let thread { _ = pthread_join(thread, nil) }
    }

    /// Tells the thread to end; returns the thread to the first who asks.
    private func beginStop() -> pthread_t? {
        let thread = self.state.withLock { state in
            defer { state.thread = nil }
            switch state.phase {
            case .new: state.phase = .stopped
            case .running: state.phase = .stopping
            case .stopping, .stopped: break
            }
            return state.thread
        }
        self.wake()
        return thread
    }

    /// Lets the thread look at the state, and ends its wait, or its next one.
    ///
    /// A thread that has not made its handle yet looks before it waits.
    func wake() {
        // Each side first says its own and then looks for the other's, in one order for all: one of them sees it.
        self.hasWork.store(true, ordering: .sequentiallyConsistent)
        guard self.isWaiting.load(ordering: .sequentiallyConsistent) else { return }
        self.wakeup.withLock { $0?.wake() }
    }

    // MARK: The thread

    private func makeThread() -> pthread_t? {
        // The thread inherits the mask. No signal is for it, and SIGPIPE, which OpenSSL's writes raise on a broken
        // connection, must not end the process.
        var all = sigset_t()
        var previous = sigset_t()
        // SAFETY: both sets are ours and live as long as the calls.
        _ = unsafe sigfillset(&all)
        guard unsafe pthread_sigmask(SIG_BLOCK, &all, &previous) == 0 else { return nil }
        defer { _ = unsafe pthread_sigmask(SIG_SETMASK, &previous, nil) }

        var thread = pthread_t()
        // SAFETY: the box is retained here and released by the thread's first act, or here where no thread came of it.
        let box = unsafe Unmanaged.passRetained(self)
        let result = unsafe pthread_create(
            &thread, nil,
            { context in
                if let context = unsafe context {
                    unsafe Unmanaged<CurlMultiLoop>.fromOpaque(context).takeRetainedValue().run()
                }
                return nil
            }, unsafe box.toOpaque())
        guard result == 0 else {
            unsafe box.release()
            return nil
        }
        return thread
    }

    private func run() {
        ThreadName.set("oss-network-\(self.number)")
        do {
            let worker = try CurlMultiWorker(loop: self)
            worker.run()
        } catch {
            self.fail(with: error)
        }
        let waiting = self.state.withLock { state in
            state.phase = .stopped
            defer { state.whenStopped = [] }
            return state.whenStopped
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Answers all calls with an error until the loop is told to stop: curl itself cannot be had.
    private func fail(with error: TransportError) {
        let commands = self.state.withLock { state in
            state.phase = .stopping
            defer { state.commands = [] }
            return state.commands
        }
        for case .start(let call) in commands { call.finish(.failure(error)) }
    }

    /// For the worker: makes its handle known to those who wake the thread, or takes it from them before it is freed.
    func setWakeup(_ multi: UnsafeMutableRawPointer?) {
        let wakeup = unsafe multi.map { unsafe Wakeup(multi: $0) }
        self.wakeup.withLock { $0 = wakeup }
    }

    /// For the worker: waits, unless there is something to look at already.
    func wait<Result>(_ body: () -> Result) -> Result? {
        self.isWaiting.store(true, ordering: .sequentiallyConsistent)
        defer { self.isWaiting.store(false, ordering: .relaxed) }
        return self.hasWork.load(ordering: .sequentiallyConsistent) ? nil : body()
    }

    /// For a loop without a thread, once its call is over and nobody can cancel it any more: lets go of what came too late.
    ///
    /// Whether it must stop is still seen by the next call.
    func forgetCommands() {
        guard self.hasWork.load(ordering: .acquiring) else { return }
        let commands = self.state.withLock { state in
            defer { state.commands = [] }
            return state.commands
        }
        // Not under the lock: what a call holds may be much.
        withExtendedLifetime(commands) {}
    }

    /// For the worker: what has come since it looked last; nil where there is nothing.
    func takeWork() -> Work? {
        guard self.hasWork.exchange(false, ordering: .acquiring) else { return nil }
        return self.state.withLock { state in
            defer { state.commands.removeAll(keepingCapacity: true) }
            return Work(commands: state.commands, mustStop: state.phase != .running)
        }
    }
}

extension TransportError {
    /// What every request gets that is under way when the transport is shut down, and every one after it.
    static let transportIsShutDown = TransportError(.shutDown, "The transport has been shut down.")
}
