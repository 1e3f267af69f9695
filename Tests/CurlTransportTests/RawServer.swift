// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import Glibc
import LoopbackSockets
import Synchronization
import SystemIO

/// A server of bytes: what happens on a connection is what its script does, and nothing else.
///
/// It listens on a free port of 127.0.0.1. Each connection runs the script on a thread of its own, where it may block;
/// when the script returns or throws, the connection is closed. It knows of HTTP no more than where a request ends.
final class RawServer: Sendable {
    /// What a script does, with the connection and its number, from 0 on.
    typealias Script = @Sendable (Connection) throws -> Void

    /// The port that it listens on.
    let port: UInt16
    private let listener: Int32
    private let accepts: Bool
    private let log: Log

    /// Makes a server and lets it listen.
    ///
    /// - Parameters:
    ///   - receiveBuffer: Size of the sockets' receive buffer in bytes, for a server that takes little at a time. Segments
    ///     are then as small as on a network; with the loopback's, which are larger than the buffer, nothing would flow.
    ///   - accepts: Whether connections are accepted; else they wait in the queue.
    ///   - backlog: How many connections may wait to be accepted.
    init(receiveBuffer: Int32? = nil, accepts: Bool = true, backlog: Int32 = 128, script: @escaping Script) throws {
        self.listener = try LoopbackSocket.listen(receiveBuffer: receiveBuffer, backlog: backlog)
        self.port = try LoopbackSocket.port(of: self.listener)
        let log = Log()
        self.log = log
        self.accepts = accepts
        guard accepts else { return }
        let listener = self.listener
        TestThread.start {
            // Closed here, where it is used: its number may be another server's a moment later.
            defer { LoopbackSocket.close(listener) }
            while let descriptor = LoopbackSocket.accept(listener) {
                let connection = log.add(descriptor)
                TestThread.start {
                    // A script that throws has seen its connection end; what it got by then is what the tests look at.
                    try? script(connection)
                    connection.close()
                }
            }
        }
    }

    deinit {
        LoopbackSocket.shutDown(self.listener)
        if !self.accepts { LoopbackSocket.close(self.listener) }
        for connection in self.log.connections { connection.interrupt() }
    }

    /// Lets nobody connect any more; the connections that there are go on.
    func stopListening() { LoopbackSocket.shutDown(self.listener) }

    /// The server's address, without a slash at its end.
    var url: String { "http://127.0.0.1:\(self.port)" }

    /// All connections so far, in the order they came.
    var connections: [Connection] { self.log.connections }

    private final class Log: Sendable {
        private let state = Mutex<[Connection]>([])

        var connections: [Connection] { self.state.withLock { $0 } }

        func add(_ descriptor: Int32) -> Connection {
            self.state.withLock { connections in
                let connection = Connection(descriptor, number: connections.count)
                connections.append(connection)
                return connection
            }
        }
    }
}

extension RawServer {
    /// Why a script cannot go on.
    enum Failure: Error {
        /// The client closed or reset the connection, or the server is being let go.
        case ended
        /// Nothing came for 240 seconds.
        case timedOut
    }

    /// One request as it came.
    struct Request: Sendable {
        /// All before the blank line, without the line break before it.
        let head: String
        /// As many bytes as `Content-Length` says.
        let body: [UInt8]

        /// The first line.
        var line: String { String(self.head.prefix { $0 != "\r\n" }) }

        /// The header lines as they came.
        var headerLines: [String] { self.head.split(separator: "\r\n").dropFirst().map(String.init) }

        /// The values of all header fields of that name, whatever its case, with the blanks around them.
        func values(of name: String) -> [String] {
            let prefix = name.lowercased() + ":"
            return self.headerLines.filter { $0.lowercased().hasPrefix(prefix) }.map {
                String($0.dropFirst(prefix.count))
            }
        }
    }

    /// The server's end of a connection.
    final class Connection: Sendable {
        private struct State {
            var received: [UInt8] = []
            /// Bytes that a script has taken.
            var taken = 0
            var requests: [Request] = []
            var isOpen = true
        }

        /// How many connections came before.
        let number: Int
        /// Fires when the connection is over for the server: the client closed it, or the script did.
        let over = Signal()
        private let descriptor: Int32
        private let state = Mutex(State())

