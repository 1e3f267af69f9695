// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import LoopbackSockets
import SystemIO

/// Bytes from one socket to another and back, until one of them ends.
enum Tunnel {
    static func join(_ one: TestSocket, _ other: TestSocket) {
        TestThread.start { self.pump(one, other) }
        self.pump(other, one)
    }

    private static func pump(_ source: TestSocket, _ target: TestSocket) {
        while true {
            let bytes = source.receive()
            guard !bytes.isEmpty, target.send(bytes) else { break }
        }
        source.shutDown()
        target.shutDown()
    }
}

/// A proxy of HTTP that makes tunnels to ports of 127.0.0.1, whatever host is asked for.
final class ConnectProxy: Sendable {
    let port: UInt16
    private let listener: TestSocket
    private let log = Log()

    private final class Log: Sendable {
        let heads = Lock<[String]>([])
    }

    /// What each client began with.
    var heads: [String] { self.log.heads.withLock { $0 } }

    init() throws {
        let listener = try TestSocket.listening(), log = self.log
        self.listener = listener
        self.port = try listener.port
        TestThread.start {
            while let client = listener.accept() {
                TestThread.start {
                    var head = ""
                    while !head.contains("\r\n\r\n") {
                        let bytes = client.receive()
                        guard !bytes.isEmpty else { return }
                        head += String(decoding: bytes, as: UTF8.self)
                    }
                    log.heads.withLock { $0.append(head) }
                    let words = head.split(separator: " ")
                    guard words.count > 1, words[0] == "CONNECT",
                        let port = words[1].split(separator: ":").last.flatMap({ UInt16($0) }),
                        let upstream = try? TestSocket.connected(to: port)
                    else { return client.shutDown() }
                    client.send("HTTP/1.1 200 Connection established\r\n\r\n".utf8)
                    Tunnel.join(client, upstream)
                }
            }
        }
    }

    deinit { self.listener.shutDown() }
}

/// TLS before a port: `openssl s_server`, which passes on the bytes of one connection.
final class TLSFront: Sendable {
    let port: UInt16
    private let process: RunningProcess
    private let upstream: TestSocket

    init(_ certificates: TestCertificates, _ name: String, before port: UInt16) throws {
        // It does not tell its port where it passes bytes on, so it is given one that was free a moment ago.
        self.port = try TestSocket.listening().port
        let process = try RunningProcess(
            [
                "openssl", "s_server", "-quiet", "-accept", "127.0.0.1:\(self.port)", "-cert", "\(name).pem", "-key",
                "\(name).key",
            ], folder: certificates.folder, hasInput: true)
        let upstream = try TestSocket.connected(to: port)
        (self.process, self.upstream) = (process, upstream)
        TestThread.start {
            while true {
                let bytes = process.read()
                guard !bytes.isEmpty, upstream.send(bytes) else { break }
            }
            upstream.shutDown()
        }
        TestThread.start {
            while true {
                let bytes = upstream.receive()
                guard !bytes.isEmpty, process.write(bytes) else { break }
            }
        }
    }

    /// Waits until it listens.
    func wait() async throws {
        // Whoever comes without TLS is sent away, and the next one is waited for.
        while (try? TestSocket.connected(to: self.port)) == nil { try await Task.sleep(for: .milliseconds(5)) }
    }

    deinit {
        self.upstream.shutDown()
        self.process.kill()
    }
}
