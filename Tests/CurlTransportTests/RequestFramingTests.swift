// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import CurlTransport
import OSSWire
import SystemIO
import Testing

/// What a request looks like on the wire.
@Suite(.bothWays, .timeLimit(.minutes(5))) struct RequestFramingTests {
    /// Sends one request and returns it as the server got it, and the reply.
    private func roundTrip(
        _ method: String, path: String = "/key", headers: HTTPFields = [:], body: TransportBody = .none,
        computesCRC64: Bool = false, progress: TransferProgress? = nil
    ) async throws -> (RawServer.Request, TransportResponse) {
        let server = try RawServer { connection in
            try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nETag: \"x\"\r\nContent-Length: 0\r\n\r\n")
            connection.readToEnd()
        }
        let response = try await withTransport { transport in
            var request = TransportRequest(method: method, url: server.url + path, headers: headers, body: body)
            request.computesCRC64 = computesCRC64
            request.computesMD5 = computesCRC64
            request.progress = progress
            return try await transport.execute(request)
        }
        let connection = try #require(server.connections.first)
        await connection.over.wait()
        let request = try #require(connection.requests.first)
        let all = "\(request.head)\r\n\r\n".utf8.count + request.body.count
        #expect(connection.received.count == all, "more than the request was sent")
        return (request, response)
    }

    @Test(arguments: [1, 100, 256 * 1024, 256 * 1024 + 1, 5_000_017])
    func `A region of a file arrives byte for byte`(length: Int) async throws {
        let bytes = patternedBytes(6_000_000)
        let file = try temporaryFile(bytes)
        let progress = TransferProgress()
        let offset = 123_457
        let (request, response) = try await self.roundTrip(
            "PUT", body: .file(file, offset: Int64(offset), length: Int64(length)), computesCRC64: true,
            progress: progress)
        let region = Array(bytes[offset..<(offset + length)])
        #expect(request.line == "PUT /key HTTP/1.1")
        #expect(request.values(of: "content-length") == [" \(length)"])
        #expect(request.body == region)
        #expect(response.sentCRC64 == CRC64.of(region))
        #expect(try response.sentMD5 == MessageDigest.of(region, .md5))
        #expect(response.bytesSent == Int64(length))
        #expect(progress.bytesSent == Int64(length))
    }

    @Test func `A body of more than 4 GiB has its length in the head, and begins at its own place`() async throws {
        let place: Int64 = 1 << 32
        let server = try RawServer { connection in
            try connection.readHead()
            try connection.read(3)
            // Enough was seen.
            try connection.reply("403 Forbidden")
            connection.readToEnd()
        }
        let file = try temporaryFile([])
        try file.truncate(to: 2 * place + 4)
        try file.write([1, 2, 3].span, at: place + 3)
        let status = try await withTransport { transport in
            try await transport.execute(
                TransportRequest(
                    method: "PUT", url: server.url + "/", body: .file(file, offset: place + 3, length: place + 1))
            ).status
        }
        #expect(status == 403)
        let received = String(decoding: try #require(server.connections.first).received.prefix(200), as: UTF8.self)
        #expect(received.contains("Content-Length: 4294967297\r\n"))
        #expect(received.contains("\r\n\r\n\u{1}\u{2}\u{3}"))
    }

    @Test(arguments: ["PUT", "POST"]) func `Bytes arrive as they are`(method: String) async throws {
        let bytes = patternedBytes(300_001)
        let (request, response) = try await self.roundTrip(method, body: .bytes(bytes), computesCRC64: true)
        #expect(request.line == "\(method) /key HTTP/1.1")
        #expect(request.body == bytes)
        #expect(request.values(of: "content-length") == [" 300001"])
        #expect(response.sentCRC64 == CRC64.of(bytes))
    }

    @Test(arguments: ["PUT", "POST"]) func `An empty body has the length 0`(method: String) async throws {
        let (request, response) = try await self.roundTrip(method, body: .bytes([]), computesCRC64: true)
        #expect(request.line == "\(method) /key HTTP/1.1")
        #expect(request.headerLines.count == 2, "\(request.headerLines)")
        #expect(request.values(of: "content-length") == [" 0"])
        #expect(response.sentCRC64 == 0)
        #expect(response.bytesSent == 0)
    }

    @Test(arguments: ["GET", "DELETE", "HEAD"]) func `No body has no length`(method: String) async throws {
        let (request, response) = try await self.roundTrip(method, computesCRC64: true)
        #expect(request.line == "\(method) /key HTTP/1.1")
        #expect(request.headerLines.count == 1, "only Host: \(request.headerLines)")
        #expect(response.sentCRC64 == nil)
    }

    @Test func `Nothing is added to a large body's request`() async throws {
        let (request, _) = try await self.roundTrip("POST", body: .bytes(patternedBytes(3_000_000)))
        #expect(request.headerLines.count == 2, "\(request.headerLines)")
    }

    @Test func `Header fields are sent as written`() async throws {
        var headers: HTTPFields = [
            "X-OSS-Meta-Mixed": "  a b  ", "x-empty": "", "x-blank": "  ", "Content-Type": "text/x; charset=utf-8",
            "content-length": "2", "Accept": "a/b",
        ]
        headers.append(name: "X-Twice", value: "1")
        headers.append(name: "X-Twice", value: "2")
        let (request, _) = try await self.roundTrip("PUT", headers: headers, body: .bytes([1, 2]))
        let lines = request.headerLines.filter { !$0.hasPrefix("Host:") }.sorted()
        #expect(
            lines == [
                "Accept: a/b", "Content-Length: 2", "Content-Type: text/x; charset=utf-8",
                "X-OSS-Meta-Mixed: a b", "X-Twice: 1", "X-Twice: 2", "x-blank:", "x-empty:",
            ])
    }

    @Test func `A given host replaces the address's`() async throws {
        let (request, _) = try await self.roundTrip("GET", headers: ["Host": "bucket.example"])
        #expect(request.headerLines == ["Host: bucket.example"])
    }

    @Test(arguments: ["/a/../b/./c", "/%2e%2e/x%2Fy", "/k?uploads", "/k?a=%20b&c", "/", "//a//b", "/a;b=c,d'e(f)"])
    func `The path stays as it is`(path: String) async throws {
        let (request, _) = try await self.roundTrip("GET", path: path)
        #expect(request.line == "GET \(path) HTTP/1.1")
    }

    @Test func `A proxy gets the whole address as it is`() async throws {
        let server = try RawServer { connection in
            try connection.readRequest()
            try connection.reply("200 OK")
        }
        var configuration = CurlTransportConfiguration()
        configuration.proxy = server.url
        try await withTransport(configuration) { transport in
            _ = try await transport.execute(TransportRequest(method: "GET", url: "http://h.invalid/a/../b?c"))
        }
        #expect(server.connections.first?.requests.first?.line == "GET http://h.invalid/a/../b?c HTTP/1.1")
    }

    @Test func `One handle serves methods in any order`() async throws {
        let server = try RawServer { connection in
            while true {
                let request = try connection.readRequest()
                // What answers HEAD speaks of a body that does not come.
                let body = request.line.hasPrefix("HEAD") ? "" : "text"
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n\(body)")
            }
        }
        let requests: [(String, TransportBody)] = [
            ("PUT", .bytes([1])), ("GET", .none), ("HEAD", .none), ("POST", .bytes([])), ("DELETE", .none),
            ("POST", .bytes([2, 3])), ("HEAD", .none), ("PUT", .bytes([])), ("GET", .none),
        ]
        try await withTransport { transport in
            for (method, body) in requests {
                let response = try await transport.execute(
                    TransportRequest(method: method, url: server.url + "/", body: body))
                #expect(response.body.isEmpty == (method == "HEAD"))
            }
        }
        let seen = server.connections.flatMap(\.requests)
        #expect(server.connections.count == 1)
        #expect(seen.map(\.line) == requests.map { "\($0.0) / HTTP/1.1" })
        #expect(seen.map { $0.values(of: "content-length").first } == requests.map { $0.1.length.map { " \($0)" } })
    }

    @Test(arguments: [
        TransportRequest(method: "GET", url: "http://127.0.0.1:1/a b"),
        TransportRequest(method: "GET", url: "http://127.0.0.1:1/a\r\nX: y"),
        TransportRequest(method: "GET", url: "http://127.0.0.1:1/a#b"),
        TransportRequest(method: "GET", url: "http://127.0.0.1:1/\0"),
        TransportRequest(method: "GET", url: "ftp://127.0.0.1:1/"),
        TransportRequest(method: "GET", url: "file:///etc/passwd"),
        TransportRequest(method: "GET", url: "http://user:secret@127.0.0.1:1/"),
        TransportRequest(method: "GET", url: "http:///"),
        TransportRequest(method: "GET", url: "http://127.0.0.1:99999/"),
        TransportRequest(method: "GET\r\nX: y", url: "http://127.0.0.1:1/"),
        TransportRequest(method: "", url: "http://127.0.0.1:1/"),
        TransportRequest(method: "HEAD", url: "http://127.0.0.1:1/", body: .bytes([])),
        TransportRequest(method: "GET", url: "http://127.0.0.1:1/", headers: ["a": "b\r\nc: d"]),
        TransportRequest(method: "GET", url: "http://127.0.0.1:1/", headers: ["a": "b\nc"]),
        TransportRequest(method: "GET", url: "http://127.0.0.1:1/", headers: ["a": "b\0"]),
        TransportRequest(method: "GET", url: "http://127.0.0.1:1/", headers: ["a:b": "c"]),
        TransportRequest(method: "GET", url: "http://127.0.0.1:1/", headers: ["a\r": "c"]),
        TransportRequest(method: "GET", url: "http://127.0.0.1:1/", headers: ["": "c"]),
        TransportRequest(method: "GET", url: "http://127.0.0.1:1/", headers: ["Content-Length": "0"]),
        TransportRequest(method: "GET", url: "http://127.0.0.1:1/", headers: ["Transfer-Encoding": "chunked"]),
        TransportRequest(
            method: "PUT", url: "http://127.0.0.1:1/", headers: ["Content-Length": "2"], body: .bytes([1])),
    ])
    func `What cannot be written is refused before anything is sent`(request: TransportRequest) async throws {
        let kind = try await withTransport { try await $0.failure(of: request) }
        #expect(kind == .configuration)
    }
}