        init(_ descriptor: Int32, number: Int) {
            self.descriptor = descriptor
            self.number = number
            LoopbackSocket.setReceiveTimeout(descriptor, seconds: 240)
        }

        /// All bytes that came.
        var received: [UInt8] { self.state.withLock { $0.received } }

        /// The requests that the script read.
        var requests: [Request] { self.state.withLock { $0.requests } }

        /// Waits for a whole request and takes it.
        @discardableResult func readRequest() throws -> Request {
            let head = try self.readHead()
            let lengths = Request(head: head, body: []).values(of: "content-length")
            let length = lengths.first.flatMap { Int($0.drop { $0 == " " }) } ?? 0
            let request = Request(head: head, body: try self.read(length))
            self.state.withLock { $0.requests.append(request) }
            return request
        }

        /// Waits for the head of a request and takes it, with the blank line.
        @discardableResult func readHead() throws -> String {
            let mark = Array("\r\n\r\n".utf8)
            var searched = 0
            while true {
                let head: String? = self.state.withLock { state in
                    let fresh = state.received[state.taken...]
                    var index = fresh.startIndex + max(0, searched - 3)
                    while index + mark.count <= fresh.endIndex {
                        if fresh[index..<(index + mark.count)].elementsEqual(mark) {
                            state.taken = index + mark.count
                            return String(decoding: fresh[..<index], as: UTF8.self)
                        }
                        index += 1
                    }
                    searched = fresh.count
                    return nil
                }
                if let head { return head }
                try self.receive(upTo: 64 * 1024)
            }
        }

        /// Waits for that many bytes and takes them.
        @discardableResult func read(_ count: Int) throws -> [UInt8] {
            while true {
                let bytes: [UInt8]? = self.state.withLock { state in
                    guard state.received.count - state.taken >= count else { return nil }
                    defer { state.taken += count }
                    return Array(state.received[state.taken..<(state.taken + count)])
                }
                if let bytes { return bytes }
                try self.receive(upTo: 64 * 1024)
            }
        }

        /// Takes what comes until the client closes or resets the connection.
        func readToEnd() {
            while (try? self.receive(upTo: 64 * 1024)) != nil {}
        }

        /// Takes at most `count` bytes from the system, if need be after a wait.
        func receive(upTo count: Int) throws {
            let bytes: [UInt8]
            do throws(SystemError) { bytes = try LoopbackSocket.receive(self.descriptor, upTo: count) } catch {
                throw error.number == EAGAIN ? Failure.timedOut : .ended
            }
            guard !bytes.isEmpty else { throw Failure.ended }
            self.state.withLock { $0.received += bytes }
        }

        /// Sends a text, all of it.
        func send(_ text: String) throws { try self.send(Array(text.utf8)) }

        /// Sends bytes, all of them.
        func send(_ bytes: [UInt8]) throws {
            do throws(SystemError) { try LoopbackSocket.send(self.descriptor, bytes) } catch { throw Failure.ended }
        }

        /// Sends a whole reply with a body of known length.
        func reply(_ status: String, headers: [String] = [], body: String = "") throws {
            let lines = ["HTTP/1.1 \(status)"] + headers + ["Content-Length: \(body.utf8.count)", "", body]
            try self.send(lines.joined(separator: "\r\n"))
        }

        /// Closes the connection; the system resets it where bytes were left unread.
        func close() {
            let wasOpen = self.state.withLock { state in
                defer { state.isOpen = false }
                if state.isOpen { LoopbackSocket.close(self.descriptor) }
                return state.isOpen
            }
            if wasOpen { self.over.fire() }
        }

        /// Resets the connection.
        func reset() {
            self.state.withLock { state in
                if state.isOpen {
                    LoopbackSocket.resetAtClose(self.descriptor)
                    LoopbackSocket.close(self.descriptor)
                }
                state.isOpen = false
            }
            self.over.fire()
        }

        /// Ends a call that waits on the connection.
        func interrupt() {
            self.state.withLock { state in
                if state.isOpen { LoopbackSocket.shutDown(self.descriptor) }
            }
        }
    }
}
