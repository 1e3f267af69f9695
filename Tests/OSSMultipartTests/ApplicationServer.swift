// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import Glibc
import SystemIO

/// An application's server: answers every request with the same reply, and keeps what it got.
final class ApplicationServer: Sendable {
    /// One request: the line it began with, its header lines, and its body.
    struct Request: Sendable {
        let head: [String]
        let body: String
    }

    let port: UInt16
    private let listener: Int32
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
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = unsafe inet_addr("127.0.0.1")
        let length = socklen_t(MemoryLayout<sockaddr_in>.size)
        var size = length
        let isListening = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(listener, $0, length) == 0 && listen(listener, 16) == 0
                    && getsockname(listener, $0, &size) == 0
            }
        }
        guard isListening else { throw Unexpected("no port can be had") }
        self.listener = listener
        self.port = UInt16(bigEndian: address.sin_port)
        let log = self.log
        let reply =
            "HTTP/1.1 \(status)\r\nContent-Type: \(type)\r\nContent-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n\(body)"
        Self.onThread {
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else { return }
                if let request = Self.read(connection) {
                    log.requests.withLock { $0.append(request) }
                    let bytes = Array(reply.utf8)
                    _ = unsafe send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL))
                }
                close(connection)
            }
        }
    }

    deinit {
        shutdown(self.listener, Int32(SHUT_RDWR))
        close(self.listener)
    }

    private static func read(_ connection: Int32) -> Request? {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while true {
            let text = String(decoding: bytes, as: UTF8.self)
            if let end = text.firstRange(of: "\r\n\r\n") {
                let head = text[..<end.lowerBound].split(separator: "\r\n").map(String.init)
                let length = head.first { $0.lowercased().hasPrefix("content-length:") }
                    .flatMap { Int($0.dropFirst(15).drop { $0 == " " }) }
                let body = String(text[end.upperBound...])
                if body.utf8.count >= length ?? 0 { return Request(head: head, body: body) }
            }
            let count = unsafe recv(connection, &buffer, buffer.count, 0)
            guard count > 0 else { return nil }
            bytes += buffer.prefix(count)
        }
    }

    private static func onThread(_ body: @escaping @Sendable () -> Void) {
        final class Box {
            let body: @Sendable () -> Void
            init(_ body: @escaping @Sendable () -> Void) { self.body = body }
        }
        var thread = pthread_t()
        // SAFETY: retained here, released by the thread's first act.
        _ = unsafe pthread_create(
            &thread, nil,
            { context in
                if let context = unsafe context { unsafe Unmanaged<Box>.fromOpaque(context).takeRetainedValue().body() }
                return nil
            }, Unmanaged.passRetained(Box(body)).toOpaque()
        )
        pthread_detach(thread)
    }
}
