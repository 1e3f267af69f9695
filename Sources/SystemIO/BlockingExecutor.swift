// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import Glibc

/// Threads for calls that block: reading files, syncing, computing digests.
///
/// Swift's own threads never wait for them. A single call is brought here with ``run(_:)``. A task that makes one call after
/// the other stays here with ``carry(_:)``: its calls are then made on the spot, and none of its steps waits for another
/// thread to wake up.
///
/// Calls and steps do not hold each other up: beside as many threads as calls may be made at a time there is one for steps on
/// each processor.
///
/// Threads begin when there is work and end after they were idle for a while, or with ``shutDown()``. SIGPIPE is blocked on them.
package final class BlockingExecutor: TaskExecutor {
    private let pool: ThreadPool

    /// Makes an executor.
    ///
    /// - Parameters:
    ///   - threads: most calls at a time, at least 1.
    ///   - idleSeconds: how long a thread waits for work before it ends; at 0 it ends where it finds none. Default: 2, our own
    ///     choice: longer than the pauses of what is at work.
    ///   - begin: begins a thread that runs what it is given; false where none can be had. Default: the system's threads.
    package init(
        threads: Int, idleSeconds: Int = 2,
        begin: @escaping @Sendable (_ life: @escaping @Sendable () -> Void) -> Bool = DetachedThread.begin
    ) {
        self.pool = ThreadPool(limit: max(1, threads), idleSeconds: idleSeconds, begin: begin)
    }

    // Nothing is waited for: it may be one of the threads that lets go of it last.
    deinit { self.pool.close() }

    /// Runs `body` on a thread that may block and returns what it returns; on the spot where this is one of them.
    ///
    /// What `body` alone holds is let go before the caller goes on: a file that this closes is closed then.
    ///
    /// Cancelling the caller's task does not stop `body`; long work looks at the task's state between its steps.
    @inlinable package func run<Value: Sendable, Failure: Error>(
        _ body: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        if let call = self.beginCallHere() {
            defer { call.end() }
            return try body()
        }
        let outcome = await withCheckedContinuation {
            (continuation: CheckedContinuation<Result<Value, Failure>, Never>) in
            self.start {
                let outcome: Result<Value, Failure>
                do throws(Failure) { outcome = .success(try body()) } catch { outcome = .failure(error) }
                return { continuation.resume(returning: outcome) }
            }
        }
        return try outcome.get()
    }

    /// Whether this thread is one of an executor's, and not in a call that may block.
    package static var isHere: Bool { ThreadPool.here != nil }

    /// Runs `body`, which may block for long, on this thread, whichever executor's it is.
    ///
    /// - Returns: nil, and `body` was not run, where it is none of an executor's, where it is in a call already, where others
    ///   wait for their turn, or where the system gives no thread for what waits for this one.
    package static func callHere<Value, Failure: Error>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value? {
        guard let pool = ThreadPool.here, let worker = pool.beginCallHere(mayTakeLong: true) else { return nil }
        defer { pool.endCall(worker) }
        return try body()
    }

    /// A call under way on the thread that began it.
    @usableFromInline struct CallHere {
        fileprivate let pool: ThreadPool
        fileprivate let worker: ThreadPool.Worker

        @usableFromInline func end() { self.pool.endCall(self.worker) }
    }

    /// Begins a call on this thread, where it is one of these and no call waits for its turn.
    @usableFromInline func beginCallHere() -> CallHere? {
        self.pool.beginCallHere().map { CallHere(pool: self.pool, worker: $0) }
    }

    /// Runs `body` on a thread that may block, and then what it returns; nobody waits for it.
    ///
    /// What `body` holds is let go before what it returns is run.
    package func start(_ body: @escaping @Sendable () -> @Sendable () -> Void) {
        self.pool.add { $0.calls.append(body) }
    }

    /// Runs `body`, and the tasks that it begins as its children, on these threads: their calls that block are made on the spot.
    ///
    /// Between such calls `body` must not block, nor compute for long: others wait for the same threads. So it must not run code
    /// that is not ours. When this returns or throws, the task is where it was before.
    ///
    /// - Parameter isolation: the caller's actor, whose task stays where it is: an actor goes on where it is taken up, so this
    ///   would bring it, and all who wait for it, to these threads.
    package func carry<Success, Failure: Error>(
        isolation: isolated (any Actor)? = #isolation, _ body: () async throws(Failure) -> Success
    ) async throws(Failure) -> Success {
        guard isolation == nil else { return try await body() }
        return try await withTaskExecutorPreference(self) { () async throws(Failure) in try await body() }
    }

    /// Takes a step of a task that stays on these threads.
    package func enqueue(_ job: consuming ExecutorJob) {
        let step = UnownedJob(job)
        self.pool.add { $0.steps.append(.init(job: step, executor: self)) }
    }

    /// Lets queued work finish, then ends all threads and waits for them; later work runs on threads of its own.
    package func shutDown() async {
        await withCheckedContinuation { continuation in
            self.pool.close { continuation.resume() }
        }
    }
}

