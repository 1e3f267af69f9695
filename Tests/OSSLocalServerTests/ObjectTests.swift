// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import OSSLocalServer
import OSSWire
import Testing

@Suite(.timeLimit(.minutes(5))) struct ObjectTests {
    @Test(arguments: [
        "a", "with space", "a+b", "a%2Fb", "%", "a?b#c", "a//b", "../up", "a/../b", "a/./b", "..", "~!*'()", "文件/😀",
        "\u{1}\r\n\t", "a&b=c", "a:b;c,d", "x\\y", String(repeating: "k", count: 1023),
    ])
    func `A key comes back as it was given`(key: String) async throws {
        try await withServer { server, client async throws in
            #expect(try await client.send("PUT", key: key, body: Array(key.utf8)).status == 200)
            #expect(try await client.send("GET", key: key).body == Array(key.utf8))
            #expect(server.keys(bucket: "bucket") == [key])
            let list = try await client.send("GET", query: [QueryItem("encoding-type", "url")]).document
            let name = try #require(list["Contents"]?.string("Key"))
            #expect(PercentEncoding.decode(name) == key)
            #expect(try await client.send("DELETE", key: key).status == 204)
            #expect(server.keys(bucket: "bucket").isEmpty)
        }
    }

    @Test func `A plus in a path is a plus`() async throws {
        try await withServer { server, client async throws in
            #expect(try await client.send("PUT", key: "a+b", body: [1], target: "/bucket/a+b").status == 200)
            #expect(server.keys(bucket: "bucket") == ["a+b"])
        }
    }

    @Test func `Keys that look alike are two objects`() async throws {
        try await withServer { server, client async throws in
            for key in ["\u{E9}", "e\u{301}"] { _ = try await client.send("PUT", key: key, body: Array(key.utf8)) }
            #expect(server.keys(bucket: "bucket").count == 2)
            #expect(try await client.send("GET", key: "\u{E9}").body == Array("\u{E9}".utf8))
        }
    }

    @Test(arguments: ["%2Fa", "%00", "a%00b", "%FF", String(repeating: "k", count: 1024)])
    func `A key that no object can have is refused`(path: String) async throws {
        try await withServer { _, client async throws in
            let reply = try await client.send("PUT", key: "k", body: [1], target: "/bucket/" + path)
            #expect(reply.errorCode == "InvalidObjectName")
        }
    }

    @Test func `The bucket may stand in the host, and the target may be absolute`() async throws {
        try await withServer { server, client async throws in
            let port = client.port
            let virtual = try await client.send(
                "PUT", key: "a/b", body: [1], target: "/a/b", host: "bucket.oss.example")
            #expect(virtual.status == 200)
            let local = try await client.send(
                "PUT", key: "c", body: [2], target: "/c", host: "bucket.localhost:\(port)")
            #expect(local.status == 200)
            let absolute = try await client.send(
                "PUT", key: "d", body: [3], target: "http://bucket.oss-cn-hangzhou.aliyuncs.com/d", host: "proxy")
            #expect(absolute.status == 200)
            let service = try await client.send("GET", bucket: nil, host: "oss-cn-hangzhou.aliyuncs.com")
            #expect(try service.document.name == "ListAllMyBucketsResult")
            #expect(server.keys(bucket: "bucket") == ["a/b", "c", "d"])
        }
    }

    @Test(
        arguments: [
            ("bytes=0-0", 206, "bytes 0-0/10", 0..<1), ("bytes=2-5", 206, "bytes 2-5/10", 2..<6),
            ("bytes=7-", 206, "bytes 7-9/10", 7..<10), ("bytes=-3", 206, "bytes 7-9/10", 7..<10),
            ("bytes=5-50", 200, nil, 0..<10), ("bytes=10-", 200, nil, 0..<10), ("nonsense", 200, nil, 0..<10),
        ] as [(String, Int, String?, Range<Int>)])
    func `A range is answered with its bytes`(
        range: String, status: Int, contentRange: String?, expected: Range<Int>
    ) async throws {
        let data = Array("0123456789".utf8)
        try await withServer { _, client async throws in
            _ = try await client.send("PUT", key: "k", body: data)
            let reply = try await client.send("GET", key: "k", headers: ["Range": range])
            #expect(reply.status == status)
            #expect(reply.headers["Content-Range"] == contentRange)
            #expect(reply.body == Array(data[expected]))
        }
    }

    @Test func `A range that is asked for by the standard is cut, or refused`() async throws {
        try await withServer { _, client async throws in
            _ = try await client.send("PUT", key: "k", body: Array("0123456789".utf8))
            func get(_ range: String) async throws -> TestReply {
                try await client.send(
                    "GET", key: "k", headers: ["Range": range, "x-oss-range-behavior": "standard"])
            }
            #expect(try await get("bytes=5-50").body == Array("56789".utf8))
            let refused = try await get("bytes=10-")
            #expect(refused.status == 416)
            #expect(refused.errorCode == "InvalidRange")
        }
    }

    @Test func `A range reads across parts`() async throws {
        try await withServer({ $0.minimumPartSize = 1 }) { _, client async throws in
            let id = try await client.initiate("k")
            var parts: [(number: Int, eTag: String)] = []
            for (number, text) in [(1, "abc"), (2, "def"), (3, "ghi")] {
                try await client.uploadPart(number, id, key: "k", body: Array(text.utf8))
                parts.append((number, try eTag(Array(text.utf8))))
            }
            #expect(try await client.complete(id, key: "k", parts: parts).status == 200)
            let reply = try await client.send("GET", key: "k", headers: ["Range": "bytes=2-6"])
            #expect(reply.body == Array("cdefg".utf8))
        }
    }

    @Test func `HEAD tells errors in a header`() async throws {
        try await withServer { _, client async throws in
            let reply = try await client.send("HEAD", key: "missing")
            #expect(reply.status == 404)
            let document = try #require(reply.headers["x-oss-err"].flatMap { Base64.decode($0) })
            #expect(try XMLElement.parse(document, root: "Error").string("Code") == "NoSuchKey")
        }
    }

    @Test func `Conditions decide whether an object is sent`() async throws {
        try await withServer { _, client async throws in
            let put = try await client.send("PUT", key: "k", body: [1])
            let tag = try #require(put.headers["ETag"])
            #expect(try await client.send("GET", key: "k", headers: ["If-None-Match": tag]).status == 304)
            #expect(try await client.send("GET", key: "k", headers: ["If-Match": tag]).status == 200)
            #expect(try await client.send("GET", key: "k", headers: ["If-Match": "\"x\""]).status == 412)
        }
    }

    @Test func `A body without a length is refused, a chunked one is taken`() async throws {
        try await withServer({ $0.allowsAnonymous = true }) { server, client async throws in
            let bare = try await client.sendRaw(Array("PUT /bucket/k HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".utf8))
            #expect(bare.status == 411)
            #expect(bare.errorCode == "MissingContentLength")
            let head = "PUT /bucket/k HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n"
            let chunked = try await client.sendRaw(Array((head + "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n").utf8))
            #expect(chunked.status == 200)
            #expect(try await server.objectData(bucket: "bucket", key: "k") == Array("abcde".utf8))
        }
    }

    @Test func `Whoever expects a word before sending gets it`() async throws {
        try await withServer({ $0.allowsAnonymous = true }) { server, client async throws in
            let taken = try await client.sendRaw(
                Array(
                    "PUT /bucket/k HTTP/1.1\r\nHost: 127.0.0.1\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc"
                        .utf8))
            #expect(taken.status == 200)
            let refused = try await client.sendRaw(
                Array(
                    "PUT /nowhere/k HTTP/1.1\r\nHost: 127.0.0.1\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n"
                        .utf8))
            #expect(refused.errorCode == "NoSuchBucket")
        }
    }

    @Test func `Listings page and group`() async throws {
        try await withServer { server, client async throws in
            for key in ["a", "b/1", "b/2", "c", "d/x"] {
                try await server.putObject(bucket: "bucket", key: key, data: [])
            }
            var names: [String] = [], token: [QueryItem] = [], pages = 0
            while pages < 10 {
                let page = try await client.send(
                    "GET",
                    query: [QueryItem("list-type", "2"), QueryItem("max-keys", "2"), QueryItem("delimiter", "/")]
                        + token
                ).document
                names += try page.all("Contents").map { try $0.requiredString("Key") }
                names += try page.all("CommonPrefixes").map { try $0.requiredString("Prefix") }
                pages += 1
                guard try page.boolean("IsTruncated") == true else { break }
                token = [QueryItem("continuation-token", try page.requiredString("NextContinuationToken"))]
            }
            #expect(names == ["a", "b/", "c", "d/"])
            #expect(pages == 2)
            let first = try await client.send("GET", query: [QueryItem("prefix", "b/"), QueryItem("max-keys", "1")])
                .document
            #expect(first.string("NextMarker") == "b/1")
        }
    }

    @Test func `Buckets are made, listed and removed when empty`() async throws {
        try await withServer { server, client async throws in
            #expect(try await client.send("PUT", bucket: "second", body: []).status == 200)
            let list = try await client.send("GET", bucket: nil).document
            #expect(list["Buckets"]?.all("Bucket").map { $0.string("Name") } == ["bucket", "second"])
            try await server.putObject(bucket: "second", key: "k", data: [1])
            #expect(try await client.send("DELETE", bucket: "second").errorCode == "BucketNotEmpty")
            try await server.removeObject(bucket: "second", key: "k")
            #expect(try await client.send("DELETE", bucket: "second").status == 204)
            #expect(try await client.send("GET", bucket: "second").errorCode == "NoSuchBucket")
        }
    }

    @Test(arguments: [("folder/", "/"), ("a", "\n"), ("", "/")])
    func `A listing page by page tells every key, also that of the folder itself`(
        prefix: String, delimiter: String
    ) async throws {
        try await withServer { server, client async throws in
            let folder = prefix.isEmpty ? "folder/" : prefix
            let inner = ["", "1", "2", "3\r\(delimiter)x", "3\r\(delimiter)y", "4"].map { folder + $0 }
            for key in inner + ["z"] where !key.isEmpty {
                try await server.putObject(bucket: "bucket", key: key, data: [])
                _ = try await client.initiate(key)
            }
            func names(_ kind: [QueryItem], _ limit: String, _ marker: String, _ next: String) async throws -> [String]
            {
                var names: [String] = [], place = "", pages = 0
                repeat {
                    let page = try await client.send(
                        "GET",
                        query: kind + [
                            QueryItem("prefix", prefix), QueryItem("delimiter", delimiter), QueryItem(limit, "1"),
                            QueryItem("encoding-type", "url"), QueryItem(marker, place),
                        ]
                    ).document
                    let found = page.all("Contents") + page.all("Upload")
                    names += found.compactMap { $0.string("Key").flatMap { PercentEncoding.decode($0) } }
                    names += page.all("CommonPrefixes").compactMap {
                        $0.string("Prefix").flatMap { PercentEncoding.decode($0) }
                    }
                    place = page.string(next).flatMap { PercentEncoding.decode($0) } ?? ""
                    pages += 1
                } while !place.isEmpty && pages < 20
                return names
            }
            let inFolder = ["", "1", "2", "3\r\(delimiter)", "4"].map { prefix + $0 }
            let expected = prefix.isEmpty ? ["folder/", "z"] : inFolder
            #expect(try await names([], "max-keys", "marker", "NextMarker") == expected)
            let second = [QueryItem("list-type", "2")]
            #expect(
                try await names(second, "max-keys", "continuation-token", "NextContinuationToken") == expected)
            #expect(try await names([QueryItem("uploads")], "max-uploads", "key-marker", "NextKeyMarker") == expected)
        }
    }

    @Test func `Only the fields that OSS lets a URL choose are chosen by it`() async throws {
        try await withServer { _, client async throws in
            _ = try await client.send("PUT", key: "k", body: [1, 2, 3])
            let reply = try await client.send(
                "GET", key: "k",
                query: [
                    QueryItem("response-content-length", "1"), QueryItem("response-etag", "x"),
                    QueryItem("response-content-type", "text/x"), QueryItem("response-content-disposition", "inline"),
                    QueryItem("response-cache-control", "no-cache"), QueryItem("response-expires", "never"),
                    QueryItem("response-content-language", "eo"), QueryItem("response-content-encoding", "br"),
                ])
            #expect(reply.body == [1, 2, 3])
            #expect(reply.headers["ETag"] == "\"\(try eTag([1, 2, 3]))\"")
            let chosen = [
                "Content-Type", "Content-Disposition", "Cache-Control", "Expires", "Content-Language",
                "Content-Encoding",
            ].map { reply.headers[$0] }
            #expect(chosen == ["text/x", "inline", "no-cache", "never", "eo", "br"])
        }
    }

    @Test func `What an object is encrypted with is told wherever it is stored`() async throws {
        try await withServer { _, client async throws in
            let headers: HTTPFields = [
                "x-oss-server-side-encryption": "KMS", "x-oss-server-side-encryption-key-id": "key-1",
            ]
            let id = try await client.initiate("k", headers: headers)
            let replies = [
                try await client.send("PUT", key: "put", headers: headers, body: [1]),
                try await client.uploadPart(1, id, key: "k", body: [1]),
                try await client.complete(id, key: "k", parts: [(1, try eTag([1]))]),
                try await client.send("HEAD", key: "k"),
            ]
            for reply in replies {
                #expect(reply.status == 200)
                for field in headers.all { #expect(reply.headers[field.name] == field.value) }
            }
        }
    }
}
