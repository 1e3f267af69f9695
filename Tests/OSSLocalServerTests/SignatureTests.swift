// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import OSSLocalServer
import OSSWire
import SystemIO
import Testing

@Suite(.timeLimit(.minutes(5))) struct SignatureTests {
    @Test(arguments: [TestClient.Signing.v4, .v1])
    func `A signed request is served, and a wrong secret is refused with the string to sign`(
        signing: TestClient.Signing
    ) async throws {
        try await withServer { _, client async throws in
            var client = client
            client.signing = signing
            let query = [QueryItem("prefix", "a b+c&d"), QueryItem("delimiter", "/")]
            #expect(try await client.send("GET", query: query).status == 200)
            client.account.accessKeySecret = "wrong"
            let reply = try await client.send("GET", query: query)
            #expect(reply.status == 403)
            let document = try reply.document
            #expect(document.string("Code") == "SignatureDoesNotMatch")
            #expect(document.string("OSSAccessKeyId") == "test-access-key-id")
            #expect(document.string("StringToSign")?.isEmpty == false)
            #expect(document.string("StringToSignBytes")?.isEmpty == false)
            #expect((document["CanonicalRequest"] != nil) == (signing == .v4))
            #expect(document.string("RequestId") == reply.headers["x-oss-request-id"])
            #expect(reply.headers["x-oss-ec"] == "0002-00000040")
        }
    }

    @Test func `What is changed after signing is noticed`() async throws {
        try await withServer { _, client async throws in
            let reply = try await client.send("PUT", key: "k", headers: ["x-oss-meta-a": "1"], body: [1]) {
                $0.headers["x-oss-meta-a"] = "2"
            }
            #expect(reply.errorCode == "SignatureDoesNotMatch")
        }
    }

    @Test func `No signature, an unknown key, a foreign region and a wrong clock are refused`() async throws {
        try await withServer { _, client async throws in
            var anonymous = client
            anonymous.signing = .none
            #expect(try await anonymous.send("GET").errorCode == "AccessDenied")
            var unknown = client
            unknown.account.accessKeyID = "nobody"
            #expect(try await unknown.send("GET").errorCode == "InvalidAccessKeyId")
            var foreign = client
            foreign.region = "elsewhere"
            #expect(try await foreign.send("GET").errorCode == "InvalidArgument")
            var early = client
            early.clockOffset = -16 * 60
            let document = try await early.send("GET").document
            #expect(document.string("Code") == "RequestTimeTooSkewed")
            #expect(document.string("MaxAllowedSkewMilliseconds") == "900000")
            #expect(document.string("RequestTime").flatMap { Timestamp(iso8601: $0) } != nil)
            #expect(document.string("ServerTime").flatMap { Timestamp(iso8601: $0) } != nil)
            early.clockOffset = -14 * 60
            #expect(try await early.send("GET").status == 200)
        }
    }

    @Test func `The server's clock can be set off`() async throws {
        try await withServer({ $0.clockOffset = .seconds(3600) }) { _, client async throws in
            #expect(try await client.send("GET").errorCode == "RequestTimeTooSkewed")
            var ahead = client
            ahead.clockOffset = 3600
            #expect(try await ahead.send("GET").status == 200)
        }
    }

    @Test func `A token has to be there, right and in force`() async throws {
        let account = OSSServer.Account(accessKeyID: "STS.1", accessKeySecret: "secret", securityToken: "token")
        try await withServer({ $0.accounts = [account, .test] }) { server, client async throws in
            var client = client
            client.account = account
            #expect(try await client.send("GET").status == 200)
            client.account.securityToken = "other"
            #expect(try await client.send("GET").errorCode == "InvalidSecurityToken")
            client.account.securityToken = nil
            // A temporary key is unknown without its token.
            #expect(try await client.send("GET").errorCode == "InvalidAccessKeyId")
            client.account = account
            #expect(server.setExpiration(1, ofAccessKeyID: "STS.1"))
            #expect(try await client.send("GET").errorCode == "SecurityTokenExpired")
        }
    }

    @Test func `No secret is in the request log`() async throws {
        let account = OSSServer.Account(accessKeyID: "STS.1", accessKeySecret: "sesame", securityToken: "tell-nobody")
        try await withServer({ $0.accounts = [account] }) { server, client async throws in
            var client = client
            client.account = account
            _ = try await client.send("GET")
            let record = try #require(server.requests.first)
            #expect(record.operation == "ListObjects")
            #expect(!"\(record)".contains("sesame"))
            #expect(!"\(record)".contains("tell-nobody"))
            #expect(record.headers["authorization"] == nil)
        }
    }

    @Test func `A token that comes under its short name is no more in the log than the other`() async throws {
        let account = OSSServer.Account(accessKeyID: "STS.1", accessKeySecret: "sesame", securityToken: "tell-nobody")
        try await withServer({ $0.accounts = [account] }) { server, client async throws in
            var client = client
            client.account = account
            client.signing = .v1
            let reply = try await client.send("GET") {
                $0.headers["x-oss-security-token"] = nil
                $0.headers["security-token"] = "tell-nobody"
                // The signature is over the header fields that are sent.
                $0.headers["Authorization"] = nil
                let date = $0.headers["Date"] ?? ""
                let text = SignatureV1.stringToSign($0, date: date)
                let signature = try? SignatureV1.signature(ofStringToSign: text, secret: "sesame")
                $0.headers["Authorization"] = "OSS STS.1:\(signature ?? "")"
            }
            #expect(reply.status == 200)
            #expect(!"\(try #require(server.requests.first))".contains("tell-nobody"))
        }
    }

    @Test(arguments: [
        ("oss", "cn-hangzhou", nil), ("oss-cloudbox", "cb-1", nil), ("other", "elsewhere", "InvalidArgument"),
    ])
    func `A signature is for a product that there is`(product: String, region: String, code: String?) async throws {
        try await withServer { _, client async throws in
            var client = client
            client.signing = .none
            let reply = try await client.send("GET") { request in
                let now = Timestamp(milliseconds: WallClock.milliseconds)
                // A request that cannot be signed is refused: the test sees it.
                try? SignatureV4(date: now, region: region, product: product).sign(
                    &request, accessKeyID: OSSServer.Account.test.accessKeyID,
                    secret: OSSServer.Account.test.accessKeySecret, securityToken: nil)
            }
            #expect(reply.errorCode == code)
            #expect(reply.status == (code == nil ? 200 : 400))
        }
    }
}
