// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import CurlTransport
import OSSLocalServer
import OSSWire
import Testing

@testable import OSSMultipart

@Suite(.timeLimit(.minutes(5))) struct ListObjectsV2Tests {
    private static let keys = ["a", "a b+c%", "d/1", "d/2", "d\u{1}", "e/", "z/文", "z文"]

    private func withObjects(_ body: (LocalFixture) async throws -> Void) async throws {
        try await withLocalServer { fixture in
            for key in Self.keys {
                try await fixture.server.putObject(
                    bucket: LocalFixture.bucket, key: key, data: Array(key.utf8))
            }
            try await body(fixture)
        }
    }

    private func names(_ request: ListObjectsV2Request, _ fixture: LocalFixture) async throws -> [String] {
        var names: [String] = []
        for try await entry in fixture.client.listObjectsV2Pages(request) { names.append(entry.name) }
        return names
    }

    private func sorted(_ names: [String]) -> [String] {
        names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    @Test(arguments: [1, 3, 1000]) func `All objects come, whatever the size of a page`(maxKeys: Int) async throws {
        try await self.withObjects { fixture in
            var request = ListObjectsV2Request(bucket: LocalFixture.bucket)
            request.maxKeys = maxKeys
            let names = try await self.names(request, fixture)
            #expect(names == self.sorted(Self.keys))
            #expect(fixture.count("ListObjectsV2") == (Self.keys.count + maxKeys - 1) / maxKeys)
        }
    }

    @Test(arguments: [1, 2, 1000])
    func `Keys with the delimiter are told as one prefix, in their place`(maxKeys: Int) async throws {
        try await self.withObjects { fixture in
            var request = ListObjectsV2Request(bucket: LocalFixture.bucket)
            request.maxKeys = maxKeys
            request.delimiter = "/"
            let names = try await self.names(request, fixture)
            #expect(names == self.sorted(["a", "a b+c%", "d/", "d\u{1}", "e/", "z/", "z文"]))
        }
    }

    @Test func `Prefix and start narrow the listing`() async throws {
        try await self.withObjects { fixture in
            var request = ListObjectsV2Request(bucket: LocalFixture.bucket)
            request.prefix = "d/"
            let names1 = try await self.names(request, fixture)
            #expect(names1 == ["d/1", "d/2"])
            request.startAfter = "d/1"
            let names2 = try await self.names(request, fixture)
            #expect(names2 == ["d/2"])
            request = ListObjectsV2Request(bucket: LocalFixture.bucket)
            request.startAfter = "a b+c%"
            let names3 = try await self.names(request, fixture)
            #expect(names3 == Array(self.sorted(Self.keys).dropFirst(2)))
            request.prefix = "nothing"
            let names4 = try await self.names(request, fixture)
            #expect(names4 == [])
        }
    }

    @Test func `A page tells all of an object, and the owner where asked for`() async throws {
        try await self.withObjects { fixture in
            var request = ListObjectsV2Request(bucket: LocalFixture.bucket)
            request.prefix = "a b"
            let page = try await fixture.client.listObjectsV2(request)
            let object = try #require(page.objects.first)
            let info = try #require(fixture.server.objectInfo(bucket: LocalFixture.bucket, key: "a b+c%"))
            #expect((object.key, object.size, object.eTag) == ("a b+c%", 6, info.eTag))
            #expect((object.objectType, object.storageClass) == ("Normal", "Standard"))
            #expect(object.lastModified != nil)
            #expect(object.ownerID == nil)
            #expect(!page.isTruncated)
            #expect(page.requestID != nil)
            request.fetchesOwner = true
            #expect(try await fixture.client.listObjectsV2(request).objects[0].ownerID != nil)
        }
    }

    @Test func `What cannot be asked is refused, and a missing bucket is the service's error`() async throws {
        try await withLocalServer { fixture in
            func refused(_ maxKeys: Int) async throws -> OSSError {
                var request = ListObjectsV2Request(bucket: LocalFixture.bucket)
                request.maxKeys = maxKeys
                let wanted = request
                return try await failure { _ = try await fixture.client.listObjectsV2(wanted) }
            }
            let (none, tooMany) = (try await refused(0), try await refused(1001))
            #expect(none.code == .invalidArgument)
            #expect(tooMany.code == .invalidArgument)
            let error = try await failure { _ = try await fixture.client.listObjectsV2(.init(bucket: "nobody")) }
            #expect(error.service?.code == .noSuchBucket)
        }
    }

    @Test(arguments: [
        "<NextContinuationToken>T</NextContinuationToken>", "",
    ])
    func `Pages that do not go on are an error, not a loop`(token: String) async throws {
        let page =
            "<ListBucketResult><IsTruncated>true</IsTruncated>\(token)<Contents><Key>k</Key><Size>1</Size></Contents>"
            + "</ListBucketResult>"
        let client = try scriptedClient(ScriptedTransport(Array(repeating: .reply(page), count: 10)))
        let error = try await failure { for try await _ in client.listObjectsV2Pages(.init(bucket: "media")) {} }
        #expect(error.code == .malformedReply)
        #expect(error.message.contains("go on"))
    }
}
