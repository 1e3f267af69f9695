// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import CurlTransport
import FoundationEssentials
import OSSWire
import Testing

@testable import OSSMultipart

@Suite struct SigningServiceTests {
    private func service(_ version: OSSClient.SignatureVersion = .v4) throws -> OSSSigningService {
        var service = try OSSSigningService(
            region: "cn-hangzhou",
            credentials: .fixed(OSSCredentials(accessKeyID: "ak", accessKeySecret: "sk")),
            surroundings: Waits().surroundings)
        service.signatureVersion = version
        return service
    }

    private func request(
        _ method: String = "PUT", bucket: String = "media", key: String? = "k", query: [String: String] = [:],
        headers: [String: String] = [:], refusal: String? = nil
    ) throws -> OSSSigningRequest {
        // As it comes from a program in another language.
        struct Value: Encodable {
            let method: String, bucket: String, key: String?, query: [String: String], headers: [String: String]
            let refusal: String?
            var contentLength = 0
            var url = "https://media.oss-cn-hangzhou.aliyuncs.com/k?left=over"
        }
        let value = Value(method: method, bucket: bucket, key: key, query: query, headers: headers, refusal: refusal)
        return try JSONDecoder().decode(OSSSigningRequest.self, from: JSONEncoder().encode(value))
    }

    @Test func `A signature is the one that the client itself would make`() async throws {
        let transport = ScriptedTransport([.reply(headers: ["ETag": "\"E\""])])
        let client = try scriptedClient(
            transport, credentials: .fixed(OSSCredentials(accessKeyID: "ak", accessKeySecret: "sk")))
        _ = try await client.putObject(.init(bucket: "media", key: "k", body: .bytes([1])))
        let sent = try #require(transport.requests.first)
        var asked: [String: String] = [:]
        for name in ["Content-MD5", "Content-Type"] { asked[name] = sent.headers[name] }
        let signed = try await self.service().sign(self.request(headers: asked))
        #expect(signed.url == "https://media.oss-cn-hangzhou.aliyuncs.com/k")
        #expect(signed.headers["Authorization"] != nil)
        #expect(signed.headers["Authorization"] == sent.headers["Authorization"])
        #expect(signed.headers["x-oss-date"] == sent.headers["x-oss-date"])
    }

    @Test func `The operation is told from method, parameters and header fields, and nothing else`() throws {
        let known: [(String, String?, [String: String], [String: String], String)] = [
            ("PUT", "k", [:], [:], "PutObject"),
            ("PUT", "k", [:], ["X-OSS-Copy-Source": "/a/b"], "CopyObject"),
            ("PUT", "k", ["partNumber": "1", "uploadId": "U"], [:], "UploadPart"),
            ("PUT", "k", ["partNumber": "1", "uploadId": "U"], ["x-oss-copy-source": "/a/b"], "UploadPartCopy"),
            ("POST", "k", ["uploads": ""], [:], "InitiateMultipartUpload"),
            ("POST", "k", ["uploadId": "U"], [:], "CompleteMultipartUpload"),
            ("DELETE", "k", ["uploadId": "U"], [:], "AbortMultipartUpload"),
            ("GET", "k", ["uploadId": "U"], [:], "ListParts"),
            ("DELETE", nil, [:], [:], "DeleteBucket"),
        ]
        for (method, key, query, headers, name) in known {
            #expect(try self.request(method, key: key, query: query, headers: headers).operation?.name == name)
        }
        for (method, key, query) in [
            ("PUT", "k", ["symlink": ""]), ("PUT", "k", ["partNumber": "1", "uploadId": "U", "acl": ""]),
            ("PUT", "k", ["partNumber": "1"]), ("PUT", nil, ["policy": ""]), ("GET", nil, [:]), ("put", "k", [:]),
            ("POST", "k", ["restore": ""]), ("DELETE", "k", ["x-oss-process": ""]),
        ] as [(String, String?, [String: String])] {
            #expect(try self.request(method, key: key, query: query).operation == nil)
        }
    }

