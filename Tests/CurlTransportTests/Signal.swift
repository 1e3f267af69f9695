// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import Dispatch
import Synchronization

/// Something that happens once, for which tasks and threads wait.
final class Signal: Sendable {
    private struct State {
        var hasFired = false
        var tasks: [CheckedContinuation<Void, Never>] = []
        var threads: [DispatchSemaphore] = []
    }

    private let state = Mutex(State())

    /// Whether it has happened.
    var hasFired: Bool { self.state.withLock { $0.hasFired } }

    /// Lets it happen; the second and later times change nothing.
    func fire() {
        let waiting = self.state.withLock { state in
            defer { (state.hasFired, state.tasks, state.threads) = (true, [], []) }
            return state
        }
        for task in waiting.tasks { task.resume() }
        for thread in waiting.threads { thread.signal() }
    }

    /// Waits for it in a task.
    func wait() async {
        await withCheckedContinuation { continuation in
            let isOver = self.state.withLock { state in
                if !state.hasFired { state.tasks.append(continuation) }
                return state.hasFired
            }
            if isOver { continuation.resume() }
        }
    }

    /// Waits for it on a thread of the test's own, 20 seconds at most.
    func waitOnThread() {
        let semaphore = DispatchSemaphore(value: 0)
        let isOver = self.state.withLock { state in
            if !state.hasFired { state.threads.append(semaphore) }
            return state.hasFired
        }
        if !isOver { _ = semaphore.wait(timeout: .now() + 20) }
    }
}
