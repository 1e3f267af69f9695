// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import CurlTransport
import LoopbackSockets
import OSSWire
import SystemIO
import Testing

/// When a request is given up, and when it is not.
///
/// Time is what these tests are about, so scripts wait here.
@Suite(.bothWays, .timeLimit(.minutes(5))) struct TimeoutTests {
    private static let idle = Duration.milliseconds(500)

    private func request(_ server: RawServer, _ body: TransportBody = .none) -> TransportRequest {
        var request = TransportRequest(method: body.length == nil ? "GET" : "PUT", url: server.url + "/", body: body)
        request.timeouts.idle = Self.idle
        return request
    }

    @Test func `A server that says nothing is given up`() async throws {
        let server = try RawServer { connection in
            try connection.readRequest()
            connection.readToEnd()
        }
        let request = self.request(server, .bytes([1]))
        let clock = ContinuousClock()
        let start = clock.now
        let kind = try await withTransport { try await $0.failure(of: request) }
        #expect(kind == .idleTimeout)
        #expect(clock.now - start >= .milliseconds(500))
        await server.connections.first?.over.wait()
    }

    @Test func `A server that stops reading is given up`() async throws {
        let isOver = Signal()
        let server = try RawServer(receiveBuffer: 4096) { connection in
            try connection.readHead()
            isOver.waitOnThread()
        }
        let request = self.request(server, .bytes(patternedBytes(20_000_000)))
        let kind = try await withTransport { try await $0.failure(of: request) }
        isOver.fire()
        #expect(kind == .idleTimeout)
    }

    @Test func `A server that stops within its reply is given up`() async throws {
        let server = try RawServer { connection in
            try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
            connection.readToEnd()
        }
        let kind = try await withTransport { try await $0.failure(of: self.request(server)) }
        #expect(kind == .idleTimeout)
    }

    @Test func `A server that reads slowly is waited for while the system still sends`() async throws {
        // All of the body fits into the system's buffers at once; from then on only the send queue moves.
        let bytes = patternedBytes(1_000_000)
        let server = try RawServer(receiveBuffer: 16 * 1024) { connection in
            try connection.readHead()
            while connection.received.count < bytes.count {
                TestThread.sleep(milliseconds: 10)
                try connection.receive(upTo: 4096)
            }
            try connection.reply("200 OK")
        }
        let clock = ContinuousClock()
        let start = clock.now
        let response = try await withTransport { try await $0.execute(self.request(server, .bytes(bytes))) }
        #expect(response.status == 200)
        #expect(clock.now - start > Self.idle * 2, "too fast to show anything")
    }

    @Test func `Blanks before the document keep the request alive`() async throws {
        let server = try RawServer { connection in
            try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            for _ in 0..<10 {
                TestThread.sleep(milliseconds: 150)
                try connection.send("1\r\n \r\n")
            }
            try connection.send("4\r\n<R/>\r\n0\r\n\r\n")
        }
        let response = try await withTransport { try await $0.execute(self.request(server, .bytes([]))) }
        #expect(response.body == Array("          <R/>".utf8))
    }

    @Test func `Interim replies keep the request alive`() async throws {
        let server = try RawServer { connection in
            try connection.readRequest()
            for _ in 0..<6 {
                TestThread.sleep(milliseconds: 500)
                try connection.send("HTTP/1.1 102 Processing\r\n\r\n")
            }
            try connection.reply("200 OK")
        }
        var request = self.request(server)
        request.timeouts.idle = .seconds(2)
        let response = try await withTransport { [request] in try await $0.execute(request) }
        #expect(response.status == 200)
    }

    @Test func `The whole attempt may have a limit`() async throws {
        let server = try RawServer { connection in
            try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
            while true {
                try connection.send(" ")
                TestThread.sleep(milliseconds: 20)
            }
        }
        var request = self.request(server)
        request.timeouts.total = .seconds(1)
        let clock = ContinuousClock()
        let start = clock.now
        let kind = try await withTransport { [request] in try await $0.failure(of: request) }
        #expect(kind == .totalTimeout)
        #expect(clock.now - start >= .seconds(1))
    }

    @Test func `A connection that does not come about is given up`() async throws {
        let server = try RawServer(accepts: false, backlog: 0) { _ in }
        // It takes the queue's only place; the next one's first packet is dropped.
        let first = try LoopbackSocket.connect(port: server.port)
        var request = self.request(server)
        request.timeouts.connect = .milliseconds(700)
        // While connecting, the idle time-out does not count.
        request.timeouts.idle = .milliseconds(100)
        let kind = try await withTransport { [request] in try await $0.failure(of: request) }
        #expect(kind == .connectTimeout)
        LoopbackSocket.close(first)
    }

    @Test func `TLS that does not answer counts as connecting`() async throws {
        let server = try RawServer { $0.readToEnd() }
        var request = TransportRequest(method: "GET", url: "https://127.0.0.1:\(server.port)/")
        request.timeouts.connect = .milliseconds(700)
        request.timeouts.idle = .milliseconds(100)
        let kind = try await withTransport { [request] in try await $0.failure(of: request) }
        #expect(kind == .connectTimeout)
    }

    @Test func `One transfer's time-out leaves the others alone`() async throws {
        let server = try RawServer { connection in
            let request = try connection.readRequest()
            if request.line.contains("silent") { return connection.readToEnd() }
            TestThread.sleep(milliseconds: 2000)
            try connection.reply("200 OK")
        }
        let silent = TransportRequest(method: "GET", url: server.url + "/silent")
        let slow = TransportRequest(method: "GET", url: server.url + "/slow")
        try await withTransport { transport in
            async let status = transport.execute(slow).status
            var limited = silent
            limited.timeouts.idle = Self.idle
            let kind = try await transport.failure(of: limited)
            #expect(kind == .idleTimeout)
            let answered = try await status
            #expect(answered == 200)
        }
    }
}
