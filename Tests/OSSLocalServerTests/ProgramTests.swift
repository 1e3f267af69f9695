// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import OSSLocalServer
import OSSWire
import SystemIO
import Testing

@Suite(.timeLimit(.minutes(5))) struct ProgramTests {
    @Test(
        arguments: [
            (["--help"], 0), (["--version"], 0), (["--nonsense"], 2), (["--port"], 2), (["--port", "70000"], 2),
            (["extra"], 2), (["--account", "id"], 2), (["--capacity", "-1"], 2), (["--upload-lifetime", "soon"], 2),
            (["--faults", "/nowhere"], 1), (["--host", "nowhere"], 1), (["--bucket", "B"], 1),
        ] as [([String], Int32)])
    func `The exit status tells what is wrong`(arguments: [String], status: Int32) throws {
        #expect(try ServerProcess.run(arguments) == status)
    }

    @Test func `The lines of the README serve a program`() async throws {
        var configuration = OSSServer.Configuration()
        configuration.buckets = ["media"]
        let server = try await OSSServer.start(configuration)
        let endpoint = server.endpoint, account = OSSServer.Account.test
        var client = TestClient(server)
        client.account = account
        #expect(endpoint == "http://127.0.0.1:\(server.port)")
        #expect(try await client.send("PUT", bucket: "media", key: "k", body: [1]).status == 200)
        #expect(server.keys(bucket: "media") == ["k"])
        #expect(server.counters == ["PutObject": 1])
        await server.stop()
    }

    @Test func `The options do what they say`() async throws {
        let folder = try Directory.createTemporary(named: "program-tests")
        defer { removeFolder(folder) }
        let rules = #"[{"action": "respond", "key": "k", "to": 1, "status": 503, "code": "ServiceUnavailable"}]"#
        try PosixFile(path: folder + "/faults.json", [.write, .create]).write(Array(rules.utf8))
        let process = try ServerProcess([
            "--faults", folder + "/faults.json", "--request-log", folder + "/requests", "--account", "a:b:c:d",
            "--capacity", "10", "--clock-offset", "3600", "--region", "here", "--service-host", "oss.test.example",
        ])
        do {
            var client = TestClient(port: process.port)
            client.account = OSSServer.Account(accessKeyID: "a", accessKeySecret: "b", securityToken: "c:d")
            client.clockOffset = 3600
            client.region = "here"
            #expect(try await client.send("PUT", key: "k", body: [1]).errorCode == "ServiceUnavailable")
            #expect(try await client.send("PUT", key: "k", body: [1]).status == 200)
            #expect(try await client.send("PUT", key: "l", body: bytes(10)).status == 507)
            #expect(try await client.send("GET", key: "k", host: "oss.test.example").body == [1])
            #expect(try await client.send("GET", key: "k", target: "/k", host: "bucket.oss.test.example").body == [1])
            client.clockOffset = 0
            #expect(try await client.send("GET").errorCode == "RequestTimeTooSkewed")
        } catch {
            process.kill()
            process.wait()
            throw error
        }
        #expect(process.stopsCleanly())
        let log = try PosixFile(path: folder + "/requests", .read)
        var text = [UInt8](repeating: 0, count: 64 * 1024)
        let count = try log.read(at: 0, into: &text)
        let lines = String(decoding: text[..<count], as: UTF8.self).split(separator: "\n")
        #expect(lines.count == 6)
        #expect(lines[0].contains(#""operation":"PutObject""#) && lines[0].contains(#""fault":true"#))
        #expect(!lines.contains { $0.contains("c:d") })
    }
}
