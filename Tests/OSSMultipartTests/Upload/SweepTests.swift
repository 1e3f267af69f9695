// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import FoundationEssentials
import OSSLocalServer
import Testing

@testable import OSSMultipart

/// Giving up old uploads; through the tool there is more in `OSSMPTests/SweepCommandTests`.
@Suite(.timeLimit(.minutes(5))) struct SweepTests {
    private static let part = Int(LocalFixture.partSize)

    private func initiate(_ fixture: LocalFixture, _ key: String) async throws -> String {
        try await fixture.client.initiateMultipartUpload(.init(bucket: LocalFixture.bucket, key: key)).uploadID
    }

    private func sweep(
        _ uploader: OSSUploader, olderThan age: Duration = .zero, isDryRun: Bool = false
    ) async throws -> [OSSSweptUpload] {
        var swept: [OSSSweptUpload] = []
        for try await upload in uploader.sweep(bucket: LocalFixture.bucket, olderThan: age, isDryRun: isDryRun) {
            swept.append(upload)
        }
        return swept
    }

    @Test func `Records in memory and custom names protect, no records protect nothing`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 4 * Self.part)
            let uploader = fixture.uploader(checkpoints: .memory()) { $0.partsInFlight = .fixed(1) }
            fixture.server.faults.add(
                .init(.respond(status: 403, code: "AccessDenied"), operation: "UploadPart", partNumber: 2))
            var destination = fixture.destination
            destination.recordName = "mine"
            _ = try await failure { _ = try await uploader.upload(.file(file.url), to: destination) }
            fixture.server.faults.removeAll()
            let named = try #require(fixture.openUploads.first)
            let lost = try await self.initiate(fixture, "lost")
            // A second's rounding in the service's date cannot make a thing younger than it is by more.
            try await Task.sleep(for: .milliseconds(1100))
            let dry = try await self.sweep(uploader, isDryRun: true)
            #expect(dry.map(\.open.upload.uploadID).contains(lost))
            #expect(fixture.openUploads.count == 2)
            let swept = try await self.sweep(uploader)
            #expect(swept.first { $0.open.upload.uploadID == lost }?.wasAborted == true)
            #expect(swept.first { $0.open.upload.uploadID == named }?.reasonKept?.contains("mine") == true)
            #expect(fixture.openUploads == [named])
            #expect(try await self.sweep(fixture.uploader(checkpoints: OSSCheckpoints.none)).count == 1)
            #expect(fixture.openUploads.isEmpty)
        }
    }

    @Test func `Age is by the service's clock, wherever ours stands`() async throws {
        try await withLocalServer({ $0.clockOffset = .seconds(3 * 86_400) }) { fixture in
            let uploadID = try await self.initiate(fixture, "k")
            // Ours takes it for one of a future day, or, the other way round, for an old one.
            #expect(try await self.sweep(fixture.uploader(), olderThan: .seconds(86_400)).isEmpty)
            try await Task.sleep(for: .milliseconds(1100))
            #expect(try await self.sweep(fixture.uploader()).map(\.open.upload.uploadID) == [uploadID])
        }
        try await withLocalServer({ $0.clockOffset = .seconds(-3 * 86_400) }) { fixture in
            _ = try await self.initiate(fixture, "k")
            #expect(try await self.sweep(fixture.uploader(), olderThan: .seconds(86_400)).isEmpty)
            #expect(fixture.openUploads.count == 1)
        }
    }

    @Test func `An upload whose begin is not told is left alone`() async throws {
        try await withLocalServer { fixture in
            _ = try await self.initiate(fixture, "k")
            fixture.server.faults.add(
                .init(
                    .editReplyBody(replacing: "Initiated>", with: "Begun>"), operation: "ListMultipartUploads"))
            #expect(try await self.sweep(fixture.uploader()).isEmpty)
            #expect(fixture.openUploads.count == 1)
        }
    }

    @Test func `A page without anything old is not the last`() async throws {
        try await withLocalServer { fixture in
            for number in 0..<5 { _ = try await self.initiate(fixture, "k\(number)") }
            var request = ListMultipartUploadsRequest(bucket: LocalFixture.bucket)
            request.maxUploads = 2
            request.minimumAge = .seconds(86_400)
            var count = 0
            for try await _ in fixture.client.listMultipartUploadsPages(request) { count += 1 }
            #expect(count == 0)
            #expect(fixture.count("ListMultipartUploads") == 3)
        }
    }

    @Test func `Pages go on by the bytes of the keys, which is not Swift's order of texts`() async throws {
        try await withLocalServer { fixture in
            // The accent apart comes before f, the letter with its accent behind it; Swift takes the two for one.
            let keys = ["e\u{301}a", "e\u{301}z", "f", "\u{e9}a"]
            for key in keys { _ = try await self.initiate(fixture, key) }
            var request = ListMultipartUploadsRequest(bucket: LocalFixture.bucket)
            request.maxUploads = 1
            var listed: [[UInt8]] = []
            for try await open in fixture.client.listMultipartUploadsPages(request) {
                listed.append(Array(open.upload.key.utf8))
            }
            #expect(listed == keys.map { Array($0.utf8) })
        }
    }
}
