// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import Glibc
internal import SystemIO

/// Wakes the threads that wait when the server stops.
final class MicroHTTPDStopSignal: Sendable {
    private let readEnd: PosixFile
    private let writeEnd: PosixFile

    init() throws(SystemError) {
        var ends: [Int32] = [-1, -1]
        // SAFETY: the array holds the two numbers that the function writes.
        guard unsafe pipe(&ends) == 0 else { throw SystemError(call: "pipe") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        self.readEnd = PosixFile(adopting: ends[0], path: "pipe")
        self.writeEnd = PosixFile(adopting: ends[1], path: "pipe")
    }

    /// Ends all waiting, now and later.
    func send() {
        // A pipe that nobody reads takes the byte; if it did not, waiting would only be longer.
        try? self.writeEnd.write([1])
    }

    /// Waits for so long, until the server stops, or until the peer of a socket is gone.
    func wait(_ duration: Duration, socket: Int32) {
        let clock = ContinuousClock()
        let end = clock.now.advanced(by: duration)
        while true {
            let left = (end - clock.now).milliseconds
            guard left > 0 else { break }
            var descriptors = [
                pollfd(fd: self.readEnd.descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: socket, events: 0, revents: 0),
            ]
            // SAFETY: the array is ours and its length is passed.
            let count = unsafe poll(&descriptors, 2, Int32(clamping: left))
            if count > 0 || count < 0 && errno != EINTR { return }
        }
    }
}
