// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import OSSLocalServer
import OSSWire
import SystemIO
import Testing

// One after the other: some of them keep the machine busy.
@Suite(.serialized, .timeLimit(.minutes(2))) struct RobustnessTests {
    /// The header fields of a signed request as text, with whatever is to be wrong with them.
    private func head(
        _ method: String, key: String, _ server: OSSServer, more: [String], target: String? = nil
    ) throws -> [UInt8] {
        var request = SignableRequest(method: method, bucket: "bucket", key: key)
        try SignatureV4(date: Timestamp(milliseconds: WallClock.milliseconds), region: "cn-hangzhou").sign(
            &request, accessKeyID: OSSServer.Account.test.accessKeyID,
            secret: OSSServer.Account.test.accessKeySecret, securityToken: nil)
        let path = target ?? "/bucket/" + PercentEncoding.encode(key, keepingSlash: true)
        var text = "\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(server.port)\r\n"
        for field in request.headers.all { text += "\(field.name): \(field.value)\r\n" }
        for line in more { text += line + "\r\n" }
        return Array((text + "\r\n").utf8)
    }

    /// What the server does with bytes: the reply's status; nil where it closes the connection, or we do first.
    private func outcome(_ bytes: [UInt8], _ server: OSSServer, closesEarly: Bool = false) async throws -> Int? {
        if closesEarly {
            // Let go, the connection is closed.
            _ = try TestConnection(port: server.port).send(bytes)
            return nil
        }
        do { return try await TestClient(server).sendRaw(bytes).status } catch is ConnectionClosed { return nil }
    }

    @Test func `Half requests leave nothing behind`() async throws {
        try await withServer { server, client async throws in
            let whole = try self.head("PUT", key: "k", server, more: ["Content-Length: 1000"])
            for count in [1, 5, 40, whole.count - 3, whole.count] {
                _ = try await self.outcome(Array(whole[..<count]), server, closesEarly: true)
            }
            _ = try await self.outcome(whole + [1, 2, 3], server, closesEarly: true)
            #expect(try await client.send("PUT", key: "other", body: [1]).status == 200)
            #expect(server.keys(bucket: "bucket") == ["other"])
            // The half body is gone with its connection; the server notices in its own time.
            await server.stop()
        }
    }

    @Test(arguments: [
        ["Content-Length: abc"], ["Content-Length: -1"], ["Content-Length: 99999999999999999999999"],
        ["Content-Length: 3", "Content-Length: 5"], ["Content-Length: 3", "Transfer-Encoding: chunked"],
        ["Content-Length: "], ["Content-Length: 0x3"],
    ])
    func `A length that is none is refused`(lines: [String]) async throws {
        try await withServer { server, client async throws in
            let status = try await self.outcome(
                try self.head("PUT", key: "k", server, more: lines) + Array("abcde".utf8), server)
            if let status { #expect((400..<500).contains(status)) }
            #expect(server.keys(bucket: "bucket").isEmpty)
            #expect(try await client.send("GET").status == 200)
        }
    }

    @Test func `A body that is longer than any object is refused before it comes`() async throws {
        try await withServer { server, _ async throws in
            let head = try self.head(
                "PUT", key: "k", server, more: ["Content-Length: 5368709121", "Expect: 100-continue"])
            let reply = try await TestClient(server).sendRaw(head)
            #expect(reply.errorCode == "EntityTooLarge")
        }
    }

    @Test func `Header fields beyond all measure are refused, and the server goes on`() async throws {
        try await withServer { server, client async throws in
            let long = String(repeating: "x", count: 2_000_000)
            for line in ["x-oss-meta-a: \(long)", "\(long): a"] {
                let status = try await self.outcome(
                    try self.head("PUT", key: "k", server, more: [line, "Content-Length: 0"]), server)
                if let status { #expect((400..<500).contains(status)) }
            }
            let many = (0..<20_000).map { "h\($0): v" }
            _ = try await self.outcome(try self.head("GET", key: "k", server, more: many), server)
            _ = try await self.outcome(try self.head("GET", key: "k", server, more: [], target: "/" + long), server)
            #expect(server.keys(bucket: "bucket").isEmpty)
            let meta = try await client.send(
                "PUT", key: "k", headers: ["x-oss-meta-a": String(repeating: "x", count: 8192)], body: [])
            #expect(meta.errorCode == "MetadataTooLarge")
            #expect(try await client.send("GET").status == 200)
        }
    }

    @Test func `A body in chunks is stored, a broken one is not`() async throws {
        try await withServer { server, _ async throws in
            let head = try self.head("PUT", key: "chunks", server, more: ["Transfer-Encoding: chunked"])
            let body = Array("5\r\nhello\r\n1;a=b\r\n \r\n5\r\nworld\r\n0\r\n\r\n".utf8)
            #expect(try await self.outcome(head + body, server) == 200)
            #expect(try await server.objectData(bucket: "bucket", key: "chunks") == Array("hello world".utf8))
            let broken = try self.head("PUT", key: "broken", server, more: ["Transfer-Encoding: chunked"])
            for text in ["zz\r\nhello\r\n", "-1\r\n", "FFFFFFFFFFFFFFFFFF\r\nx", "5\r\nhelloworld\r\n0\r\n\r\n"] {
                let status = try await self.outcome(broken + Array(text.utf8), server)
                if let status { #expect((400..<500).contains(status)) }
            }
            _ = try await self.outcome(broken + Array("5\r\nhel".utf8), server, closesEarly: true)
            #expect(server.keys(bucket: "bucket") == ["chunks"])
        }
    }

    @Test func `Whoever asks before sending is told to go on, or why not`() async throws {
        try await withServer { server, _ async throws in
            let lines = ["Content-Length: 3", "Expect: 100-continue"]
            let connection = try TestConnection(port: server.port)
            #expect(connection.send(try self.head("PUT", key: "k", server, more: lines)))
            // The first reply's status line is 100; only then is the body sent.
            #expect(try connection.interim() == 100)
            #expect(connection.send([1, 2, 3]))
            #expect(try connection.reply(toHead: false).status == 200)
            let refused = try TestConnection(port: server.port)
            #expect(
                refused.send(
                    try self.head("PUT", key: "k", server, more: lines, target: "/nowhere-at-all/k")))
            #expect(try refused.reply(toHead: false).status == 403)
        }
    }

    @Test func `No key leads out of the folder`() async throws {
        let parent = try Directory.createTemporary(named: "robustness-tests")
        defer { removeFolder(parent) }
        let tricks = [
            "..", "../../escape", "a/../../../../escape", "./.", "..\\..\\escape", "a/../b", "%2e%2e/%2e%2e/escape",
            "....//escape", "a\nb", "a\rb", "con", "~root", "$HOME", "`id`", String(repeating: "../", count: 300) + "e",
        ]
        try await withServer({ $0.directory = parent + "/data" }) { server, client async throws in
            for key in tricks {
                #expect(try await client.send("PUT", key: key, body: Array(key.utf8)).status == 200, "\(key)")
                #expect(try await client.send("GET", key: key).body == Array(key.utf8), "\(key)")
                let id = try await client.initiate(key)
                #expect(try await client.uploadPart(1, id, key: key, body: [1]).status == 200)
            }
            #expect(server.keys(bucket: "bucket").count == tricks.count)
            for (bucket, key) in [("..", "k"), (".", "k"), ("%2e%2e", "k"), ("bucket", "/k"), ("bucket", "\\k")] {
                let code = try await client.send("PUT", bucket: bucket, key: key, body: [1]).errorCode
                #expect(code == (bucket == "bucket" ? "InvalidObjectName" : "InvalidBucketName"))
            }
            for target in [
                "/bucket/a%00b", "/bucket/%FF%FE", "/bucket/%2", "/bucket/%zz", "/%2e%2e/k",
                "/bucket/" + String(repeating: "k", count: 1024), "/bucket/" + String(repeating: "%41", count: 5000),
            ] {
                let head = try self.head("PUT", key: "k", server, more: ["Content-Length: 1"], target: target)
                let status = try await self.outcome(head + [1], server)
                #expect(status.map { (400..<500).contains($0) } ?? true, "\(target.prefix(30))")
            }
            for id in ["../../..", "..", "%00", "/etc/passwd"] {
                let reply = try await client.uploadPart(1, id, key: "k", body: [1])
                #expect(reply.errorCode == "NoSuchUpload")
            }
        }
        #expect(try Directory.names(in: parent) == ["data"])
        #expect(Set(try Directory.names(in: parent + "/data")).isSubset(of: ["buckets", "format", "lock"]))
        #expect(try Directory.names(in: parent + "/data/buckets") == ["bucket"])
    }

    @Test func `Every character that a key may have comes back as it was`() async throws {
        try await withServer { server, client async throws in
            // All of ASCII but NUL, and characters of two, three and four bytes.
            let ascii = String(decoding: (1...127).map { UInt8($0) }, as: UTF8.self)
            let keys = [
                ascii, "é ё 文 😀", "e\u{301}", "\u{e9}", "\u{feff}x", "\u{202e}x", String(repeating: "😀", count: 255),
            ]
            for key in keys {
                #expect(try await client.send("PUT", key: key, body: Array(key.utf8)).status == 200)
                #expect(try await client.send("GET", key: key).body == Array(key.utf8))
                let id = try await client.initiate(key)
                #expect(try await client.uploadPart(1, id, key: key, body: [1]).status == 200)
                #expect(try await client.complete(id, key: key, parts: [(1, try eTag([1]))]).status == 200)
            }
            let listed = try await client.send("GET", query: [QueryItem("encoding-type", "url")]).document
            let names = try listed.all("Contents").map { try $0.requiredString("Key") }
            #expect(
                names.compactMap { PercentEncoding.decode($0) }.map { Array($0.utf8) }
                    == keys.map { Array($0.utf8) }.sorted { $0.lexicographicallyPrecedes($1) })
            #expect(names.count == keys.count)
        }
    }

    @Test func `A client that falls silent is let go, and its half body with it`() async throws {
        try await withServer({ $0.idleTimeout = .seconds(1) }) { server, client async throws in
            let head = try self.head("PUT", key: "k", server, more: ["Content-Length: 1000"])
            #expect(try await self.outcome(head + [1, 2, 3], server) == nil)
            #expect(try await self.outcome(Array(head[..<30]), server) == nil)
            #expect(server.keys(bucket: "bucket").isEmpty)
            #expect(try await client.send("PUT", key: "k", body: [1]).status == 200)
        }
    }

    @Test func `Bytes that are no HTTP, and connections that say nothing, hurt nobody`() async throws {
        let process = try ServerProcess([])
        let client = TestClient(port: process.port)
        do {
            for text in [
                "\r\n\r\n\r\n", "GET\r\n\r\n", "\u{16}\u{3}\u{1}", "PUT / HTTP/9.9\r\n\r\n", "GET / HTTP/1.1\r\n\r\n",
            ] {
                _ = try TestConnection(port: process.port).send(Array(text.utf8))
            }
            let idle = try (0..<1000).map { _ in try TestConnection(port: process.port) }
            #expect(try await client.send("PUT", key: "k", body: [1]).status == 200)
            let used = try (0..<1000).map { index in
                let connection = idle[index]
                #expect(connection.send(Array("GET /bucket/k HTTP/1.1\r\nHost: a\r\n\r\n".utf8)))
                return try connection.reply(toHead: false).status
            }
            #expect(used.allSatisfy { $0 == 403 })
            // 1,000 connections, each with a thread of its own.
            #expect(try process.peakMemory(isBelow: 600 << 20))
            _ = consume idle
        } catch {
            process.kill()
            process.wait()
            throw error
        }
        #expect(process.stopsCleanly())
    }

    @Test func `200 uploads at a time take no more memory than their buffers`() async throws {
        let process = try ServerProcess([])
        let client = TestClient(port: process.port, requests: 200)
        do {
            let data = bytes(1_000_000), id = try await client.initiate("k"), tag = try eTag(data)
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 1...200 {
                    group.addTask { try await client.uploadPart(number, id, key: "k", body: data).status }
                }
                return try await group.reduce(into: [Int]()) { $0.append($1) }
            }
            #expect(statuses.allSatisfy { $0 == 200 })
            let done = try await client.complete(id, key: "k", parts: (1...200).map { ($0, tag) })
            #expect(done.status == 200)
            #expect(try await client.send("HEAD", key: "k").headers["Content-Length"] == "200000000")
            // 200 MB went through.
            #expect(try process.peakMemory(isBelow: 120 << 20))
        } catch {
            process.kill()
            process.wait()
            throw error
        }
        #expect(process.stopsCleanly())
    }
}
