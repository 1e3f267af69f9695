// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import CurlTransport
import FoundationEssentials
import OSSLocalServer
import OSSWire
import Synchronization
import Testing

@testable import OSSMultipart

/// A middleware that does what a closure says.
private struct Closure: OSSMiddleware {
    let body: @Sendable (OSSAttempt, (OSSAttempt) async throws -> OSSReply) async throws -> OSSReply

    func intercept(
        _ attempt: OSSAttempt, next: (OSSAttempt) async throws -> OSSReply
    ) async throws -> OSSReply { try await self.body(attempt, next) }
}

/// Texts that were printed or logged.
private final class Texts: Sendable {
    private let texts = Mutex<[String]>([])
    var all: [String] { self.texts.withLock { $0 } }
    func add(_ text: String) { self.texts.withLock { $0.append(text) } }
}

@Suite(.timeLimit(.minutes(5))) struct MiddlewareTests {
    private static let initiated =
        "<InitiateMultipartUploadResult><UploadId>UPLOAD</UploadId></InitiateMultipartUploadResult>"

    @Test func `Each attempt goes through all, the first outermost, and what they set is signed and sent`() async throws
    {
        let order = Texts()
        func named(_ name: String) -> Closure {
            Closure { attempt, next in
                order.add("\(name)> \(attempt.operation) \(attempt.number)")
                var attempt = attempt
                attempt.headers["x-oss-meta-\(name)"] = String(attempt.number)
                let reply = try await next(attempt)
                order.add("\(name)< \(reply.status)")
                return reply
            }
        }
        let transport = ScriptedTransport([.refusal(500, "InternalError"), .reply(Self.initiated)])
        let client = try scriptedClient(transport) { $0.middlewares = [named("a"), named("b")] }
        _ = try await client.initiateMultipartUpload(.init(bucket: "media", key: "k"))
        #expect(
            order.all == [
                "a> InitiateMultipartUpload 1", "b> InitiateMultipartUpload 1", "b< 500", "a< 500",
                "a> InitiateMultipartUpload 2", "b> InitiateMultipartUpload 2", "b< 200", "a< 200",
            ])
        #expect(transport.requests.map { $0.headers["x-oss-meta-a"] } == ["1", "2"])
        #expect(transport.requests.map { $0.headers["x-oss-meta-b"] } == ["1", "2"])
        try await withLocalServer(client: { $0.middlewares = [named("c")] }) { fixture in
            // The server would refuse a signature that does not cover it.
            _ = try await fixture.client.putObject(.init(bucket: "media", key: "k", body: .bytes([1])))
            let head = try await fixture.client.headObject(.init(bucket: "media", key: "k"))
            #expect(head.metadata == ["c": "1"])
        }
    }

    @Test func `What a middleware takes away is neither signed nor sent`() async throws {
        let remover = Closure { attempt, next in
            var attempt = attempt
            attempt.headers["x-oss-meta-a"] = nil
            return try await next(attempt)
        }
        try await withLocalServer(client: { $0.middlewares = [remover] }) { fixture in
            var request = PutObjectRequest(bucket: "media", key: "k", body: .bytes([1]))
            request.headers.metadata = ["a": "1", "b": "2"]
            _ = try await fixture.client.putObject(request)
            let head = try await fixture.client.headObject(.init(bucket: "media", key: "k"))
            #expect(head.metadata == ["b": "2"])
        }
    }

    @Test func `A failure that is passed on is judged and tried again`() async throws {
        let seen = Texts()
        let watcher = Closure { attempt, next in
            do { return try await next(attempt) } catch {
                seen.add("\((error as? OSSError)?.code.description ?? "other")")
                throw error
            }
        }
        let transport = ScriptedTransport([.broken(.send), .reply(status: 204)])
        let client = try scriptedClient(transport) { $0.middlewares = [watcher] }
        _ = try await client.deleteObject(.init(bucket: "media", key: "k"))
        #expect(seen.all == ["connection"])
        #expect(transport.requests.count == 2)
    }

    @Test func `A middleware can answer itself, and refuse`() async throws {
        struct Refusal: Error {}
        let transport = ScriptedTransport([])
        let answers = try scriptedClient(transport) {
            $0.middlewares = [Closure { _, _ in OSSReply(status: 204, headers: ["x-oss-version-id": "V"]) }]
        }
        let result = try await answers.deleteObject(.init(bucket: "media", key: "k"))
        #expect(result.versionID == "V")
        let refuses = try scriptedClient(transport) { $0.middlewares = [Closure { _, _ in throw Refusal() }] }
        await #expect(throws: Refusal.self) { try await refuses.deleteObject(.init(bucket: "media", key: "k")) }
        #expect(transport.requests.isEmpty)
    }

    @Test func `An object's bytes and checksums pass through`() async throws {
        try await withLocalServer(client: { $0.middlewares = [Closure { try await $1($0) }] }) { fixture in
            let bytes = [UInt8](repeating: 7, count: 300_000)
            let put = try await fixture.client.putObject(.init(bucket: "media", key: "k", body: .bytes(bytes)))
            #expect(put.sentCRC64 == CRC64.of(bytes))
            let got = try await fixture.client.getObject(.init(bucket: "media", key: "k")).body.collect(upTo: 300_000)
            #expect(got == bytes)
        }
    }

    // MARK: Events

    @Test func `Events are one line each, as text and as JSON`() async throws {
        let texts = Texts()
        let log = OSSEventLog { event in
            texts.add(event.description)
            texts.add(event.json)
        }
        let transport = ScriptedTransport([
            .broken(.send), .reply(headers: ["ETag": "\"E\"", "x-oss-request-id": "R"]),
        ])
        let client = try scriptedClient(transport) { $0.middlewares = [log] }
        let upload = OSSMultipartUpload(bucket: "media", key: "a \"b\"\n文", uploadID: "U")
        _ = try await client.uploadPart(.init(upload: upload, partNumber: 3, body: .bytes([1, 2]), isLastPart: true))
        #expect(texts.all.count == 4)
        #expect(
            texts.all[0].hasPrefix(
                "operation=UploadPart attempt=1 method=PUT bucket=media key=\"a \\\"b\\\"\\u000a文\" part=3 bytes=2 "
                    + "failure=\"UploadPart of part 3: "))
        #expect(texts.all[2].contains("attempt=2 "))
        #expect(texts.all[2].contains("status=200 requestID=R milliseconds="))
        for text in texts.all { #expect(!text.contains("\n")) }
        struct Line: Decodable {
            var operation: String
            var attempt: Int
            var key: String
            var status: Int?
            var requestID: String?
        }
        let line = try JSONDecoder().decode(Line.self, from: Data(texts.all[3].utf8))
        #expect((line.operation, line.attempt, line.key) == ("UploadPart", 2, "a \"b\"\n文"))
        #expect((line.status, line.requestID) == (200, "R"))
    }

    @Test(arguments: [OSSClient.SignatureVersion.v4, .v1])
    func `Nothing that is printed or logged holds secret, token or signature`(
        version: OSSClient.SignatureVersion
    ) async throws {
        let secret = "very-secret-0123456789", token = "very/token+0123456789="
        let texts = Texts()
        @Sendable func show(_ value: Any) {
            var dumped = ""
            dump(value, to: &dumped)
            for text in ["\(value)", String(reflecting: value), dumped] { texts.add(text) }
        }
        let signatures = Texts()
        let log = OSSEventLog { event in
            show(event)
            texts.add(event.json)
        }
        let watcher = Closure { attempt, next in
            show(attempt)
            let reply = try await next(attempt)
            show(reply)
            return reply
        }
        let credentials = try OSSCredentials(accessKeyID: "STS.1", accessKeySecret: secret, securityToken: token)
        show(credentials)
        show(OSSCredentialsProvider.fixed(credentials))
        var proxy = OSSClient.Configuration()
        proxy.proxyCredentials = .init(user: "proxy-user-0123456789", password: "proxy-password-0123456789")
        proxy.clientCertificate = .init(certificateFile: "c", keyFile: "k")
        proxy.clientCertificate?.keyPassword = "key-password-0123456789"
        show(proxy)
        for account in [
            OSSServer.Account(accessKeyID: "STS.1", accessKeySecret: secret, securityToken: token),
            .init(accessKeyID: "STS.1", accessKeySecret: "another", securityToken: token),
            .init(accessKeyID: "STS.1", accessKeySecret: secret, securityToken: token, expiration: 1),
            .init(accessKeyID: "other", accessKeySecret: secret),
        ] {
            try await withLocalServer(
                { $0.accounts = [account] },
                client: {
                    $0.signatureVersion = version
                    $0.middlewares = [log, watcher]
                    $0.retryPolicy.maximumAttempts = 1
                }, credentials: .fixed(credentials)
            ) { fixture in
                let client = fixture.client
                show(client.configuration)
                let calls: [() async throws -> Any] = [
                    { try await client.putObject(.init(bucket: "media", key: "k", body: .bytes([1]))) },
                    { try await client.initiateMultipartUpload(.init(bucket: "media", key: "k")) },
                    { try await client.headObject(.init(bucket: "media", key: "k")) },
                    { try await client.getObject(.init(bucket: "media", key: "none")) },
                    { try await client.listObjectsV2(.init(bucket: "nobody")) },
                ]
                for call in calls { do { show(try await call()) } catch { show(error) } }
                let url = try await client.presign(.putObject(bucket: "media", key: "k"))
                show(url)
                let signed = OSSSignedRequest(url)
                show(signed)
                let form = try await client.postForm(.init(bucket: "media", key: "k"))
                show(form)
                for field in form.fields where ["policy", "x-oss-signature", "Signature"].contains(field.name) {
                    signatures.add(field.value)
                }
                let query = url.url.drop { $0 != "?" }.dropFirst()
                for item in [QueryItem](encoded: query) ?? []
                where ["x-oss-signature", "Signature"].contains(item.name) {
                    signatures.add(item.value ?? "")
                }
            }
        }
        #expect(texts.all.count > 100)
        #expect(signatures.all.count == 4 * 3)
        let masked =
            [secret, token, PercentEncoding.encode(token), "proxy-user", "proxy-password", "key-password"]
            + signatures.all
        for text in texts.all {
            for hidden in masked { #expect(!text.contains(hidden)) }
            // Headers that carry signatures never come out.
            #expect(!text.contains("OSS4-HMAC-SHA256 Credential"))
            #expect(!text.contains("OSS STS.1:"))
        }
    }

    // MARK: Surroundings

    @Test func `Clock, waits and random source can be given`() async throws {
        let waits = Mutex<[Duration]>([])
        let account = OSSServer.Account.test
        try await withLocalServer(
            { $0.clockOffset = .seconds(-86400) },
            client: {
                $0.surroundings = OSSSurroundings(
                    clock: { Date.now - 86400 }, wait: { duration in waits.withLock { $0.append(duration) } },
                    random: { 0.5 })
                $0.retryPolicy.baseDelay = .seconds(8)
            },
            credentials: .fixed(
                OSSCredentials(accessKeyID: account.accessKeyID, accessKeySecret: account.accessKeySecret))
        ) { fixture in
            fixture.server.faults.add(
                .init(.respond(status: 500, code: "InternalError"), operation: "PutObject", occurrences: 1...2))
            _ = try await fixture.client.putObject(.init(bucket: "media", key: "k", body: .bytes([1])))
            // Signed by that clock: the server's is a day behind too.
            #expect(fixture.count("PutObject") == 3)
        }
        #expect(waits.withLock { $0 } == [.seconds(4), .seconds(8)])
    }
}
