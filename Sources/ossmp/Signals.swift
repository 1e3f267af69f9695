// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import Glibc
import Synchronization

/// SIGINT and SIGTERM: the first one stops the upload and keeps its progress, the second one ends the process.
///
/// A thread waits for them (`sigwait`), so nothing runs in a signal handler. SIGPIPE is ignored: whoever closes the pipe does
/// not kill the upload.
final class Signals: Sendable {
    private struct State {
        var received: Int32?
        var stop: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    /// Begins to wait; make it before any other thread begins, so that all of them leave the signals to this one.
    init() {
        _ = signal(SIGPIPE, SIG_IGN)
        var set = sigset_t()
        // SAFETY: the set is this frame's own; the thread gets a reference to self that it keeps for ever, as this object
        // lives as long as the process.
        unsafe sigemptyset(&set)
        for number in [SIGINT, SIGTERM] { unsafe sigaddset(&set, number) }
        unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
        var thread = pthread_t()
        let context = unsafe Unmanaged.passRetained(self).toOpaque()
        let result = unsafe pthread_create(
            &thread, nil,
            { context in
                if let context = unsafe context {
                    unsafe Unmanaged<Signals>.fromOpaque(context).takeUnretainedValue().wait()
                }
                return nil
            }, context
        )
        // Without the thread the signals must not be blocked, or nothing could stop the tool.
        if result != 0 { unsafe pthread_sigmask(SIG_UNBLOCK, &set, nil) }
    }

    /// What the first signal does; at once where it has come already.
    func onFirst(_ stop: @escaping @Sendable () -> Void) {
        let hasCome = self.state.withLock { state in
            state.stop = stop
            return state.received != nil
        }
        if hasCome { stop() }
    }

    /// The code to end with after a signal, as shells give it: 128 and the signal's number.
    var exitCode: Int32 { 128 + (self.state.withLock(\.received) ?? SIGINT) }

    private func wait() {
        var set = sigset_t()
        unsafe sigemptyset(&set)
        for number in [SIGINT, SIGTERM] { unsafe sigaddset(&set, number) }
        while true {
            var number: Int32 = 0
            guard unsafe sigwait(&set, &number) == 0 else { continue }
            let (isFirst, stop) = self.state.withLock { state in
                let isFirst = state.received == nil
                if isFirst { state.received = number }
                return (isFirst, state.stop)
            }
            guard isFirst else { _exit(128 + number) }
            stop?()
            // Before there is an upload there is nothing to keep.
            if stop == nil { _exit(128 + number) }
        }
    }
}
