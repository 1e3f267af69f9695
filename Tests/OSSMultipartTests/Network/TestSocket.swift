// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import LoopbackSockets
import SystemIO

/// A TCP socket on 127.0.0.1 for stand-ins of servers and proxies; it is closed when the last reference goes.
final class TestSocket: Sendable {
    private let descriptor: Int32

    private init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { LoopbackSocket.close(self.descriptor) }

    /// A socket that listens on a free port.
    static func listening() throws -> TestSocket { TestSocket(try LoopbackSocket.listen()) }

    /// A socket that is connected to a port.
    static func connected(to port: UInt16) throws -> TestSocket { TestSocket(try LoopbackSocket.connect(port: port)) }

    /// The port that it is bound to.
    var port: UInt16 {
        get throws { try LoopbackSocket.port(of: self.descriptor) }
    }

    /// Waits for a connection; nil when it has been shut down.
    func accept() -> TestSocket? { LoopbackSocket.accept(self.descriptor).map { TestSocket($0) } }

    /// Waits for bytes; none at the end.
    func receive() -> [UInt8] {
        // A connection that broke has ended: a stand-in need not tell the two apart.
        (try? LoopbackSocket.receive(self.descriptor, upTo: 64 * 1024)) ?? []
    }

    /// Sends all of the bytes; false where the other side is gone.
    @discardableResult
    func send(_ bytes: some Collection<UInt8>) -> Bool {
        do throws(SystemError) { try LoopbackSocket.send(self.descriptor, Array(bytes)) } catch { return false }
        return true
    }

    /// Ends both directions; calls that wait on it return.
    func shutDown() { LoopbackSocket.shutDown(self.descriptor) }
}
