// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import FoundationEssentials
import Glibc
import OSSLocalServer
import Testing

/// `ossmp cp -`, and callbacks.
@Suite(.timeLimit(.minutes(5))) struct StreamCopyTests {
    // Case 30: https://github.com/oracle/oci-cli/issues/490
    // https://github.com/Backblaze/B2_Command_Line_Tool/issues/911
    // https://github.com/aws/aws-sdk-go/issues/780
    @Test(arguments: [0, 1, 3 * ToolFixture.partSize + 5, 3 * ToolFixture.partSize])
    func `Standard input of unknown length is stored, also none at all`(size: Int) async throws {
        try await withToolFixture { fixture in
            let file = try fixture.file("input", parts: 0, extra: size)
            let outcome = try await fixture.run(fixture.copy("-", "k"), input: file.path)
            #expect(outcome.code == 0, "\(outcome.errors)")
            #expect(try await fixture.object("k") == file.bytes)
            #expect(!fixture.hasLeftovers)
        }
    }

    @Test func `Standard input that breaks leaves nothing behind, and says so`() async throws {
        try await withToolFixture { fixture in
            let file = try fixture.file("input", parts: 4)
            fixture.server.faults.add(
                .init(.respond(status: 403, code: "AccessDenied"), operation: "UploadPart", partNumber: 3))
            let outcome = try await fixture.run(fixture.copy("-", "k"), input: file.path)
            #expect(outcome.code == 1)
            #expect(outcome.errors.contains("AccessDenied"))
            #expect(!outcome.errors.contains("run the same command again to go on"))
            #expect(try await fixture.object("k") == nil)
            #expect(!fixture.hasLeftovers)
        }
    }

    @Test func `Standard input needs a whole key`() async throws {
        try await withToolFixture { fixture in
            for key in ["", "folder/"] {
                let outcome = try await fixture.run(fixture.copy("-", key))
                #expect(outcome.code == 2)
            }
            #expect(fixture.server.requests.isEmpty)
        }
    }

    // Case 16: https://github.com/ali-sdk/ali-oss/issues/102
    // https://github.com/aliyun/alibabacloud-oss-csharp-sdk-v2/pull/15
    @Test(arguments: [0, 2]) func `A callback's reply is no XML, and the upload succeeds`(parts: Int) async throws {
        try await withToolFixture { fixture in
            // Any server will do for the application's: one whose every reply is the same.
            let application = try await OSSServer.start(.init())
            application.faults.add(
                .init(
                    .respondRaw(
                        status: 200, headers: ["Content-Type": "application/json"], body: Array("{\"a\":1}".utf8))))
            let file = try fixture.file("film.bin", parts: parts)
            let json = "{\"callbackUrl\":\"\(application.endpoint)/app\",\"callbackBody\":\"k=${object}&u=${x:u}\"}"
            let outcome = try await fixture.run(
                fixture.copy(file.path, "k", ["--callback", json, "--callback-var", "x:u=7", "--json"]))
            #expect(outcome.code == 0, "\(outcome.errors)")
            #expect(outcome.output.contains(#""callback":{"succeeded":true,"failure":null,"reply":"{\"a\":1}"}"#))
            #expect(try await fixture.object("k") == file.bytes)
            #expect(application.requests.map(\.bytesReceived) == [Int64("k=k&u=7".utf8.count)])

            application.faults.removeAll()
            application.faults.add(.init(.respond(status: 500, code: "Oops")))
            let failed = try await fixture.run(fixture.copy(file.path, "k", ["--callback", json]))
            #expect(failed.code == 6)
            #expect(failed.errors.contains("is stored"))
            #expect(!fixture.hasLeftovers)
            await application.stop()
        }
    }

    @Test(arguments: [
        ["--callback", "{}"], ["--callback", "x"], ["--callback-var", "x:a=1"],
        ["--callback", #"{"callbackUrl":"ftp://a","callbackBody":"b"}"#],
        ["--callback", #"{"callbackUrl":"http://a","callbackBody":"b"}"#, "--callback-var", "a=1"],
    ])
    func `A callback that cannot be sent is a usage error before any request`(options: [String]) async throws {
        try await withToolFixture { fixture in
            let file = try fixture.file("film.bin", parts: 0)
            let outcome = try await fixture.run(fixture.copy(file.path, "k", options))
            #expect(outcome.code == 2)
            #expect(fixture.server.requests.isEmpty)
        }
    }
}

/// `ossmp cp -r`.
@Suite(.timeLimit(.minutes(5))) struct FolderCopyTests {
    private func command(_ fixture: ToolFixture, _ more: [String] = []) -> [String] {
        ["cp", "-r", fixture.folder + "/tree", "oss://\(ToolFixture.bucket)/p", "--part-size", "100KiB"]
            + ["--checkpoint-dir", fixture.checkpoints] + more
    }

    private func makeTree(_ fixture: ToolFixture) throws -> [String: [UInt8]] {
        var files: [String: [UInt8]] = [:]
        try FileManager.default.createDirectory(atPath: fixture.folder + "/tree/sub", withIntermediateDirectories: true)
        for (name, parts) in [("a.txt", 0), ("big.bin", 4), ("sub/a b%+.txt", 0), ("sub/c.bin", 1)] {
            files[name] = try fixture.file("tree/" + name, parts: parts, seed: UInt8(files.count + 1)).bytes
        }
        return files
    }

    @Test func `A folder's files go to the prefix, and a table says what was done`() async throws {
        try await withToolFixture { fixture in
            let files = try self.makeTree(fixture)
            let outcome = try await fixture.run(self.command(fixture))
            #expect(outcome.code == 0, "\(outcome.errors)")
            for (name, bytes) in files { #expect(try await fixture.object("p/" + name) == bytes, "\(name)") }
            #expect(outcome.errors.contains("stored now"))
            #expect(outcome.errors.split(separator: "\n").contains { $0.contains("stored now") && $0.contains(" 4 ") })
            #expect(!fixture.hasLeftovers)
        }
    }

    @Test func `Patterns, links and deletion are options`() async throws {
        try await withToolFixture { fixture in
            let files = try self.makeTree(fixture)
            try FileManager.default.createSymbolicLink(
                atPath: fixture.folder + "/tree/link.txt", withDestinationPath: "a.txt")
            let first = try await fixture.run(self.command(fixture, ["--include", "*.txt", "--exclude", "sub"]))
            #expect(first.code == 0)
            #expect(fixture.server.keys(bucket: ToolFixture.bucket) == ["p/a.txt"])
            #expect(first.errors.contains("link.txt"))
            let second = try await fixture.run(
                self.command(fixture, ["--include", "*.txt", "--symlinks", "follow", "--delete-source", "--json"]))
            #expect(second.code == 0)
            #expect(second.output.contains(#""filesStored":3"#))
            #expect(fixture.server.keys(bucket: ToolFixture.bucket) == ["p/a.txt", "p/link.txt", "p/sub/a b%+.txt"])
            #expect(!FileManager.default.fileExists(atPath: fixture.folder + "/tree/a.txt"))
            #expect(FileManager.default.fileExists(atPath: fixture.folder + "/tree/big.bin"))
            #expect(files.count == 4)
        }
    }

    @Test func `A killed run goes on, and repeats no file that is stored`() async throws {
        try await withToolFixture { fixture in
            let files = try self.makeTree(fixture)
            fixture.server.faults.add(
                .init(.delay(.seconds(3600)), operation: "UploadPart", key: "p/big.bin", partNumber: 4))
            let process = try fixture.start(self.command(fixture, ["--parallel", "8"]))
            try await fixture.wait {
                fixture.server.keys(bucket: ToolFixture.bucket).count == 3 && fixture.storedParts("p/big.bin") == 4
            }
            // The manifest's line is written when the reply has come; one more file would be no loss, but here it is counted.
            try await fixture.wait {
                let text = (try? String(contentsOf: self.manifest(fixture), encoding: .utf8)) ?? ""
                return text.split(separator: "\n").count == 3
            }
            process.send(SIGKILL)
            #expect(try await process.outcome().signal == SIGKILL)
            fixture.server.faults.removeAll()
            fixture.server.removeAllRequests()
            let outcome = try await fixture.run(self.command(fixture))
            #expect(outcome.code == 0, "\(outcome.errors)")
            #expect(Set(fixture.server.requests.compactMap(\.key)) == ["p/big.bin"])
            #expect(fixture.partsSent == [4])
            for (name, bytes) in files { #expect(try await fixture.object("p/" + name) == bytes, "\(name)") }
            #expect(!fixture.hasLeftovers)
        }
    }

    private func manifest(_ fixture: ToolFixture) throws -> URL {
        let names = try FileManager.default.contentsOfDirectory(atPath: fixture.checkpoints)
        guard let name = names.first(where: { $0.contains(".manifest") }) else { throw ToolFixture.Late() }
        return URL(filePath: fixture.checkpoints + "/" + name)
    }

    @Test func `One file that fails makes the exit code 1, and the others are stored`() async throws {
        try await withToolFixture { fixture in
            let files = try self.makeTree(fixture)
            fixture.server.faults.add(
                .init(.respond(status: 403, code: "AccessDenied"), operation: "PutObject", key: "p/a.txt"))
            let outcome = try await fixture.run(self.command(fixture))
            #expect(outcome.code == 1)
            #expect(outcome.errors.contains("AccessDenied"))
            #expect(outcome.errors.contains("failed: "))
            #expect(fixture.server.keys(bucket: ToolFixture.bucket).count == files.count - 1)
            fixture.server.faults.removeAll()
            fixture.server.removeAllRequests()
            let second = try await fixture.run(self.command(fixture))
            #expect(second.code == 0)
            #expect(Set(fixture.server.requests.compactMap(\.key)) == ["p/a.txt"])
            #expect(!fixture.hasLeftovers)
        }
    }

    @Test func `SIGTERM stops the whole, and the same command goes on`() async throws {
        try await withToolFixture { fixture in
            _ = try self.makeTree(fixture)
            fixture.hold(2...2)
            let process = try fixture.start(self.command(fixture))
            try await fixture.wait { fixture.storedParts("p/big.bin") >= 1 }
            process.send(SIGTERM)
            let outcome = try await process.outcome()
            #expect(outcome.code == 143)
            #expect(outcome.errors.contains("run the same command again"))
            fixture.server.faults.removeAll()
            #expect(try await fixture.run(self.command(fixture)).code == 0)
            #expect(!fixture.hasLeftovers)
        }
    }

    @Test(arguments: [
        ["cp", "-r", "-", "oss://media/p"], ["cp", "-r", "", "oss://media/p"],
        ["cp", "f", "oss://media/k", "--include", "*"],
        ["cp", "f", "oss://media/k", "--delete-source"], ["cp", "-r", "tree", "oss://media/p", "--symlinks", "never"],
        ["cp", "-r", "tree", "oss://media/p", "--adopt", "latest"], ["ls-parts", "oss://media/k", "-r"],
    ])
    func `What makes no sense with or without -r is a usage error`(arguments: [String]) async throws {
        try await withToolFixture { fixture in
            let outcome = try await fixture.run(arguments)
            #expect(outcome.code == 2)
            #expect(fixture.server.requests.isEmpty)
        }
    }

    @Test func `The code of a folder's run is the gravest of its files`() async throws {
        try await withToolFixture { fixture in
            _ = try self.makeTree(fixture)
            for part in 2...5 {
                fixture.server.faults.add(
                    .init(.delay(.seconds(3600)), operation: "UploadPart", key: "p/big.bin", partNumber: part))
            }
            let process = try fixture.start(fixture.copy(fixture.folder + "/tree/big.bin", "p/big.bin"))
            try await fixture.wait { fixture.storedParts("p/big.bin") >= 1 }
            #expect(try await fixture.run(self.command(fixture)).code == 5)
            fixture.server.faults.add(
                .init(.respond(status: 403, code: "AccessDenied"), operation: "PutObject", key: "p/a.txt"))
            fixture.server.removeAllRequests()
            try Data([1]).write(to: URL(filePath: fixture.folder + "/tree/a.txt"))
            #expect(try await fixture.run(self.command(fixture)).code == 1)
            process.send(SIGKILL)
            _ = try await process.outcome()
        }
    }

    @Test func `A folder that is not there is told`() async throws {
        try await withToolFixture { fixture in
            let outcome = try await fixture.run(self.command(fixture))
            #expect(outcome.code == 1)
            #expect(outcome.errors.contains("tree"))
        }
    }
}
