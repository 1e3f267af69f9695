// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import Glibc
import SystemIO

/// The one thread of a proxy; letting it go ends the thread and waits for that.
final class ProxyThread: Sendable {
    private final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    private let thread: pthread_t
    /// The end of a pipe that nothing is written to: the thread sees it go.
    private let awake: Lock<PosixFile?>

    /// Starts a thread; the file that it gets hangs up when it has to end.
    init(_ body: @escaping @Sendable (PosixFile) -> Void) throws(SystemError) {
        var ends: [Int32] = [0, 0]
        // SAFETY: the array has room for two descriptors.
        guard unsafe pipe(&ends) == 0 else { throw SystemError(call: "pipe") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        let reading = PosixFile(adopting: ends[0], path: "pipe")
        self.awake = Lock(PosixFile(adopting: ends[1], path: "pipe"))
        var thread = pthread_t()
        // SAFETY: the box is retained here and released by the thread's first act.
        let box = unsafe Unmanaged.passRetained(Body { body(reading) })
        let result = unsafe pthread_create(
            &thread, nil,
            { context in
                if let context = unsafe context {
                    unsafe Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
                }
                return nil
            }, unsafe box.toOpaque())
        self.thread = thread
        guard result == 0 else {
            // SAFETY: no thread was made that could release it.
            unsafe box.release()
            throw SystemError(call: "pthread_create", number: result)
        }
    }

    deinit {
        self.awake.withLock { $0 = nil }
        // It waits in poll and nowhere else, so this is a matter of microseconds.
        _ = pthread_join(self.thread, nil)
    }
}
