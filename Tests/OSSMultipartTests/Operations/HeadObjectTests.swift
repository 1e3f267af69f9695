// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import CurlTransport
import FoundationEssentials
import OSSLocalServer
import OSSWire
import Testing

@testable import OSSMultipart

@Suite(.timeLimit(.minutes(5))) struct HeadObjectTests {
    @Test func `All that the reply says is told`() async throws {
        let transport = ScriptedTransport([
            .reply(
                headers: [
                    "Content-Length": "5", "ETag": "\"E\"", "x-oss-hash-crc64ecma": "7", "Content-MD5": "AQI=",
                    "Content-Type": "text/x", "Cache-Control": "cc", "Content-Disposition": "cd",
                    "Content-Encoding": "ce", "Content-Language": "cl", "Expires": "ex",
                    "x-oss-object-type": "Appendable", "x-oss-storage-class": "Archive",
                    "Last-Modified": "Fri, 24 Feb 2012 06:38:30 GMT", "x-oss-version-id": "V",
                    "x-oss-server-side-encryption": "KMS", "x-oss-server-side-encryption-key-id": "K",
                    "x-oss-tagging-count": "3", "x-oss-next-append-position": "5",
                    "x-oss-restore": "ongoing-request=\"true\"", "X-Oss-Meta-Color": "blue", "x-oss-request-id": "R",
                    "x-oss-new": "n",
                ])
        ])
        var request = HeadObjectRequest(bucket: "media", key: "k")
        request.versionID = "V"
        let head = try await scriptedClient(transport).headObject(request)
        #expect((head.size, head.eTag, head.crc64) == (5, "E", 7))
        #expect(head.md5 == [1, 2])
        #expect((head.contentType, head.cacheControl, head.contentDisposition) == ("text/x", "cc", "cd"))
        #expect((head.contentEncoding, head.contentLanguage, head.expires) == ("ce", "cl", "ex"))
        #expect((head.objectType, head.storageClass, head.versionID) == ("Appendable", "Archive", "V"))
        #expect(head.lastModified == Date(timeIntervalSince1970: 1_330_065_510))
        #expect((head.serverSideEncryption, head.serverSideEncryptionKeyID) == ("KMS", "K"))
        #expect((head.taggingCount, head.nextAppendPosition) == (3, 5))
        #expect(head.restore == "ongoing-request=\"true\"")
        #expect(head.metadata == ["color": "blue"])
        #expect(head.fields["x-oss-new"] == "n")
        #expect(head.requestID == "R")
        #expect(transport.requests[0].url.hasSuffix("/k?versionId=V"))
    }

    @Test(arguments: ["", "a b", "a\n", "é"])
    func `An ETag that can be none is refused before anything is sent`(eTag: String) async throws {
        let transport = ScriptedTransport([])
        let client = try scriptedClient(transport)
        for set: (inout OSSConditions) -> Void in [{ $0.ifMatch = eTag }, { $0.ifNoneMatch = eTag }] {
            var head = HeadObjectRequest(bucket: "media", key: "k")
            set(&head.conditions)
            var get = GetObjectRequest(bucket: "media", key: "k")
            set(&get.conditions)
            let calls: [() async throws -> Void] = [
                { [head] in _ = try await client.headObject(head) },
                { [get] in _ = try await client.getObject(get) },
                { [head] in _ = try await client.presign(.headObject(head)) },
            ]
            for call in calls { #expect(try await failure(call).code == .invalidArgument) }
        }
        #expect(transport.requests.isEmpty)
    }

    @Test func `Conditions that do not hold are told apart`() async throws {
        try await withLocalServer { fixture in
            try await fixture.server.putObject(bucket: LocalFixture.bucket, key: "k", data: [1])
            var request = HeadObjectRequest(bucket: LocalFixture.bucket, key: "k")
            let eTag = try await fixture.client.headObject(request).eTag
            request.conditions.ifNoneMatch = eTag
            var error = try await failure { _ = try await fixture.client.headObject(request) }
            #expect(error.service?.code == .notModified)
            #expect(!error.message.contains("redirect"))
            request.conditions = OSSConditions()
            request.conditions.ifUnmodifiedSince = Date.now - 86400
            error = try await failure { _ = try await fixture.client.headObject(request) }
            #expect(error.service?.code == .preconditionFailed)
        }
    }
}