/// The queues and the threads of an executor.
///
/// Threads hold the pool, not the executor, so an executor that is let go ends them.
///
/// Nothing that is added is forgotten. A _look_ is the act of a thread that has nothing to do and takes the next job; it waits
/// only where it finds none. Each job that could be taken has a look of its own coming: of a thread that has just begun or
/// been woken, or of the one that added it in the midst of a step and looks as soon as that is done. It has none only while
/// every thread that there may be, or that the system gives, is busy; then each of them looks when it is done, and those that
/// are in steps, which do not block, are done soon.
private final class ThreadPool: Sendable {
    typealias Announcement = @Sendable () -> Void
    /// Does the work and returns what tells the caller of it; the latter runs when the former has been let go.
    typealias Call = @Sendable () -> Announcement
    /// Begins a thread; false where none can be had.
    typealias Begin = @Sendable (@escaping @Sendable () -> Void) -> Bool
    /// A step of a task; the executor is held, so that it is there until the step is done.
    struct Step: Sendable {
        let job: UnownedJob
        let executor: BlockingExecutor
    }

    struct State: Sendable {
        /// Calls that wait for their turn.
        var calls = Queue<Call>()
        /// Steps that wait for a thread.
        var steps = Queue<Step>()
        fileprivate var callsUnderWay = 0
        fileprivate var threads = 0
        /// Threads that wait and have not been chosen to look.
        fileprivate var idle = 0
        /// Looks that are sure to come.
        fileprivate var looksDue = 0
        fileprivate var isClosed = false
        fileprivate var whenEmpty: [Announcement] = []
    }

    /// What a thread knows of itself; it alone uses it.
    final class Worker {
        /// Whether one of the looks that are due is its own.
        fileprivate var owesLook: Bool
        /// Whether it is in a call that may block.
        fileprivate var isInCall = false

        fileprivate init(owesLook: Bool) { self.owesLook = owesLook }
    }

    /// Most calls at a time.
    private let limit: Int
    /// Most threads at a time.
    private let mostThreads: Int
    private let idleSeconds: Int
    private let begin: Begin
    private let state = Lock(State())
    private let signal = Semaphore()

    init(limit: Int, idleSeconds: Int, begin: @escaping Begin) {
        self.limit = limit
        self.mostThreads = limit + ProcessorCount.available
        self.idleSeconds = idleSeconds
        self.begin = begin
    }

    // MARK: Adding

    /// Adds a job to one of the queues, and sees that a thread looks for it.
    func add(_ append: (inout State) -> Void) {
        let worker = self.currentWorker
        let wake = self.state.withLock { state in
            append(&state)
            guard self.jobs(of: state) > state.looksDue else { return Wake.nobody }
            // What a step adds is most often what comes next, and the step at its end: going on here spares waking another
            // thread. A call may take long.
            if let worker, !worker.isInCall, !worker.owesLook {
                worker.owesLook = true
                state.looksDue += 1
                return .nobody
            }
            return self.choose(&state)
        }
        self.perform(wake)
    }

    /// Jobs that a look could take.
    private func jobs(of state: State) -> Int {
        state.steps.count + min(state.calls.count, self.limit - state.callsUnderWay)
    }

    private enum Wake { case nobody, one, new }

    /// Chooses a thread to look, where there are more jobs than looks to come.
    private func choose(_ state: inout State) -> Wake {
        guard self.jobs(of: state) > state.looksDue else { return .nobody }
        if state.idle > 0 {
            state.idle -= 1
            state.looksDue += 1
            return .one
        }
        guard state.threads < self.mostThreads else { return .nobody }
        state.threads += 1
        state.looksDue += 1
        return .new
    }

    /// - Returns: whether there is a look for each job now; else it waits until a thread is done with its own.
    @discardableResult private func perform(_ wake: Wake) -> Bool {
        switch wake {
        case .nobody: return true
        case .one:
            self.signal.post()
            return true
        case .new: return self.startThread()
        }
    }

