// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import CurlTransport
import LoopbackSockets
import OSSWire
import SystemIO
import Testing

/// Replies that come before the whole body was sent, and connections that break meanwhile.
@Suite(.bothWays, .timeLimit(.minutes(5))) struct EarlyReplyTests {
    private static let size: Int64 = 64 << 20

    private func put(_ server: RawServer) throws -> TransportRequest {
        let file = try temporaryFile([])
        try file.truncate(to: Self.size)
        var request = TransportRequest(
            method: "PUT", url: server.url + "/", body: .file(file, offset: 0, length: Self.size))
        request.computesCRC64 = true
        return request
    }

    @Test func `A refusal is read although the server closes with the body unread`() async throws {
        let server = try RawServer { connection in
            try connection.readHead()
            try connection.read(100_000)
            try connection.reply("403 Forbidden", headers: ["x-oss-ec: 1"], body: "<Error/>")
        }
        try await withTransport { transport in
            for _ in 0..<100 {
                let response = try await transport.execute(self.put(server))
                #expect(response.status == 403)
                #expect(response.body == Array("<Error/>".utf8))
                #expect(response.sentCRC64 == nil)
                #expect(response.bytesSent < Self.size)
            }
        }
    }

    @Test func `A refusal on a kept connection is the answer, and nothing is sent anew`() async throws {
        let server = try RawServer { connection in
            try connection.readRequest()
            try connection.reply("200 OK")
            try connection.readHead()
            try connection.read(connection.number * 7919 % 700_000)
            try connection.reply("403 Forbidden", body: "<Error/>")
            connection.reset()
        }
        try await withTransport { transport in
            for _ in 0..<60 {
                _ = try await transport.execute(TransportRequest(method: "GET", url: server.url + "/"))
                let response = try await transport.execute(self.put(server))
                #expect(response.status == 403)
                #expect(response.body == Array("<Error/>".utf8))
            }
        }
        #expect(server.connections.count == 60)
    }

    @Test func `A refusal is read although a reset follows within its body`() async throws {
        let server = try RawServer { connection in
            try connection.readHead()
            try connection.send("HTTP/1.1 403 Forbidden\r\nContent-Length: 100\r\n\r\n<Error>")
            // As long as a server takes to lose its patience.
            TestThread.sleep(milliseconds: 1000)
            connection.reset()
        }
        let response = try await withTransport { try await $0.execute(self.put(server)) }
        #expect(response.status == 403)
        #expect(response.body == Array("<Error>".utf8))
    }

    @Test func `A refusal ends the sending while the server goes on reading`() async throws {
        let server = try RawServer { connection in
            try connection.readHead()
            try connection.reply("400 Bad Request", body: "no")
            connection.readToEnd()
        }
        let response = try await withTransport { try await $0.execute(self.put(server)) }
        #expect(response.status == 400)
        let connection = try #require(server.connections.first)
        await connection.over.wait()
        #expect(connection.received.count < Int(Self.size))
    }

    @Test func `A success before the whole body was taken is none`() async throws {
        let server = try RawServer { connection in
            try connection.readHead()
            try connection.reply("200 OK")
            try connection.read(1_000_000)
        }
        let kind = try await withTransport { try await $0.failure(of: self.put(server)) }
        #expect(kind == .send)
    }

    @Test func `A success before the whole body was sent counts when the body has been sent`() async throws {
        let server = try RawServer { connection in
            try connection.readHead()
            try connection.reply("200 OK")
            try connection.read(Int(Self.size))
            connection.readToEnd()
        }
        let response = try await withTransport { try await $0.execute(self.put(server)) }
        #expect(response.status == 200)
        #expect(response.bytesSent == Self.size)
    }

    @Test func `An interim reply does not disturb the sending`() async throws {
        let server = try RawServer { connection in
            try connection.readHead()
            for _ in 0..<3 { try connection.send("HTTP/1.1 100 Continue\r\n\r\n") }
            try connection.read(Int(Self.size))
            try connection.reply("200 OK")
        }
        let response = try await withTransport { try await $0.execute(self.put(server)) }
        #expect(response.bytesSent == Self.size)
        #expect(response.sentCRC64 == CRC64.of([UInt8](repeating: 0, count: Int(Self.size))))
    }

    @Test func `A reset within the body is an error of sending, and no signal`() async throws {
        let server = try RawServer { connection in
            try connection.readHead()
            try connection.read(1_000_000)
            connection.reset()
        }
        try await withTransport { transport in
            for _ in 0..<20 {
                let kind = try await transport.failure(of: self.put(server))
                #expect(kind == .send)
            }
        }
        // None is sent once more: each was on a connection of its own.
        #expect(server.connections.count == 20)
    }

    @Test func `A file that becomes shorter ends the request`() async throws {
        let isShort = Signal()
        let server = try RawServer { connection in
            try connection.readHead()
            isShort.waitOnThread()
            connection.readToEnd()
        }
        let request = try self.put(server)
        guard case .file(let file, _, _) = request.body else { return }
        let kind = try await withTransport { transport in
            async let kind = transport.failure(of: request)
            while server.connections.first?.received.isEmpty ?? true { await Task.yield() }
            try file.truncate(to: 1000)
            isShort.fire()
            return try await kind
        }
        #expect(kind == .sourceTooShort)
        let connection = try #require(server.connections.first)
        await connection.over.wait()
        #expect(connection.received.count < Int(Self.size))
    }

    @Test func `A source that cannot be read ends the request`() async throws {
        let server = try RawServer { $0.readToEnd() }
        let folder = try PosixFile(path: "/tmp", .read)
        let request = TransportRequest(
            method: "PUT", url: server.url + "/", body: .file(folder, offset: 0, length: 10))
        let kind = try await withTransport { try await $0.failure(of: request) }
        guard case .source(let error) = kind else {
            Issue.record("\(String(describing: kind))")
            return
        }
        #expect(error.call == "pread")
        await server.connections.first?.over.wait()
    }
}
