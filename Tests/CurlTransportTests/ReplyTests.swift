// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import CurlTransport
import OSSWire
import Testing

/// What comes back, whole or not.
@Suite(.bothWays, .timeLimit(.minutes(5))) struct ReplyTests {
    /// A server that reads one request, answers with these pieces and closes the connection.
    private func server(_ pieces: [String], resets: Bool = false) throws -> RawServer {
        try RawServer { connection in
            try connection.readRequest()
            for piece in pieces { try connection.send(piece) }
            if resets { connection.reset() }
        }
    }

    /// A server whose replies are cut into single bytes.
    private func slicedServer(_ text: String) throws -> RawServer {
        try self.server(text.utf8.map { String(UnicodeScalar($0)) })
    }

    private func get(_ server: RawServer, limit: Int = 1 << 20) -> TransportRequest {
        var request = TransportRequest(method: "GET", url: server.url + "/")
        request.replyLimit = limit
        return request
    }

    @Test func `Names keep their case, values lose their blanks, folded lines are joined`() async throws {
        let server = try self.server([
            "HTTP/1.1 404 Not Found\r\nETAG:\"a\"\r\nX-Oss-Request-Id: \t 5F  \r\nx-folded: one\r\n  two\r\n\tthree\r\n",
            "Empty:\r\nset-cookie: a\r\nset-cookie: b\r\ncontent-LENGTH: 3\r\n\r\nabc",
        ])
        let response = try await withTransport { try await $0.execute(self.get(server)) }
        #expect(response.status == 404)
        #expect(
            response.headers == [
                "ETAG": "\"a\"", "X-Oss-Request-Id": "5F", "x-folded": "one two three", "Empty": "", "set-cookie": "a",
                "set-cookie": "b", "content-LENGTH": "3",
            ])
        #expect(response.body == Array("abc".utf8))
    }

    @Test func `Interim replies are passed over`() async throws {
        let server = try self.slicedServer(
            "HTTP/1.1 100 Continue\r\nX-Interim: 1\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
                + "HTTP/1.1 201 Created\r\nX-Final: 1\r\nContent-Length: 2\r\n\r\nok")
        let response = try await withTransport { try await $0.execute(self.get(server)) }
        #expect(response.status == 201)
        #expect(response.headers == ["X-Final": "1", "Content-Length": "2"])
        #expect(response.body == Array("ok".utf8))
    }

    @Test func `A chunked reply is put together, its trailer left out`() async throws {
        let server = try self.slicedServer(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n"
                + "3;ext=1\r\nabc\r\nA\r\n0123456789\r\n0\r\nX-T: 1\r\n\r\n")
        let response = try await withTransport { try await $0.execute(self.get(server)) }
        #expect(response.body == Array("abc0123456789".utf8))
        #expect(response.headers == ["Transfer-Encoding": "chunked", "Trailer": "X-T"])
    }

    @Test func `A reply may end with the connection`() async throws {
        let server = try self.server(["HTTP/1.0 200 OK\r\nA: b\r\n\r\nabc", "def"])
        let response = try await withTransport { try await $0.execute(self.get(server)) }
        #expect(response.body == Array("abcdef".utf8))
    }

    @Test func `A content coding is left alone`() async throws {
        let server = try self.server(["HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc"])
        let response = try await withTransport { try await $0.execute(self.get(server)) }
        #expect(response.body == Array("abc".utf8))
    }

    @Test func `A redirect is a reply`() async throws {
        let server = try self.server(["HTTP/1.1 307 T\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"])
        let response = try await withTransport { try await $0.execute(self.get(server)) }
        #expect(response.status == 307)
        #expect(response.headers["location"] == "http://127.0.0.1:1/")
    }

    @Test func `A reply to HEAD has no body, whatever its length says`() async throws {
        let server = try self.server(["HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"])
        let response = try await withTransport {
            try await $0.execute(TransportRequest(method: "HEAD", url: server.url + "/"))
        }
        #expect(response.headers["Content-Length"] == "1000")
        #expect(response.body.isEmpty)
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n",
        "HTTP/1.1 200 OK\r\nContent-Le",
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n",
    ])
    func `A reply of success that is cut short is an error`(text: String) async throws {
        let server = try self.server([text])
        let kind = try await withTransport { try await $0.failure(of: self.get(server)) }
        #expect(kind == .receive)
    }

    @Test func `A reset within the reply is an error`() async throws {
        let server = try self.server(["HTTP/1.1 200 OK\r\n\r\nabc"], resets: true)
        let kind = try await withTransport { try await $0.failure(of: self.get(server)) }
        #expect(kind == .receive)
    }

    @Test func `An error's head is enough where its body is cut short`() async throws {
        let server = try self.server(["HTTP/1.1 503 Busy\r\nRetry-After: 3\r\nContent-Length: 9\r\n\r\nabc"])
        let response = try await withTransport { try await $0.execute(self.get(server)) }
        #expect(response.status == 503)
        #expect(response.headers["retry-after"] == "3")
        #expect(response.body == Array("abc".utf8))
    }

    @Test(arguments: [
        "nonsense\r\n\r\n", "SSH-2.0-x\r\n", "HTTP/1.1 999 X\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 20\r\n\r\n",
    ])
    func `What is not HTTP is an error`(text: String) async throws {
        let server = try self.server([text])
        let kind = try await withTransport { try await $0.failure(of: self.get(server)) }
        #expect(kind == .malformedReply)
    }

    @Test(arguments: ["", "HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 2"])
    func `An interim reply is no reply`(text: String) async throws {
        let server = try self.server([text])
        let kind = try await withTransport { try await $0.failure(of: self.get(server)) }
        #expect(kind == .send)
    }

    @Test func `No reply at all is an error of sending`() async throws {
        let closing = try self.server([])
        let resetting = try self.server([], resets: true)
        let kinds = try await withTransport { transport in
            [
                try await transport.failure(of: self.get(closing)),
                try await transport.failure(of: self.get(resetting)),
            ]
        }
        #expect(kinds == [.send, .send])
    }

    @Test(arguments: ["Content-Length: 100001", "A: b"])
    func `A reply over the limit is an error, one at the limit is not`(header: String) async throws {
        let server = try self.server(["HTTP/1.1 200 OK\r\n\(header)\r\n\r\n", String(repeating: "a", count: 100_001)])
        try await withTransport { transport in
            let kind = try await transport.failure(of: self.get(server, limit: 100_000))
            #expect(kind == .replyTooLarge)
            let response = try await transport.execute(self.get(server, limit: 100_001))
            #expect(response.body.count == 100_001)
        }
    }

    @Test func `Neither query nor header shows in an error`() async throws {
        let server = try self.server([])
        var request = self.get(server)
        request.url += "?Signature=hush"
        request.headers["Authorization"] = "hush"
        let error = try await withTransport { [request] transport in
            await #expect(throws: TransportError.self) { try await transport.execute(request) }
        }
        let text = try "\(#require(error)) \(String(reflecting: error))"
        #expect(text.contains("127.0.0.1:\(server.port)"))
        #expect(!text.contains("hush"))
    }
}
