// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import CurlTransport
import FoundationEssentials
import OSSLocalServer
import OSSWire
import Testing

@testable import OSSMultipart

@Suite(.timeLimit(.minutes(5))) struct PresignTests {
    /// Sends a presigned request as somebody without credentials would.
    private func send(
        _ request: OSSPresignedRequest, body: [UInt8]? = nil, without: String? = nil
    ) async throws -> TransportResponse {
        var configuration = CurlTransportConfiguration()
        configuration.proxy = ""
        let transport = CurlTransport(configuration: configuration)
        var outgoing = TransportRequest(
            method: request.method, url: request.url, body: body.map { .bytes($0) } ?? .none)
        for (name, value) in request.headers where name != without { outgoing.headers[name] = value }
        let result: Result<TransportResponse, any Error>
        do { result = .success(try await transport.execute(outgoing)) } catch { result = .failure(error) }
        await transport.shutDown()
        return try result.get()
    }

    private static let sts = OSSServer.Account(
        accessKeyID: "STS.1", accessKeySecret: "secret", securityToken: "a/token+with=signs")

    private func withSigner(
        _ version: OSSClient.SignatureVersion, _ body: (LocalFixture) async throws -> Void
    ) async throws {
        let credentials = try OSSCredentials(
            accessKeyID: "STS.1", accessKeySecret: "secret", securityToken: "a/token+with=signs")
        try await withLocalServer(
            { $0.accounts = [Self.sts] }, client: { $0.signatureVersion = version }, credentials: .fixed(credentials)
        ) { try await body($0) }
    }

    @Test(arguments: [OSSClient.SignatureVersion.v4, .v1])
    func `An object is put, looked at and got with URLs alone`(version: OSSClient.SignatureVersion) async throws {
        try await self.withSigner(version) { fixture in
            let client = fixture.client, key = "a b/+&%文.txt"
            var headers = OSSObjectHeaders()
            headers.contentType = "text/x"
            headers.cacheControl = "no-cache"
            headers.metadata = ["a": "1"]
            let put = try await client.presign(.putObject(bucket: "media", key: key, headers: headers))
            #expect(put.headers == ["Content-Type": "text/x", "Cache-Control": "no-cache", "x-oss-meta-a": "1"])
            #expect(try await self.send(put, body: [1, 2, 3]).status == 200)
            // What is signed must be sent.
            #expect(try await self.send(put, body: [1], without: "x-oss-meta-a").status == 403)

            let head = try await client.presign(.headObject(.init(bucket: "media", key: key)))
            let looked = try await self.send(head)
            #expect(looked.status == 200)
            #expect(looked.headers["x-oss-meta-a"] == "1")
            #expect(looked.headers["Cache-Control"] == "no-cache")

            var get = GetObjectRequest(bucket: "media", key: key)
            get.range = .bytes(1..<3)
            get.replyHeaders.contentType = "text/y"
            let url = try await client.presign(.getObject(get))
            let got = try await self.send(url)
            #expect(got.status == 206)
            #expect(got.body == [2, 3])
            #expect(got.headers["Content-Type"] == "text/y")
            #expect(
                try await self.send(.init(method: "DELETE", url: url.url, headers: url.headers, expiration: .now))
                    .status == 403)
        }
    }

    @Test(arguments: [OSSClient.SignatureVersion.v4, .v1])
    func `An upload in parts is made, and another given up, with URLs alone`(
        version: OSSClient.SignatureVersion
    ) async throws {
        try await self.withSigner(version) { fixture in
            let client = fixture.client
            let upload = try await client.initiateMultipartUpload(.init(bucket: "media", key: "k"))
            let part = try await self.send(try await client.presign(.uploadPart(upload, partNumber: 1)), body: [1, 2])
            #expect(part.status == 200)
            let list =
                "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>\(part.headers["ETag"] ?? "")</ETag></Part>"
                + "</CompleteMultipartUpload>"
            let complete = try await client.presign(.completeMultipartUpload(upload))
            #expect(try await self.send(complete, body: Array(list.utf8)).status == 200)
            #expect(try await fixture.object("k") == [1, 2])

            let other = try await client.initiateMultipartUpload(.init(bucket: "media", key: "k"))
            #expect(try await self.send(try await client.presign(.abortMultipartUpload(other))).status == 204)
            #expect(fixture.openUploads.isEmpty)
        }
    }

    @Test func `A URL is good for its time and no longer`() async throws {
        let waits = Waits()
        for version in OSSClient.SignatureVersion.all {
            let client = try scriptedClient(ScriptedTransport([]), waits: waits) { $0.signatureVersion = version }
            let url = try await client.presign(.putObject(bucket: "media", key: "k"), lifetime: .seconds(60))
            #expect(url.expiration == Date(timeIntervalSince1970: 1_702_743_717))
            #expect(url.url.contains(version == .v4 ? "x-oss-expires=60&" : "Expires=1702743717&"))
        }
        // The server's clock is an hour ahead: what was made for a minute is over.
        for version in OSSClient.SignatureVersion.all {
            try await withLocalServer(
                { $0.clockOffset = .seconds(600) }, client: { $0.signatureVersion = version }
            ) { fixture in
                let old = try await fixture.client.presign(
                    .putObject(bucket: "media", key: "k"), lifetime: .seconds(60))
                let late = try await self.send(old, body: [1])
                #expect(late.status == 403)
                #expect(String(decoding: late.body, as: UTF8.self).contains("expired"))
                let long = try await fixture.client.presign(
                    .putObject(bucket: "media", key: "k"), lifetime: .seconds(3600))
                let good = try await self.send(long, body: [1])
                #expect(good.status == 200)
            }
        }
    }

    @Test func `A URL is good no longer than the token that signed it`() async throws {
        let end = Date(timeIntervalSince1970: 1_702_743_757)
        let credentials = try OSSCredentials(
            accessKeyID: "ak", accessKeySecret: "s", securityToken: "t", expiration: end)
        let client = try scriptedClient(ScriptedTransport([]), credentials: .fixed(credentials))
        let url = try await client.presign(.putObject(bucket: "media", key: "k"), lifetime: .seconds(3600))
        #expect(url.expiration == end)
    }

    @Test func `A URL for a version names it, and without one it names none`() async throws {
        let client = try scriptedClient(ScriptedTransport([]))
        for version in ["V+1", nil] {
            var head = HeadObjectRequest(bucket: "media", key: "k")
            head.versionID = version
            var get = GetObjectRequest(bucket: "media", key: "k")
            get.versionID = version
            for operation in [OSSPresignedOperation.headObject(head), .getObject(get)] {
                let url = try await client.presign(operation).url
                #expect(url.contains("versionId=V%2B1&") == (version != nil))
                #expect(url.contains("versionId") == (version != nil))
            }
        }
    }

    @Test func `What cannot be signed is refused, and nothing printed holds the signature`() async throws {
        let client = try scriptedClient(ScriptedTransport([]))
        let upload = OSSMultipartUpload(bucket: "media", key: "k", uploadID: "U")
        for (operation, lifetime) in [
            (OSSPresignedOperation.putObject(bucket: "media", key: "k"), Duration.seconds(604_801)),
            (.putObject(bucket: "media", key: "k"), .zero), (.putObject(bucket: "media", key: ""), .seconds(1)),
            (.uploadPart(upload, partNumber: 10_001), .seconds(1)),
        ] {
            let error = try await failure { _ = try await client.presign(operation, lifetime: lifetime) }
            #expect(error.code == .invalidArgument)
        }
        let url = try await client.presign(.putObject(bucket: "media", key: "k"))
        var dumped = ""
        dump(url, to: &dumped)
        for text in ["\(url)", String(reflecting: url), dumped] {
            #expect(!text.contains("signature"))
            #expect(text.contains("media.oss-cn-hangzhou.aliyuncs.com/k"))
        }
    }
}
