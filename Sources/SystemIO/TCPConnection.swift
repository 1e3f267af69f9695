// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import Glibc

/// One TCP connection to a server, with one time limit for all that is done with it.
///
/// Every call here may block: use ``BlockingExecutor``.
package final class TCPConnection {
    private let file: PosixFile
    private let end: ContinuousClock.Instant
    private let peer: String

    /// Connects to the first of a host's addresses that answers.
    ///
    /// - Throws: `SystemError`, `ETIMEDOUT` where the time is over. Looking up a name is not interrupted.
    ///
    /// The corresponding C functions are `getaddrinfo` and `connect`.
    package init(host: String, port: UInt16, timeLimit: Duration) throws(SystemError) {
        self.end = ContinuousClock().now.advanced(by: timeLimit)
        self.peer = "\(host):\(port)"
        var hints = unsafe addrinfo()
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        // SAFETY: the list is the function's until it is freed below; the texts live for the length of the call.
        guard unsafe getaddrinfo(host, String(port), &hints, &list) == 0 else {
            throw SystemError(call: "getaddrinfo", path: self.peer, number: EHOSTUNREACH)
        }
        defer { unsafe freeaddrinfo(list) }
        var next = unsafe list
        var failure = SystemError(call: "connect", path: self.peer, number: EHOSTUNREACH)
        while let address = unsafe next {
            do throws(SystemError) {
                // SAFETY: the entry is the list's, which is freed when this function returns.
                self.file = try unsafe Self.connect(address.pointee, until: self.end, self.peer)
                return
            } catch {
                failure = error
            }
            unsafe next = address.pointee.ai_next
        }
        throw failure
    }

    @unsafe private static func connect(
        _ address: addrinfo, until end: ContinuousClock.Instant, _ peer: String
    ) throws(SystemError) -> PosixFile {
        let type = unsafe address.ai_socktype | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = unsafe socket(address.ai_family, type, address.ai_protocol)
        guard descriptor >= 0 else { throw SystemError(call: "socket", path: peer) }
        let file = PosixFile(adopting: descriptor, path: peer)
        // SAFETY: the address is the caller's for the length of the call.
        guard unsafe Glibc.connect(descriptor, address.ai_addr, address.ai_addrlen) != 0 else { return file }
        guard errno == EINPROGRESS else { throw SystemError(call: "connect", path: peer) }
        try self.wait(descriptor, Int16(POLLOUT), until: end, peer)
        var number: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        // SAFETY: both are ours for the length of the call.
        guard unsafe getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &number, &size) == 0, number == 0 else {
            throw SystemError(call: "connect", path: peer, number: number)
        }
        return file
    }

    /// Sends all bytes.
    ///
    /// The corresponding C function is `send`.
    package func send(_ bytes: [UInt8]) throws(SystemError) {
        var done = 0
        while done < bytes.count {
            try Self.wait(self.file.descriptor, Int16(POLLOUT), until: self.end, self.peer)
            // SAFETY: the pointer is used within the call; `done` lies within the array.
            let count = unsafe bytes.withUnsafeBytes {
                unsafe Glibc.send(
                    self.file.descriptor, $0.baseAddress?.advanced(by: done), $0.count - done, Int32(MSG_NOSIGNAL))
            }
            if count > 0 {
                done += count
            } else if errno != EINTR, errno != EAGAIN {
                throw SystemError(call: "send", path: self.peer)
            }
        }
    }

    /// Waits for bytes and returns those that are there; none at the end.
    ///
    /// The corresponding C function is `recv`.
    package func receive() throws(SystemError) -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 16 * 1024)
        while true {
            try Self.wait(self.file.descriptor, Int16(POLLIN), until: self.end, self.peer)
            let size = buffer.count
            // SAFETY: the buffer is ours and its length is passed.
            let count = unsafe recv(self.file.descriptor, &buffer, size, 0)
            if count >= 0 { return Array(buffer[..<count]) }
            if errno != EINTR, errno != EAGAIN { throw SystemError(call: "recv", path: self.peer) }
        }
    }

    private static func wait(
        _ descriptor: Int32, _ events: Int16, until end: ContinuousClock.Instant, _ peer: String
    ) throws(SystemError) {
        while true {
            let left = end - ContinuousClock().now
            guard left > .zero else { throw SystemError(call: "poll", path: peer, number: ETIMEDOUT) }
            let milliseconds = left.components.seconds * 1000 + left.components.attoseconds / 1_000_000_000_000_000
            var entry = pollfd(fd: descriptor, events: events, revents: 0)
            // SAFETY: one structure, ours for the length of the call.
            let count = unsafe poll(&entry, 1, Int32(clamping: milliseconds + 1))
            if count > 0 { return }
            if count < 0, errno != EINTR { throw SystemError(call: "poll", path: peer) }
        }
    }
}
