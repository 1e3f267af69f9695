// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import Glibc
import SystemIO

/// The socket calls of ``RawServer``.
///
/// All of them retry when a signal interrupts them, and none raises SIGPIPE.
enum RawSocket {
    /// Listens on a free port of 127.0.0.1.
    static func listen(receiveBuffer: Int32?, backlog: Int32) throws -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw SystemError(call: "socket") }
        if let receiveBuffer {
            self.set(descriptor, SOL_SOCKET, SO_RCVBUF, receiveBuffer)
            self.set(descriptor, Int32(IPPROTO_TCP), TCP_MAXSEG, 1460)
        }
        // SAFETY: the address is used within the call.
        let result = unsafe Self.withLoopback(port: 0) { unsafe bind(descriptor, $0, $1) }
        guard result == 0, Glibc.listen(descriptor, backlog) == 0 else {
            throw SystemError(call: "listen")
        }
        return descriptor
    }

    /// The port that a socket is bound to.
    static func port(of descriptor: Int32) throws -> UInt16 {
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

    /// Connects to a port of 127.0.0.1.
    static func connect(port: UInt16) throws -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw SystemError(call: "socket") }
        // SAFETY: the address is used within the call.
        let result = unsafe Self.withLoopback(port: port) { unsafe Glibc.connect(descriptor, $0, $1) }
        guard result == 0 else { throw SystemError(call: "connect") }
        return descriptor
    }

    /// Waits for a connection; nil when the listening socket has been shut down.
    static func accept(_ listener: Int32) -> Int32? {
        while true {
            let descriptor = Glibc.accept(listener, nil, nil)
            if descriptor >= 0 { return descriptor }
            guard errno == EINTR || errno == ECONNABORTED else { return nil }
        }
    }

    /// Waits for bytes, at most `count` of them.
    static func receive(_ descriptor: Int32, upTo count: Int) throws(RawServer.Failure) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        while true {
            // SAFETY: the buffer is ours and its size is passed.
            let received = unsafe recv(descriptor, &bytes, count, 0)
            if received > 0 { return Array(bytes[..<received]) }
            if received < 0, errno == EINTR { continue }
            throw received < 0 && errno == EAGAIN ? .timedOut : .ended
        }
    }

    /// Sends all of the bytes.
    static func send(_ descriptor: Int32, _ bytes: [UInt8]) throws(RawServer.Failure) {
        var done = 0
        while done < bytes.count {
            // SAFETY: the pointer is used within the call; `done` lies within the array.
            let sent = unsafe bytes.withUnsafeBytes {
                unsafe Glibc.send(
                    descriptor, $0.baseAddress?.advanced(by: done), $0.count - done, Int32(MSG_NOSIGNAL))
            }
            if sent < 0, errno == EINTR { continue }
            guard sent > 0 else { throw .ended }
            done += sent
        }
    }

    /// Lets reads fail after that many seconds without a byte.
    static func setReceiveTimeout(_ descriptor: Int32, seconds: Int) {
        var time = timeval(tv_sec: seconds, tv_usec: 0)
        // SAFETY: the value is ours and its size is passed.
        _ = unsafe setsockopt(
            descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
    }

    /// Ends both directions; calls that wait on the socket return.
    static func shutDown(_ descriptor: Int32) { _ = Glibc.shutdown(descriptor, Int32(SHUT_RDWR)) }

    /// Closes a socket.
    static func close(_ descriptor: Int32) { _ = Glibc.close(descriptor) }

    /// Closes a socket so that the other side sees a reset.
    static func closeWithReset(_ descriptor: Int32) {
        var linger = linger(l_onoff: 1, l_linger: 0)
        // SAFETY: the value is ours and its size is passed.
        _ = unsafe setsockopt(
            descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<linger>.size))
        self.close(descriptor)
    }

    @unsafe private static func withLoopback(
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

/// Threads for scripts that block.
enum RawThread {
    private final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// Lets a script's thread wait, where the time itself is what the script is about.
    static func sleep(milliseconds: UInt32) { _ = usleep(milliseconds * 1000) }

    /// Runs `body` on a thread of its own.
    static func start(_ body: @escaping @Sendable () -> Void) {
        var thread = pthread_t()
        // SAFETY: the box is retained here and released by the thread's first act.
        let box = unsafe Unmanaged.passRetained(Body(body))
        let result = unsafe pthread_create(
            &thread, nil,
            { context in
                if let context = unsafe context {
                    unsafe Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
                }
                return nil
            }, unsafe box.toOpaque())
        precondition(result == 0, "no thread for a test server")
        _ = pthread_detach(thread)
    }
}
