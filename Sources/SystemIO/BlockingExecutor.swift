// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import Glibc

/// Threads for calls that block: reading files, syncing, computing digests.
///
/// Swift's own threads never wait for them.
///
/// Threads begin when there is work and end after they were idle for a while, or with ``shutDown()``.
package final class BlockingExecutor: Sendable {
    private let pool: Pool

    /// Makes an executor.
    ///
    /// - Parameter threads: most threads at a time, at least 1.
    package init(threads: Int) { self.pool = Pool(limit: max(1, threads)) }

    deinit { self.pool.close() }

    /// Runs `body` on a thread that may block and returns what it returns.
    ///
    /// What `body` holds is let go before the caller goes on: a file that this closes is closed then.
    ///
    /// Cancelling the caller's task does not stop `body`; long work looks at the task's state between its steps.
    package func run<Value: Sendable, Failure: Error>(
        _ body: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let outcome = await withCheckedContinuation {
            (continuation: CheckedContinuation<Result<Value, Failure>, Never>) in
            self.pool.add {
                let outcome: Result<Value, Failure>
                do throws(Failure) { outcome = .success(try body()) } catch { outcome = .failure(error) }
                return { continuation.resume(returning: outcome) }
            }
        }
        return try outcome.get()
    }

    /// Runs `body` on a thread that may block, and then what it returns; nobody waits for it.
    ///
    /// What `body` holds is let go before what it returns is run.
    package func start(_ body: @escaping @Sendable () -> @Sendable () -> Void) { self.pool.add(body) }

    /// Lets queued work finish, then ends all threads and waits for them; later work runs on threads of its own.
    package func shutDown() async {
        await withCheckedContinuation { continuation in
            self.pool.close { continuation.resume() }
        }
    }
}

/// The queue and the threads of an executor.
///
/// Threads hold the pool, not the executor, so an executor that is let go ends them.
private final class Pool: Sendable {
    /// Does the work and returns what tells the caller of it; the latter runs when the former has been let go.
    typealias Job = @Sendable () -> Announcement
    typealias Announcement = @Sendable () -> Void

    private struct State {
        /// Jobs that wait, from `next` on; the places before it are empty.
        var jobs: [Job?] = []
        var next = 0
        var threads = 0
        var idle = 0
        var isClosed = false
        var whenEmpty: [@Sendable () -> Void] = []
    }

    /// How long a thread waits for work before it ends, in seconds.
    private static let idleSeconds = 2

    private let limit: Int
    private let state = Lock(State())
    private let signal = Semaphore()

    init(limit: Int) { self.limit = limit }

    func add(_ job: @escaping Job) {
        let needsThread = self.state.withLock { state in
            state.jobs.append(job)
            // Each waiting job takes one idle thread; where there are none to spare, a new one begins.
            guard state.jobs.count - state.next > state.idle, state.threads < self.limit else { return false }
            state.threads += 1
            return true
        }
        if needsThread { self.startThread() } else { self.signal.post() }
    }

    func close(whenEmpty: (@Sendable () -> Void)? = nil) {
        let (waiting, isEmpty) = self.state.withLock { state in
            state.isClosed = true
            if state.threads > 0, let whenEmpty { state.whenEmpty.append(whenEmpty) }
            return (state.idle, state.threads == 0)
        }
        for _ in 0..<waiting { self.signal.post() }
        if isEmpty { whenEmpty?() }
    }

    private func startThread() {
        // SAFETY: the box is retained here and released by the thread's first act, or here where no thread came of it.
        let box = unsafe Unmanaged.passRetained(self)
        var thread = pthread_t()
        let result = unsafe pthread_create(
            &thread, nil,
            { context in
                if let context = unsafe context {
                    unsafe Unmanaged<Pool>.fromOpaque(context).takeRetainedValue().work()
                }
                return nil
            }, unsafe box.toOpaque()
        )
        if result == 0 {
            _ = pthread_detach(thread)
        } else {
            // No thread can be had: the work is done here, late but done.
            unsafe box.release()
            self.work(mayWait: false)
        }
    }

    private func work(mayWait: Bool = true) {
        while true {
            if let announcement = self.doNextJob() {
                announcement()
                continue
            }
            enum Step { case again, wait, end([@Sendable () -> Void]) }
            let step: Step = self.state.withLock { state in
                guard state.next == state.jobs.count else { return .again }
                if mayWait, !state.isClosed {
                    state.idle += 1
                    return .wait
                }
                state.threads -= 1
                guard state.threads == 0 else { return .end([]) }
                defer { state.whenEmpty = [] }
                return .end(state.whenEmpty)
            }
            switch step {
            case .again: break
            case .wait:
                let wasWoken = self.signal.wait(seconds: Self.idleSeconds)
                let isOver = self.state.withLock { state in
                    state.idle -= 1
                    guard !wasWoken, state.next == state.jobs.count, !state.isClosed else { return false }
                    state.threads -= 1
                    return true
                }
                if isOver { return }
            case .end(let callbacks):
                for callback in callbacks { callback() }
                return
            }
        }
    }

    /// Takes a job and does it; what it held is let go when this returns.
    ///
    /// Nil where there is none.
    private func doNextJob() -> Announcement? {
        let job: Job? = self.state.withLock { state in
            guard state.next < state.jobs.count else { return nil }
            defer {
                state.jobs[state.next] = nil
                state.next += 1
                if state.next == state.jobs.count {
                    state.jobs.removeAll(keepingCapacity: true)
                    state.next = 0
                }
            }
            return state.jobs[state.next]
        }
        return job?()
    }
}
