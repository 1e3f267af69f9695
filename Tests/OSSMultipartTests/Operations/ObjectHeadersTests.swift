// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import CurlTransport
import FoundationEssentials
import OSSLocalServer
import OSSWire
import Testing

@testable import OSSMultipart

@Suite(.timeLimit(.minutes(5))) struct ObjectHeadersTests {
    private static func all() -> OSSObjectHeaders {
        var headers = OSSObjectHeaders()
        headers.contentType = "text/x"
        headers.contentLanguage = "zh-CN"
        headers.cacheControl = "no-cache"
        headers.contentDisposition = "attachment; filename=\"a.mp4\""
        headers.contentEncoding = "gzip"
        headers.expires = "Fri, 24 Feb 2012 06:38:30 GMT"
        headers.metadata = ["Color": "blue", "name": "é 文 😀"]
        headers.storageClass = "IA"
        headers.tags = [OSSTag("a", "1")]
        headers.serverSideEncryption = "KMS"
        headers.serverSideEncryptionKeyID = "key-1"
        headers.serverSideDataEncryption = "SM4"
        headers.acl = "public-read"
        return headers
    }

    private func check(_ head: HeadObjectResult) {
        #expect(head.contentType == "text/x")
        #expect(head.contentLanguage == "zh-CN")
        #expect(head.cacheControl == "no-cache")
        #expect(head.contentDisposition == "attachment; filename=\"a.mp4\"")
        #expect(head.contentEncoding == "gzip")
        #expect(head.expires == "Fri, 24 Feb 2012 06:38:30 GMT")
        #expect(head.metadata == ["color": "blue", "name": "é 文 😀"])
        #expect(head.storageClass == "IA")
        #expect(head.taggingCount == 1)
        #expect(head.serverSideEncryption == "KMS")
        #expect(head.serverSideEncryptionKeyID == "key-1")
        #expect(head.fields["x-oss-server-side-data-encryption"] == "SM4")
    }

    @Test(arguments: [OSSClient.SignatureVersion.v4, .v1])
    func `All headers are stored by PutObject and by an upload in parts, each on its call`(
        version: OSSClient.SignatureVersion
    ) async throws {
        try await withLocalServer(client: { $0.signatureVersion = version }) { fixture in
            let bucket = LocalFixture.bucket, client = fixture.client
            var put = PutObjectRequest(bucket: bucket, key: "put", body: .bytes([1]))
            put.headers = Self.all()
            _ = try await client.putObject(put)
            self.check(try await client.headObject(.init(bucket: bucket, key: "put")))
            #expect(try await client.getObjectACL(.init(bucket: bucket, key: "put")).acl == "public-read")

            var initiate = InitiateMultipartUploadRequest(bucket: bucket, key: "parts")
            initiate.headers = Self.all()
            let upload = try await client.initiateMultipartUpload(initiate)
            let part = try await client.uploadPart(
                .init(upload: upload, partNumber: 1, body: .bytes([1]), isLastPart: true))
            var complete = CompleteMultipartUploadRequest(upload: upload, parts: [part.info])
            complete.acl = "public-read"
            _ = try await client.completeMultipartUpload(complete)
            self.check(try await client.headObject(.init(bucket: bucket, key: "parts")))
            #expect(try await client.getObjectACL(.init(bucket: bucket, key: "parts")).acl == "public-read")

            func sent(_ operation: String) throws -> [String: String] {
                try #require(fixture.server.requests.first { $0.operation == operation }).headers
            }
            // The service refuses encryption on a part, and wants the ACL at the end.
            #expect(try sent("InitiateMultipartUpload")["x-oss-object-acl"] == nil)
            #expect(try sent("UploadPart").keys.filter { $0.hasPrefix("x-oss-s") || $0.hasPrefix("x-oss-m") } == [])
            #expect(try sent("CompleteMultipartUpload")["x-oss-object-acl"] == "public-read")
            #expect(try sent("CompleteMultipartUpload")["x-oss-storage-class"] == nil)
        }
    }

    @Test(
        arguments: [
            { $0.metadata = ["a": "1", "A": "2"] }, { $0.metadata = ["a_b": "1"] }, { $0.tagging = "a=%zz" },
            { $0.tagging = "a=1&a=2" }, { $0.acl = "everybody" }, { $0.serverSideEncryptionKeyID = "k" },
            {
                $0.serverSideEncryption = "AES256"
                $0.serverSideDataEncryption = "SM4"
            }, { $0.cacheControl = "a\nb" }, { $0.metadata = ["a": "\u{7F}"] },
        ] as [@Sendable (inout OSSObjectHeaders) -> Void])
    func `Headers that the service cannot take are refused before anything is sent`(
        configure: @Sendable (inout OSSObjectHeaders) -> Void
    ) async throws {
        let transport = ScriptedTransport([])
        let client = try scriptedClient(transport)
        var put = PutObjectRequest(bucket: "media", key: "k", body: .bytes([]))
        configure(&put.headers)
        #expect(try await failure { _ = try await client.putObject(put) }.code == .invalidArgument)
        var initiate = InitiateMultipartUploadRequest(bucket: "media", key: "k")
        initiate.headers = put.headers
        #expect(try await failure { _ = try await client.initiateMultipartUpload(initiate) }.code == .invalidArgument)
        #expect(transport.requests.isEmpty)
    }

    // MARK: Content types

    private static let mimeTypes = """
        # A comment png
        image/png\t\t\tpng PNGX
        application/gzip gz
        application/x-tgz tar.gz
        nonsense zzz
        text/plain
        """
    private static let globs = """
        # magic
        50:text/x-swift:*.swift
        50:image/png:*.apng
        40:text/other:*.swift
        50:text/x-makefile:makefile
        """

    @Test(
        arguments: [
            ("a.png", "image/png"), ("A.PNG", "image/png"), ("v/a.b/c.pngx", "image/png"), ("a.gz", "application/gzip"),
            ("a.tar.gz", "application/x-tgz"), ("x.swift", "text/x-swift"), ("a.apng", "image/png"), ("a.zzz", nil),
            ("png", nil), ("a.png/", nil), ("a.png/b", nil), (".png", nil), ("a.", nil), ("makefile", nil),
            ("文.png", "image/png"),
        ] as [(String, String?)])
    func `A key's extension names its type`(key: String, type: String?) throws {
        try withTemporaryFolder { folder in
            _ = try TestFile(folder + "/mime.types", Array(Self.mimeTypes.utf8))
            _ = try TestFile(folder + "/globs2", Array(Self.globs.utf8))
            let table = ContentTypeTable(files: [
                (folder + "/nothing", .mimeTypes), (folder + "/mime.types", .mimeTypes), (folder + "/globs2", .globs),
            ])
            #expect(table.type(forKey: key) == type)
        }
    }

    @Test func `The guess is sent where no type is given, the same for small and large objects`() async throws {
        let guess = ContentTypeTable.system.type(forKey: "a.json")
        try await withLocalServer { fixture in
            let bucket = LocalFixture.bucket, client = fixture.client
            _ = try await client.putObject(.init(bucket: bucket, key: "a.json", body: .bytes([1])))
            _ = try await client.initiateMultipartUpload(.init(bucket: bucket, key: "b.json"))
            _ = try await client.appendObject(.init(bucket: bucket, key: "c.json", position: 0, body: .bytes([1])))
            #expect(fixture.server.requests.map { $0.headers["content-type"] } == [guess, guess, guess])
            var put = PutObjectRequest(bucket: bucket, key: "a.json", body: .bytes([1]))
            put.headers.contentType = "text/x"
            _ = try await client.putObject(put)
            #expect(fixture.server.requests.last?.headers["content-type"] == "text/x")
        }
        try await withLocalServer(client: { $0.guessesContentType = false }) { fixture in
            _ = try await fixture.client.putObject(.init(bucket: "media", key: "a.json", body: .bytes([1])))
            #expect(fixture.server.requests.map { $0.headers["content-type"] } == [nil])
        }
    }
}
