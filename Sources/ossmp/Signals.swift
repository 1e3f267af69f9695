// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import Dispatch
import Glibc
import Synchronization

/// SIGINT, SIGTERM and SIGHUP: the first one stops the upload and keeps its progress, the second one ends the process.
///
/// They come through Dispatch's signal sources, so nothing runs in a signal handler: a thread of Dispatch's own has the
/// signals unblocked, and would let them kill the process whatever other threads do. SIGPIPE is ignored: whoever closes the
/// pipe does not kill the upload.
final class Signals: Sendable {
    private struct State {
        var received: Int32?
        var stop: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "ossmp.signals")
    // Set once in init and only kept alive after that; Dispatch's objects may be used from any thread.
    private nonisolated(unsafe) let sources: [any DispatchSourceSignal]

    /// Begins to listen.
    init() {
        // SIGXFSZ: a limit on file sizes is an error of the write that meets it.
        // nohup ignores SIGHUP for the program that it starts, and means it. Shells ignore SIGINT for background jobs, to keep
        // the terminal's from them; one that comes all the same was sent to stop this upload.
        let numbers = [SIGINT, SIGTERM] + (Self.isIgnored(SIGHUP) ? [] : [SIGHUP])
        for number in [SIGPIPE, SIGXFSZ] + numbers { _ = signal(number, SIG_IGN) }
        let queue = self.queue
        unsafe self.sources = numbers.map { DispatchSource.makeSignalSource(signal: $0, queue: queue) }
        for (number, source) in unsafe zip(numbers, self.sources) {
            source.setEventHandler { [weak self] in self?.take(number) }
            source.resume()
        }
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

    private static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        // SAFETY: the structure is this frame's own; the handler is only compared, as the number that SIG_IGN is.
        guard unsafe sigaction(number, nil, &action) == 0 else { return false }
        return unsafe unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
            == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    private func take(_ number: Int32) {
        let (isFirst, stop) = self.state.withLock { state in
            let isFirst = state.received == nil
            if isFirst { state.received = number }
            return (isFirst, state.stop)
        }
        // Before there is an upload there is nothing to keep.
        guard isFirst, let stop else {
            Console.clearBar()
            _exit(128 + number)
        }
        stop()
    }
}
