// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import CurlTransport
import OSSLocalServer
import OSSWire
import Testing

@testable import OSSMultipart

@Suite(.timeLimit(.minutes(5))) struct BucketTests {
    @Test func `A bucket is made, told of, and removed when it is empty`() async throws {
        try await withLocalServer({ $0.region = "cn-beijing" }) { fixture in
            let client = fixture.client
            var put = PutBucketRequest(bucket: "fresh")
            put.acl = "public-read"
            put.storageClass = "IA"
            try await client.putBucket(put)
            try await client.putBucket(.init(bucket: "fresh"))
            #expect(try await client.getBucketLocation(.init(bucket: "fresh")) == "oss-cn-beijing")
            _ = try await client.putObject(.init(bucket: "fresh", key: "k", body: .bytes([1])))
            var error = try await failure { try await client.deleteBucket(.init(bucket: "fresh")) }
            #expect(error.service?.code == "BucketNotEmpty")
            _ = try await client.deleteObject(.init(bucket: "fresh", key: "k"))
            try await client.deleteBucket(.init(bucket: "fresh"))
            error = try await failure { try await client.deleteBucket(.init(bucket: "fresh")) }
            #expect(error.service?.code == .noSuchBucket)
            error = try await failure { _ = try await client.getBucketLocation(.init(bucket: "fresh")) }
            #expect(error.service?.code == .noSuchBucket)
        }
    }

    @Test func `What a bucket is to be like is in the request's document`() async throws {
        let transport = ScriptedTransport([.reply()])
        var put = PutBucketRequest(bucket: "fresh")
        put.storageClass = "IA"
        put.dataRedundancyType = "ZRS"
        try await scriptedClient(transport).putBucket(put)
        guard case .memory(let body) = transport.requests[0].body else { throw Unexpected("no body") }
        let document = try XMLElement.parse(Array(body), root: "CreateBucketConfiguration")
        #expect(document.string("StorageClass") == "IA")
        #expect(document.string("DataRedundancyType") == "ZRS")
    }

    @Test func `A removal whose reply was lost is a removal`() async throws {
        try await withLocalServer { fixture in
            fixture.server.faults.add(.init(.commitThenDrop, operation: "DeleteBucket", occurrences: 1...1))
            try await fixture.client.deleteBucket(.init(bucket: LocalFixture.bucket))
            let error = try await failure {
                try await fixture.client.deleteBucket(.init(bucket: LocalFixture.bucket))
            }
            #expect(error.service?.code == .noSuchBucket)
        }
    }

    @Test func `Names and ACLs that are none are refused before anything is sent`() async throws {
        let transport = ScriptedTransport([])
        let client = try scriptedClient(transport)
        var put = PutBucketRequest(bucket: "fresh")
        put.acl = "default"
        let request = put
        let calls: [() async throws -> Void] = [
            { try await client.putBucket(request) }, { try await client.putBucket(.init(bucket: "UPPER")) },
            { try await client.deleteBucket(.init(bucket: "UPPER")) },
            { _ = try await client.getBucketLocation(.init(bucket: "UPPER")) },
        ]
        for call in calls { #expect(try await failure(call).code == .invalidArgument) }
        #expect(transport.requests.isEmpty)
    }

    @Test func `A location that says nothing is no reply`() async throws {
        let transport = ScriptedTransport([.reply("<LocationConstraint/>")])
        let client = try scriptedClient(transport) { $0.retryPolicy.maximumAttempts = 1 }
        let error = try await failure { _ = try await client.getBucketLocation(.init(bucket: "media")) }
        #expect(error.code == .malformedReply)
        #expect(transport.requests[0].url.hasSuffix("/?location"))
    }
}
