// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import CurlTransport
import Glibc
import OSSWire
import SystemIO
import Testing

/// Bytes that look random and are the same each time.
///
/// They repeat after a prime number of bytes, so that no buffer put in another's place goes unseen.
func patternedBytes(_ count: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count + period.count)
    while bytes.count < count { bytes += period }
    bytes.removeLast(bytes.count - count)
    return bytes
}

private let period: [UInt8] = {
    var state: UInt64 = 0x9E37_79B9_7F4A_7C15
    return (0..<65_537).map { _ in
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return UInt8(truncatingIfNeeded: state >> 32)
    }
}()

/// An open file with those bytes and no name.
func temporaryFile(_ bytes: [UInt8]) throws -> PosixFile {
    var template = Array("/tmp/CurlTransportTests.XXXXXX\0".utf8CString)
    // SAFETY: the template is ours and ends with a zero.
    let descriptor = unsafe mkstemp(&template)
    guard descriptor >= 0 else { throw SystemError(call: "mkstemp") }
    let path = String(decoding: template.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    let file = PosixFile(adopting: descriptor, path: path)
    try Directory.removeFile(path)
    // SAFETY: the pointer is used within the closure.
    try unsafe bytes.withUnsafeBytes { try unsafe file.write($0, at: 0) }
    return file
}

/// Runs `body` with a transport and shuts the transport down.
func withTransport<Value>(
    _ configuration: CurlTransportConfiguration = .init(), _ body: (CurlTransport) async throws -> Value
) async throws -> Value {
    let transport = CurlTransport(configuration: configuration)
    do {
        let value = try await body(transport)
        await transport.shutDown()
        return value
    } catch {
        await transport.shutDown()
        throw error
    }
}

extension CurlTransport {
    /// The kind of the error that a request ends with; nil where there is a reply.
    func failure(of request: TransportRequest) async throws -> TransportError.Kind? {
        do {
            _ = try await self.execute(request)
            return nil
        } catch let error as TransportError {
            return error.kind
        }
    }
}

extension RawServer {
    /// Waits for the end of the first connection, and expects that no byte of a request that is over is sent meanwhile.
    ///
    /// The system may still deliver what it had taken, the end of the connection behind it; curl takes no more.
    ///
    /// - Returns: how many bytes have come.
    func receivedInAll(nothingMoreOf request: TransportRequest) async throws -> Int {
        let sent = request.progress?.bytesSent
        let connection = try #require(self.connections.first)
        await connection.over.wait()
        #expect(request.progress?.bytesSent == sent)
        return connection.received.count
    }
}
