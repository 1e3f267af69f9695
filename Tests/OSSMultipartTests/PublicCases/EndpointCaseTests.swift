// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import OSSLocalServer
import Testing

@testable import OSSMultipart

/// Public cases of endpoints, redirects, clocks and refusals.
@Suite(.timeLimit(.minutes(5))) struct EndpointCaseTests {
    private static let part = Int(LocalFixture.partSize)

    /// Runs a test with a client of another endpoint or with other options.
    private func withClient(
        of fixture: LocalFixture, endpoint: String, secret: String = OSSServer.Account.test.accessKeySecret,
        _ configure: (inout OSSClient.Configuration) -> Void = { _ in }, _ body: (LocalFixture) async throws -> Void
    ) async throws {
        var configuration = fixture.client.configuration
        configure(&configuration)
        let client = try OSSClient(
            endpoint: endpoint, region: "cn-hangzhou",
            credentials: .fixed(
                OSSCredentials(accessKeyID: OSSServer.Account.test.accessKeyID, accessKeySecret: secret)),
            configuration: configuration)
        try await body(LocalFixture(server: fixture.server, client: client, folder: fixture.folder))
        await client.shutDown()
    }

    // Cases 74 and 75: https://github.com/aliyun/aliyun-oss-ios-sdk/pull/124, https://github.com/apache/paimon/pull/9238
    @Test func `A slash at the end, an upper-case scheme and localhost reach the same server`() async throws {
        try await withLocalServer { fixture in
            let address = fixture.server.endpoint.dropFirst("http://".count)
            let port = try address.split(separator: ":").last.unwrapped()
            for endpoint in ["http://\(address)/", "HTTP://\(address)", "http://localhost:\(port)"] {
                try await self.withClient(of: fixture, endpoint: endpoint) { other in
                    let isRight = try await other.useEverything()
                    #expect(isRight, "\(endpoint)")
                }
            }
        }
    }

    // Case 76: https://github.com/apache/paimon/pull/9238, https://github.com/opentofu/opentofu/pull/2674
    @Test(arguments: [OSSClient.SignatureVersion.v4, .v1])
    func `In virtual host style through a proxy the bucket is in the host and the path holds only the key`(
        version: OSSClient.SignatureVersion
    ) async throws {
        try await withLocalServer({ $0.serviceHosts = ["oss-cn-hangzhou.example"] }) { fixture in
            try await self.withClient(
                of: fixture, endpoint: "http://oss-cn-hangzhou.example",
                {
                    $0.proxy = fixture.server.endpoint
                    $0.signatureVersion = version
                }
            ) { other in
                let isRight = try await other.useEverything()
                #expect(isRight)
                #expect(
                    other.server.requests.allSatisfy { $0.headers["host"] == "media.oss-cn-hangzhou.example" })
                #expect(Set(other.server.keys(bucket: LocalFixture.bucket)) == [LocalFixture.key, "small"])
            }
        }
    }

    // Case 57: https://github.com/rusoto/rusoto/issues/63, https://github.com/curl/curl/issues/17472
    @Test(arguments: [301, 302, 303, 307, 308], ["InitiateMultipartUpload", "UploadPart", "PutObject"])
    func `No redirect is followed: another host gets neither signature nor bytes`(status: Int, operation: String)
        async throws
    {
        try await withLocalServer { other in
            try await withLocalServer { fixture in
                let elsewhere = OSSServer.Fault.Action.respondRaw(
                    status: status, headers: ["Location": other.server.endpoint + "/media/v/film.bin"])
                fixture.server.faults.add(.init(elsewhere, operation: operation))
                let file = try fixture.file(size: operation == "PutObject" ? 5000 : 3 * Self.part)
                let error = try await failure { try await fixture.upload(file) }
                #expect(error.service?.status == status)
                #expect(error.operation?.description == operation)
                #expect(other.server.requests.isEmpty)
                #expect(try await fixture.object() == nil)
            }
        }
    }

    // Case 63: https://github.com/aliyun/aliyun-oss-android-sdk/issues/167, https://github.com/aws/aws-sdk-js-v3/issues/8005
    @Test(arguments: [OSSClient.SignatureVersion.v4, .v1], [-7200, 7200])
    func `A clock that is hours off is corrected by the first refusal, once for all requests`(
        version: OSSClient.SignatureVersion, seconds: Int
    ) async throws {
        try await withLocalServer({ $0.clockOffset = .seconds(seconds) }, client: { $0.signatureVersion = version }) {
            fixture in
            let file = try fixture.file(size: 6 * Self.part)
            try await fixture.upload(file)
            #expect(try await fixture.object() == file.bytes)
            #expect(fixture.server.requests.filter { $0.status != 200 }.count == 1)
        }
    }

    // Cases 65, 78 and 81: https://github.com/aws-amplify/aws-sdk-android/pull/2504, https://github.com/peak/s5cmd/issues/379
    @Test func `A wrong secret and an unknown bucket are told after one request, with code and request ID`()
        async throws
    {
        try await withLocalServer { fixture in
            for size in [5000, 3 * Self.part] {
                let file = try fixture.file(size: size)
                fixture.server.removeAllRequests()
                try await self.withClient(of: fixture, endpoint: fixture.server.endpoint, secret: "not-the-secret") {
                    other in
                    let error = try await failure { try await other.upload(file) }
                    #expect(error.service?.code == .signatureDoesNotMatch)
                    #expect(error.description.contains(try error.service?.requestID.unwrapped() ?? "none"))
                    for secret in ["not-the-secret", OSSServer.Account.test.accessKeySecret] {
                        #expect(!String(reflecting: error).contains(secret))
                    }
                }
                let error = try await failure {
                    _ = try await fixture.uploader().upload(.file(file.url), to: .init(bucket: "nowhere", key: "k"))
                }
                #expect(error.service?.code == .noSuchBucket)
                #expect(error.description.contains(try error.service?.requestID.unwrapped() ?? "none"))
                #expect(fixture.server.requests.count == 2)
                #expect(fixture.records.isEmpty)
            }
        }
    }
}
