// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import OSSLocalServer
import OSSWire
import SystemIO
import Testing

@Suite(.timeLimit(.minutes(5))) struct OperationTests {
    private func copy(
        _ client: TestClient, _ source: String, to key: String, headers: HTTPFields = [:]
    ) async throws -> TestReply {
        var headers = headers
        headers["x-oss-copy-source"] = "/bucket/" + PercentEncoding.encode(source)
        return try await client.send("PUT", key: key, headers: headers, body: [])
    }

    @Test func `A copy's source may stand unescaped, an accent behind the slash`() async throws {
        try await withServer { server, client async throws in
            let name = "\u{301}x"
            _ = try await client.send("PUT", key: name, body: [1, 2])
            let source = "/bucket/\(name)?\u{301}"
            let reply = try await client.send("PUT", key: "copy", headers: ["x-oss-copy-source": source], body: [])
            #expect(reply.status == 200)
            #expect(try await client.send("GET", key: "copy").body == [1, 2])
        }
    }

    @Test func `A copy has its source's bytes, and its fields unless it brings its own`() async throws {
        try await withServer { server, client async throws in
            let data = bytes(200_000)
            let put = try await client.send(
                "PUT", key: "a +/b",
                headers: ["Content-Type": "text/x", "x-oss-tagging": "k=v", "x-oss-object-acl": "public-read"],
                body: data)
            let reply = try await self.copy(client, "a +/b", to: "copy")
            #expect(reply.status == 200)
            #expect(try reply.document.string("ETag") == put.headers["ETag"])
            #expect(server.objectInfo(bucket: "bucket", key: "copy")?.headers["Content-Type"] == "text/x")
            #expect(server.objectInfo(bucket: "bucket", key: "copy")?.headers["x-oss-object-acl"] == nil)
            #expect(
                try await self.copy(
                    client, "a +/b", to: "copy", headers: ["x-oss-metadata-directive": "REPLACE", "x-oss-meta-n": "1"]
                ).status == 200)
            let head = try await client.send("HEAD", key: "copy")
            #expect(head.headers["Content-Type"] == "application/octet-stream")
            #expect(head.headers["x-oss-meta-n"] == "1")
            #expect(head.headers["x-oss-tagging-count"] == "1")
            // The copy outlives its source, and a copy onto itself its old self.
            #expect(try await client.send("DELETE", key: "a +/b").status == 204)
            #expect(try await self.copy(client, "copy", to: "copy").status == 200)
            #expect(try await client.send("GET", key: "copy").body == data)
            #expect(try await self.copy(client, "a +/b", to: "copy").errorCode == "NoSuchKey")
            let forbidden = try await self.copy(client, "copy", to: "copy", headers: ["x-oss-forbid-overwrite": "true"])
            #expect(forbidden.errorCode == "FileAlreadyExists")
        }
    }

    @Test func `A copy's conditions count`() async throws {
        try await withServer { _, client async throws in
            _ = try await client.send("PUT", key: "k", body: [1])
            let tag = "\"\(try eTag([1]))\"", old = "Thu, 01 Jan 2015 00:00:00 GMT"
            func status(_ name: String, _ value: String) async throws -> Int {
                try await self.copy(client, "k", to: "c", headers: ["x-oss-copy-source-\(name)": value]).status
            }
            #expect(try await status("if-match", tag) == 200)
            #expect(try await status("if-match", "\"other\"") == 412)
            #expect(try await status("if-none-match", tag) == 304)
            #expect(try await status("if-none-match", "\"other\"") == 200)
            #expect(try await status("if-unmodified-since", old) == 412)
            #expect(try await status("if-modified-since", old) == 200)
        }
    }

    @Test func `A part is copied from a region, and from everything where the region cannot be read`() async throws {
        try await withServer { server, client async throws in
            let data = bytes(300_000)
            _ = try await client.send("PUT", key: "source", body: data)
            let id = try await client.initiate("k")
            func copy(_ number: Int, _ range: String?) async throws -> TestReply {
                var headers: HTTPFields = ["x-oss-copy-source": "/bucket/source"]
                headers["x-oss-copy-source-range"] = range
                return try await client.send(
                    "PUT", key: "k", query: [QueryItem("partNumber", String(number)), QueryItem("uploadId", id)],
                    headers: headers, body: [])
            }
            let first = try await copy(1, "bytes=100-200099")
            #expect(first.headers["Content-Range"] == "bytes 100-200099/300000")
            let tag = try eTag(Array(data[100..<200_100]))
            #expect(try first.document.string("ETag") == "\"\(tag)\"")
            let all = try await copy(2, "nonsense")
            #expect(all.headers["Content-Range"] == nil)
            #expect(server.parts(ofUpload: id).map(\.size) == [200_000, 300_000])
            let whole = try eTag(data)
            #expect(try await client.complete(id, key: "k", parts: [(1, tag), (2, whole)]).status == 200)
            #expect(try await client.send("GET", key: "k").body == Array(data[100..<200_100]) + data)
        }
    }

    @Test func `Appending goes on at the end and nowhere else`() async throws {
        try await withServer { server, client async throws in
            func append(_ body: [UInt8], at position: Int, key: String = "log") async throws -> TestReply {
                try await client.send(
                    "POST", key: key, query: [QueryItem("append"), QueryItem("position", String(position))],
                    headers: ["x-oss-meta-a": String(position)], body: body)
            }
            #expect(try await append([1, 2], at: 0).headers["x-oss-next-append-position"] == "2")
            let second = try await append([3], at: 2)
            #expect(second.headers["x-oss-next-append-position"] == "3")
            #expect(second.headers["x-oss-hash-crc64ecma"] == String(CRC64.of([1, 2, 3])))
            let wrong = try await append([9], at: 2)
            #expect(wrong.errorCode == "PositionNotEqualToLength")
            #expect(wrong.headers["x-oss-next-append-position"] == "3")
            let head = try await client.send("HEAD", key: "log")
            #expect(head.headers["x-oss-object-type"] == "Appendable")
            #expect(head.headers["x-oss-meta-a"] == "0")
            #expect(try await server.objectData(bucket: "bucket", key: "log") == [1, 2, 3])
            _ = try await client.send("PUT", key: "put", body: [1])
            #expect(try await append([1], at: 1, key: "put").errorCode == "ObjectNotAppendable")
            // Of many at one place one succeeds.
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<8 { group.addTask { try await append([UInt8(number)], at: 3).status } }
                return try await group.reduce(into: [Int]()) { $0.append($1) }
            }
            #expect(statuses.sorted() == [200] + Array(repeating: 409, count: 7))
            #expect(server.objectInfo(bucket: "bucket", key: "log")?.size == 4)
        }
    }

    @Test func `Many objects are removed at once`() async throws {
        try await withServer { server, client async throws in
            for key in ["a", "b & c", "d"] { _ = try await client.send("PUT", key: key, body: [1]) }
            func delete(_ keys: [String], isQuiet: Bool) async throws -> TestReply {
                var writer = XMLWriter()
                writer.element("Delete") { writer in
                    writer.element("Quiet", String(isQuiet))
                    for key in keys { writer.element("Object") { $0.element("Key", key) } }
                }
                return try await client.send("POST", query: [QueryItem("delete")], body: writer.bytes)
            }
            let reply = try await delete(["a", "b & c", "never there"], isQuiet: false)
            #expect(
                try reply.document.all("Deleted").map { $0.string("Key") } == ["a", "b & c", "never there"])
            #expect(try await delete(["d"], isQuiet: true).body.isEmpty)
            #expect(server.keys(bucket: "bucket").isEmpty)
            #expect(try await delete([], isQuiet: true).errorCode == "MalformedXML")
            #expect(try await delete(Array(repeating: "k", count: 1001), isQuiet: true).errorCode == "MalformedXML")
        }
    }

    @Test func `Tags and access control outlive a restart and touch nothing else`() async throws {
        let folder = try Directory.createTemporary(named: "operation-tests")
        defer { removeFolder(folder) }
        func configure(_ configuration: inout OSSServer.Configuration) { configuration.directory = folder + "/data" }
        try await withServer(configure) { _, client async throws in
            _ = try await client.send("PUT", key: "k", headers: ["x-oss-meta-a": "1"], body: [1, 2])
            let tags = "<Tagging><TagSet><Tag><Key>a b</Key><Value>c&amp;d</Value></Tag></TagSet></Tagging>"
            let put = try await client.send("PUT", key: "k", query: [QueryItem("tagging")], body: Array(tags.utf8))
            #expect(put.status == 200)
            let acl = try await client.send(
                "PUT", key: "k", query: [QueryItem("acl")], headers: ["x-oss-object-acl": "public-read"], body: [])
            #expect(acl.status == 200)
            let bad = try await client.send(
                "PUT", key: "k", query: [QueryItem("acl")], headers: ["x-oss-object-acl": "nobody"], body: [])
            #expect(bad.errorCode == "InvalidArgument")
            let bucket = try await client.send(
                "PUT", query: [QueryItem("acl")], headers: ["x-oss-acl": "public-read-write"], body: [])
            #expect(bucket.status == 200)
        }
        try await withServer(configure) { _, client async throws in
            let tag = try await client.send("GET", key: "k", query: [QueryItem("tagging")]).document["TagSet"]?["Tag"]
            #expect(tag?.string("Key") == "a b")
            #expect(tag?.string("Value") == "c&d")
            let acl = try await client.send("GET", key: "k", query: [QueryItem("acl")]).document
            #expect(acl["AccessControlList"]?.string("Grant") == "public-read")
            let bucket = try await client.send("GET", query: [QueryItem("acl")]).document
            #expect(bucket["AccessControlList"]?.string("Grant") == "public-read-write")
            let object = try await client.send("GET", key: "k")
            #expect(object.body == [1, 2])
            #expect(object.headers["x-oss-meta-a"] == "1")
        }
    }

    @Test func `Everybody may do what the lists allow, and no more`() async throws {
        try await withServer { _, client async throws in
            var anonymous = client
            anonymous.signing = .none
            func acl(_ value: String) async throws {
                _ = try await client.send("PUT", query: [QueryItem("acl")], headers: ["x-oss-acl": value], body: [])
            }
            _ = try await client.send("PUT", key: "k", body: [1])
            _ = try await client.send("PUT", key: "secret", headers: ["x-oss-object-acl": "private"], body: [1])
            #expect(try await anonymous.send("GET", key: "k").errorCode == "AccessDenied")
            try await acl("public-read")
            #expect(try await anonymous.send("GET", key: "k").body == [1])
            #expect(try await anonymous.send("GET", key: "secret").errorCode == "AccessDenied")
            #expect(try await anonymous.send("GET").status == 200)
            #expect(try await anonymous.send("PUT", key: "k", body: [2]).errorCode == "AccessDenied")
            #expect(try await anonymous.send("GET", query: [QueryItem("acl")]).errorCode == "AccessDenied")
            try await acl("public-read-write")
            let id = try await anonymous.initiate("m")
            let part = try await anonymous.uploadPart(1, id, key: "m", body: [7])
            #expect(part.status == 200)
            #expect(try await anonymous.complete(id, key: "m", parts: [(1, try eTag([7]))]).status == 200)
            #expect(try await anonymous.send("PUT", key: "secret", body: [2]).errorCode == "AccessDenied")
            #expect(try await anonymous.send("DELETE").errorCode == "AccessDenied")
            #expect(try await anonymous.send("GET", bucket: nil).errorCode == "AccessDenied")
            #expect(try await anonymous.send("GET", bucket: "nowhere", key: "k").errorCode == "NoSuchBucket")
        }
    }

    @Test func `Parts that have to come in order do, and the object has a digest`() async throws {
        try await withServer { _, client async throws in
            let large = bytes(102_400), id = try await client.initiate("k", query: [QueryItem("sequential")])
            #expect(try await client.uploadPart(2, id, key: "k", body: large).errorCode == "PartNotSequential")
            #expect(try await client.uploadPart(1, id, key: "k", body: large).status == 200)
            let again = try await client.uploadPart(1, id, key: "k", body: large)
            #expect(again.status == 409)
            #expect(try again.document.string("Code") == "PartAlreadyExist")
            #expect(try again.document.string("PartEtag") == "\"\(try eTag(large))\"")
            #expect(try again.document.string("PartNumber") == "1")
            #expect(try await client.uploadPart(2, id, key: "k", body: [1]).status == 200)
            let last = try await client.complete(id, key: "k", parts: [(2, try eTag([1]))])
            #expect(last.errorCode == "PartNotSequential")
            let parts = [(1, try eTag(large)), (2, try eTag([1]))]
            #expect(try await client.complete(id, key: "k", parts: parts).status == 200)
            let digest = Base64.encode(try MessageDigest.of(large + [1], .md5))
            #expect(try await client.send("HEAD", key: "k").headers["Content-MD5"] == digest)
        }
    }

    @Test(
        arguments: [
            ("bytes=0-99", 0..<100, true), ("bytes=500-", 500..<1000, true), ("bytes=-1", 999..<1000, true),
            ("bytes=0-499,600-700", 0..<500, true), ("bytes=0-1000", 0..<1000, false), ("byte=0-9", 0..<1000, false),
            ("bytes=1000-", 0..<1000, false), ("bytes=-2000", 0..<1000, false), ("bytes=9-5", 0..<1000, false),
        ] as [(String, Range<Int>, Bool)])
    func `A range is served as OSS serves it`(text: String, region: Range<Int>, isPartial: Bool) async throws {
        try await withServer { _, client async throws in
            let data = bytes(1000)
            _ = try await client.send("PUT", key: "k", body: data)
            let reply = try await client.send("GET", key: "k", headers: ["Range": text])
            #expect(reply.status == (isPartial ? 206 : 200))
            #expect(reply.body == Array(data[region]))
        }
    }

    @Test(
        arguments: [
            ("bytes=0-1000", 0..<1000), ("bytes=500-2000", 500..<1000), ("bytes=-2000", 0..<1000), ("bytes=1000-", nil),
            ("bytes=1000-2000", nil),
        ] as [(String, Range<Int>?)])
    func `A range is served by HTTP's rule where that is asked for`(text: String, region: Range<Int>?) async throws {
        try await withServer { _, client async throws in
            let data = bytes(1000)
            _ = try await client.send("PUT", key: "k", body: data)
            let reply = try await client.send(
                "GET", key: "k", headers: ["Range": text, "x-oss-range-behavior": "standard"])
            #expect(reply.status == (region == nil ? 416 : 206))
            if let region { #expect(reply.body == Array(data[region])) }
        }
    }

    @Test func `A client may have its bodies slowed down`() async throws {
        try await withServer { _, client async throws in
            let clock = ContinuousClock()
            let time = try await clock.measure {
                let reply = try await client.send(
                    "PUT", key: "k", headers: ["x-oss-traffic-limit": "819200"], body: bytes(51_200))
                #expect(reply.status == 200)
            }
            // 102,400 bytes a second.
            #expect(time >= .milliseconds(450))
            for value in ["100", "many"] {
                let reply = try await client.send("GET", key: "k", headers: ["x-oss-traffic-limit": value])
                #expect(reply.errorCode == "InvalidArgument")
            }
        }
    }
}
