// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import OSSLocalServer
import OSSWire
import SystemIO
import Testing

@Suite(.timeLimit(.minutes(5))) struct PresignTests {
    private static let sts = OSSServer.Account(
        accessKeyID: "STS.1", accessKeySecret: "secret", securityToken: "a/token+with=signs")

    /// The target of a presigned request, and the header fields that have to be sent with it.
    private func target(
        _ method: String, _ signing: TestClient.Signing, key: String, account: OSSServer.Account = .test,
        query: [QueryItem] = [], headers: HTTPFields = [:], additional: [String] = [], age: Int64 = 0,
        lifetime: Int = 60
    ) throws -> String {
        var request = SignableRequest(method: method, bucket: "bucket", key: key, query: query, headers: headers)
        let date = Timestamp(milliseconds: WallClock.milliseconds - age * 1000)
        switch signing {
        case .v4:
            try SignatureV4(date: date, region: "cn-hangzhou", additionalHeaders: additional).presign(
                &request, accessKeyID: account.accessKeyID, secret: account.accessKeySecret,
                securityToken: account.securityToken, expires: lifetime)
        case .v1:
            try SignatureV1.presign(
                &request, accessKeyID: account.accessKeyID, secret: account.accessKeySecret,
                securityToken: account.securityToken, expires: Timestamp(seconds: date.seconds + Int64(lifetime)))
        case .none: break
        }
        return "/bucket/\(PercentEncoding.encode(key, keepingSlash: true))?\(request.query.encoded)"
    }

    private func anonymous(_ client: TestClient) -> TestClient {
        var client = client
        client.signing = .none
        return client
    }

    @Test(arguments: [TestClient.Signing.v4, .v1], [OSSServer.Account.test, Self.sts])
    func `A presigned URL uploads and downloads`(signing: TestClient.Signing, account: OSSServer.Account) async throws {
        try await withServer({ $0.accounts = [.test, Self.sts] }) { _, client async throws in
            let client = self.anonymous(client), key = "a b/+&%文.txt"
            let put = try self.target(
                "PUT", signing, key: key, account: account, headers: ["Content-Type": "text/x", "x-oss-meta-a": "1"])
            let headers: HTTPFields = ["Content-Type": "text/x", "x-oss-meta-a": "1"]
            #expect(try await client.send("PUT", headers: headers, body: [1, 2], target: put).status == 200)
            #expect(try await client.send("PUT", body: [1, 2], target: put).errorCode == "SignatureDoesNotMatch")
            let get = try self.target(
                "GET", signing, key: key, account: account, query: [QueryItem("response-content-type", "text/y")])
            let reply = try await client.send("GET", target: get)
            #expect(reply.body == [1, 2])
            #expect(reply.headers["Content-Type"] == "text/y")
            #expect(reply.headers["x-oss-meta-a"] == "1")
            #expect(try await client.send("DELETE", target: get).errorCode == "SignatureDoesNotMatch")
        }
    }

    @Test(arguments: [TestClient.Signing.v4, .v1])
    func `A URL is good until it expires, however old`(signing: TestClient.Signing) async throws {
        try await withServer { _, client async throws in
            let client = self.anonymous(client)
            let old = try self.target("GET", signing, key: "k", age: 3600, lifetime: 7200)
            #expect(try await client.send("GET", target: old).errorCode == "NoSuchKey")
            let expired = try self.target("GET", signing, key: "k", age: 3600, lifetime: 60)
            let reply = try await client.send("GET", target: expired)
            #expect(reply.status == 403)
            #expect(try reply.document.string("Code") == "AccessDenied")
            #expect(try reply.document.string("Message") == "Request has expired.")
        }
    }

    @Test func `Version 4 bounds the lifetime, the start and the additional headers`() async throws {
        try await withServer { _, client async throws in
            let client = self.anonymous(client)
            for lifetime in [0, 604_801] {
                let target = try self.target("GET", .v4, key: "k", lifetime: lifetime)
                #expect(try await client.send("GET", target: target).errorCode == "InvalidArgument")
            }
            let early = try self.target("GET", .v4, key: "k", age: -3600)
            #expect(try await client.send("GET", target: early).errorCode == "RequestTimeTooSkewed")
            let headers: HTTPFields = ["abc": "1", "Range": "bytes=0-1"]
            let target = try self.target("GET", .v4, key: "k", headers: headers, additional: ["ABC", "range"])
            #expect(target.contains("x-oss-additional-headers=abc%3Brange"))
            #expect(try await client.send("GET", headers: headers, target: target).errorCode == "NoSuchKey")
            #expect(
                try await client.send("GET", headers: ["abc": "2", "Range": "bytes=0-1"], target: target).errorCode
                    == "SignatureDoesNotMatch")
            #expect(try await client.send("GET", target: target).errorCode == "SignatureDoesNotMatch")
        }
    }

    @Test(arguments: [TestClient.Signing.v4, .v1])
    func `A wrong or missing piece of a URL's signature is refused with the right code`(
        signing: TestClient.Signing
    ) async throws {
        try await withServer({ $0.accounts = [.test, Self.sts] }) { _, client async throws in
            let signed = client
            let client = self.anonymous(client)
            var nobody = OSSServer.Account.test
            nobody.accessKeyID = "nobody"
            let unknown = try self.target("GET", signing, key: "k", account: nobody)
            #expect(try await client.send("GET", target: unknown).errorCode == "InvalidAccessKeyId")
            var wrong = OSSServer.Account.test
            wrong.accessKeySecret = "wrong"
            let mismatch = try self.target("GET", signing, key: "k", account: wrong)
            let document = try await client.send("GET", target: mismatch).document
            #expect(document.string("Code") == "SignatureDoesNotMatch")
            #expect((document["CanonicalRequest"] != nil) == (signing == .v4))
            var token = Self.sts
            token.securityToken = "other"
            let foreign = try self.target("GET", signing, key: "k", account: token)
            #expect(try await client.send("GET", target: foreign).errorCode == "InvalidSecurityToken")
            token.securityToken = nil
            let bare = try self.target("GET", signing, key: "k", account: token)
            #expect(try await client.send("GET", target: bare).errorCode == "InvalidAccessKeyId")
            let good = try self.target("GET", signing, key: "k")
            let name = signing == .v4 ? "x-oss-date" : "Expires"
            let cut = good.split(separator: "&").filter { !$0.contains(name) }.joined(separator: "&")
            let code = try await client.send("GET", target: cut).errorCode
            #expect(code == (signing == .v4 ? "InvalidArgument" : "AccessDenied"))
            // A signature in both places.
            #expect(try await signed.send("GET", key: "k", target: good).errorCode == "InvalidArgument")
        }
    }
}
