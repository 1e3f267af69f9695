// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import FoundationEssentials
import OSSLocalServer
import OSSWire
import Testing

@testable import OSSMultipart

/// Uploads whose parts have to come in order and once.
@Suite(.timeLimit(.minutes(5))) struct SequentialTests {
    private static let part = Int(LocalFixture.partSize)
    private static let size = 6 * part + 17

    private func uploader(_ fixture: LocalFixture, checkpoints: OSSCheckpoints? = nil) -> OSSUploader {
        fixture.uploader(checkpoints: checkpoints) {
            $0.isSequential = true
            $0.partsInFlight = .adaptive()
        }
    }

    private static func chunks(_ bytes: [UInt8]) -> AsyncStream<[UInt8]> {
        AsyncStream { continuation in
            continuation.yield(bytes)
            continuation.finish()
        }
    }

    private func refuse(_ fixture: LocalFixture, part: Int) {
        fixture.server.faults.add(
            .init(.respond(status: 403, code: "AccessDenied"), operation: "UploadPart", partNumber: part))
    }

    private func expectRight(_ fixture: LocalFixture, _ bytes: [UInt8]) async throws {
        #expect(try await fixture.object() == bytes)
        let head = try await fixture.client.headObject(.init(bucket: LocalFixture.bucket, key: LocalFixture.key))
        #expect(head.md5 == (try MessageDigest.of(bytes, .md5)))
        #expect(fixture.openUploads.isEmpty)
        #expect(fixture.records.isEmpty)
    }

    private func sent(_ fixture: LocalFixture) -> [Int] {
        fixture.server.requests.filter { $0.operation == "UploadPart" }.compactMap(\.partNumber)
    }

    @Test func `Parts go one after the other, and the object has the MD5 of the whole`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: Self.size)
            let result = try await fixture.upload(file, self.uploader(fixture))
            #expect(result.proof == .crc64)
            let initiate = fixture.server.requests.filter { $0.operation == "InitiateMultipartUpload" }
            #expect(initiate.map { $0.query["sequential"] } == [""])
            #expect(self.sent(fixture) == Array(1...7))
            try await self.expectRight(fixture, file.bytes)
            try await fixture.upload(file)
            let head = try await fixture.client.headObject(.init(bucket: LocalFixture.bucket, key: LocalFixture.key))
            #expect(head.md5 == nil, "only such an upload gives one")
        }
    }

    @Test(arguments: [true, false])
    func `A part whose reply was lost is found to be stored, also where its ETag is no MD5`(isMD5: Bool) async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: Self.size)
            fixture.server.faults.add(
                .init(.commitThenDrop, operation: "UploadPart", partNumber: 3, occurrences: 1...1))
            if !isMD5 {
                fixture.server.faults.add(
                    .init(
                        .editReplyBody(replacing: "<PartEtag>", with: "<PartEtag>X"), operation: "UploadPart",
                        partNumber: 3))
            }
            let result = try await fixture.upload(file, self.uploader(fixture))
            #expect((result.partsTotal, result.proof) == (7, .crc64))
            #expect(self.sent(fixture) == [1, 2, 3, 3, 4, 5, 6, 7])
            #expect(fixture.count("AbortMultipartUpload") == 0)
            #expect(fixture.count("ListParts") == (isMD5 ? 0 : 1))
            try await self.expectRight(fixture, file.bytes)
        }
    }

    @Test func `A broken one goes on with the next part`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: Self.size)
            let uploadID = try await fixture.breakUpload(file, atPart: 4) { $0.isSequential = true }
            let result = try await fixture.upload(file, self.uploader(fixture))
            #expect(result.uploadID == uploadID)
            #expect(self.sent(fixture) == [4, 5, 6, 7])
            try await self.expectRight(fixture, file.bytes)
        }
    }

    /// What is amiss with an upload that is to be gone on with.
    enum Damage: CaseIterable, Sendable { case partChanged, partLost, partAhead, partAheadUnseen, modeBefore, modeNow }

    @Test(arguments: Damage.allCases)
    func `Where a part would have to be sent again a new upload begins, and the old one is given up`(
        damage: Damage
    ) async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: Self.size)
            let uploadID = try await fixture.breakUpload(file, atPart: 4) { $0.isSequential = damage != .modeBefore }
            switch damage {
            case .partChanged: try await fixture.server.corruptPart(2, ofUpload: uploadID)
            case .partLost: try await fixture.server.removeParts([2], ofUpload: uploadID)
            case .partAhead, .partAheadUnseen:
                _ = try await fixture.client.uploadPart(
                    .init(
                        upload: .init(bucket: LocalFixture.bucket, key: LocalFixture.key, uploadID: uploadID),
                        partNumber: 4, body: .bytes([UInt8](repeating: 7, count: Self.part))))
                if damage == .partAheadUnseen {
                    fixture.server.faults.add(
                        .init(.respond(status: 403, code: "AccessDenied"), operation: "ListParts"))
                }
            case .modeBefore, .modeNow: break
            }
            fixture.server.removeAllRequests()
            let uploader = damage == .modeNow ? fixture.uploader() : self.uploader(fixture)
            let result = try await fixture.upload(file, uploader)
            #expect(result.uploadID != uploadID)
            #expect(fixture.count("AbortMultipartUpload") > 0)
            #expect(fixture.count("InitiateMultipartUpload") == 1)
            #expect(result.warnings.contains { $0.contains(uploadID) && $0.contains("a new one begins") })
            #expect(try await fixture.object() == file.bytes)
            #expect(fixture.openUploads.isEmpty)
            if damage != .modeNow { try await self.expectRight(fixture, file.bytes) }
        }
    }

    @Test func `Parts that are missing at Complete make it begin anew once`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: Self.size)
            fixture.server.faults.add(
                .init(
                    .respond(status: 400, code: "InvalidPart"), operation: "CompleteMultipartUpload",
                    occurrences: 1...1))
            try await fixture.upload(file, self.uploader(fixture))
            #expect(fixture.count("InitiateMultipartUpload") == 2)
            #expect(self.sent(fixture) == Array(1...7) + Array(1...7))
            try await self.expectRight(fixture, file.bytes)
        }
    }

    @Test func `A stream goes up in order, and a lost reply is found out`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: Self.size)
            let bytes = file.bytes
            for isReplayable in [true, false] {
                fixture.server.removeAllRequests()
                fixture.server.faults.add(
                    .init(.commitThenDrop, operation: "UploadPart", partNumber: 2, occurrences: 1...1))
                let source: OSSUploadSource =
                    isReplayable
                    ? .replayable(named: "chunks") { Self.chunks(bytes) } : .stream(Self.chunks(bytes))
                _ = try await self.uploader(fixture).upload(source, to: fixture.destination)
                #expect(self.sent(fixture) == [1, 2, 2, 3, 4, 5, 6, 7])
                try await self.expectRight(fixture, bytes)
            }
        }
    }

    @Test func `A replayable stream whose stored part is another begins anew`() async throws {
        try await withLocalServer { fixture in
            let bytes = try fixture.file(size: Self.size).bytes
            let source = OSSUploadSource.replayable(named: "chunks") { Self.chunks(bytes) }
            self.refuse(fixture, part: 4)
            _ = try await failure { _ = try await self.uploader(fixture).upload(source, to: fixture.destination) }
            fixture.server.faults.removeAll()
            let uploadID = try #require(fixture.openUploads.first)
            try await fixture.server.corruptPart(2, ofUpload: uploadID)
            let result = try await self.uploader(fixture).upload(source, to: fixture.destination)
            #expect(result.uploadID != uploadID)
            try await self.expectRight(fixture, bytes)
        }
    }

    @Test func `It is not adopted, for nobody can see how an upload was begun`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: Self.size)
            let uploader = fixture.uploader {
                $0.isSequential = true
                $0.adoption = .latest
            }
            #expect(try await failure { try await fixture.upload(file, uploader) }.code == .invalidConfiguration)
            #expect(fixture.server.requests.isEmpty)
        }
    }
}
