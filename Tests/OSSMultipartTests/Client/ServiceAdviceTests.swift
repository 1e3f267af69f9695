// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import CurlTransport
import FoundationEssentials
import OSSLocalServer
import OSSWire
import Testing

@testable import OSSMultipart

@Suite(.timeLimit(.minutes(5))) struct ServiceAdviceTests {
    private let upload = OSSMultipartUpload(bucket: "media", key: "k", uploadID: "U")

    /// What a client says of a refusal.
    private func said(
        _ answer: ScriptedTransport.Answer, _ configure: (inout OSSClient.Configuration) -> Void = { _ in },
        _ call: ((OSSClient) async throws -> Void)? = nil
    ) async throws -> OSSError {
        let client = try scriptedClient(ScriptedTransport([answer, answer])) {
            $0.retryPolicy.maximumAttempts = 1
            configure(&$0)
        }
        return try await failure {
            if let call {
                try await call(client)
            } else {
                _ = try await client.headObject(.init(bucket: "media", key: "k"))
            }
        }
    }

    @Test func `A denial names the action that the operation needs`() async throws {
        let denied = ScriptedTransport.Answer.refusal(403, "AccessDenied")
        let upload = self.upload
        let calls: [(String, (OSSClient) async throws -> Void)] = [
            ("oss:PutObject", { _ = try await $0.putObject(.init(bucket: "media", key: "k", body: .bytes([]))) }),
            ("oss:PutObject", { _ = try await $0.initiateMultipartUpload(.init(bucket: "media", key: "k")) }),
            ("oss:ListParts", { _ = try await $0.listParts(.init(upload: upload)) }),
            ("oss:AbortMultipartUpload", { try await $0.abortMultipartUpload(.init(upload: upload)) }),
            ("oss:ListMultipartUploads", { _ = try await $0.listMultipartUploads(.init(bucket: "media")) }),
            ("oss:GetObject", { _ = try await $0.headObject(.init(bucket: "media", key: "k")) }),
            ("oss:GetObject", { _ = try await $0.getObject(.init(bucket: "media", key: "k")) }),
            ("oss:DeleteObject", { _ = try await $0.deleteObject(.init(bucket: "media", key: "k")) }),
            ("oss:DeleteObject", { _ = try await $0.deleteMultipleObjects(.init(bucket: "media", keys: ["k"])) }),
            ("oss:ListObjects", { _ = try await $0.listObjectsV2(.init(bucket: "media")) }),
            ("oss:PutObjectTagging", { try await $0.putObjectTagging(.init(bucket: "media", key: "k", tags: [])) }),
            ("oss:GetObjectAcl", { _ = try await $0.getObjectACL(.init(bucket: "media", key: "k")) }),
            (
                "oss:PutObject",
                {
                    _ = try await $0.uploadPart(
                        .init(upload: upload, partNumber: 1, body: .bytes([1]), isLastPart: true))
                }
            ),
            (
                "oss:PutObject",
                {
                    _ = try await $0.completeMultipartUpload(
                        .init(upload: upload, parts: [.init(partNumber: 1, eTag: "E")]))
                }
            ),
            (
                "oss:PutObject",
                { _ = try await $0.appendObject(.init(bucket: "media", key: "k", position: 0, body: .bytes([1]))) }
            ),
            (
                "oss:GetObject (of the source) and oss:PutObject",
                {
                    let source = OSSCopySource(bucket: "media", key: "a")
                    _ = try await $0.copyObject(.init(source: source, bucket: "media", key: "k"))
                }
            ),
            ("oss:PutObjectAcl", { try await $0.putObjectACL(.init(bucket: "media", key: "k", acl: "private")) }),
            ("oss:PutBucket", { try await $0.putBucket(.init(bucket: "media")) }),
            ("oss:GetBucketLocation", { _ = try await $0.getBucketLocation(.init(bucket: "media")) }),
        ]
        for (action, call) in calls {
            let error = try await self.said(denied, { _ in }, call)
            #expect(error.message.contains("allow \(action) in the policy"))
            #expect(error.requestID == "REQUEST-AccessDenied")
        }
    }

    @Test(
        arguments: [
            (
                "AccessDenied", 403, "<Endpoint>oss-cn-beijing.aliyuncs.com</Endpoint>",
                "https://oss-cn-beijing.aliyuncs.com"
            ),
            (
                "AccessDenied", 403, "<Bucket>media</Bucket><Endpoint>media.oss-cn-beijing.aliyuncs.com</Endpoint>",
                "https://oss-cn-beijing.aliyuncs.com"
            ),
            ("PermanentRedirect", 403, "<Endpoint>oss-cn-x.aliyuncs.com</Endpoint>", "https://oss-cn-x.aliyuncs.com"),
            ("SecondLevelDomainForbidden", 403, "", "addressing automatic"), ("NoSuchBucket", 404, "", "bucket's name"),
            ("SecurityTokenExpired", 403, "", "new temporary credentials"), ("UserDisable", 403, "", "suspended"),
            ("InvalidObjectState", 403, "", "restore"), ("TransferAccelerationDisabled", 403, "", "acceleration"),
            ("KmsServiceNotEnabled", 403, "", "AES256"), ("InvalidAccessKeyId", 403, "", "check the access key ID"),
            ("InvalidSecurityToken", 403, "", "new temporary credentials"),
            ("FileAlreadyExists", 409, "", "choose another key or allow it"),
            ("TemporaryRedirect", 307, "", "that region's endpoint"), ("Moved", 301, "", "redirects are not followed"),
            ("SignatureDoesNotMatch", 403, "", "check the access key secret and the region"),
            ("RequestTimeTooSkewed", 403, "", "set this machine's clock"),
            (
                "EntityTooSmall", 400,
                "<PartNumber>3</PartNumber><ProposedSize>100</ProposedSize><MinSizeAllowed>102400</MinSizeAllowed>",
                "part 3 has 100 bytes, and every part but the last has at least 102400"
            ),
            ("RequestTimeTooSkewed", 403, "<ServerTime>2023-12-16T18:20:57.000Z</ServerTime>", "120 minutes behind"),
            ("RequestTimeTooSkewed", 403, "<ServerTime>2023-12-16T16:19:57.000Z</ServerTime>", "60 seconds ahead of"),
        ])
    func `What users meet most comes with what to do`(
        code: String, status: Int, extra: String, advice: String
    ) async throws {
        let error = try await self.said(.refusal(status, code, extra: extra))
        #expect(error.service?.code.name == code)
        #expect(error.message.contains(advice))
        #expect(error.description.contains("REQUEST-\(code)"))
    }

    @Test(arguments: [
        ("You have no right to access this object because of bucket acl.", "the ACL of bucket or object"),
        ("Request has expired.", "the URL was good for a time that is over"),
        ("Access denied by authorizer's policy.", "in the policy of this user, role or bucket"),
    ])
    func `A denial's sentence says what stands in the way`(sentence: String, advice: String) async throws {
        let document = "<Error><Code>AccessDenied</Code><Message>\(sentence)</Message></Error>"
        let error = try await self.said(.reply(document, status: 403))
        #expect(error.message.hasPrefix("the service says \"\(sentence)\"; "))
        #expect(error.message.contains(advice))
    }

    @Test func `A region that is not the endpoint's is named`() async throws {
        let document =
            "<Error><Code>InvalidArgument</Code><Message>Invalid signing region in Authorization header.</Message></Error>"
        let error = try await self.said(.reply(document, status: 400))
        #expect(error.message.contains("the region cn-hangzhou is not the one"))
        try await withLocalServer({ $0.region = "cn-beijing" }) { fixture in
            let account = OSSServer.Account.test
            let client = try OSSClient(
                endpoint: fixture.client.endpoint, region: "cn-shanghai",
                credentials: .fixed(
                    OSSCredentials(accessKeyID: account.accessKeyID, accessKeySecret: account.accessKeySecret)))
            let refused = try await failure { _ = try await client.listObjectsV2(.init(bucket: "media")) }
            await client.shutDown()
            #expect(refused.message.contains("cn-shanghai"))
        }
    }

    // MARK: Signatures

    @Test(arguments: [OSSClient.SignatureVersion.v4, .v1])
    func `Where both sides signed the same, the secret is wrong`(version: OSSClient.SignatureVersion) async throws {
        try await withLocalServer(
            client: { $0.signatureVersion = version },
            credentials: .fixed(
                OSSCredentials(accessKeyID: OSSServer.Account.test.accessKeyID, accessKeySecret: "wrong"))
        ) { fixture in
            var put = PutObjectRequest(bucket: "media", key: "a b+文", body: .bytes([1]))
            put.headers.metadata = ["a": "é"]
            let request = put
            let error = try await failure { _ = try await fixture.client.putObject(request) }
            #expect(error.service?.code == .signatureDoesNotMatch)
            #expect(error.message.contains("the access key secret is not the one"))
            #expect(error.requestID != nil)
        }
    }

    /// What the service would say it signed, with something changed in it.
    private func refused(
        _ version: OSSClient.SignatureVersion, _ change: (String) -> String
    ) async throws -> OSSError {
        // The first request shows what is signed.
        let probe = ScriptedTransport([.reply(status: 204)])
        let configure: (inout OSSClient.Configuration) -> Void = { $0.signatureVersion = version }
        let call: (OSSClient) async throws -> Void = {
            var request = DeleteObjectRequest(bucket: "media", key: "k")
            request.versionID = "V1"
            _ = try await $0.deleteObject(request)
        }
        try await call(try scriptedClient(probe, configure))
        let headers = probe.requests[0].headers
        let signable = SignableRequest(
            method: "DELETE", bucket: "media", key: "k", query: [QueryItem("versionId", "V1")], headers: headers)
        var document = "<Error><Code>SignatureDoesNotMatch</Code><Message>No.</Message>"
        func element(_ name: String, _ text: String) {
            var writer = XMLWriter()
            writer.element(name, text)
            document += String(decoding: writer.bytes, as: UTF8.self).split(separator: "\n", maxSplits: 1)[1]
        }
        if version == .v4 {
            let date = try #require(headers["x-oss-date"].flatMap { Timestamp(compact: $0) })
            let signer = SignatureV4(date: date, region: "cn-hangzhou")
            let canonical = change(signer.canonicalRequest(signable))
            element("StringToSign", change(try signer.stringToSign(canonicalRequest: canonical)))
            element("CanonicalRequest", canonical)
        } else {
            element("StringToSign", change(SignatureV1.stringToSign(signable, date: headers["Date"] ?? "")))
        }
        document += "</Error>"
        return try await self.said(.reply(document, status: 403), configure, call)
    }

    @Test(
        arguments: [
            (.v4, "DELETE\n", "POST\n", "the method"), (.v4, "/media/k", "/other/k", "the path"),
            (.v4, "versionId=V1", "versionId=V1&x=y", "the query (x)"),
            (.v4, "x-oss-date:", "x-oss-added:1\nx-oss-date:", "a header field (x-oss-added)"),
            (.v4, "cn-hangzhou", "cn-beijing", "the scope with the region"), (.v1, "DELETE\n", "POST\n", "the method"),
            (.v1, "GMT\n", "GMT\nx-oss-added:1\n", "a header field (x-oss-added)"),
            (.v1, "/media/k", "/other/k", "the resource"),
        ] as [(OSSClient.SignatureVersion, String, String, String)])
    func `Where they differ, the message says in what`(
        version: OSSClient.SignatureVersion, text: String, replacement: String, difference: String
    ) async throws {
        let error = try await self.refused(version) { signed in
            guard let place = signed.firstRange(of: text) else { return signed }
            return signed.replacingCharacters(in: place, with: replacement)
        }
        #expect(error.message.contains("\(difference)"))
        #expect(error.message.contains("is not what was signed here"))
    }
}

extension String {
    fileprivate func replacingCharacters(in range: Range<Index>, with text: String) -> String {
        String(self[..<range.lowerBound]) + text + String(self[range.upperBound...])
    }
}
