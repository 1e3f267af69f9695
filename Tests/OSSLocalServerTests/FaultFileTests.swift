// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import OSSLocalServer
import OSSWire
import SystemIO
import Testing

@Suite(.timeLimit(.minutes(5))) struct FaultFileTests {
    /// Hands a file of that content to a server.
    private func add(_ text: String, to server: OSSServer) throws {
        let folder = try Directory.createTemporary(named: "fault-file-tests")
        defer { removeFolder(folder) }
        let path = folder + "/faults.json"
        try PosixFile(path: path, [.write, .create]).write(Array(text.utf8))
        try server.faults.add(contentsOfFile: path)
    }

    @Test func `Rules of a file work as rules of a program do`() async throws {
        try await withServer { server, client async throws in
            try self.add(
                """
                [{"action": "respond", "operation": "PutObject", "keyPrefix": "a", "from": 2, "to": 3, "status": 503,
                  "code": "ServiceUnavailable", "message": "later", "headers": {"Retry-After": "7"}},
                 {"action": "respondRaw", "key": "raw", "status": 299, "body": "odd", "headers": {"x-a": "1"}},
                 {"action": "commitThenDrop", "key": "dropped"},
                 {"action": "dropBeforeReply", "key": "lost"},
                 {"action": "commitThenRespond", "key": "both", "status": 500, "code": "InternalError"},
                 {"action": "cut", "key": "cut", "afterBodyBytes": 1},
                 {"action": "respondEarly", "key": "early", "status": 403, "code": "AccessDenied"},
                 {"action": "stall", "key": "stalled", "milliseconds": 20},
                 {"action": "delay", "key": "stalled", "milliseconds": 20},
                 {"action": "slow", "key": "stalled", "bytesPerSecond": 100000},
                 {"action": "editReplyHeader", "key": "edited", "name": "ETag", "value": "new"},
                 {"action": "editReplyHeader", "key": "edited", "name": "x-oss-hash-crc64ecma"},
                 {"action": "editReplyBody", "operation": "ListObjects", "replace": ">bucket<", "with": ">x<"},
                 {"action": "replaceReplyBody", "operation": "ListObjectsV2", "body": "none"}]
                """, to: server)
            var statuses: [Int] = []
            for _ in 1...4 { statuses.append(try await client.send("PUT", key: "ab", body: [1]).status) }
            #expect(statuses == [200, 503, 503, 200])
            let raw = try await client.send("GET", key: "raw")
            #expect(raw.status == 299)
            #expect(raw.headers["x-a"] == "1")
            #expect(raw.body == Array("odd".utf8))
            for key in ["dropped", "lost", "cut"] {
                await #expect(throws: ConnectionClosed.self) { try await client.send("PUT", key: key, body: [1, 2]) }
            }
            #expect(try await client.send("PUT", key: "both", body: [1]).errorCode == "InternalError")
            #expect(server.keys(bucket: "bucket") == ["ab", "both", "dropped"])
            #expect(try await client.send("PUT", key: "early", body: [1]).errorCode == "AccessDenied")
            #expect(try await client.send("PUT", key: "stalled", body: [1]).status == 200)
            let edited = try await client.send("PUT", key: "edited", body: [1])
            #expect(edited.headers["ETag"] == "new")
            #expect(edited.headers["x-oss-hash-crc64ecma"] == nil)
            #expect(try await client.send("GET").document.string("Name") == "x")
            let replaced = try await client.send("GET", query: [.init("list-type", "2")])
            #expect(replaced.body == Array("none".utf8))
        }
    }

    @Test(arguments: [
        ("nonsense", "not a JSON document"), ("{}", "list of rules"), ("[1]", "rule 1: it is no object"),
        (#"[{"action": "stall", "milliseconds": 1}, {"action": "explode"}]"#, "rule 2: there is no action explode"),
        (#"[{"action": "cut"}]"#, "afterBodyBytes is missing"),
        (#"[{"action": "cut", "afterBodyBytes": -1}]"#, "afterBodyBytes is no whole number"),
        (#"[{"action": "slow", "bytesPerSecond": 1.5}]"#, "bytesPerSecond is no whole number"),
        (#"[{"action": "commitThenDrop", "opration": "PutObject"}]"#, "has no opration"),
        (#"[{"action": "commitThenDrop", "operation": 1}]"#, "operation is no text"),
        (#"[{"action": "commitThenDrop", "from": 3, "to": 2}]"#, "from is above to"),
        (#"[{"action": "respond", "status": 5, "code": "x"}]"#, "status is no whole number from 100 to 999"),
        (#"[{"action": "respondRaw", "status": 200, "headers": {"a": 1}}]"#, "the header a is no text"),
    ])
    func `A file with a slip in it adds nothing and tells where it is`(text: String, problem: String) async throws {
        try await withServer { server, client async throws in
            let error = try #require(throws: OSSServer.Error.self) { try self.add(text, to: server) }
            #expect(error.message.contains(problem))
            #expect(try await client.send("GET").status == 200)
        }
    }
}
