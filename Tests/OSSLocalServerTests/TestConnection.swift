// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import Glibc
import OSSWire
import SystemIO

/// A reply as it came over the wire.
struct TestReply: Sendable {
    var status: Int
    var headers: HTTPFields
    var body: [UInt8]

    /// The reply's document.
    var document: XMLElement {
        get throws { try XMLElement.parse(self.body) }
    }

    /// The code of the error that the reply tells; nil where it tells none.
    var errorCode: String? {
        // A body that is no document tells no error.
        (try? self.document).flatMap { $0.name == "Error" ? $0.string("Code") : nil }
    }
}

/// The connection ended before the reply did.
struct ConnectionClosed: Error {}

/// One TCP connection that sends bytes and reads replies; blocking, for ``TestClient``'s threads.
final class TestConnection {
    private let file: PosixFile
    private var buffer: [UInt8] = []

    init(port: UInt16) throws(SystemError) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw SystemError(call: "socket") }
        self.file = PosixFile(adopting: descriptor, path: "connection")
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        // SAFETY: the address is ours for the length of the call.
        let result = unsafe withUnsafePointer(to: &address) {
            unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw SystemError(call: "connect") }
        var limit = timeval(tv_sec: 20, tv_usec: 0)
        // SAFETY: the structure is ours for the length of the call.
        _ = unsafe setsockopt(
            descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    /// Sends bytes; false where the other side no longer takes them.
    func send(_ bytes: [UInt8]) -> Bool {
        var done = 0
        while done < bytes.count {
            // SAFETY: `done` lies within the array.
            let count = unsafe bytes.withUnsafeBytes {
                unsafe Glibc.send(
                    self.file.descriptor, $0.baseAddress?.advanced(by: done), $0.count - done,
                    Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            done += count
        }
        return true
    }

    /// Reads the status line of a reply before the reply, such as 100.
    func interim() throws -> Int {
        while self.headEnd() == nil { try self.readMore() }
        let end = self.headEnd() ?? 0
        let words = String(decoding: self.buffer[..<end], as: UTF8.self).split(separator: " ")
        self.buffer.removeFirst(end + 4)
        guard words.count >= 2, let status = Int(words[1]) else { throw ConnectionClosed() }
        return status
    }

    /// Reads one reply.
    func reply(toHead isHead: Bool) throws -> TestReply {
        while true {
            if let end = self.headEnd() {
                let lines = String(decoding: self.buffer[..<end], as: UTF8.self).split(separator: "\r\n")
                self.buffer.removeFirst(end + 4)
                let words = lines[0].split(separator: " ")
                guard words.count >= 2, let status = Int(words[1]) else { throw ConnectionClosed() }
                if status == 100 { continue }
                var headers: HTTPFields = [:]
                for line in lines.dropFirst() {
                    let halves = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
                    headers.append(name: String(halves[0]), value: halves[1].trimmedBlanks)
                }
                let length = headers["Content-Length"].flatMap { Int($0) } ?? 0
                let isEmpty = isHead || status == 204 || status == 304
                while self.buffer.count < length, !isEmpty { try self.readMore() }
                let body = isEmpty ? [] : Array(self.buffer.prefix(length))
                self.buffer.removeFirst(body.count)
                return TestReply(status: status, headers: headers, body: body)
            }
            try self.readMore()
        }
    }

    private func headEnd() -> Int? {
        let mark = Array("\r\n\r\n".utf8)
        guard self.buffer.count >= 4 else { return nil }
        return (0...self.buffer.count - 4).first { self.buffer[$0..<$0 + 4].elementsEqual(mark) }
    }

    private func readMore() throws {
        var piece = [UInt8](repeating: 0, count: 64 * 1024)
        let count = try self.file.readNext(into: &piece)
        guard count > 0 else { throw ConnectionClosed() }
        self.buffer += piece[..<count]
    }
}
