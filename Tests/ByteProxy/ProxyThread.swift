// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import Glibc
import LoopbackSockets
import SystemIO

/// The one thread of a proxy; letting it go ends the thread and waits for that.
final class ProxyThread: Sendable {
    private let thread: TestThread
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
        self.thread = try TestThread { body(reading) }
    }

    deinit {
        self.awake.withLock { $0 = nil }
        // It waits in poll and nowhere else, so this is a matter of microseconds.
        self.thread.join()
    }
}
