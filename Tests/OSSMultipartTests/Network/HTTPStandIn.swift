// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import LoopbackSockets
import OSSWire
import Synchronization

/// A stand-in of an HTTP service: what it answers is what its script says.
final class HTTPStandIn: Sendable {
    /// One request as it came.
    struct Request: Sendable {
        let method: String
        let path: String
        let headers: HTTPFields
        let body: String
        /// The body's parameters, where it is a form.
        var form: [QueryItem] { [QueryItem](encoded: self.body) ?? [] }
    }

    let port: UInt16
    private let listener: TestSocket
    private let log: Log

    private final class Log: Sendable {
        let requests = Mutex<[Request]>([])
    }

    var url: String { "http://127.0.0.1:\(self.port)" }
    var requests: [Request] { self.log.requests.withLock { $0 } }

    init(_ script: @escaping @Sendable (Request) -> (status: Int, body: String)) throws {
        let listener = try TestSocket.listening(), log = Log()
        (self.listener, self.log) = (listener, log)
        self.port = try listener.port
        TestThread.start {
            while let connection = listener.accept() {
                TestThread.start {
                    while let request = Self.read(connection) {
                        log.requests.withLock { $0.append(request) }
                        let (status, body) = script(request)
                        let head = "HTTP/1.1 \(status) Status\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
                        guard connection.send((head + body).utf8) else { break }
                    }
                    connection.shutDown()
                }
            }
        }
    }

    deinit { self.listener.shutDown() }

    private static func read(_ connection: TestSocket) -> Request? {
        var text = ""
        func more() -> Bool {
            let bytes = connection.receive()
            text += String(decoding: bytes, as: UTF8.self)
            return !bytes.isEmpty
        }
        while !text.contains("\r\n\r\n") { guard more() else { return nil } }
        var lines = text.split(separator: "\r\n", omittingEmptySubsequences: false).prefix { !$0.isEmpty }
        let words = lines.removeFirst().split(separator: " ")
        var headers: HTTPFields = [:]
        for line in lines {
            let halves = line.split(separator: ":", maxSplits: 1)
            if halves.count == 2 { headers.append(name: String(halves[0]), value: halves[1].trimmedBlanks) }
        }
        let length = headers["Content-Length"].flatMap { Int($0) } ?? 0
        func body() -> String { String(text[(text.firstRange(of: "\r\n\r\n")?.upperBound ?? text.endIndex)...]) }
        while body().utf8.count < length { guard more() else { return nil } }
        return Request(method: String(words[0]), path: String(words[1]), headers: headers, body: body())
    }
}
