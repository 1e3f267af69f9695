// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import FoundationEssentials
import OSSLocalServer
import Testing

@testable import OSSMultipart

@Suite(.timeLimit(.minutes(5))) struct AdoptionTests {
    private static let part = Int(LocalFixture.partSize)

    private func loseRecords(_ fixture: LocalFixture) throws {
        for name in fixture.records {
            try FileManager.default.removeItem(atPath: fixture.checkpointFolder + "/" + name)
        }
    }

    // Case 50: https://github.com/soto-project/soto/pull/515
    @Test func `With the checkpoint lost the upload begins anew unless it may be taken over`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 8 * Self.part + 5)
            let uploadID = try await fixture.breakUpload(file, atPart: 6)
            try self.loseRecords(fixture)
            let result = try await fixture.upload(file)
            #expect(result.uploadID != uploadID)
            #expect(fixture.partsSent == Array(1...9))
            #expect(fixture.openUploads == [uploadID])
            fixture.server.removeAllRequests()

            let adopted = try await fixture.upload(file, fixture.uploader { $0.adoption = .latest })
            #expect(adopted.uploadID == uploadID)
            #expect(fixture.partsSent == Array(6...9))
            #expect(adopted.warnings.contains { $0.contains(uploadID) })
            #expect(try await fixture.object() == file.bytes)
            #expect(fixture.openUploads.isEmpty)
            #expect(fixture.records.isEmpty)
        }
    }

    /// The IDs of the open uploads, in the order in which the service lists them.
    private func listed(_ fixture: LocalFixture) async throws -> [String] {
        let page = try await fixture.client.listMultipartUploads(.init(bucket: LocalFixture.bucket))
        return page.uploads.map(\.upload.uploadID)
    }

    @Test func `Of several open uploads the newest with the source's bytes is taken, the others are left alone`()
        async throws
    {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 6 * Self.part)
            let other = try fixture.file("other", size: 6 * Self.part, seed: 2)
            var mine: [String] = []
            repeat {
                mine.append(try await fixture.breakUpload(file, atPart: 4))
                try self.loseRecords(fixture)
                // The service tells whole seconds.
                try await Task.sleep(for: .milliseconds(1100))
                // That the newest is the first of the list would be luck, which this is not about.
            } while try await self.listed(fixture).first == mine.last
            let foreign = try await fixture.breakUpload(other, atPart: 4)
            try self.loseRecords(fixture)
            #expect(Set(fixture.openUploads) == Set(mine + [foreign]))
            let result = try await fixture.upload(file, fixture.uploader { $0.adoption = .latest })
            #expect(result.uploadID == mine.last)
            #expect(Set(fixture.openUploads) == Set(mine.dropLast() + [foreign]))
            #expect(try await fixture.object() == file.bytes)
        }
    }

    @Test func `What the checkpoint names goes before what could be taken over`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 6 * Self.part)
            let recorded = try await fixture.breakUpload(file, atPart: 3)
            let newer = try await fixture.client.initiateMultipartUpload(
                .init(bucket: LocalFixture.bucket, key: LocalFixture.key))
            for number in 1...5 {
                _ = try await fixture.client.uploadPart(
                    .init(
                        upload: newer, partNumber: number,
                        body: .bytes(Array(file.bytes[((number - 1) * Self.part)..<(number * Self.part)]))))
            }
            fixture.server.removeAllRequests()
            let result = try await fixture.upload(file, fixture.uploader { $0.adoption = .latest })
            #expect(result.uploadID == recorded)
            #expect(fixture.partsSent == [3, 4, 5, 6])
            #expect(fixture.openUploads == [newer.uploadID])
        }
    }

    @Test func `Where none has the source's bytes a new upload begins`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 6 * Self.part)
            let other = try fixture.file("other", size: 6 * Self.part, seed: 2)
            let foreign = try await fixture.breakUpload(other, atPart: 4)
            try self.loseRecords(fixture)
            let result = try await fixture.upload(file, fixture.uploader { $0.adoption = .latest })
            #expect(result.uploadID != foreign)
            #expect(result.warnings.contains { $0.contains(foreign) })
            #expect(fixture.openUploads == [foreign])
        }
    }

    @Test func `An upload taken over by its ID keeps its own part size, and a missing one is an error`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 6 * Self.part)
            let uploadID = try await fixture.breakUpload(file, atPart: 4)
            try self.loseRecords(fixture)
            let uploader = fixture.uploader {
                $0.adoption = .upload(uploadID)
                $0.partSize = 3 * LocalFixture.partSize
            }
            try await fixture.upload(file, uploader)
            #expect(fixture.partsSent == [4, 5, 6])
            #expect(try await fixture.object() == file.bytes)
            let error = try await failure { try await fixture.upload(file, uploader) }
            #expect(error.service?.code == .noSuchUpload)
            #expect(fixture.records.allSatisfy { !$0.hasSuffix(".damaged") })
        }
    }

    @Test func `A checkpoint counts more than what may be taken over`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 6 * Self.part)
            let recorded = try await fixture.breakUpload(file, atPart: 4)
            let other = try await fixture.client.initiateMultipartUpload(
                .init(bucket: LocalFixture.bucket, key: LocalFixture.key))
            let result = try await fixture.upload(file, fixture.uploader { $0.adoption = .latest })
            #expect(result.uploadID == recorded)
            #expect(fixture.openUploads == [other.uploadID])
        }
    }

    @Test func `An upload that was taken over and breaks again is not lost`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 6 * Self.part)
            let uploadID = try await fixture.breakUpload(file, atPart: 3)
            try self.loseRecords(fixture)
            _ = try await fixture.breakUpload(file, atPart: 5) { $0.adoption = .latest }
            #expect(fixture.openUploads == [uploadID])
            try await fixture.upload(file)
            #expect(fixture.partsSent == [5, 6])
            #expect(try await fixture.object() == file.bytes)
        }
    }

    @Test(arguments: [true, false])
    func `A source that would go up whole is gone on with where its upload may be taken over`(isNamed: Bool)
        async throws
    {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 3 * Self.part + 5)
            let uploadID = try await fixture.breakUpload(file, atPart: 3)
            try self.loseRecords(fixture)
            let uploader = fixture.uploader {
                $0.partSize = nil
                $0.adoption = isNamed ? .upload(uploadID) : .latest
            }
            let result = try await fixture.upload(file, uploader)
            #expect(result.uploadID == uploadID)
            #expect(fixture.partsSent == [3, 4])
            #expect(fixture.openUploads.isEmpty)
            #expect(try await fixture.object() == file.bytes)
        }
    }
}