    func close(whenEmpty: Announcement? = nil) {
        let (waiting, isEmpty) = self.state.withLock { state in
            state.isClosed = true
            if state.threads > 0, let whenEmpty { state.whenEmpty.append(whenEmpty) }
            defer {
                state.looksDue += state.idle
                state.idle = 0
            }
            return (state.idle, state.threads == 0)
        }
        for _ in 0..<waiting { self.signal.post() }
        if isEmpty { whenEmpty?() }
    }

    // MARK: Calls

    /// Begins a call on this thread, where it is one of the pool's and no call waits for its turn.
    ///
    /// - Parameter mayTakeLong: whether it is not begun where no thread can be had for what is left behind.
    /// - Returns: what ends it; nil where the call has to be added.
    func beginCallHere(mayTakeLong: Bool = false) -> Worker? {
        guard let worker = self.currentWorker, !worker.isInCall else { return nil }
        let wake: Wake? = self.state.withLock { state in
            guard state.calls.count == 0, state.callsUnderWay < self.limit else { return nil }
            self.beginCall(worker, &state)
            return self.choose(&state)
        }
        guard let wake else { return nil }
        guard self.perform(wake) || !mayTakeLong else {
            self.endCall(worker)
            return nil
        }
        return worker
    }

    /// This thread may be busy for long: what it would have looked for is for another one.
    private func beginCall(_ worker: Worker, _ state: inout State) {
        self.settle(worker, &state)
        state.callsUnderWay += 1
        worker.isInCall = true
    }

    func endCall(_ worker: Worker) {
        worker.isInCall = false
        self.state.withLock { state in
            state.callsUnderWay -= 1
            // It may be the turn of a call that has waited: this thread looks for it.
            guard self.jobs(of: state) > state.looksDue, !worker.owesLook else { return }
            worker.owesLook = true
            state.looksDue += 1
        }
    }

    private func settle(_ worker: Worker, _ state: inout State) {
        guard worker.owesLook else { return }
        worker.owesLook = false
        state.looksDue -= 1
    }

    // MARK: Threads

    /// Where each thread keeps its worker; nil where the process has no key left: then no thread is known for one of these, and
    /// each call and step waits for its turn.
    private static let workerKey: pthread_key_t? = {
        var key = pthread_key_t()
        // SAFETY: the key is ours. Without a destructor: the thread itself takes the worker away.
        return unsafe pthread_key_create(&key, nil) == 0 ? key : nil
    }()

    /// A worker and the pool that it is of.
    @safe private final class Badge {
        let worker: Worker
        // SAFETY: compared, never used; the thread holds the pool for as long as its badge can be found.
        unowned(unsafe) let pool: ThreadPool

        init(_ worker: Worker, _ pool: ThreadPool) {
            self.worker = worker
            unsafe self.pool = pool
        }
    }

    /// The worker of this thread, where it is one of this pool's.
    var currentWorker: Worker? {
        guard let key = Self.workerKey, let pointer = unsafe pthread_getspecific(key) else { return nil }
        // SAFETY: `live` has put it there, and takes it away before it lets go of it.
        let badge = unsafe Unmanaged<Badge>.fromOpaque(pointer).takeUnretainedValue()
        return unsafe badge.pool === self ? badge.worker : nil
    }

    /// The pool that this thread is of, unless it is in a call.
    static var here: ThreadPool? {
        guard let key = Self.workerKey, let pointer = unsafe pthread_getspecific(key) else { return nil }
        // SAFETY: as above. The pool is there for as long as its thread runs.
        let badge = unsafe Unmanaged<Badge>.fromOpaque(pointer).takeUnretainedValue()
        return unsafe badge.worker.isInCall ? nil : badge.pool
    }

    /// - Returns: as ``perform(_:)``.
    private func startThread() -> Bool {
        guard !self.begin({ self.live() }) else { return true }
        // The work is done by those that there are, or here, late but done.
        let (isNeeded, wake): (Bool, Wake?) = self.state.withLock { state in
            guard state.threads > 1 else { return (false, nil) }
            state.threads -= 1
            state.looksDue -= 1
            // What one that waits by now left to this look is its own again.
            if state.idle > 0 { return (false, self.choose(&state)) }
            return (self.jobs(of: state) > state.looksDue, .nobody)
        }
        guard let wake else {
            let callbacks = self.work(Worker(owesLook: true), mayWait: false)
            for callback in callbacks { callback() }
            return true
        }
        return self.perform(wake) && !isNeeded
    }