    @Test func `What is no request of an operation, or has what breaks a line, is not signed`() async throws {
        let service = try self.service(), old = try self.service(.v1)
        let wrong: [(OSSSigningService, OSSSigningRequest)] = [
            (service, try self.request(query: ["symlink": ""])),
            (service, try self.request(bucket: "Me dia")),
            (service, try self.request(key: "")),
            (service, try self.request("GET", bucket: "a/b", key: nil, query: ["location": ""])),
            (service, try self.request(headers: ["Content-Type": "a\nx-oss-meta-a:1"])),
            (service, try self.request(headers: ["Content-Type": "a\u{7F}"])),
            (service, try self.request(headers: ["a:b": "c"])),
            (service, try self.request(headers: ["": "c"])),
            (service, try self.request(headers: ["authorization": "c"])),
            (service, try self.request(headers: ["X-OSS-Date": "c"])),
            (service, try self.request(headers: ["x-oss-security-token": "c"])),
            (old, try self.request(key: "k?acl")),
            (old, try self.request(key: "k?\u{301}acl")),
            (old, try self.request("GET", query: ["versionId": "V&acl"])),
            (old, try self.request("GET", query: ["versionId": "V&\u{301}acl"])),
        ]
        for (service, request) in wrong {
            let error = try await failure { _ = try await service.sign(request) }
            #expect(error.code == .invalidArgument)
        }
        // With V4 these can be nothing else.
        _ = try await service.sign(self.request(key: "k?acl"))
        _ = try await service.sign(self.request("GET", query: ["versionId": "V&acl"]))
    }

    @Test func `A refusal of the key asks for another, and any other refusal asks for none`() async throws {
        let loads = Counter()
        let service = try OSSSigningService(
            region: "cn-hangzhou",
            credentials: .refreshing {
                try OSSCredentials(accessKeyID: "ak\(loads.next())", accessKeySecret: "sk", securityToken: "t")
            }, surroundings: Waits().surroundings)
        func keyID(_ refusal: String?) async throws -> String? {
            let signed = try await service.sign(self.request(refusal: refusal))
            let authorization = signed.headers["Authorization"]
            return authorization?.split(separator: "/").first.map { String($0.split(separator: "=").last ?? "") }
        }
        for refusal in [nil, "SignatureDoesNotMatch", "RequestTimeTooSkewed", "AccessDenied", ""] {
            let id = try await keyID(refusal)
            #expect(id == "ak0")
        }
        for (refusal, expected) in [
            ("SecurityTokenExpired", "ak1"), ("InvalidSecurityToken", "ak2"), ("InvalidAccessKeyId", "ak3"),
        ] {
            let id = try await keyID(refusal)
            #expect(id == expected)
        }
    }

    @Test func `A URL is good for as long as was asked, and signs every header field`() async throws {
        for version in OSSClient.SignatureVersion.all {
            var service = try self.service(version)
            service.urlLifetime = .seconds(90)
            let asked = try self.request(
                query: ["partNumber": "1", "uploadId": "U"], headers: ["Content-MD5": "AA==", "X-A": "1"])
            let signed = try await service.sign(asked)
            #expect(signed.headers == asked.headers)
            #expect(signed.url.hasPrefix("https://media.oss-cn-hangzhou.aliyuncs.com/k?partNumber=1&uploadId=U&"))
            if version == .v4 {
                #expect(signed.url.contains("x-oss-expires=90&"))
                #expect(signed.url.contains("x-oss-additional-headers=x-a&"))
            } else {
                #expect(signed.url.contains("Expires=\(1_702_743_657 + 90)&"))
            }
            for lifetime in [Duration.zero, .seconds(version == .v4 ? 604_801 : Int64(Int32.max) + 1)] {
                service.urlLifetime = lifetime
                let error = try await failure { _ = try await service.sign(asked) }
                #expect(error.code == .invalidArgument)
            }
        }
    }

    @Test func `A region that is none is refused, and nothing printed holds what was signed`() async throws {
        #expect {
            try OSSSigningService(region: "cn hangzhou", credentials: .environment)
        } throws: { ($0 as? OSSError)?.code == .invalidConfiguration }
        var service = try self.service()
        for lifetime in [nil, Duration.seconds(60)] {
            service.urlLifetime = lifetime
            let signed = try await service.sign(self.request(headers: ["x-oss-meta-a": "value"]))
            var dumped = ""
            dump(signed, to: &dumped)
            for text in ["\(signed)", String(reflecting: signed), dumped] {
                #expect(text.contains("media.oss-cn-hangzhou.aliyuncs.com/k"))
                #expect(!text.contains("ignature"))
                #expect(!text.contains("value"))
            }
        }
        var dumped = ""
        dump(service, to: &dumped)
        #expect(!dumped.contains("sk\""))
    }
}
