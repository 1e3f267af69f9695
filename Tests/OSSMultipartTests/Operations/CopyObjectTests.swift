// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import CurlTransport
import FoundationEssentials
import OSSLocalServer
import OSSWire
import Testing

@testable import OSSMultipart

@Suite(.timeLimit(.minutes(5))) struct CopyObjectTests {
    private static let source = OSSCopySource(bucket: LocalFixture.bucket, key: "a b/文+%?#&.bin")

    private func withSource(_ body: (LocalFixture) async throws -> Void) async throws {
        try await withLocalServer({ $0.buckets.append("other") }) { fixture in
            var put = PutObjectRequest(bucket: LocalFixture.bucket, key: Self.source.key, body: .bytes([1, 2, 3]))
            put.headers.metadata = ["color": "blue"]
            put.headers.contentType = "text/x"
            put.headers.tags = [OSSTag("t", "1")]
            _ = try await fixture.client.putObject(put)
            try await body(fixture)
        }
    }

    @Test func `A copy has bytes, metadata and tags of its source`() async throws {
        try await self.withSource { fixture in
            let result = try await fixture.client.copyObject(.init(source: Self.source, bucket: "other", key: "copy"))
            #expect(result.crc64 == CRC64.of([1, 2, 3]))
            #expect(result.eTag != nil)
            #expect(result.lastModified != nil)
            let head = try await fixture.client.headObject(.init(bucket: "other", key: "copy"))
            #expect(head.eTag == result.eTag)
            #expect(head.metadata == ["color": "blue"])
            #expect(head.contentType == "text/x")
            #expect(head.taggingCount == 1)
            #expect(try await fixture.server.objectData(bucket: "other", key: "copy") == [1, 2, 3])
        }
    }

    @Test func `A copy can have metadata and tags of its own, also onto itself`() async throws {
        try await self.withSource { fixture in
            var request = CopyObjectRequest(source: Self.source, bucket: Self.source.bucket, key: Self.source.key)
            request.replacesMetadata = true
            request.replacesTagging = true
            request.headers.metadata = ["color": "red"]
            request.headers.contentType = "text/y"
            request.headers.storageClass = "IA"
            _ = try await fixture.client.copyObject(request)
            let head = try await fixture.client.headObject(.init(bucket: Self.source.bucket, key: Self.source.key))
            #expect(head.metadata == ["color": "red"])
            #expect(head.contentType == "text/y")
            #expect(head.storageClass == "IA")
            #expect(head.taggingCount == nil)
        }
    }

    @Test func `Headers that would not count are refused`() async throws {
        let transport = ScriptedTransport([])
        let client = try scriptedClient(transport)
        for configure: (inout OSSObjectHeaders) -> Void in [
            { $0.metadata = ["a": "1"] }, { $0.contentType = "text/x" }, { $0.tags = [OSSTag("a", "1")] },
        ] {
            var request = CopyObjectRequest(source: Self.source, bucket: "other", key: "copy")
            configure(&request.headers)
            #expect(try await failure { _ = try await client.copyObject(request) }.code == .invalidArgument)
        }
        var request = CopyObjectRequest(source: Self.source, bucket: "other", key: "copy")
        request.source.key = ""
        #expect(try await failure { _ = try await client.copyObject(request) }.message.contains("source"))
        #expect(transport.requests.isEmpty)
    }

    @Test func `Conditions are those of the source`() async throws {
        try await self.withSource { fixture in
            var request = CopyObjectRequest(source: Self.source, bucket: "other", key: "copy")
            request.conditions.ifMatch = "OTHER"
            var error = try await failure { _ = try await fixture.client.copyObject(request) }
            #expect(error.service?.code == .preconditionFailed)
            request.conditions = OSSConditions()
            request.conditions.ifModifiedSince = Date.now + 60
            error = try await failure { _ = try await fixture.client.copyObject(request) }
            #expect(error.service?.code == .notModified)
            request.source.key = "not there"
            error = try await failure { _ = try await fixture.client.copyObject(request) }
            #expect(error.service?.code == .noSuchKey)
        }
    }

    @Test func `An object is not replaced where that is forbidden`() async throws {
        try await self.withSource { fixture in
            var request = CopyObjectRequest(source: Self.source, bucket: "other", key: "copy")
            request.headers.forbidsOverwrite = true
            _ = try await fixture.client.copyObject(request)
            let error = try await failure { _ = try await fixture.client.copyObject(request) }
            #expect(error.service?.code == .fileAlreadyExists)
        }
    }

    @Test func `The source's version is named, and the versions are told`() async throws {
        let transport = ScriptedTransport([
            .reply(
                "<CopyObjectResult><ETag>\"E\"</ETag></CopyObjectResult>",
                headers: ["x-oss-version-id": "V2", "x-oss-copy-source-version-id": "V1"])
        ])
        var request = CopyObjectRequest(source: Self.source, bucket: "other", key: "copy")
        request.source.versionID = "V 1"
        let result = try await scriptedClient(transport).copyObject(request)
        #expect((result.versionID, result.sourceVersionID, result.eTag) == ("V2", "V1", "E"))
        #expect(
            transport.requests[0].headers["x-oss-copy-source"]
                == "/media/a%20b/%E6%96%87%2B%25%3F%23%26.bin?versionId=V%201")
    }
}
