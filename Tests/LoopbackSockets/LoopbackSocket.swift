// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import Glibc
package import SystemIO

/// The socket calls of the tests' servers, proxies and clients, all on 127.0.0.1.
///
/// All of them retry when a signal interrupts them, and none raises SIGPIPE. No socket is passed on to programs that a test
/// starts.
package enum LoopbackSocket {
    /// Listens on a free port.
    ///
    /// - Parameters:
    ///   - receiveBuffer: size of the sockets' receive buffer in bytes, for one that takes little at a time; segments are then
    ///     as small as on a network, for with the loopback's, which are larger than the buffer, nothing would flow.
    ///   - backlog: how many connections may wait to be accepted.
    ///   - nonBlocking: whether ``accept(_:)`` returns at once.
    package static func listen(
        receiveBuffer: Int32? = nil, backlog: Int32 = 128, nonBlocking: Bool = false
    ) throws(SystemError) -> Int32 {
        let descriptor = try self.make(nonBlocking: nonBlocking)
        if let receiveBuffer {
            self.set(descriptor, SOL_SOCKET, SO_RCVBUF, receiveBuffer)
            self.set(descriptor, Int32(IPPROTO_TCP), TCP_MAXSEG, 1460)
        }
        // SAFETY: the address is used within the call.
        let result = unsafe self.withAddress(port: 0) { unsafe bind(descriptor, $0, $1) }
        guard result == 0, Glibc.listen(descriptor, backlog) == 0 else {
            throw self.failure("listen", closing: descriptor)
        }
        return descriptor
    }

    /// The port that a socket is bound to.
    package static func port(of descriptor: Int32) throws(SystemError) -> UInt16 {
        var address = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        // SAFETY: address and size are ours.
        let result = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe getsockname(descriptor, $0, &size)
            }
        }
        guard result == 0 else { throw SystemError(call: "getsockname") }
        return UInt16(bigEndian: address.sin_port)
    }

    /// Connects to a port.
    package static func connect(port: UInt16) throws(SystemError) -> Int32 {
        let descriptor = try self.make(nonBlocking: false)
        // SAFETY: the address is used within the call.
        let result = unsafe self.withAddress(port: port) { unsafe Glibc.connect(descriptor, $0, $1) }
        guard result == 0 else { throw self.failure("connect", closing: descriptor) }
        return descriptor
    }

    /// The next connection; nil when the listening socket has been shut down, or where none waits and it does not block.
    package static func accept(_ listener: Int32) -> Int32? {
        while true {
            let descriptor = Glibc.accept(listener, nil, nil)
            if descriptor >= 0 {
                _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
                return descriptor
            }
            guard errno == EINTR || errno == ECONNABORTED else { return nil }
        }
    }

    /// Waits for bytes, at most `count` of them; none at the end.
    package static func receive(_ descriptor: Int32, upTo count: Int) throws(SystemError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        while true {
            // SAFETY: the buffer is ours and its size is passed.
            let received = unsafe recv(descriptor, &bytes, count, 0)
            if received >= 0 { return Array(bytes[..<received]) }
            guard errno == EINTR else { throw SystemError(call: "recv") }
        }
    }

    /// Sends all of the bytes.
    package static func send(_ descriptor: Int32, _ bytes: [UInt8]) throws(SystemError) {
        var done = 0
        while done < bytes.count {
            // SAFETY: the pointer is used within the call; `done` lies within the array.
            let sent = unsafe bytes.withUnsafeBytes {
                unsafe Glibc.send(
                    descriptor, $0.baseAddress?.advanced(by: done), $0.count - done, Int32(MSG_NOSIGNAL))
            }
            if sent > 0 { done += sent } else if errno != EINTR { throw SystemError(call: "send") }
        }
    }

    /// Lets ``receive(_:upTo:)`` fail after that many seconds without a byte.
    package static func setReceiveTimeout(_ descriptor: Int32, seconds: Int) {
        var time = timeval(tv_sec: seconds, tv_usec: 0)
        // SAFETY: the value is ours and its size is passed.
        _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
    }

    /// Sends what is written at once, however little it is.
    package static func sendAtOnce(_ descriptor: Int32) { self.set(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, 1) }

    /// Ends both directions; calls that wait on the socket return.
    package static func shutDown(_ descriptor: Int32) { _ = Glibc.shutdown(descriptor, Int32(SHUT_RDWR)) }

    /// Tells the other side that nothing more comes.
    package static func endSending(_ descriptor: Int32) { _ = Glibc.shutdown(descriptor, Int32(SHUT_WR)) }

    /// Makes the socket's close a reset.
    package static func resetAtClose(_ descriptor: Int32) {
        var linger = linger(l_onoff: 1, l_linger: 0)
        // SAFETY: the value is ours and its size is passed.
        _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<linger>.size))
    }

    /// Closes a socket.
    package static func close(_ descriptor: Int32) { _ = Glibc.close(descriptor) }

    private static func make(nonBlocking: Bool) throws(SystemError) -> Int32 {
        var type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        if nonBlocking { type |= Int32(SOCK_NONBLOCK.rawValue) }
        let descriptor = socket(AF_INET, type, 0)
        guard descriptor >= 0 else { throw SystemError(call: "socket") }
        return descriptor
    }

    private static func failure(_ call: String, closing descriptor: Int32) -> SystemError {
        let error = SystemError(call: call)
        self.close(descriptor)
        return error
    }

    @unsafe private static func withAddress(
        port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        // SAFETY: the address is ours and its size is passed.
        return unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    private static func set(_ descriptor: Int32, _ level: Int32, _ option: Int32, _ value: Int32) {
        var value = value
        // SAFETY: the value is ours and its size is passed.
        _ = unsafe setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }
}
