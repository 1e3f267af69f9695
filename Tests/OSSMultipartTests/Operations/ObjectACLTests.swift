// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import CurlTransport
import OSSLocalServer
import OSSWire
import Testing

@testable import OSSMultipart

@Suite(.timeLimit(.minutes(5))) struct ObjectACLTests {
    @Test(arguments: ["default", "private", "public-read", "public-read-write"])
    func `Who may use an object is changed and told`(acl: String) async throws {
        try await withLocalServer { fixture in
            let bucket = LocalFixture.bucket
            try await fixture.server.putObject(bucket: bucket, key: "k", data: [1])
            try await fixture.client.putObjectACL(.init(bucket: bucket, key: "k", acl: acl))
            let result = try await fixture.client.getObjectACL(.init(bucket: bucket, key: "k"))
            #expect(result.acl == acl)
            #expect(result.ownerID != nil)
            #expect(result.requestID != nil)
        }
    }

    @Test func `Names that are none are refused, objects that are not there are told`() async throws {
        try await withLocalServer { fixture in
            let bucket = LocalFixture.bucket, client = fixture.client
            var error = try await failure { try await client.putObjectACL(.init(bucket: bucket, key: "k", acl: "all")) }
            #expect(error.code == .invalidArgument)
            #expect(fixture.count("PutObjectAcl") == 0)
            error = try await failure { try await client.putObjectACL(.init(bucket: bucket, key: "k", acl: "private")) }
            #expect(error.service?.code == .noSuchKey)
            error = try await failure { _ = try await client.getObjectACL(.init(bucket: bucket, key: "k")) }
            #expect(error.service?.code == .noSuchKey)
        }
    }

    @Test func `Both name the version, and a reply without a grant is none`() async throws {
        let transport = ScriptedTransport([.reply(), .reply("<AccessControlPolicy/>")])
        let client = try scriptedClient(transport) { $0.retryPolicy.maximumAttempts = 1 }
        var put = PutObjectACLRequest(bucket: "media", key: "k", acl: "private")
        put.versionID = "V"
        try await client.putObjectACL(put)
        var get = GetObjectACLRequest(bucket: "media", key: "k")
        get.versionID = "V"
        let request = get
        #expect(try await failure { _ = try await client.getObjectACL(request) }.code == .malformedReply)
        #expect(transport.requests.allSatisfy { $0.url.hasSuffix("/k?acl&versionId=V") })
    }
}
