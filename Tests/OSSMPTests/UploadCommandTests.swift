// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import FoundationEssentials
import OSSLocalServer
import Testing

@Suite(.timeLimit(.minutes(5))) struct UploadCommandTests {
    /// Leaves an open upload with two parts, and returns its ID.
    private func breakUpload(_ fixture: ToolFixture, key: String) async throws -> String {
        let file = try fixture.file("film.bin", parts: 4)
        fixture.server.faults.add(
            .init(.respond(status: 403, code: "AccessDenied"), operation: "UploadPart", partNumber: 3))
        _ = try await fixture.run(fixture.copy(file.path, key, ["--parallel", "1"]))
        fixture.server.faults.removeAll()
        return try #require(fixture.server.openUploads(bucket: ToolFixture.bucket).first { $0.key == key }).uploadID
    }

    @Test func `Open uploads and their parts are listed, as text and as JSON`() async throws {
        try await withToolFixture { fixture in
            let uploadID = try await self.breakUpload(fixture, key: "v/a b\n文")
            let uploads = try await fixture.run(["ls-uploads", "oss://media/v/"])
            #expect(uploads.code == 0)
            #expect(uploads.output.contains(uploadID))
            let other = try await fixture.run(["ls-uploads", "oss://media/w"])
            #expect(other.output == "")
            let json = try await fixture.run(["ls-uploads", "oss://media", "--json"])
            struct Upload: Decodable { let uploadId: String, key: String }
            let upload = try JSONDecoder().decode(Upload.self, from: Data(json.output.utf8))
            #expect(upload.uploadId == uploadID)
            #expect(upload.key == "v/a b\n文")

            let parts = try await fixture.run(["ls-parts", "oss://media/v/a b\n文", "--upload-id", uploadID])
            #expect(parts.output.split(separator: "\n").count == 2)
            #expect(parts.output.hasPrefix("1\t102400\t"))
        }
    }

    @Test func `An upload is given up by ID, or all of a key and no other`() async throws {
        try await withToolFixture { fixture in
            let first = try await self.breakUpload(fixture, key: "k")
            let second = try await self.breakUpload(fixture, key: "k2")
            let all = try await fixture.run(["abort", "oss://media/k", "--all"])
            #expect(all.code == 0)
            #expect(all.errors.contains(first))
            #expect(fixture.server.openUploads(bucket: ToolFixture.bucket).map(\.uploadID) == [second])
            let one = try await fixture.run(["abort", "oss://media/k2", "--upload-id", second])
            #expect(one.code == 0)
            #expect(fixture.server.openUploads(bucket: ToolFixture.bucket).isEmpty)
            let again = try await fixture.run(["abort", "oss://media/k2", "--upload-id", second])
            #expect(again.code == 0)
        }
    }

    @Test func `Help and version go to standard output`() async throws {
        try await withToolFixture { fixture in
            for arguments in [["--help"], ["-h"], ["cp", "--help"], ["ls-parts", "--help"], ["--version"]] {
                let outcome = try await fixture.run(arguments, environment: [:])
                #expect(outcome.code == 0)
                #expect(outcome.output.contains("ossmp"))
                #expect(outcome.errors == "")
            }
        }
    }
}
