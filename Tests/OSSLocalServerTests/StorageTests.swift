// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import OSSLocalServer
import OSSWire
import SystemIO
import Testing

@Suite(.timeLimit(.minutes(5))) struct StorageTests {
    @Test func `A full store refuses what does not fit, and takes it again when there is room`() async throws {
        try await withServer({ $0.capacity = 250_000 }) { server, client async throws in
            #expect(try await client.send("PUT", key: "a", body: bytes(100_000)).status == 200)
            let id = try await client.initiate("m")
            #expect(try await client.uploadPart(1, id, key: "m", body: bytes(102_400)).status == 200)
            let refused = try await client.uploadPart(2, id, key: "m", body: bytes(102_400))
            #expect(refused.status == 507)
            #expect(refused.errorCode == "InsufficientStorage")
            #expect(try await client.send("PUT", key: "b", body: bytes(100_000)).status == 507)
            #expect(server.keys(bucket: "bucket") == ["a"])
            // What takes another's place may be as large.
            #expect(try await client.uploadPart(1, id, key: "m", body: bytes(102_400, seed: 2)).status == 507)
            #expect(try await client.uploadPart(1, id, key: "m", body: bytes(40_000)).status == 200)
            #expect(try await client.send("DELETE", key: "a").status == 204)
            #expect(try await client.uploadPart(1, id, key: "m", body: bytes(102_400)).status == 200)
            #expect(try await client.complete(id, key: "m", parts: [(1, try eTag(bytes(102_400)))]).status == 200)
            #expect(try await client.send("PUT", key: "c", body: bytes(140_000)).status == 200)
        }
    }

    @Test func `An upload ends when it is too old`() async throws {
        let folder = try Directory.createTemporary(named: "storage-tests")
        defer { removeFolder(folder) }
        func configure(_ offset: Duration) -> (inout OSSServer.Configuration) -> Void {
            { configuration in
                configuration.directory = folder + "/data"
                configuration.uploadLifetime = .seconds(24 * 3600)
                configuration.clockOffset = offset
            }
        }
        let old = try await withServer(configure(.zero)) { _, client async throws in try await client.initiate("old") }
        try await withServer(configure(.seconds(23 * 3600))) { server, client async throws in
            var client = client
            client.clockOffset = 23 * 3600
            _ = try await client.initiate("young")
            #expect(server.openUploads(bucket: "bucket").map(\.key) == ["old", "young"])
        }
        try await withServer(configure(.seconds(25 * 3600))) { server, client async throws in
            var client = client
            client.clockOffset = 25 * 3600
            let reply = try await client.uploadPart(1, old, key: "old", body: [1])
            #expect(reply.errorCode == "NoSuchUpload")
            #expect(server.openUploads(bucket: "bucket").map(\.key) == ["young"])
        }
    }

    @Test func `Completing and sending parts at the same time never mix`() async throws {
        try await withServer { server, client async throws in
            let versions = (0..<4).map { bytes(120_000, seed: UInt8($0 * 50)) }
            let tags = try versions.map { try eTag($0) }
            for round in 0..<10 {
                let key = "k\(round)", id = try await client.initiate(key)
                try await client.uploadPart(1, id, key: key, body: versions[0])
                let outcomes = try await withThrowingTaskGroup(of: (Int, String?).self) { group in
                    for version in versions {
                        group.addTask {
                            let reply = try await client.uploadPart(1, id, key: key, body: version)
                            return (reply.status, reply.errorCode)
                        }
                    }
                    for tag in tags {
                        group.addTask {
                            let reply = try await client.complete(id, key: key, parts: [(1, tag)])
                            return (reply.status, reply.errorCode)
                        }
                    }
                    return try await group.reduce(into: [(Int, String?)]()) { $0.append($1) }
                }
                let allowed: Set<String?> = [nil, "InvalidPart", "NoSuchUpload"]
                #expect(outcomes.allSatisfy { allowed.contains($0.1) }, "\(outcomes)")
                if let data = try await server.objectData(bucket: "bucket", key: key) {
                    // One of the versions, whole, and the ETag is that one's.
                    let index = try #require(versions.firstIndex(of: data))
                    #expect(
                        server.objectInfo(bucket: "bucket", key: key)?.eTag
                            == (try MultipartETag.of(partETags: [tags[index]])))
                    #expect(server.openUploads(bucket: "bucket").contains { $0.key == key } == false)
                }
            }
        }
    }

    @Test func `Of many that forbid overwriting one wins`() async throws {
        try await withServer { server, client async throws in
            // All have begun before the first one ends.
            server.faults.add(.init(.slow(bytesPerSecond: 5)))
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<8 {
                    group.addTask {
                        try await client.send(
                            "PUT", key: "k", headers: ["x-oss-forbid-overwrite": "true"], body: [UInt8(number)]
                        ).status
                    }
                }
                return try await group.reduce(into: [Int]()) { $0.append($1) }
            }
            #expect(statuses.sorted() == [200] + Array(repeating: 409, count: 7))
            #expect(server.objectInfo(bucket: "bucket", key: "k")?.size == 1)
        }
    }

    @Test func `A callback that fails leaves the object, one that cannot be used leaves nothing`() async throws {
        try await withServer { application, _ async throws in
            try await withServer { server, client async throws in
                func put(_ key: String, _ url: String, body: String = "k=${object}") async throws -> TestReply {
                    let json = "{\"callbackUrl\": \"\(url)\", \"callbackBody\": \"\(body)\"}"
                    return try await client.send(
                        "PUT", key: key, headers: ["x-oss-callback": Base64.encode(Array(json.utf8))], body: [1])
                }
                let host = "127.0.0.1:\(application.port)"
                application.faults.add(
                    .init(.respondRaw(status: 200, body: Array("{\"a\": 1}".utf8)), bucket: "good"),
                    .init(.respondRaw(status: 500, body: Array("{}".utf8)), bucket: "bad"),
                    .init(.dropBeforeReply, bucket: "gone"))
                let good = try await put("a", "http://\(host)/good")
                #expect(good.status == 200)
                #expect(good.body == Array("{\"a\": 1}".utf8))
                #expect(good.headers["Content-Type"] == "application/json")
                #expect(good.headers["ETag"] == "\"\(try eTag([1]))\"")
                let posted = try #require(application.requests.last)
                #expect(posted.method == "POST")
                #expect(posted.headers["content-type"] == "application/x-www-form-urlencoded")
                #expect(posted.bytesReceived == 3)
                for (key, path) in [("b", "bad"), ("c", "gone")] {
                    let failed = try await put(key, "http://\(host)/\(path)")
                    #expect(failed.status == 203)
                    #expect(failed.errorCode == "CallbackFailed")
                    #expect(failed.headers["x-oss-ec"] == "0007-00000203")
                    #expect(server.objectInfo(bucket: "bucket", key: key) != nil)
                }
                #expect(try await put("d", "\(host)/bad;\(host)/good").status == 200)
                #expect(try await put("e", "http://203.0.113.1/").errorCode == "InvalidArgument")
                #expect(try await put("e", "ftp://\(host)/").errorCode == "InvalidArgument")
                #expect(try await put("e", host, body: "").errorCode == "InvalidArgument")
                #expect(server.objectInfo(bucket: "bucket", key: "e") == nil)
            }
        }
    }

    @Test func `A callback cannot smuggle header fields to the application`() async throws {
        try await withServer { _, client async throws in
            for host in ["a\r\nx-evil: 1", "a b", "\u{0}", "\u{E9}"] {
                let json =
                    "{\"callbackUrl\": \"127.0.0.1:9\", \"callbackBody\": \"a\", \"callbackHost\": \(quoted(host))}"
                let reply = try await client.send(
                    "PUT", key: "k", headers: ["x-oss-callback": Base64.encode(Array(json.utf8))], body: [1])
                #expect(reply.errorCode == "InvalidArgument", "\(host)")
            }
        }
    }

    @Test func `A document that nests without end is refused, and the server goes on`() async throws {
        let process = try ServerProcess([])
        let client = TestClient(port: process.port)
        do {
            for depth in [100, 500, 510, 600, 2000] {
                let json = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
                let objects =
                    String(repeating: "{\"a\":", count: depth / 3) + "1" + String(repeating: "}", count: depth / 3)
                for text in [json, objects, "{\"callbackUrl\":\(json)}"] {
                    let reply = try await client.send(
                        "PUT", key: "k", headers: ["x-oss-callback": Base64.encode(Array(text.utf8))], body: [1])
                    #expect(reply.errorCode == "InvalidArgument")
                }
            }
        } catch {
            process.kill()
            process.wait()
            throw error
        }
        #expect(process.stopsCleanly())
    }

    @Test func `Of many that append at one place one wins, and the others leave nothing`() async throws {
        try await withServer({ $0.isDurable = true }) { server, client async throws in
            for round in 0..<4 {
                let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                    for number in 0..<8 {
                        group.addTask {
                            try await client.send(
                                "POST", key: "log", query: [QueryItem("append"), QueryItem("position", String(round))],
                                body: [UInt8(number)]
                            ).status
                        }
                    }
                    return try await group.reduce(into: [Int]()) { $0.append($1) }
                }
                #expect(statuses.sorted() == [200] + Array(repeating: 409, count: 7))
            }
            #expect(server.objectInfo(bucket: "bucket", key: "log")?.size == 4)
            let folders = try Directory.names(in: server.directory + "/buckets/bucket/data")
            #expect(folders.count == 1)
            let files = try Directory.names(
                in: server.directory + "/buckets/bucket/data/\(try #require(folders.first))")
            #expect(files.count == 4)
        }
    }

    @Test func `An object that is replaced while it is appended to leaves no files`() async throws {
        try await withServer({ $0.isDurable = true }) { server, client async throws in
            let query = [QueryItem("append"), QueryItem("position", "0")]
            for _ in 0..<20 {
                _ = try await client.send("DELETE", key: "k")
                #expect(try await client.send("POST", key: "k", query: query, body: []).status == 200)
                await withTaskGroup(of: Void.self) { group in
                    for _ in 0..<3 {
                        // Who comes too late is refused: what counts is what is left.
                        group.addTask { _ = try? await client.send("POST", key: "k", query: query, body: []) }
                    }
                    group.addTask { _ = try? await client.send("DELETE", key: "k") }
                }
            }
            _ = try await client.send("DELETE", key: "k")
            #expect(try Directory.names(in: server.directory + "/buckets/bucket/data").isEmpty)
        }
    }

    @Test func `Buckets that come and go under a load leave a folder that opens again`() async throws {
        let folder = try Directory.createTemporary(named: "storage-tests")
        defer { removeFolder(folder) }
        func configure(_ configuration: inout OSSServer.Configuration) { configuration.directory = folder + "/data" }
        try await withServer(configure) { server, client async throws in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for worker in 0..<6 {
                    group.addTask {
                        for round in 0..<40 {
                            switch worker {
                            case 0: _ = try await client.send("PUT", bucket: "comes", body: [])
                            case 1: _ = try await client.send("DELETE", bucket: "comes")
                            case 2: _ = try await client.send("PUT", bucket: "comes", body: [])
                            default:
                                let reply = try await client.send(
                                    "POST", bucket: "comes", key: "k", query: [QueryItem("uploads")], body: [])
                                #expect(reply.status == 200 || reply.errorCode == "NoSuchBucket", "\(round)")
                                guard let id = try reply.document.string("UploadId") else { continue }
                                _ = try await client.send(
                                    "DELETE", bucket: "comes", key: "k", query: [QueryItem("uploadId", id)])
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try Directory.names(in: folder + "/data").sorted() == ["buckets", "format", "lock"])
        }
        try await withServer(configure) { server, client async throws in
            #expect(try await client.send("PUT", key: "k", body: [1]).status == 200)
        }
    }
}

/// A text as JSON writes it.
private func quoted(_ text: String) -> String {
    "\""
        + text.unicodeScalars.map {
            "\\u" + String(repeating: "0", count: 4 - String($0.value, radix: 16).count) + String($0.value, radix: 16)
        }
        .joined() + "\""
}
