// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import OSSLocalServer
import OSSWire
import SystemIO
import Testing

@Suite(.timeLimit(.minutes(5))) struct RestartTests {
    /// Runs a test with a folder that servers come and go on.
    private func withFolder(_ body: (String) async throws -> Void) async throws {
        let path = try Directory.createTemporary(named: "restart-tests")
        defer { removeFolder(path) }
        try await body(path)
    }

    @Test(arguments: [false, true])
    func `Objects and uploads are there after a restart`(isDurable: Bool) async throws {
        try await self.withFolder { folder in
            func configure(_ configuration: inout OSSServer.Configuration) {
                configuration.directory = folder
                configuration.isDurable = isDurable
            }
            let large = bytes(102_400), tag = try eTag(large), key = "ключ/\n%2F"
            let ids = try await withServer(configure) { server, client async throws in
                _ = try await client.send("PUT", key: "put", headers: ["x-oss-meta-a": "b: c"], body: [1, 2])
                _ = try await client.send("PUT", key: "gone", body: [1])
                _ = try await client.send("DELETE", key: "gone")
                let open = try await client.initiate(key, headers: ["Content-Type": "text/x"])
                try await client.uploadPart(1, open, key: key, body: [1])
                try await client.uploadPart(1, open, key: key, body: large)
                let aborted = try await client.initiate("aborted")
                _ = try await client.send("DELETE", key: "aborted", query: [QueryItem("uploadId", aborted)])
                let done = try await client.initiate("done")
                try await client.uploadPart(1, done, key: "done", body: large)
                try await client.uploadPart(2, done, key: "done", body: [3])
                #expect(try await client.complete(done, key: "done", parts: [(1, tag)]).status == 200)
                return (open: open, done: done)
            }
            try await withServer(configure) { server, client async throws in
                #expect(server.keys(bucket: "bucket") == ["done", "put"])
                #expect(try await client.send("HEAD", key: "put").headers["x-oss-meta-a"] == "b: c")
                #expect(try await client.send("GET", key: "done").body == large)
                #expect(server.openUploads(bucket: "bucket").map(\.uploadID) == [ids.open])
                #expect(server.parts(ofUpload: ids.open).map(\.eTag) == [tag])
                #expect(try await client.complete(ids.open, key: key, parts: [(1, tag)]).status == 200)
                #expect(try await client.send("HEAD", key: key).headers["Content-Type"] == "text/x")
            }
        }
    }

    @Test func `Of two files of one part the later one counts, and the other goes`() async throws {
        try await self.withFolder { folder in
            func configure(_ configuration: inout OSSServer.Configuration) { configuration.directory = folder }
            let id = try await withServer(configure) { _, client async throws in
                let id = try await client.initiate("k")
                for body in [[1], [2]] as [[UInt8]] { try await client.uploadPart(1, id, key: "k", body: body) }
                return id
            }
            // A part that was being replaced when the server was killed: the one before it is still there.
            let data = "\(folder)/buckets/bucket/data/\(id)"
            for (byte, sequence) in [(3, 0), (4, 99)] as [(UInt8, Int)] {
                let tag = try eTag([byte]), crc = String(CRC64.of([byte]), radix: 16)
                try PosixFile(path: "\(data)/part-1-1-\(tag)-\(crc)-0-\(sequence)", [.write, .create]).write([byte])
            }
            try await withServer(configure) { server, client async throws in
                #expect(server.parts(ofUpload: id).map(\.eTag) == [try eTag([4])])
                #expect(try Directory.names(in: data).count == 2)
                #expect(try await client.complete(id, key: "k", parts: [(1, try eTag([4]))]).status == 200)
                #expect(try await client.send("GET", key: "k").body == [4])
            }
        }
    }

    @Test func `A folder is one server's, and never somebody else's`() async throws {
        try await self.withFolder { folder in
            func configure(_ configuration: inout OSSServer.Configuration) { configuration.directory = folder }
            try await withServer(configure) { _, _ -> Void in
                await #expect(throws: OSSServer.Error.self) { try await withServer(configure) { _, _ in } }
            }
        }
        try await self.withFolder { folder in
            try PosixFile(path: folder + "/mine", [.write, .create]).write([1])
            await #expect(throws: OSSServer.Error.self) {
                try await withServer({ $0.directory = folder }) { _, _ in }
            }
        }
    }

    @Test func `A temporary folder goes with its server`() async throws {
        let folder = try await withServer { server, _ in server.directory }
        #expect(throws: SystemError.self) { try FileStatus.of(path: folder) }
    }

    @Test func `A port that is taken and an option that cannot be are told`() async throws {
        try await withServer { server, _ in
            let port = server.port
            await #expect(throws: OSSServer.Error.self) { try await withServer({ $0.port = port }) { _, _ in } }
            await #expect(throws: OSSServer.Error.self) { try await withServer({ $0.host = "nowhere" }) { _, _ in } }
            await #expect(throws: OSSServer.Error.self) { try await withServer({ $0.buckets = ["B"] }) { _, _ in } }
            await #expect(throws: OSSServer.Error.self) { try await withServer({ $0.accounts = [] }) { _, _ in } }
        }
    }
}
