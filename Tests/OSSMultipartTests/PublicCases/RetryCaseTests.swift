// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import CurlTransport
import FoundationEssentials
import OSSLocalServer
import OSSWire
import Synchronization
import Testing

@testable import OSSMultipart

/// Public cases of retries, and every row of the retry table.
@Suite(.timeLimit(.minutes(5))) struct RetryCaseTests {
    private static let part = Int(LocalFixture.partSize)
    private static let initiated =
        "<InitiateMultipartUploadResult><UploadId>UPLOAD</UploadId></InitiateMultipartUploadResult>"
    private let upload = OSSMultipartUpload(bucket: "media", key: "v/1.mp4", uploadID: "UPLOAD")

    /// A clock that a test sets, waits that are written down, and a random source that gives what it is told.
    private final class World: Sendable {
        private struct State {
            var now: Int64 = 1_702_743_657_000
            var waits: [Duration] = []
        }
        private let state = Mutex(State())
        private let random: Double
        private let onWait: @Sendable () throws -> Void

        init(random: Double = 0.5, onWait: @escaping @Sendable () throws -> Void = {}) {
            self.random = random
            self.onWait = onWait
        }

        var waits: [Duration] { self.state.withLock(\.waits) }
        func advance(seconds: Int64) { self.state.withLock { $0.now += seconds * 1000 } }

        var surroundings: Surroundings {
            Surroundings(
                now: { self.state.withLock(\.now) },
                wait: { duration in
                    self.state.withLock { state in
                        state.waits.append(duration)
                        // Time passes while one waits.
                        state.now += 1000
                    }
                    try self.onWait()
                }, random: { self.random }
            )
        }
    }

    private func client(
        _ transport: any HTTPTransport, _ world: World, endpoint: String = "https://oss-cn-hangzhou.aliyuncs.com",
        credentials: OSSCredentialsProvider? = nil, _ configure: (inout OSSClient.Configuration) -> Void = { _ in }
    ) throws -> OSSClient {
        var configuration = OSSClient.Configuration()
        configure(&configuration)
        return try OSSClient(
            endpoint: endpoint, region: "cn-hangzhou",
            credentials: credentials
                ?? .fixed(
                    OSSCredentials(
                        accessKeyID: OSSServer.Account.test.accessKeyID,
                        accessKeySecret: OSSServer.Account.test.accessKeySecret)),
            configuration: configuration, transport: transport, surroundings: world.surroundings)
    }

    private func sendPart(_ client: OSSClient, _ bytes: [UInt8] = Array(repeating: 7, count: 102_400)) async throws {
        _ = try await client.uploadPart(.init(upload: self.upload, partNumber: 3, body: .bytes(bytes)))
    }

    // MARK: The rows

    /// What is tried again with a back-off, by what comes first.
    private static let passing: [ScriptedTransport.Answer] = [
        .broken(.resolve), .broken(.connect), .broken(.connectTimeout), .broken(.send), .broken(.receive),
        .broken(.idleTimeout), .broken(.totalTimeout), .broken(.malformedReply), .refusal(500, "InternalError"),
        .refusal(502, ""), .refusal(504, ""), .refusal(408, ""), .refusal(400, "RequestTimeout"),
        .refusal(400, "IncompleteBody"), .refusal(200, "InternalError"), .refusal(503, "ServiceUnavailable"),
        .refusal(429, ""), .refusal(503, "SlowDown"), .refusal(503, "UploadTrafficRateLimitExceeded"),
        .refusal(400, "InvalidDigest"), .reply(headers: ["ETag": "\"E\"", "x-oss-hash-crc64ecma": "1"], sentCRC64: 2),
        .reply(),
    ]

    @Test func `What may pass is tried again, signed again for its time, with the whole body`() async throws {
        for answer in Self.passing {
            let transport = ScriptedTransport([answer, answer, .reply(headers: ["ETag": "\"E\""])])
            let world = World()
            try await self.sendPart(self.client(transport, world))
            let requests = transport.requests
            #expect(requests.count == 3, "\(answer)")
            #expect(
                requests.map { $0.headers["x-oss-date"] } == [
                    "20231216T162057Z", "20231216T162058Z", "20231216T162059Z",
                ])
            #expect(Set(requests.map { $0.headers["Authorization"] }).count == 3)
            #expect(Set(requests.map { $0.headers["Content-MD5"] }).count == 1)
            #expect(requests.allSatisfy { $0.body.length == 102_400 })
            #expect(world.waits == [.milliseconds(100), .milliseconds(200)], "\(answer)")
        }
    }

    @Test func `However long it does not pass, the tries are bounded`() async throws {
        for answer in Self.passing {
            let transport = ScriptedTransport(Array(repeating: answer, count: 50))
            let world = World()
            let error = try await failure { try await self.sendPart(self.client(transport, world)) }
            #expect(transport.requests.count == 8, "\(answer)")
            #expect(error.description.contains("8 attempts"))
            #expect(world.waits.count == 7)
            if case .success(let response) = answer, response.status == 200 || response.status == 400 { continue }
            #expect(![.integrity, .invalidArgument].contains(error.code))
        }
    }

    @Test(
        arguments: [
            (403, "AccessDenied"), (404, "NoSuchBucket"), (404, "NoSuchUpload"), (400, "InvalidArgument"),
            (403, "SignatureDoesNotMatch"), (409, "PartAlreadyExist"), (411, "MissingContentLength"),
            (501, "NotImplemented"),
            (400, "EntityTooLarge"), (507, "QuotaExceeded"),
        ].filter { $0.0 < 500 || $0.0 == 501 })
    func `Other refusals are told after one try, without a wait`(status: Int, code: String) async throws {
        let transport = ScriptedTransport([.refusal(status, code), .reply(headers: ["ETag": "\"E\""])])
        let world = World()
        let error = try await failure { try await self.sendPart(self.client(transport, world)) }
        #expect(error.service?.code.name == code)
        #expect(error.service?.requestID == "REQUEST-\(code)")
        #expect(transport.requests.count == 1)
        #expect(world.waits.isEmpty)
    }

    @Test(arguments: [0, 0.25, 0.999])
    func `The wait is any part of a cap that doubles from 200 ms to 20 s`(random: Double) async throws {
        let transport = ScriptedTransport(Array(repeating: .refusal(500, "InternalError"), count: 50))
        let world = World(random: random)
        let client = try self.client(transport, world) { $0.retryPolicy.maximumAttempts = 10 }
        _ = try await failure { try await self.sendPart(client) }
        let caps = [200, 400, 800, 1600, 3200, 6400, 12_800, 20_000, 20_000]
        #expect(world.waits == caps.map { Duration.milliseconds($0) * random })
    }

    // Case 66: https://github.com/aws-amplify/aws-sdk-android/pull/2504, https://github.com/aws/aws-sdk-go/issues/2409
    @Test func `A wait that the service asks for is kept, and one that is absurd is cut`() async throws {
        let fields: [(HTTPFields, Duration)] = [
            (["Retry-After": "2"], .seconds(2)), (["x-oss-qos-delay-time": "1500"], .milliseconds(1500)),
            (["Retry-After": "0"], .zero), (["Retry-After": "99999999"], .seconds(60)),
            (["x-oss-qos-delay-time": "99999999"], .seconds(60)), (["Retry-After": "-1"], .milliseconds(100)),
            (["Retry-After": "2", "x-oss-qos-delay-time": "1500"], .seconds(2)), ([:], .milliseconds(100)),
        ]
        for (headers, wait) in fields {
            for (status, code) in [(503, "SlowDown"), (429, ""), (400, "TotalQpsLimitExceeded")] {
                let transport = ScriptedTransport([
                    .refusal(status, code, headers: headers), .reply(headers: ["ETag": "\"E\""]),
                ])
                let world = World()
                try await self.sendPart(self.client(transport, world))
                #expect(world.waits == [wait], "\(headers)")
            }
        }
    }

    // Case 66, with a whole upload.
    @Test func `An upload that is put off waits as long as it is asked to, and is stored`() async throws {
        try await withLocalServer { fixture in
            fixture.server.faults.add(
                .init(
                    .respond(status: 503, code: "SlowDown", headers: ["Retry-After": "2"]), operation: "UploadPart",
                    partNumber: 2, occurrences: 1...1),
                .init(
                    .respond(
                        status: 503, code: "UploadTrafficRateLimitExceeded", headers: ["x-oss-qos-delay-time": "70"]),
                    operation: "UploadPart", partNumber: 6, occurrences: 1...1)
            )
            let world = World()
            var options = CurlTransportConfiguration()
            options.proxy = ""
            let client = try self.client(
                CurlTransport(configuration: options), world, endpoint: fixture.server.endpoint)
            let file = try fixture.file(size: 7 * Self.part)
            let waiting = LocalFixture(server: fixture.server, client: client, folder: fixture.folder)
            try await waiting.upload(file)
            #expect(Set(world.waits) == [.seconds(2), .milliseconds(70)])
            #expect(try await fixture.object() == file.bytes)
            await client.shutDown()
        }
    }

    // Case 19: https://github.com/aliyun/aliyun-oss-ios-sdk/issues/260, https://github.com/aws/aws-sdk-ruby/issues/2796
    @Test(arguments: ["digest", "crc64", "eTag"])
    func `After a digest that differs the source is read anew`(what: String) async throws {
        try await withTemporaryFolder { folder in
            let before = try TestFile(folder + "/source", Array(repeating: 1, count: 1000))
            let after = Array(repeating: UInt8(2), count: 1000)
            // The bytes were read wrong the first time: while it waits, they become right.
            let world = World(onWait: { try Data(after).write(to: before.url) })
            let answer: ScriptedTransport.Answer =
                switch what {
                case "digest": .refusal(400, "InvalidDigest")
                case "crc64": .reply(headers: ["ETag": "\"E\"", "x-oss-hash-crc64ecma": "1"], sentCRC64: 2)
                default: .reply(headers: ["ETag": "\"\(String(repeating: "0", count: 32))\""], sentCRC64: 2)
                }
            let transport = ScriptedTransport([answer, .reply(headers: ["ETag": "\"E\""])])
            let client = try self.client(transport, world)
            _ = try await client.uploadPart(
                .init(
                    upload: self.upload, partNumber: 1, body: .file(before.url, range: 0..<1000), isLastPart: true))
            #expect(
                transport.requests.map { $0.headers["Content-MD5"] } == [
                    Base64.encode(try MessageDigest.of(before.bytes, .md5)),
                    Base64.encode(try MessageDigest.of(after, .md5)),
                ])
        }
    }

    @Test func `A digest that always differs is an integrity error`() async throws {
        for answer: ScriptedTransport.Answer in [
            .refusal(400, "InvalidDigest"),
            .reply(headers: ["ETag": "\"E\"", "x-oss-hash-crc64ecma": "1"], sentCRC64: 2),
        ] {
            let transport = ScriptedTransport(Array(repeating: answer, count: 50))
            let error = try await failure { try await self.sendPart(self.client(transport, World())) }
            #expect(error.code == .integrity)
            #expect(error.partNumber == 3)
        }
    }

    // MARK: The clock

    private static func skewed(_ serverTime: String?, headers: HTTPFields = [:]) -> ScriptedTransport.Answer {
        .refusal(
            403, "RequestTimeTooSkewed", extra: serverTime.map { "<ServerTime>\($0)</ServerTime>" } ?? "",
            headers: headers)
    }

    // Case 63: https://github.com/aliyun/aliyun-oss-android-sdk/issues/167, https://github.com/aws/aws-sdk-go-v2/issues/3187
    @Test func `An offset that was learnt is forgotten when the clock is mended`() async throws {
        let initiated = ScriptedTransport.Answer.reply(Self.initiated)
        let transport = ScriptedTransport([
            Self.skewed("2023-12-16T18:20:57.000Z"), initiated, Self.skewed("2023-12-16T18:20:57.000Z"), initiated,
            initiated,
        ])
        let world = World()
        let client = try self.client(transport, world)
        for round in 1...3 {
            _ = try await client.initiateMultipartUpload(.init(bucket: "media", key: "k"))
            // Somebody sets the clock: with the offset, requests would now be from the future.
            if round == 1 { world.advance(seconds: 7200) }
        }
        #expect(
            transport.requests.map { $0.headers["x-oss-date"] } == [
                "20231216T162057Z", "20231216T182057Z", "20231216T202057Z", "20231216T182057Z", "20231216T182057Z",
            ])
        #expect(world.waits.isEmpty)
    }

    @Test func `A service that tells no time, or 1970, teaches nothing: the next request bears our own time`()
        async throws
    {
        for headers: HTTPFields in [
            ["Date": "Thu, 01 Jan 1970 00:00:00 GMT"], [:], ["Date": "yesterday"], ["Date": ""],
        ] {
            let time = headers.all.isEmpty ? "1970-01-01T00:00:00.000Z" : nil
            let transport = ScriptedTransport([Self.skewed(time, headers: headers), .reply(Self.initiated)])
            let client = try self.client(transport, World())
            let error = try await failure {
                _ = try await client.initiateMultipartUpload(.init(bucket: "media", key: "k"))
            }
            #expect(error.service?.code == .requestTimeTooSkewed)
            #expect(transport.requests.count == 1)
            _ = try await client.initiateMultipartUpload(.init(bucket: "media", key: "k"))
            #expect(transport.requests.last?.headers["x-oss-date"] == "20231216T162057Z")
        }
    }

    @Test func `A Date of 1970 on a good reply does no harm`() async throws {
        try await withLocalServer { fixture in
            fixture.server.faults.add(.init(.editReplyHeader("Date", "Thu, 01 Jan 1970 00:00:00 GMT")))
            // Listings' dates are compared with ours by that header: what a lost Initiate left must be found all the same,
            // or at least nothing else be touched.
            fixture.server.faults.add(.init(.commitThenDrop, operation: "InitiateMultipartUpload", occurrences: 1...1))
            let file = try fixture.file(size: 3 * Self.part)
            try await fixture.upload(file)
            #expect(try await fixture.object() == file.bytes)
            #expect(fixture.records.isEmpty)
            #expect(fixture.openUploads.isEmpty)
        }
    }

    // MARK: Credentials

    @Test(arguments: [
        (403, "SecurityTokenExpired"), (403, "InvalidSecurityToken"), (403, "InvalidAccessKeyId"),
        (401, "Unauthorized"),
    ])
    func `Credentials that are not taken are renewed once, and the second refusal is told`(status: Int, code: String)
        async throws
    {
        let loads = Mutex(0)
        let provider = OSSCredentialsProvider.refreshing {
            let count = loads.withLock { count in
                count += 1
                return count
            }
            return try OSSCredentials(accessKeyID: "ak\(count)", accessKeySecret: "s", securityToken: "token\(count)")
        }
        let healed = ScriptedTransport([.refusal(status, code), .reply(headers: ["ETag": "\"E\""])])
        let world = World()
        try await self.sendPart(self.client(healed, world, credentials: provider))
        #expect(healed.requests.map { $0.headers["x-oss-security-token"] } == ["token1", "token2"])
        #expect(world.waits.isEmpty)

        let hopeless = ScriptedTransport(Array(repeating: .refusal(status, code), count: 50))
        let client = try self.client(hopeless, world, credentials: provider)
        let error = try await failure { try await self.sendPart(client) }
        #expect(error.service?.code.name == code)
        #expect(hopeless.requests.count == 2)
    }

    // MARK: All parts together

    // Case 65: https://github.com/aws-amplify/aws-sdk-android/pull/2504, https://github.com/aws/aws-sdk-go/issues/2409
    @Test(arguments: [
        (403, "AccessDenied"), (400, "InvalidArgument"), (404, "NoSuchBucket"), (409, "PartAlreadyExist"),
    ])
    func `The first refusal that is final stops the other parts: none is begun after it`(status: Int, code: String)
        async throws
    {
        try await withLocalServer { fixture in
            // The others are held for good, and the grace that they get is over at once: only being stopped can end them.
            fixture.server.faults.add(
                .init(.respond(status: status, code: code), operation: "UploadPart", partNumber: 2))
            for part in 1...20 where part != 2 {
                fixture.server.faults.add(.init(.delay(.seconds(3600)), operation: "UploadPart", partNumber: part))
            }
            var options = CurlTransportConfiguration()
            options.proxy = ""
            let client = try self.client(
                CurlTransport(configuration: options), World(), endpoint: fixture.server.endpoint)
            let impatient = LocalFixture(server: fixture.server, client: client, folder: fixture.folder)
            let file = try fixture.file(size: 20 * Self.part)
            let error = try await failure { try await impatient.upload(file) }
            #expect(error.service?.code.name == code)
            #expect(error.partNumber == 2)
            #expect((1...4).contains(fixture.server.faults.count(ofOperation: "UploadPart")))
            #expect(fixture.count("CompleteMultipartUpload") == 0)
            await client.shutDown()
        }
    }

    // Case 55: https://github.com/dandi/dandi-cli/pull/1824, https://github.com/aws/aws-sdk-java-v2/issues/5415
    @Test(arguments: [
        (500, "InternalError"), (502, "BadGateway"), (504, "GatewayTimeout"), (408, "Timeout"), (400, "RequestTimeout"),
        (400, "IncompleteBody"), (503, "SlowDown"), (200, "InternalError"),
    ])
    func `A part that is refused twice after its whole body is sent whole a third time`(status: Int, code: String)
        async throws
    {
        try await withLocalServer { fixture in
            fixture.server.faults.add(
                .init(.respond(status: status, code: code), operation: "UploadPart", partNumber: 5, occurrences: 1...2))
            let file = try fixture.file(size: 10 * Self.part + 17)
            try await fixture.upload(file)
            #expect(fixture.partsSent == [1, 2, 3, 4, 5, 5, 5, 6, 7, 8, 9, 10, 11])
            #expect(
                fixture.server.requests.filter { $0.partNumber == 5 }.allSatisfy { $0.bytesReceived == Self.part })
            #expect(try await fixture.object() == file.bytes)
        }
    }

    // Case 70: https://github.com/tus/TUSKit/issues/27, https://github.com/tus/TUSKit/issues/162
    @Test func `Failures without end are told after a bounded number of tries per part, and a healed service finishes`()
        async throws
    {
        try await withLocalServer { fixture in
            fixture.server.faults.add(.init(.respond(status: 500, code: "InternalError"), operation: "UploadPart"))
            let file = try fixture.file(size: 10 * Self.part + 17)
            let error = try await failure { try await fixture.upload(file) }
            #expect(error.service?.code == .internalError)
            #expect(error.service?.requestID != nil)
            for part in 1...11 { #expect(fixture.partsSent.filter { $0 == part }.count <= 8) }
            #expect(fixture.partsSent.count <= 4 * 8)
            fixture.server.faults.removeAll()
            try await fixture.upload(file)
            #expect(try await fixture.object() == file.bytes)
            #expect(fixture.openUploads.isEmpty)
        }
    }
}