    /// Keeps a broken connection from ending the process.
    ///
    /// OpenSSL's writes raise SIGPIPE; that they fail they say as well.
    private static func blockBrokenPipeSignal() {
        var signals = sigset_t()
        // SAFETY: the set is ours and lives as long as the calls, which refuse no signal that there is.
        _ = unsafe sigemptyset(&signals)
        _ = unsafe sigaddset(&signals, SIGPIPE)
        _ = unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
    }

    /// The life of a thread.
    private func live() {
        ThreadName.set("oss-blocking")
        Self.blockBrokenPipeSignal()
        let worker = Worker(owesLook: true)
        let badge = Badge(worker, self)
        // SAFETY: the badge lives until this returns, and nobody finds it after that.
        if let key = Self.workerKey { _ = unsafe pthread_setspecific(key, Unmanaged.passUnretained(badge).toOpaque()) }
        let callbacks = self.work(worker, mayWait: true)
        // What is added from here on is no longer this thread's to look for.
        if let key = Self.workerKey { _ = pthread_setspecific(key, nil) }
        withExtendedLifetime(badge) {}
        for callback in callbacks { callback() }
    }

    /// Does jobs until there is no need to.
    ///
    /// - Returns: whom to tell that this was the last thread.
    private func work(_ worker: Worker, mayWait: Bool) -> [Announcement] {
        while true {
            switch self.doNextJob(worker, mayWait: mayWait) {
            case .again: break
            case .announce(let announcement): announcement()
            case .wait: if !self.waitForJob(worker) { return [] }
            case .end(let callbacks): return callbacks
            }
        }
    }

    private enum Next {
        case again
        case announce(Announcement)
        case wait
        case end([Announcement])
    }

    /// Looks for a job and does it; what it held is let go when this returns.
    ///
    /// - Returns: what is left to be done.
    private func doNextJob(_ worker: Worker, mayWait: Bool) -> Next {
        enum Find {
            case call(Call)
            case step(Step)
            case nothing(Next)
        }
        let find: Find = self.state.withLock { state in
            // Calls first: so many threads that steps always have some left are in calls at most.
            if state.callsUnderWay < self.limit, let call = state.calls.popFirst() {
                self.beginCall(worker, &state)
                return .call(call)
            }
            self.settle(worker, &state)
            if let step = state.steps.popFirst() { return .step(step) }
            if mayWait, !state.isClosed {
                state.idle += 1
                return .nothing(.wait)
            }
            state.threads -= 1
            guard state.threads == 0 else { return .nothing(.end([])) }
            defer { state.whenEmpty = [] }
            return .nothing(.end(state.whenEmpty))
        }
        switch find {
        case .call(let call):
            defer { self.endCall(worker) }
            return .announce(call())
        case .step(let step):
            unsafe step.job.runSynchronously(on: step.executor.asUnownedTaskExecutor())
            return .again
        case .nothing(let next): return next
        }
    }

    /// Waits until this thread is chosen to look; false where it has waited long enough and ends.
    private func waitForJob(_ worker: Worker) -> Bool {
        while !self.signal.wait(seconds: self.idleSeconds) {
            let isOver = self.state.withLock { state in
                // Where all that wait have been chosen, it was this one, and the signal is on its way.
                guard state.idle > 0 else { return false }
                state.idle -= 1
                state.threads -= 1
                return true
            }
            if isOver { return false }
        }
        worker.owesLook = true
        return true
    }
}

/// What comes first is taken first, at the same cost however many wait.
private struct Queue<Element: Sendable>: Sendable {
    /// From `first` on; the places before it are empty.
    private var elements: [Element?] = []
    private var first = 0

    var count: Int { self.elements.count - self.first }

    mutating func append(_ element: Element) {
        // The empty places are not kept for ever where the queue never is.
        if self.first >= 64, self.first > self.elements.count / 2 {
            self.elements.removeFirst(self.first)
            self.first = 0
        }
        self.elements.append(element)
    }

    mutating func popFirst() -> Element? {
        guard self.first < self.elements.count else { return nil }
        defer {
            self.elements[self.first] = nil
            self.first += 1
            if self.first == self.elements.count {
                self.elements.removeAll(keepingCapacity: true)
                self.first = 0
            }
        }
        return self.elements[self.first]
    }
}
