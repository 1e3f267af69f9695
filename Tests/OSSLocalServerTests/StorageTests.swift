// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import OSSLocalServer
import OSSWire
import SystemIO
import Testing

@Suite(.timeLimit(.minutes(1))) struct StorageTests {
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
}
