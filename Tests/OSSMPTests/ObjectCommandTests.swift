// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import ByteProxy
import FoundationEssentials
import OSSLocalServer
import SystemIO
import Testing

/// `ossmp stat`, `get`, `ls` and `rm`.
@Suite(.timeLimit(.minutes(5))) struct ObjectCommandTests {
    private static let bucket = ToolFixture.bucket

    private struct Failure: Decodable {
        struct Details: Decodable { let code: String, message: String }
        let error: Details
    }

    private func decode<Value: Decodable>(_ line: some StringProtocol, as type: Value.Type = Value.self) throws -> Value
    {
        try JSONDecoder().decode(type, from: Data(line.utf8))
    }

    // MARK: stat

    @Test func `stat shows all that the service tells, as lines and as JSON`() async throws {
        struct Object: Decodable {
            let key: String, size: Int, etag: String, crc64: String, contentType: String, storageClass: String
            let metadata: [String: String], requestId: String?, lastModified: String?, type: String
        }
        try await withToolFixture { fixture in
            let file = try fixture.file("film.bin", parts: 3)
            let options = ["--content-type", "video/mp4", "--meta", "author=ada", "--storage-class", "IA"]
            _ = try await fixture.run(fixture.copy(file.path, "v/a\nb.bin", options))
            let info = try #require(fixture.server.objectInfo(bucket: Self.bucket, key: "v/a\nb.bin"))

            let plain = try await fixture.run(["stat", "oss://media/v/a\nb.bin"])
            #expect(plain.code == 0)
            #expect(plain.errors == "")
            let lines = plain.output.split(separator: "\n").map { String($0) }
            for line in [
                #"object: oss://media/v/a\nb.bin"#, "size: \(file.bytes.count)", "etag: \(info.eTag)",
                "crc64: \(info.crc64)", "content type: video/mp4", "storage class: IA", "meta author: ada",
                "type: Multipart",
            ] {
                #expect(lines.contains(line))
            }

            let json = try await fixture.run(["stat", "oss://media/v/a\nb.bin", "--json"])
            #expect(json.output.filter { $0 == "\n" }.count == 1)
            let object: Object = try self.decode(json.output)
            #expect(object.key == "v/a\nb.bin")
            #expect((object.size, object.etag, object.crc64) == (file.bytes.count, info.eTag, "\(info.crc64)"))
            #expect((object.contentType, object.storageClass, object.type) == ("video/mp4", "IA", "Multipart"))
            #expect(object.metadata == ["author": "ada"])
            #expect(fixture.requests("HeadObject").count == 2)
        }
    }

    @Test func `An object that is not there gives code 1 and an error in JSON`() async throws {
        try await withToolFixture { fixture in
            for command in [["stat"], ["get"]] {
                let outcome = try await fixture.run(command + ["oss://media/no", "--json"])
                #expect(outcome.code == 1)
                #expect(try self.decode(outcome.output, as: Failure.self).error.code == "NoSuchKey")
                #expect(outcome.errors.contains("NoSuchKey"))
            }
        }
    }

    // MARK: get

    /// Runs `get` with files below a folder of its own, and returns the names that are in it at the end.
    private func names(_ folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder).filter { !$0.hasPrefix("run-") }.sorted()
    }

    private func folder(_ fixture: ToolFixture) throws -> String {
        let folder = fixture.folder + "/got"
        try Directory.create(folder)
        return folder
    }

    @Test func `get stores an object under its own name, in a folder, or where it is told`() async throws {
        try await withToolFixture { fixture in
            let file = try fixture.file("film.bin", parts: 5)
            try await fixture.server.putObject(bucket: Self.bucket, key: "v/film.mp4", data: file.bytes)
            let folder = try self.folder(fixture)
            // The working folder is that of the test run: only there is a name of its own taken.
            let own = try await fixture.run(
                program: [ToolProcess.programs + "/ossmp", "get", "oss://media/v/film.mp4"],
                environment: fixture.environment)
            #expect(own.code == 0, "\(own.text)")
            #expect(FileManager.default.contents(atPath: fixture.folder + "/film.mp4") == Data(file.bytes))
            for target in [folder, folder + "/", folder + "/other"] {
                let outcome = try await fixture.run(["get", "oss://media/v/film.mp4", target])
                #expect(outcome.code == 0, "\(outcome.text)")
                #expect(outcome.output == "")
                #expect(outcome.errors.contains("proof: crc64"))
            }
            #expect(try self.names(folder) == ["film.mp4", "other"])
            for name in ["film.mp4", "other"] {
                #expect(FileManager.default.contents(atPath: folder + "/" + name) == Data(file.bytes))
            }
            struct Report: Decodable { let file: String, bytes: Int, proof: String, crc64: String }
            let json = try await fixture.run(["get", "oss://media/v/film.mp4", folder + "/other", "--json"])
            let report: Report = try self.decode(json.output)
            #expect((report.file, report.bytes, report.proof) == (folder + "/other", file.bytes.count, "crc64"))
            #expect(json.errors == "")
        }
    }

    @Test func `get to standard output and of a range gives those bytes`() async throws {
        try await withToolFixture { fixture in
            let bytes = (0..<1000).map { UInt8(truncatingIfNeeded: 32 + $0 % 64) }
            try await fixture.server.putObject(bucket: Self.bucket, key: "k", data: bytes)
            for (range, expected) in [
                (nil, 0..<1000), ("0-9", 0..<10), ("990-", 990..<1000), ("-7", 993..<1000), ("999-999", 999..<1000),
            ] as [(String?, Range<Int>)] {
                let outcome = try await fixture.run(
                    ["get", "oss://media/k", "-"] + (range.map { ["--range", $0] } ?? []))
                #expect(outcome.code == 0, "\(outcome.errors)")
                #expect(Array(outcome.output.utf8) == Array(bytes[expected]))
            }
            let beyond = try await fixture.run(["get", "oss://media/k", "-", "--range", "1000-"])
            #expect(beyond.code == 1)
            #expect(beyond.errors.contains("InvalidRange"))
            for range in ["", "-", "5", "9-0", "a-b", "-0", "1-2-3"] {
                #expect(try await fixture.run(["get", "oss://media/k", "-", "--range", range]).code == 2)
            }
            #expect(try await fixture.run(["get", "oss://media/k", "-", "--json"]).code == 2)
        }
    }

    @Test func `A download that is cut is taken up where it broke`() async throws {
        try await withToolFixture { fixture in
            let file = try fixture.file("film.bin", parts: 8)
            try await fixture.server.putObject(bucket: Self.bucket, key: "k", data: file.bytes)
            let proxy = try ByteProxy(
                to: fixture.server.port, rules: [.init("GET /media/k", .end(.close, .reply(300_000)))])
            let folder = try self.folder(fixture)
            let outcome = try await fixture.run(["get", "oss://media/k", folder + "/k", "--endpoint", proxy.url])
            #expect(outcome.code == 0, "\(outcome.text)")
            #expect(FileManager.default.contents(atPath: folder + "/k") == Data(file.bytes))
            #expect(try self.names(folder) == ["k"])
            let ranges = fixture.requests("GetObject").compactMap { $0.headers["range"] }
            #expect(ranges.count == 1, "the rest alone was asked for again")
        }
    }

    @Test func `Bytes with the wrong CRC-64 give code 3 and leave the old file as it was`() async throws {
        try await withToolFixture { fixture in
            try await fixture.server.putObject(bucket: Self.bucket, key: "k", data: [1, 2, 3])
            fixture.server.faults.add(.init(.editReplyHeader("x-oss-hash-crc64ecma", "1"), operation: "GetObject"))
            let folder = try self.folder(fixture)
            try Data([9]).write(to: URL(filePath: folder + "/k"))
            let outcome = try await fixture.run(["get", "oss://media/k", folder])
            #expect(outcome.code == 3)
            #expect(FileManager.default.contents(atPath: folder + "/k") == Data([9]))
            #expect(try self.names(folder) == ["k"])
            #expect(try await fixture.run(["get", "oss://media/k", "-"]).code == 3)
        }
    }

    @Test func `An existing file is replaced with its permissions, a link's file is meant, a device stays what it is`()
        async throws
    {
        try await withToolFixture { fixture in
            try await fixture.server.putObject(bucket: Self.bucket, key: "k", data: [1, 2, 3])
            let folder = try self.folder(fixture)
            try Data([9]).write(to: URL(filePath: folder + "/file"))
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: folder + "/file")
            try FileManager.default.createSymbolicLink(atPath: folder + "/link", withDestinationPath: "file")
            #expect(try await fixture.run(["get", "oss://media/k", folder + "/link"]).code == 0)
            #expect(try FileStatus.ofLink(path: folder + "/link").kind == .symbolicLink)
            #expect(FileManager.default.contents(atPath: folder + "/file") == Data([1, 2, 3]))
            #expect(try FileStatus.of(path: folder + "/file").permissions == 0o600)
            let device = try await fixture.run(["get", "oss://media/k", "/dev/null"])
            #expect(device.code == 0)
            #expect(try FileStatus.of(path: "/dev/null").kind == .characterDevice)
            #expect(try await fixture.run(["get", "oss://media/k", "/dev/full"]).code == 1)
            #expect(try self.names(folder) == ["file", "link"])
            try FileManager.default.removeItem(atPath: folder + "/file")
            let dangling = try await fixture.run(["get", "oss://media/k", folder + "/link"])
            #expect(dangling.code == 2)
            #expect(dangling.errors.contains("is a link to nothing"))
            #expect(try self.names(folder) == ["link"])
            #expect(try FileStatus.ofLink(path: folder + "/link").kind == .symbolicLink)
        }
    }

    @Test func `get that is stopped leaves nothing behind, and one that has nowhere to go says so`() async throws {
        try await withToolFixture { fixture in
            let file = try fixture.file("film.bin", parts: 8)
            try await fixture.server.putObject(bucket: Self.bucket, key: "k", data: file.bytes)
            let folder = try self.folder(fixture)
            let nowhere = try await fixture.run(["get", "oss://media/k", folder + "/no/such"])
            #expect(nowhere.code == 1)
            #expect(nowhere.errors.contains("check its folder"))
            for address in ["oss://media/dir/", "oss://media/a/.."] {
                #expect(try await fixture.run(["get", address]).code == 2)
            }
            fixture.server.faults.add(.init(.delay(.seconds(3600)), operation: "GetObject"))
            fixture.server.removeAllRequests()
            let process = try fixture.start(["get", "oss://media/k", folder, "--json"])
            try await fixture.wait { fixture.server.faults.count(ofOperation: "GetObject") > 0 }
            process.send(15)
            let outcome = try await process.outcome()
            #expect(outcome.code == 143)
            #expect(try self.decode(outcome.output, as: Failure.self).error.code == "cancelled")
            #expect(try self.names(folder).isEmpty)
        }
    }

    // MARK: ls

    @Test func `ls lists level by level, or all with -r, page by page, and keys stay on their lines`() async throws {
        try await withToolFixture { fixture in
            let keys = ["a", "b/1", "b/2/x", "b/2/y", "c\nd", "z"]
            for key in keys { try await fixture.server.putObject(bucket: Self.bucket, key: key, data: [1, 2]) }
            func list(_ arguments: [String]) async throws -> [String] {
                let outcome = try await fixture.run(["ls"] + arguments)
                #expect(outcome.code == 0, "\(outcome.text)")
                #expect(outcome.errors == "")
                return outcome.output.split(separator: "\n").map { line in
                    String(line.split(separator: "\t", maxSplits: 2).last ?? "")
                }
            }
            #expect(try await list(["oss://media"]) == ["a", "b/", #"c\nd"#, "z"].map { "oss://media/" + $0 })
            #expect(try await list(["oss://media/b/"]) == ["b/1", "b/2/"].map { "oss://media/" + $0 })
            #expect(try await list(["-r", "oss://media/b"]) == ["b/1", "b/2/x", "b/2/y"].map { "oss://media/" + $0 })
            #expect(
                try await list(["--delimiter", "2", "oss://media/b/"]) == ["b/1", "b/2"].map { "oss://media/" + $0 })
            #expect(try await list(["oss://media/nothing"]).isEmpty)

            struct Entry: Decodable { let key: String?, prefix: String?, size: Int?, etag: String? }
            let json = try await fixture.run(["ls", "oss://media", "--json"])
            let entries = try json.output.split(separator: "\n").map { try self.decode($0, as: Entry.self) }
            #expect(entries.map { $0.key ?? $0.prefix } == ["a", "b/", "c\nd", "z"])
            #expect(entries.map(\.size) == [2, nil, 2, 2])
        }
    }

    @Test func `A thousand and one objects are listed, and a listing that nobody reads ends`() async throws {
        try await withToolFixture { fixture in
            for number in 0..<1001 {
                try await fixture.server.putObject(bucket: Self.bucket, key: "k\(number)", data: [])
            }
            let outcome = try await fixture.run(["ls", "-r", "oss://media"])
            #expect(outcome.output.filter { $0 == "\n" }.count == 1001)
            #expect(fixture.requests("ListObjectsV2").count == 2)
            let full = try await fixture.run(
                program: ["sh", "-c", "\(ToolProcess.programs)/ossmp ls oss://media >/dev/full"],
                environment: fixture.environment)
            #expect(full.code == 1)
            #expect(full.errors.contains("standard output cannot be written"))
            let head = try await fixture.run(
                program: ["bash", "-o", "pipefail", "-c", "\(ToolProcess.programs)/ossmp ls oss://media | head -1"],
                environment: fixture.environment)
            #expect(head.code == 0, "\(head.text)")
            #expect(head.errors == "")
        }
    }

    // MARK: rm

    @Test func `rm deletes what is named and says so, and no other object`() async throws {
        try await withToolFixture { fixture in
            for key in ["a", "ab", "b\n", "c"] {
                try await fixture.server.putObject(bucket: Self.bucket, key: key, data: [1])
            }
            let outcome = try await fixture.run(["rm", "oss://media/a", "oss://media/b\n"])
            #expect(outcome.code == 0)
            #expect(outcome.output == "")
            #expect(outcome.errors == "ossmp: deleted oss://media/a\nossmp: deleted oss://media/b\\n\n")
            #expect(fixture.server.keys(bucket: Self.bucket) == ["ab", "c"])
            struct Deleted: Decodable { let key: String, deleted: Bool }
            let dry = try await fixture.run(["rm", "oss://media/c", "--dry-run", "--json"])
            #expect(try !self.decode(dry.output, as: Deleted.self).deleted)
            #expect(fixture.server.keys(bucket: Self.bucket) == ["ab", "c"])
            let json = try await fixture.run(["rm", "oss://media/c", "--json"])
            #expect(try self.decode(json.output, as: Deleted.self).deleted)
            #expect(fixture.server.keys(bucket: Self.bucket) == ["ab"])
        }
    }

    @Test func `rm goes on after a refusal, and its code tells of it`() async throws {
        try await withToolFixture { fixture in
            for key in ["a", "b", "c"] { try await fixture.server.putObject(bucket: Self.bucket, key: key, data: [1]) }
            fixture.server.faults.add(
                .init(.respond(status: 403, code: "AccessDenied"), operation: "DeleteObject", key: "b"))
            let outcome = try await fixture.run(["rm", "oss://media/a", "oss://media/b", "oss://media/c"])
            #expect(outcome.code == 1)
            #expect(outcome.errors.contains("oss://media/b: "))
            #expect(outcome.errors.contains("AccessDenied"))
            #expect(fixture.server.keys(bucket: Self.bucket) == ["b"])
        }
    }

    @Test func `rm -r wants a prefix and --yes, and deletes what is below it and nothing beside it`() async throws {
        try await withToolFixture { fixture in
            let beside = ["films", "films2/a", "film"]
            for number in 0..<1003 {
                try await fixture.server.putObject(bucket: Self.bucket, key: "films/\(number)", data: [])
            }
            for key in beside + ["films/\u{1}"] {
                try await fixture.server.putObject(bucket: Self.bucket, key: key, data: [])
            }
            for arguments in [["oss://media/films"], ["oss://media", "--yes"], ["oss://media/", "--yes"]] {
                let outcome = try await fixture.run(["rm", "-r"] + arguments)
                #expect(outcome.code == 2)
            }
            let dry = try await fixture.run(["rm", "-r", "oss://media/films", "--dry-run"])
            #expect(dry.code == 0)
            #expect(dry.errors.contains("1004 objects below oss://media/films/ would be deleted"))
            #expect(fixture.server.keys(bucket: Self.bucket).count == 1007)
            let outcome = try await fixture.run(["rm", "-r", "oss://media/films", "--yes"])
            #expect(outcome.code == 0, "\(outcome.errors.suffix(300))")
            #expect(outcome.errors.contains("deleted oss://media/films/1002\n"))
            #expect(outcome.errors.contains(#"deleted oss://media/films/\x01"#))
            #expect(outcome.errors.contains("1004 objects below oss://media/films/ deleted"))
            #expect(fixture.server.keys(bucket: Self.bucket) == beside.sorted())
        }
    }

    @Test func `rm -r tells keys apart by their bytes, not by what they look like`() async throws {
        try await withToolFixture { fixture in
            // The last of one page and the last of the next look the same, and more is behind them.
            let keys =
                (0..<997).map { "f/a\($0)" } + ["f/e\u{301}"] + (0..<999).map { "f/f\($0)" } + ["f/\u{e9}", "f/文"]
                + ["f/\u{1}e\u{301}", "f/\u{1}\u{e9}"]
            for key in keys { try await fixture.server.putObject(bucket: Self.bucket, key: key, data: []) }
            let outcome = try await fixture.run(["rm", "-r", "oss://media/f", "--yes"])
            #expect(outcome.code == 0, "\(outcome.errors.suffix(300))")
            #expect(fixture.server.keys(bucket: Self.bucket).isEmpty)
            #expect(outcome.errors.contains("\(keys.count) objects below oss://media/f/ deleted"))
        }
    }

    @Test func `rm -r says which key the service did not speak of, though it spoke of one that looks the same`()
        async throws
    {
        try await withToolFixture { fixture in
            for key in ["f/\u{e9}", "f/e\u{301}"] {
                try await fixture.server.putObject(bucket: Self.bucket, key: key, data: [])
            }
            let answer = "<DeleteResult><Deleted><Key>f/\u{e9}</Key></Deleted></DeleteResult>"
            fixture.server.faults.add(
                .init(
                    .respondRaw(status: 200, headers: [:], body: Array(answer.utf8)), operation: "DeleteMultipleObjects"
                )
            )
            let outcome = try await fixture.run(["rm", "-r", "oss://media/f", "--yes"])
            #expect(outcome.code == 1)
            #expect(outcome.errors.contains("did not say that oss://media/f/e\u{301} is deleted"))
        }
    }
}
