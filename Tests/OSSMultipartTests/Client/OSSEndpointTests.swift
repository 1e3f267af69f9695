// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import CurlTransport
import Testing

@testable import OSSMultipart

@Suite struct OSSEndpointTests {
    @Test(arguments: [
        ("oss-cn-hangzhou.aliyuncs.com", "https://oss-cn-hangzhou.aliyuncs.com"),
        ("https://oss-cn-hangzhou.aliyuncs.com/", "https://oss-cn-hangzhou.aliyuncs.com"),
        ("HTTP://OSS-CN-Hangzhou.aliyuncs.com", "http://oss-cn-hangzhou.aliyuncs.com"),
        (" http://127.0.0.1:9000 ", "http://127.0.0.1:9000"), ("http://[::1]:80", "http://[::1]:80"),
        ("[fe80::1]", "https://[fe80::1]"), ("localhost:1", "https://localhost:1"),
    ])
    func `An endpoint is read in each of its forms`(text: String, spelled: String) throws {
        #expect(try OSSEndpoint(text).text == spelled)
    }

    @Test(arguments: [
        "", "  ", "https://", "ftp://host", "http://host/path", "http://host?x", "http://user@host", "host:0",
        "host:65536",
        "host:x", "http://ho st", "http://h\nost", "http://[::1", "..", "http://.host", "http://host:",
    ])
    func `What is no endpoint is refused with an example of one`(text: String) {
        #expect {
            try OSSEndpoint(text)
        } throws: { ($0 as? OSSError)?.code == .invalidConfiguration && "\($0)".contains("https://oss-cn-hangzhou") }
    }

    @Test(arguments: [
        ("http://user@host", "a user name"), ("http://host/path", "a path"), ("http://host?x", "a query"),
    ])
    func `What does not belong into an endpoint is named`(text: String, flaw: String) {
        #expect {
            try OSSEndpoint(text)
        } throws: { "\($0)".contains(flaw) }
    }

    @Test(arguments: [
        ("oss-cn-hangzhou.aliyuncs.com", "cn-hangzhou"), ("oss-us-west-1-internal.aliyuncs.com", "us-west-1"),
        ("cn-hangzhou.oss.aliyuncs.com", "cn-hangzhou"), ("oss-accelerate.aliyuncs.com", nil),
        ("oss-accelerate-overseas.aliyuncs.com", nil), ("127.0.0.1", nil), ("oss-cn-hangzhou.example.com", nil),
        ("oss-.aliyuncs.com", nil),
    ])
    func `The region comes from the documented forms alone`(host: String, region: String?) throws {
        #expect(try OSSEndpoint(host).region == region)
    }

    @Test(arguments: [
        ("https://oss-cn-hangzhou.aliyuncs.com", "https://media.oss-cn-hangzhou.aliyuncs.com/a%20b//c%2B"),
        ("http://127.0.0.1:9000", "http://127.0.0.1:9000/media/a%20b//c%2B"),
        ("http://[::1]:9000", "http://[::1]:9000/media/a%20b//c%2B"),
        ("http://localhost:9000", "http://localhost:9000/media/a%20b//c%2B"),
        ("http://minio", "http://minio/media/a%20b//c%2B"),
        ("http://oss.localhost:9000", "http://oss.localhost:9000/media/a%20b//c%2B"),
        ("http://oss.localhost.example", "http://media.oss.localhost.example/a%20b//c%2B"),
    ])
    func `The bucket is in the host unless that cannot be`(endpoint: String, address: String) throws {
        let made = try OSSEndpoint(endpoint).address(bucket: "media", key: "a b//c+", addressing: .automatic)
        #expect(made == address)
    }

    @Test func `Path, virtual host and CNAME can be asked for`() throws {
        let endpoint = try OSSEndpoint("https://files.example.com:8443")
        func address(_ addressing: OSSClient.Addressing) -> String {
            endpoint.address(bucket: "media", key: "k", addressing: addressing)
        }
        #expect(address(.path) == "https://files.example.com:8443/media/k")
        #expect(address(.virtualHost) == "https://media.files.example.com:8443/k")
        #expect(address(.cname) == "https://files.example.com:8443/k")
    }

    @Test(arguments: [
        (OSSClient.Network.public, "https://oss-cn-hangzhou.aliyuncs.com"),
        (.internal, "https://oss-cn-hangzhou-internal.aliyuncs.com"),
        (.accelerate, "https://oss-accelerate.aliyuncs.com"),
        (.accelerateOverseas, "https://oss-accelerate-overseas.aliyuncs.com"),
        (.dualStack, "https://cn-hangzhou.oss.aliyuncs.com"),
    ])
    func `A region has an endpoint on each network`(network: OSSClient.Network, endpoint: String) throws {
        let key = try OSSCredentials(accessKeyID: "ak", accessKeySecret: "s")
        let client = try OSSClient(region: "cn-hangzhou", network: network, credentials: .fixed(key))
        #expect(client.endpoint == endpoint)
        #expect(client.region == "cn-hangzhou")
        for region in ["", "oss-cn-hangzhou", "CN", "cn hangzhou", "a/b"] {
            #expect(throws: OSSError.self) {
                try OSSClient(region: region, network: network, credentials: .fixed(key))
            }
        }
    }

    @Test(arguments: [
        (
            "https://media.oss-cn-hangzhou.aliyuncs.com", OSSClient.Addressing.automatic,
            "https://oss-cn-hangzhou.aliyuncs.com"
        ),
        ("media.oss-accelerate.aliyuncs.com", .automatic, "https://oss-accelerate.aliyuncs.com"),
        ("media.cn-hangzhou.oss.aliyuncs.com", .automatic, "https://cn-hangzhou.oss.aliyuncs.com"),
        (
            "s3.oss-cn-hangzhou.aliyuncs.com", .automatic,
            "speaks the protocol of S3; give https://oss-cn-hangzhou.aliyuncs.com"
        ),
        ("oss-cn-hangzhou.aliyuncs.com", .cname, "automatic"), ("oss-cn-hangzhou.aliyuncs.com", .path, "virtual"),
        ("127.0.0.1:9000", .virtualHost, "path"), ("[::1]", .virtualHost, "path"),
        ("oss-cn-hangzhou", .automatic, "https://oss-cn-hangzhou.aliyuncs.com"), ("::1", .automatic, "[::1]"),
        ("fe80::1:9000", .automatic, "brackets"),
    ])
    func `A combination that cannot work is refused with one that does`(
        endpoint: String, addressing: OSSClient.Addressing, advice: String
    ) throws {
        let key = try OSSCredentials(accessKeyID: "ak", accessKeySecret: "s")
        var configuration = OSSClient.Configuration()
        configuration.addressing = addressing
        #expect {
            try OSSClient(
                endpoint: endpoint, region: "cn-hangzhou", credentials: .fixed(key), configuration: configuration)
        } throws: { error in
            (error as? OSSError)?.code == .invalidConfiguration && "\(error)".contains(advice)
        }
    }

    @Test func `The bucket stands in the host but once`() async throws {
        let key = try OSSCredentials(accessKeyID: "ak", accessKeySecret: "s")
        func client(_ addressing: OSSClient.Addressing, _ transport: ScriptedTransport) throws -> OSSClient {
            var configuration = OSSClient.Configuration()
            configuration.addressing = addressing
            return try OSSClient(
                endpoint: "https://media.example.com", region: "cn-hangzhou", credentials: .fixed(key),
                configuration: configuration, transport: transport, surroundings: Waits().surroundings
            )
        }
        let unclear = ScriptedTransport([])
        let automatic = try client(.automatic, unclear)
        let error = try await failure { _ = try await automatic.deleteObject(.init(bucket: "media", key: "k")) }
        #expect(error.code == .invalidConfiguration)
        #expect(error.message.contains("cname"))
        #expect(unclear.requests.isEmpty)
        let transport = ScriptedTransport([.reply(status: 204), .reply(status: 204), .reply(status: 204)])
        _ = try await client(.cname, transport).deleteObject(.init(bucket: "media", key: "k"))
        _ = try await client(.virtualHost, transport).deleteObject(.init(bucket: "media", key: "k"))
        _ = try await client(.automatic, transport).deleteObject(.init(bucket: "other", key: "k"))
        #expect(
            transport.requests.map(\.url) == [
                "https://media.example.com/k", "https://media.media.example.com/k", "https://other.media.example.com/k",
            ])
    }
}
