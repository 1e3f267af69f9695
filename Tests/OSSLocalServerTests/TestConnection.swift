// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import LoopbackSockets
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
        let descriptor = try LoopbackSocket.connect(port: port)
        self.file = PosixFile(adopting: descriptor, path: "connection")
        LoopbackSocket.setReceiveTimeout(descriptor, seconds: 20)
    }

    /// Sends bytes; false where the other side no longer takes them.
    func send(_ bytes: [UInt8]) -> Bool {
        do throws(SystemError) { try LoopbackSocket.send(self.file.descriptor, bytes) } catch { return false }
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
