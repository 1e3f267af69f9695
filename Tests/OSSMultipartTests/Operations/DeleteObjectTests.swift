// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import CurlTransport
import OSSLocalServer
import OSSWire
import Testing

@testable import OSSMultipart

@Suite(.timeLimit(.minutes(5))) struct DeleteObjectTests {
    @Test func `An object is removed, and one that is not there counts as removed`() async throws {
        try await withLocalServer { fixture in
            try await fixture.server.putObject(bucket: LocalFixture.bucket, key: "a b/文", data: [1])
            for _ in 1...2 {
                let result = try await fixture.client.deleteObject(.init(bucket: LocalFixture.bucket, key: "a b/文"))
                #expect(result.requestID != nil)
                #expect(!result.isDeleteMarker)
                #expect(fixture.server.keys(bucket: LocalFixture.bucket).isEmpty)
            }
        }
    }

    @Test func `The version is asked for, and what the service says of it is told`() async throws {
        let transport = ScriptedTransport([
            .reply(headers: ["x-oss-version-id": "V2", "x-oss-delete-marker": "true"], status: 204)
        ])
        var request = DeleteObjectRequest(bucket: "media", key: "k")
        request.versionID = "V1"
        let result = try await scriptedClient(transport).deleteObject(request)
        #expect(result.versionID == "V2")
        #expect(result.isDeleteMarker)
        #expect(transport.requests[0].url.hasSuffix("/k?versionId=V1"))
        #expect(transport.requests[0].method == "DELETE")
    }

    @Test func `A refusal names operation and request`() async throws {
        try await withLocalServer { fixture in
            let error = try await failure {
                _ = try await fixture.client.deleteObject(.init(bucket: "nobody", key: "k"))
            }
            #expect(error.service?.code == .noSuchBucket)
            #expect(error.operation?.name == "DeleteObject")
            #expect(error.service?.requestID != nil)
            #expect(
                try await failure { _ = try await fixture.client.deleteObject(.init(bucket: "media", key: "/k")) }.code
                    == .invalidArgument)
        }
    }
}
