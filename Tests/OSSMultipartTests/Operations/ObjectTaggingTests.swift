// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import CurlTransport
import OSSLocalServer
import OSSWire
import Testing

@testable import OSSMultipart

@Suite(.timeLimit(.minutes(5))) struct ObjectTaggingTests {
    private static let tags = [
        OSSTag("a b", "1+2=3"), OSSTag("颜色", "红"), OSSTag("empty", ""), OSSTag("x", "_:/-.@".dropLast().description),
    ]

    @Test func `Tags are put, told and taken away`() async throws {
        try await withLocalServer { fixture in
            let bucket = LocalFixture.bucket, client = fixture.client
            try await fixture.server.putObject(bucket: bucket, key: "k", data: [1])
            #expect(try await client.getObjectTagging(.init(bucket: bucket, key: "k")) == [])
            try await client.putObjectTagging(.init(bucket: bucket, key: "k", tags: Self.tags))
            #expect(try await client.getObjectTagging(.init(bucket: bucket, key: "k")) == Self.tags)
            try await client.putObjectTagging(.init(bucket: bucket, key: "k", tags: [OSSTag("only", "one")]))
            #expect(try await client.getObjectTagging(.init(bucket: bucket, key: "k")) == [OSSTag("only", "one")])
            try await client.deleteObjectTagging(.init(bucket: bucket, key: "k"))
            #expect(try await client.getObjectTagging(.init(bucket: bucket, key: "k")) == [])
        }
    }

    @Test func `Tags that are stored with the object are the same`() async throws {
        try await withLocalServer { fixture in
            var put = PutObjectRequest(bucket: LocalFixture.bucket, key: "k", body: .bytes([1]))
            put.headers.tags = Self.tags
            #expect(put.headers.tags == Self.tags)
            _ = try await fixture.client.putObject(put)
            #expect(
                try await fixture.client.getObjectTagging(.init(bucket: LocalFixture.bucket, key: "k")) == Self.tags)
        }
    }

    @Test(
        arguments: [
            (0..<11).map { OSSTag("t\($0)", "") }, [OSSTag("a", "1"), OSSTag("a", "2")], [OSSTag("", "1")],
            [OSSTag(String(repeating: "a", count: 129), "")], [OSSTag("a", String(repeating: "1", count: 257))],
            [OSSTag("a&b", "1")], [OSSTag("a", "1\n2")],
        ])
    func `Tags that the service refuses are refused before anything is sent`(tags: [OSSTag]) async throws {
        let transport = ScriptedTransport([])
        let client = try scriptedClient(transport)
        let request = PutObjectTaggingRequest(bucket: "media", key: "k", tags: tags)
        #expect(try await failure { try await client.putObjectTagging(request) }.code == .invalidArgument)
        var put = PutObjectRequest(bucket: "media", key: "k", body: .bytes([]))
        put.headers.tags = tags
        #expect(try await failure { _ = try await client.putObject(put) }.code == .invalidArgument)
        #expect(transport.requests.isEmpty)
    }

    @Test func `Every call names the version, and refusals are told`() async throws {
        let transport = ScriptedTransport([.reply(), .reply("<Tagging><TagSet/></Tagging>"), .reply(status: 204)])
        let client = try scriptedClient(transport)
        var put = PutObjectTaggingRequest(bucket: "media", key: "k", tags: [])
        put.versionID = "V"
        try await client.putObjectTagging(put)
        var get = GetObjectTaggingRequest(bucket: "media", key: "k")
        get.versionID = "V"
        _ = try await client.getObjectTagging(get)
        var delete = DeleteObjectTaggingRequest(bucket: "media", key: "k")
        delete.versionID = "V"
        try await client.deleteObjectTagging(delete)
        #expect(transport.requests.allSatisfy { $0.url.hasSuffix("/k?tagging&versionId=V") })
        #expect(transport.requests.map(\.method) == ["PUT", "GET", "DELETE"])
        try await withLocalServer { fixture in
            let bucket = LocalFixture.bucket, client = fixture.client
            let calls: [() async throws -> Void] = [
                { try await client.putObjectTagging(.init(bucket: bucket, key: "k", tags: [])) },
                { _ = try await client.getObjectTagging(.init(bucket: bucket, key: "k")) },
                { try await client.deleteObjectTagging(.init(bucket: bucket, key: "k")) },
            ]
            for call in calls {
                let error = try await failure(call)
                #expect(error.service?.code == .noSuchKey)
            }
        }
    }
}
