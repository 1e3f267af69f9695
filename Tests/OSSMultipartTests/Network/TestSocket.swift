// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import Glibc
import SystemIO

/// A TCP socket on 127.0.0.1 for stand-ins of servers and proxies; it is closed when the last reference goes.
final class TestSocket: Sendable {
    private let descriptor: Int32

    private init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { _ = Glibc.close(self.descriptor) }

    /// A socket that listens on a free port.
    static func listening() throws -> TestSocket {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw SystemError(call: "socket") }
        // SAFETY: the address is used within the call.
        guard unsafe self.withLoopback(port: 0, { unsafe bind(descriptor, $0, $1) }) == 0, listen(descriptor, 64) == 0
        else { throw SystemError(call: "listen") }
        return TestSocket(descriptor)
    }

    /// A socket that is connected to a port.
    static func connected(to port: UInt16) throws -> TestSocket {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw SystemError(call: "socket") }
        // SAFETY: the address is used within the call.
        guard unsafe self.withLoopback(port: port, { unsafe connect(descriptor, $0, $1) }) == 0 else {
            throw SystemError(call: "connect")
        }
        return TestSocket(descriptor)
    }

    /// The port that it is bound to.
    var port: UInt16 {
        get throws {
            var address = sockaddr_in()
            var size = socklen_t(MemoryLayout<sockaddr_in>.size)
            // SAFETY: address and size are ours.
            let result = unsafe withUnsafeMutablePointer(to: &address) { pointer in
                unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    unsafe getsockname(self.descriptor, $0, &size)
                }
            }
            guard result == 0 else { throw SystemError(call: "getsockname") }
            return UInt16(bigEndian: address.sin_port)
        }
    }

    /// Waits for a connection; nil when it has been shut down.
    func accept() -> TestSocket? {
        let descriptor = Glibc.accept(self.descriptor, nil, nil)
        return descriptor >= 0 ? TestSocket(descriptor) : nil
    }

    /// Waits for bytes; none at the end.
    func receive() -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 64 * 1024)
        let size = bytes.count
        // SAFETY: the buffer is ours and its size is passed.
        let count = unsafe recv(self.descriptor, &bytes, size, 0)
        return count > 0 ? Array(bytes[..<count]) : []
    }

    /// Sends all of the bytes; false where the other side is gone.
    @discardableResult
    func send(_ bytes: some Collection<UInt8>) -> Bool {
        let bytes = Array(bytes)
        var done = 0
        while done < bytes.count {
            // SAFETY: the pointer is used within the call; `done` lies within the array.
            let count = unsafe bytes.withUnsafeBytes {
                unsafe Glibc.send(
                    self.descriptor, $0.baseAddress?.advanced(by: done), $0.count - done, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            done += count
        }
        return true
    }

    /// Ends both directions; calls that wait on it return.
    func shutDown() { _ = Glibc.shutdown(self.descriptor, Int32(SHUT_RDWR)) }

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
}

/// Threads for stand-ins, which block.
enum TestThread {
    private final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

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
        precondition(result == 0, "no thread for a stand-in")
        _ = pthread_detach(thread)
    }
}
