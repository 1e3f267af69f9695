// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

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
}
