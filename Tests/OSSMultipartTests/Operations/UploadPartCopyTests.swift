// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import CurlTransport
import OSSLocalServer
import OSSWire
import Testing

@testable import OSSMultipart

@Suite(.timeLimit(.minutes(5))) struct UploadPartCopyTests {
    private static let source = OSSCopySource(bucket: LocalFixture.bucket, key: "a b/文+%.bin")
    private let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 / 7) }

    private func withUpload(_ body: (LocalFixture, OSSMultipartUpload) async throws -> Void) async throws {
        try await withLocalServer { fixture in
            try await fixture.server.putObject(bucket: LocalFixture.bucket, key: Self.source.key, data: self.bytes)
            let upload = try await fixture.client.initiateMultipartUpload(
                .init(bucket: LocalFixture.bucket, key: "copy"))
            try await body(fixture, upload)
        }
    }

    @Test func `Parts that are copied make the object`() async throws {
        try await self.withUpload { fixture, upload in
            var parts: [OSSPartInfo] = []
            for (number, range) in [(1, Int64(0)..<150_000), (2, 150_000..<300_000)] {
                var request = UploadPartCopyRequest(upload: upload, partNumber: number, source: Self.source)
                request.range = range
                let result = try await fixture.client.uploadPartCopy(request)
                #expect(result.info.size == 150_000)
                #expect(result.info.crc64 == CRC64.of(Array(self.bytes[Int(range.lowerBound)..<Int(range.upperBound)])))
                #expect(result.lastModified != nil)
                parts.append(result.info)
            }
            let whole = UploadPartCopyRequest(upload: upload, partNumber: 3, source: Self.source)
            let third = try await fixture.client.uploadPartCopy(whole)
            #expect(third.info.size == nil)
            parts.append(third.info)
            _ = try await fixture.client.completeMultipartUpload(.init(upload: upload, parts: parts))
            #expect(try await fixture.object("copy") == self.bytes + self.bytes)
        }
    }

    @Test func `A range that the source has not is an error, though the service copies all`() async throws {
        try await self.withUpload { fixture, upload in
            var request = UploadPartCopyRequest(upload: upload, partNumber: 1, source: Self.source)
            request.range = 150_000..<400_000
            let error = try await failure { _ = try await fixture.client.uploadPartCopy(request) }
            #expect(error.code == .integrity)
            #expect(error.partNumber == 1)
        }
    }

    @Test func `Ranges and numbers that cannot be are refused`() async throws {
        let transport = ScriptedTransport([])
        let client = try scriptedClient(transport)
        let upload = OSSMultipartUpload(bucket: "media", key: "copy", uploadID: "U")
        for (number, range) in [(0, Int64(0)..<200_000), (1, -1..<200_000), (1, 5..<5), (1, 0..<100)] {
            var request = UploadPartCopyRequest(upload: upload, partNumber: number, source: Self.source)
            request.range = range
            #expect(try await failure { _ = try await client.uploadPartCopy(request) }.code == .invalidArgument)
        }
        #expect(transport.requests.isEmpty)
    }

    @Test func `Conditions and missing sources are told apart`() async throws {
        try await self.withUpload { fixture, upload in
            var request = UploadPartCopyRequest(upload: upload, partNumber: 1, source: Self.source)
            request.conditions.ifMatch = "OTHER"
            var error = try await failure { _ = try await fixture.client.uploadPartCopy(request) }
            #expect(error.service?.code == .preconditionFailed)
            request.conditions = OSSConditions()
            request.source.key = "not there"
            error = try await failure { _ = try await fixture.client.uploadPartCopy(request) }
            #expect(error.service?.code == .noSuchKey)
            request.source = Self.source
            request.upload = OSSMultipartUpload(bucket: upload.bucket, key: upload.key, uploadID: "NONE")
            error = try await failure { _ = try await fixture.client.uploadPartCopy(request) }
            #expect(error.service?.code == .noSuchUpload)
        }
    }

    @Test func `The source is named with its version`() async throws {
        let transport = ScriptedTransport([
            .reply(
                "<CopyPartResult><ETag>\"E\"</ETag></CopyPartResult>", headers: ["x-oss-copy-source-version-id": "V1"])
        ])
        let upload = OSSMultipartUpload(bucket: "media", key: "copy", uploadID: "U")
        var request = UploadPartCopyRequest(upload: upload, partNumber: 7, source: Self.source)
        request.source.versionID = "V1"
        let result = try await scriptedClient(transport).uploadPartCopy(request)
        #expect(result.sourceVersionID == "V1")
        #expect(result.info.eTag == "E")
        #expect(
            transport.requests[0].headers["x-oss-copy-source"] == "/media/a%20b/%E6%96%87%2B%25.bin?versionId=V1")
    }
}
