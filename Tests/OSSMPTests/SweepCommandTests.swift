// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import FoundationEssentials
import Glibc
import OSSLocalServer
import OSSWire
import SystemIO
import Testing

/// `ossmp abort --older-than` and `ls-uploads --older-than`.
@Suite(.timeLimit(.minutes(5))) struct SweepCommandTests {
    private func openUploads(_ fixture: ToolFixture) -> [OSSServer.UploadInfo] {
        fixture.server.openUploads(bucket: ToolFixture.bucket)
    }

    /// Leaves an open upload with a checkpoint in a folder, and returns its ID.
    private func breakUpload(_ fixture: ToolFixture, key: String, checkpoints: String? = nil) async throws -> String {
        let file = try fixture.file("film.bin", parts: 4)
        fixture.server.faults.add(
            .init(.respond(status: 403, code: "AccessDenied"), operation: "UploadPart", partNumber: 3))
        let outcome = try await fixture.run([
            "cp", file.path, "oss://media/\(key)", "--part-size", "100KiB", "--parallel", "1", "--checkpoint-dir",
            checkpoints ?? fixture.checkpoints,
        ])
        #expect(outcome.code == 1)
        fixture.server.faults.removeAll()
        return try #require(self.openUploads(fixture).last { $0.key == key }).uploadID
    }

    /// Waits until every open upload is more than a second old by the dates that the service tells.
    private func age(_ fixture: ToolFixture) async throws {
        let youngest = self.openUploads(fixture).map(\.initiated).max() ?? 0
        // Dates of header fields have whole seconds.
        try await fixture.wait { Date.now.timeIntervalSince1970 * 1000 > Double(youngest + 2100) }
    }

    private func sweep(_ fixture: ToolFixture, _ more: [String] = []) -> [String] {
        ["abort", "oss://media", "--older-than", "1s", "--checkpoint-dir", fixture.checkpoints] + more
    }

    @Test func `Old uploads that no checkpoint names are given up, the others kept, and a dry run does nothing`()
        async throws
    {
        try await withToolFixture { fixture in
            let named = try await self.breakUpload(fixture, key: "named")
            let lost = try await self.breakUpload(fixture, key: "a/lost", checkpoints: fixture.folder + "/elsewhere")
            try await self.age(fixture)
            let dry = try await fixture.run(self.sweep(fixture, ["--dry-run"]))
            #expect(dry.code == 0, "\(dry.text)")
            #expect(dry.errors.contains("\(lost) of oss://media/a/lost, begun "))
            #expect(dry.errors.contains("would be given up"))
            #expect(dry.errors.contains("is kept: the checkpoint \(fixture.checkpoints)/"))
            #expect(dry.errors.contains("1 would be given up, 1 kept, 0 failed"))
            #expect(self.openUploads(fixture).count == 2)

            let young = try await fixture.run(self.sweep(fixture, ["--older-than", "7d"]))
            #expect(young.errors.contains("0 given up, 0 kept, 0 failed"))
            let elsewhere = try await fixture.run(
                ["abort", "oss://media/b", "--older-than", "1s", "--checkpoint-dir", fixture.checkpoints])
            #expect(elsewhere.errors.contains("0 given up, 0 kept, 0 failed"))
            #expect(self.openUploads(fixture).count == 2)

            struct Line: Decodable { let uploadId: String, aborted: Bool, kept: String?, initiated: String? }
            let outcome = try await fixture.run(self.sweep(fixture, ["--json"]))
            #expect(outcome.code == 0, "\(outcome.text)")
            let lines = try outcome.output.split(separator: "\n").map {
                try JSONDecoder().decode(Line.self, from: Data($0.utf8))
            }
            #expect(lines.first { $0.uploadId == lost }?.aborted == true)
            #expect(lines.first { $0.uploadId == named }?.aborted == false)
            #expect(lines.first { $0.uploadId == named }?.kept != nil)
            #expect(self.openUploads(fixture).map(\.uploadID) == [named])
            // No file was made for it, and the upload that was kept goes on.
            #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.checkpoints).count == 1)
            let again = try await fixture.run(fixture.copy(fixture.folder + "/film.bin", "named", ["--json"]))
            #expect(again.output.contains("\"uploadId\":\"\(named)\""))
            #expect(again.output.contains(#""partsResumed":2"#))
        }
    }

    @Test func `An upload that is under way is never touched, nor another one of its key`() async throws {
        try await withToolFixture { fixture in
            // One of the same key that is old and that no checkpoint names.
            _ = try await self.breakUpload(fixture, key: "k", checkpoints: fixture.folder + "/elsewhere")
            let file = try fixture.file("film.bin", parts: 8)
            fixture.hold(3...9)
            let process = try fixture.start(fixture.copy(file.path, "k"))
            try await fixture.wait { self.openUploads(fixture).count == 2 && fixture.storedParts("k") >= 2 }
            try await self.age(fixture)
            let outcome = try await fixture.run(self.sweep(fixture))
            #expect(outcome.code == 0, "\(outcome.text)")
            #expect(outcome.errors.contains("an upload to this key is under way"))
            #expect(outcome.errors.contains("is kept: the checkpoint"))
            #expect(outcome.errors.contains("0 given up, 2 kept, 0 failed"))
            #expect(self.openUploads(fixture).count == 2)
            #expect(fixture.requests("AbortMultipartUpload").isEmpty)
            process.send(SIGKILL)
            _ = try await process.outcome()
            fixture.server.faults.removeAll()
            // Now nobody is at work: the one that the checkpoint names stays, the other goes.
            let second = try await fixture.run(self.sweep(fixture))
            #expect(second.errors.contains("1 given up, 1 kept, 0 failed"))
            let done = try await fixture.run(fixture.copy(file.path, "k"))
            #expect(done.code == 0)
            #expect(done.errors.contains("going on"))
            #expect(try await fixture.object("k") == file.bytes)
            #expect(!fixture.hasLeftovers)
        }
    }

    @Test func `An upload that was begun at another endpoint of the same service is kept as well`() async throws {
        try await withToolFixture { fixture in
            let named = try await self.breakUpload(fixture, key: "k")
            try await self.age(fixture)
            let endpoint = "http://localhost:\(fixture.server.port)"
            let outcome = try await fixture.run(self.sweep(fixture, ["--endpoint", endpoint]))
            #expect(outcome.errors.contains("0 given up, 1 kept, 0 failed"))
            #expect(self.openUploads(fixture).map(\.uploadID) == [named])
        }
    }

    @Test(arguments: ["nonsense", "later version", "a beginning without an ID"])
    func `A checkpoint that does not tell keeps what it could name`(kind: String) async throws {
        try await withToolFixture { fixture in
            _ = try await self.breakUpload(fixture, key: "lost", checkpoints: fixture.folder + "/elsewhere")
            _ = try await self.breakUpload(fixture, key: "k")
            try await self.age(fixture)
            let name = try #require(FileManager.default.contentsOfDirectory(atPath: fixture.checkpoints).first)
            let path = fixture.checkpoints + "/" + name
            let lines = try String(decoding: Data(contentsOf: URL(filePath: path)), as: UTF8.self).split(
                separator: "\n")
            switch kind {
            case "nonsense": try Data("nonsense\n".utf8).write(to: URL(filePath: path))
            case "later version":
                let line = Array("journal version=9".utf8)
                let digits = String(CRC64.of(line), radix: 16)
                let head = String(repeating: "0", count: 16 - digits.count) + digits + " "
                try Data(Array(head.utf8) + line + [0x0A]).write(to: URL(filePath: path))
            default: try Data((lines[0...1].joined(separator: "\n") + "\n").utf8).write(to: URL(filePath: path))
            }
            let outcome = try await fixture.run(self.sweep(fixture))
            #expect(outcome.code == 0, "\(outcome.text)")
            // Which key a record without an ID is of is known; of the others nothing is.
            #expect(self.openUploads(fixture).map(\.key) == (kind.hasPrefix("a ") ? ["k"] : ["k", "lost"]))
        }
    }

    @Test func `A refused abort is told, the others are given up, and the code is 1`() async throws {
        try await withToolFixture { fixture in
            for key in ["a", "b", "c"] {
                _ = try await self.breakUpload(fixture, key: key, checkpoints: fixture.folder + "/elsewhere")
            }
            try await self.age(fixture)
            try Directory.create(fixture.checkpoints)
            fixture.server.faults.add(
                .init(.respond(status: 403, code: "AccessDenied"), operation: "AbortMultipartUpload", key: "b"))
            let outcome = try await fixture.run(self.sweep(fixture))
            #expect(outcome.code == 1)
            #expect(outcome.errors.contains("AccessDenied"))
            #expect(outcome.errors.contains("2 given up, 0 kept, 1 failed"))
            #expect(self.openUploads(fixture).map(\.key) == ["b"])
            #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.checkpoints).isEmpty)
        }
    }

    @Test func `A checkpoint folder that is not there is a usage error, the default one may be missing`() async throws {
        try await withToolFixture { fixture in
            _ = try await self.breakUpload(fixture, key: "lost", checkpoints: fixture.folder + "/elsewhere")
            try await self.age(fixture)
            let typo = try await fixture.run(self.sweep(fixture, ["--checkpoint-dir", fixture.folder + "/typo"]))
            #expect(typo.code == 2)
            #expect(typo.errors.contains("no such folder"))
            #expect(self.openUploads(fixture).count == 1)
            let outcome = try await fixture.run(["abort", "oss://media", "--older-than", "1s"])
            #expect(outcome.code == 0, "\(outcome.text)")
            #expect(self.openUploads(fixture).isEmpty)
            #expect(!FileManager.default.fileExists(atPath: fixture.folder + "/home/.local/state/ossmp"))
        }
    }

    @Test(arguments: [
        ["--older-than", "0d"], ["--older-than", "7"], ["--older-than", "-1d"], ["--older-than", "week"],
        ["--older-than", "7d", "--all"], ["--older-than", "7d", "--upload-id", "x"],
    ])
    func `An age is a whole number of days, hours, minutes or seconds, and stands alone`(options: [String]) async throws
    {
        try await withToolFixture { fixture in
            let outcome = try await fixture.run(["abort", "oss://media/k"] + options)
            // Plain digits are seconds, as for every length of time.
            #expect(outcome.code == (options == ["--older-than", "7"] ? 0 : 2), "\(outcome.text)")
            if outcome.code == 2 { #expect(fixture.server.requests.isEmpty) }
        }
    }

    @Test func `ls-uploads shows those of an age, and abort --dry-run only says what it would do`() async throws {
        try await withToolFixture { fixture in
            let upload = try await self.breakUpload(fixture, key: "k")
            let young = try await fixture.run(["ls-uploads", "oss://media", "--older-than", "7d"])
            #expect(young.code == 0)
            #expect(young.output == "")
            try await self.age(fixture)
            let old = try await fixture.run(["ls-uploads", "oss://media", "--older-than", "1s"])
            #expect(old.output.hasPrefix(upload))
            for which in [["--all"], ["--upload-id", upload]] {
                let outcome = try await fixture.run(["abort", "oss://media/k", "--dry-run"] + which)
                #expect(outcome.code == 0)
                #expect(outcome.errors.contains("upload \(upload) of k would be given up"))
            }
            #expect(self.openUploads(fixture).count == 1)
            let json = try await fixture.run(["abort", "oss://media/k", "--all", "--json"])
            #expect(json.output.contains("\"uploadId\":\"\(upload)\",\"aborted\":true"))
            #expect(self.openUploads(fixture).isEmpty)
        }
    }
}
