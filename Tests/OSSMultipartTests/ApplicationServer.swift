// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import LoopbackSockets
import SystemIO

/// An application's server: answers every request with the same reply, and keeps what it got.
final class ApplicationServer: Sendable {
    /// One request: the line it began with, its header lines, and its body.
    struct Request: Sendable {
        let head: [String]
        let body: String
    }

    let port: UInt16
    private let listener: TestSocket
    private let log = Log()

    private final class Log: Sendable {
        let requests = Lock<[Request]>([])
    }

    /// The address of a path on it.
    func url(_ path: String = "/stored") -> String { "http://127.0.0.1:\(self.port)\(path)" }

    /// What has come so far.
    var requests: [Request] { self.log.requests.withLock { $0 } }

    /// Makes a server on a free port of 127.0.0.1.
    init(status: String = "200 OK", type: String = "application/json", body: String) throws {
        let listener = try TestSocket.listening(), log = self.log
        self.listener = listener
        self.port = try listener.port
        let head = "HTTP/1.1 \(status)\r\nContent-Type: \(type)\r\nContent-Length: \(body.utf8.count)\r\n"
        let reply = "\(head)Connection: close\r\n\r\n\(body)"
        TestThread.start {
            while let connection = listener.accept() {
                guard let request = Self.read(connection) else { continue }
                log.requests.withLock { $0.append(request) }
                connection.send(reply.utf8)
            }
        }
    }

    deinit { self.listener.shutDown() }

    private static func read(_ connection: TestSocket) -> Request? {
        var bytes: [UInt8] = []
        while true {
            let text = String(decoding: bytes, as: UTF8.self)
            if let end = text.firstRange(of: "\r\n\r\n") {
                let head = text[..<end.lowerBound].split(separator: "\r\n").map(String.init)
                let length = head.first { $0.lowercased().hasPrefix("content-length:") }
                    .flatMap { Int($0.dropFirst(15).drop { $0 == " " }) }
                let body = String(text[end.upperBound...])
                if body.utf8.count >= length ?? 0 { return Request(head: head, body: body) }
            }
            let more = connection.receive()
            guard !more.isEmpty else { return nil }
            bytes += more
        }
    }
}
