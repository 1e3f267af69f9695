// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import CurlTransport
import OSSLocalServer
import OSSWire
import Testing

@testable import OSSMultipart

@Suite(.timeLimit(.minutes(5))) struct DeleteMultipleObjectsTests {
    private static let keys = ["a", "b<&>\"'", "c d+e%", "文/é", "tab\tend", "line\nend", "r\rend"]

    @Test(arguments: [false, true])
    func `The named objects go, the others stay, and the reply lists them unless it is quiet`(isQuiet: Bool)
        async throws
    {
        try await withLocalServer { fixture in
            for key in Self.keys + ["stays"] {
                try await fixture.server.putObject(bucket: LocalFixture.bucket, key: key, data: [1])
            }
            var request = DeleteMultipleObjectsRequest(bucket: LocalFixture.bucket, keys: Self.keys + ["not there"])
            request.isQuiet = isQuiet
            let result = try await fixture.client.deleteMultipleObjects(request)
            #expect(result.deleted.map(\.key) == (isQuiet ? [] : Self.keys + ["not there"]))
            #expect(result.requestID != nil)
            #expect(fixture.server.keys(bucket: LocalFixture.bucket) == ["stays"])
        }
    }

    @Test func `A key that no document can hold is refused, so that no other object is removed`() async throws {
        try await withLocalServer { fixture in
            for key in ["a\u{1}", "a\u{FFFE}"] {
                let request = DeleteMultipleObjectsRequest(bucket: LocalFixture.bucket, keys: ["b", key])
                let error = try await failure { _ = try await fixture.client.deleteMultipleObjects(request) }
                #expect(error.code == .invalidArgument)
                #expect(error.message.contains("deleteObject"))
            }
            #expect(fixture.count("DeleteMultipleObjects") == 0)
        }
    }

    @Test(arguments: [0, 1001]) func `No objects, and more than a thousand, are refused`(count: Int) async throws {
        let transport = ScriptedTransport([])
        let client = try scriptedClient(transport)
        let request = DeleteMultipleObjectsRequest(bucket: "media", keys: (0..<count).map { "k\($0)" })
        #expect(try await failure { _ = try await client.deleteMultipleObjects(request) }.code == .invalidArgument)
        #expect(transport.requests.isEmpty)
    }

    @Test func `Versions are sent and told`() async throws {
        let transport = ScriptedTransport([
            .reply(
                "<DeleteResult><EncodingType>url</EncodingType><Deleted><Key>a%2Bb</Key><VersionId>V1</VersionId>"
                    + "<DeleteMarker>true</DeleteMarker><DeleteMarkerVersionId>M1</DeleteMarkerVersionId></Deleted>"
                    + "</DeleteResult>")
        ])
        let request = DeleteMultipleObjectsRequest(bucket: "media", objects: [.init(key: "a+b", versionID: "V1")])
        let result = try await scriptedClient(transport).deleteMultipleObjects(request)
        #expect(result.deleted == [.init(key: "a+b", versionID: "V1", deleteMarkerVersionID: "M1")])
        guard case .memory(let body) = transport.requests[0].body else { throw Unexpected("no body") }
        #expect(
            String(decoding: body, as: UTF8.self).contains("<Key>a+b</Key><VersionId>V1</VersionId>"))
        #expect(transport.requests[0].headers["Content-MD5"] != nil)
    }

    @Test func `A reply that is none is an error`() async throws {
        let transport = ScriptedTransport([
            .reply("<html/>"), .reply(""), .reply("<DeleteResult><Deleted/></DeleteResult>"),
        ])
        let client = try scriptedClient(transport) { $0.retryPolicy.maximumAttempts = 1 }
        for _ in 1...3 {
            let request = DeleteMultipleObjectsRequest(bucket: "media", keys: ["k"])
            #expect(try await failure { _ = try await client.deleteMultipleObjects(request) }.code == .malformedReply)
        }
    }
}
