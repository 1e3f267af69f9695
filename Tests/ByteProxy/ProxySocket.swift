// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import Glibc
import SystemIO

/// The socket calls of a proxy: none waits, none raises SIGPIPE.
enum ProxySocket {
    /// Listens on a free port of 127.0.0.1.
    static func listen(receiveBuffer: Int32?) throws(SystemError) -> PosixFile {
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let listener = try self.make(type)
        if let receiveBuffer {
            Self.set(listener, SOL_SOCKET, SO_RCVBUF, receiveBuffer)
            // With the loopback's segments, which are larger than the buffer, nothing would flow.
            Self.set(listener, Int32(IPPROTO_TCP), TCP_MAXSEG, 1460)
        }
        // SAFETY: the address is used within the call.
        let result = unsafe Self.withLoopback(port: 0) { unsafe bind(listener.descriptor, $0, $1) }
        guard result == 0, Glibc.listen(listener.descriptor, 128) == 0 else { throw SystemError(call: "listen") }
        return listener
    }

    /// The port that a socket is bound to.
    static func port(of socket: PosixFile) throws(SystemError) -> UInt16 {
        var address = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        // SAFETY: address and size are ours.
        let result = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe getsockname(socket.descriptor, $0, &size)
            }
        }
        guard result == 0 else { throw SystemError(call: "getsockname") }
        return UInt16(bigEndian: address.sin_port)
    }

    /// Connects to a port of 127.0.0.1; nil where nobody listens there.
    static func connect(port: UInt16) -> PosixFile? {
        // Nobody listening is all that a proxy can learn here; it passes that on by closing.
        guard let file = try? self.make(Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)) else { return nil }
        // SAFETY: the address is used within the call.
        let result = unsafe Self.withLoopback(port: port) { unsafe Glibc.connect(file.descriptor, $0, $1) }
        guard result == 0 else { return nil }
        Self.set(file, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        return file
    }

    /// The next connection that waits; nil where none does.
    static func accept(_ listener: PosixFile) -> PosixFile? {
        let descriptor = Glibc.accept(listener.descriptor, nil, nil)
        guard descriptor >= 0 else { return nil }
        // A program that a test starts must not keep the connection open.
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        let file = PosixFile(adopting: descriptor, path: "client")
        Self.set(file, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        return file
    }

    /// What is there to be read.
    enum Received {
        case bytes([UInt8])
        case nothingYet
        case end
        case broken
    }

    /// Takes what is there.
    static func receive(_ socket: PosixFile, upTo count: Int) -> Received {
        var buffer = [UInt8](repeating: 0, count: count)
        while true {
            // SAFETY: the buffer is ours and its size is passed.
            let size = unsafe recv(socket.descriptor, &buffer, count, Int32(MSG_DONTWAIT))
            if size > 0 { return .bytes(Array(buffer[..<size])) }
            if size == 0 { return .end }
            if errno == EAGAIN { return .nothingYet }
            if errno != EINTR { return .broken }
        }
    }

    /// Sends what the system takes, and returns how many bytes that were; nil where the connection is broken.
    static func send(_ socket: PosixFile, _ bytes: ArraySlice<UInt8>) -> Int? {
        while true {
            // SAFETY: the pointer is used within the call.
            let count = unsafe bytes.withUnsafeBytes {
                unsafe Glibc.send(
                    socket.descriptor, $0.baseAddress, $0.count,
                    Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
            }
            if count >= 0 { return count }
            if errno == EAGAIN { return 0 }
            if errno != EINTR { return nil }
        }
    }

    /// Tells the other side that nothing more comes.
    static func endSending(_ socket: PosixFile) { _ = Glibc.shutdown(socket.descriptor, Int32(SHUT_WR)) }

    /// Makes the socket's close a reset.
    static func resetAtClose(_ socket: PosixFile) {
        var linger = linger(l_onoff: 1, l_linger: 0)
        // SAFETY: the value is ours and its size is passed.
        _ = unsafe setsockopt(
            socket.descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<linger>.size))
    }

    /// Where the first of some bytes begins within others, from `start` on.
    static func firstIndex(of target: [UInt8], in bytes: [UInt8], from start: Int) -> Int? {
        guard bytes.count - start >= target.count, !target.isEmpty else { return nil }
        // SAFETY: both arrays live for the length of the call, and the pointers are compared within the first.
        return unsafe bytes.withUnsafeBytes { haystack in
            unsafe target.withUnsafeBytes { needle -> Int? in
                guard let base = haystack.baseAddress, let sought = needle.baseAddress else { return nil }
                var index = start
                // Where the last of them could begin.
                let last = haystack.count - needle.count
                while index <= last,
                    let found = unsafe memchr(base + index, Int32(target[0]), last - index + 1)
                {
                    index = unsafe base.distance(to: UnsafeRawPointer(found))
                    if unsafe memcmp(base + index, sought, needle.count) == 0 { return index }
                    index += 1
                }
                return nil
            }
        }
    }

    private static func make(_ type: Int32) throws(SystemError) -> PosixFile {
        let descriptor = socket(AF_INET, type, 0)
        guard descriptor >= 0 else { throw SystemError(call: "socket") }
        return PosixFile(adopting: descriptor, path: "proxy")
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

    private static func set(_ socket: PosixFile, _ level: Int32, _ option: Int32, _ value: Int32) {
        var value = value
        // SAFETY: the value is ours and its size is passed.
        _ = unsafe setsockopt(socket.descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }
}
