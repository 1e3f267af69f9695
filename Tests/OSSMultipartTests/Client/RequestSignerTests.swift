// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import CurlTransport
import FoundationEssentials
import OSSLocalServer
import OSSWire
import SystemIO
import Testing

@testable import OSSMultipart

/// A signer that goes over the wire as JSON, and keeps what it was asked.
final class RecordingSigner: OSSRequestSigner {
    private struct State {
        var requests: [OSSSigningRequest] = []
        var underWay = 0
    }
    private let state = Lock(State())
    private let answer: @Sendable (OSSSigningRequest, Int) async throws -> OSSSignedRequest

    /// - Parameter answer: signs; it is given the request, and how many came before it.
    init(_ answer: @escaping @Sendable (OSSSigningRequest, Int) async throws -> OSSSignedRequest) {
        self.answer = answer
    }

    /// Every question so far.
    var requests: [OSSSigningRequest] { self.state.withLock(\.requests) }
    /// How many questions are not answered yet.
    var underWay: Int { self.state.withLock(\.underWay) }

    func sign(_ request: OSSSigningRequest) async throws -> OSSSignedRequest {
        let number = self.state.withLock { state in
            state.requests.append(request)
            state.underWay += 1
            return state.requests.count - 1
        }
        defer { self.state.withLock { $0.underWay -= 1 } }
        let text = try JSONEncoder().encode(request)
        let signed = try await self.answer(JSONDecoder().decode(OSSSigningRequest.self, from: text), number)
        return try JSONDecoder().decode(OSSSignedRequest.self, from: JSONEncoder().encode(signed))
    }
}

@Suite(.timeLimit(.minutes(5))) struct RequestSignerTests {
    /// How a signing service answers.
    enum Form: String, CaseIterable, Sendable {
        case headersV4, headersV1, urlV4, urlV1

        var isURL: Bool { self == .urlV4 || self == .urlV1 }

        func service(
            _ credentials: OSSCredentialsProvider? = nil, surroundings: OSSSurroundings = .live
        ) throws -> OSSSigningService {
            let account = OSSServer.Account.test
            var service = try OSSSigningService(
                region: "cn-hangzhou",
                credentials: credentials
                    ?? .fixed(
                        OSSCredentials(accessKeyID: account.accessKeyID, accessKeySecret: account.accessKeySecret)),
                surroundings: surroundings)
            service.signatureVersion = self == .headersV4 || self == .urlV4 ? .v4 : .v1
            service.urlLifetime = self.isURL ? .seconds(60) : nil
            return service
        }
    }

    private static let part = Int(LocalFixture.partSize)

    /// Runs a test against a server, with a client that has a signer and no credentials.
    private func withSigner(
        _ signer: RecordingSigner, server: (inout OSSServer.Configuration) -> Void = { _ in },
        _ configure: (inout OSSClient.Configuration) -> Void = { _ in },
        _ body: (LocalFixture) async throws -> Void
    ) async throws {
        try await withLocalServer(server) { fixture in
            var options = OSSClient.Configuration()
            options.retryPolicy.baseDelay = .milliseconds(1)
            options.proxy = ""
            configure(&options)
            let client = try OSSClient(endpoint: fixture.server.endpoint, signer: signer, configuration: options)
            let result: Result<Void, any Error>
            do {
                result = .success(
                    try await body(LocalFixture(server: fixture.server, client: client, folder: fixture.folder)))
            } catch { result = .failure(error) }
            await client.shutDown()
            try result.get()
        }
    }

    // MARK: What is signed

    @Test(arguments: Form.allCases)
    func `Every operation is signed elsewhere, by header fields or URL, and known there for what it is`(
        form: Form
    ) async throws {
        let service = try form.service()
        let signer = RecordingSigner { request, _ in try await service.sign(request) }
        try await self.withSigner(signer, { $0.paysForRequests = true }) { fixture in
            let client = fixture.client, key = "a b/+&%文.txt"
            var put = PutObjectRequest(bucket: "media", key: key, body: .bytes([UInt8](repeating: 7, count: 200_000)))
            put.headers.cacheControl = "no-cache"
            put.headers.metadata = ["a": "1"]
            put.headers.tagging = "t=1"
            _ = try await client.putObject(put)
            _ = try await client.headObject(.init(bucket: "media", key: key))
            var get = GetObjectRequest(bucket: "media", key: key)
            get.range = .bytes(1..<3)
            get.replyHeaders.contentType = "text/y"
            let got = try await client.getObject(get).body.collect(upTo: 2)
            #expect(got == [7, 7])
            let source = OSSCopySource(bucket: "media", key: key)
            _ = try await client.copyObject(.init(source: source, bucket: "media", key: "copy"))
            _ = try await client.appendObject(.init(bucket: "media", key: "log", position: 0, body: .bytes([1])))
            try await client.putObjectTagging(.init(bucket: "media", key: key, tags: [OSSTag("a", "b")]))
            _ = try await client.getObjectTagging(.init(bucket: "media", key: key))
            try await client.deleteObjectTagging(.init(bucket: "media", key: key))
            try await client.putObjectACL(.init(bucket: "media", key: key, acl: "private"))
            _ = try await client.getObjectACL(.init(bucket: "media", key: key))
            let upload = try await client.initiateMultipartUpload(.init(bucket: "media", key: key))
            let part = try await client.uploadPart(
                .init(upload: upload, partNumber: 1, body: .bytes([UInt8](repeating: 1, count: Self.part))))
            var copy = UploadPartCopyRequest(upload: upload, partNumber: 2, source: source)
            copy.isLastPart = true
            let copied = try await client.uploadPartCopy(copy)
            _ = try await client.listParts(.init(upload: upload))
            _ = try await client.listMultipartUploads(.init(bucket: "media"))
            _ = try await client.completeMultipartUpload(.init(upload: upload, parts: [part.info, copied.info]))
            let other = try await client.initiateMultipartUpload(.init(bucket: "media", key: "k"))
            try await client.abortMultipartUpload(.init(upload: other))
            var list = ListObjectsV2Request(bucket: "media")
            (list.prefix, list.delimiter, list.fetchesOwner) = ("a ", "/", true)
            _ = try await client.listObjectsV2(list)
            _ = try await client.deleteObject(.init(bucket: "media", key: "copy"))
            _ = try await client.deleteMultipleObjects(.init(bucket: "media", keys: [key, "log"]))
            _ = try await client.getBucketLocation(.init(bucket: "media"))
            try await client.putBucket(.init(bucket: "another"))
            try await client.deleteBucket(.init(bucket: "another"))

            // What the signer took each for is what the server took it for, and none was asked for twice.
            let served = fixture.server.requests
            let names = signer.requests.map { $0.operation?.name.lowercased() ?? "unknown" }
            // The server's log has the names that the documents have, which write "Acl" so.
            #expect(names == served.map { $0.operation.lowercased() })
            #expect(Set(names).count == 23)
            #expect(served.allSatisfy { (200...299).contains($0.status) })
            #expect(signer.requests.allSatisfy { $0.refusal == nil })
            for (asked, request) in zip(signer.requests, served) {
                // The log leaves signatures out; their dates tell where they were.
                let isInHeaders = request.headers["x-oss-date"] != nil || request.headers["date"] != nil
                #expect(isInHeaders != form.isURL)
                #expect(asked.headers["Content-MD5"] == request.headers["content-md5"])
                #expect(request.headers["x-oss-request-payer"] == "requester")
                #expect(request.headers["user-agent"] == OSSMultipartVersion.userAgent)
                #expect(asked.contentLength == request.bytesReceived)
            }
        }
    }

    @Test func `The value that travels says all that is signed, in names that are documented`() async throws {
        let signer = RecordingSigner { _, _ in throw OSSSigningRefusal("no") }
        try await self.withSigner(signer) { fixture in
            let upload = OSSMultipartUpload(bucket: "media", key: "v/1 a.mp4", uploadID: "U")
            _ = try await failure {
                _ = try await fixture.client.uploadPart(
                    .init(upload: upload, partNumber: 3, body: .bytes([1, 2]), isLastPart: true))
            }
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            let text = String(decoding: try encoder.encode(try #require(signer.requests.first)), as: UTF8.self)
            #expect(
                text
                    == #"{"bucket":"media","contentLength":2,"headers":{"Content-MD5":"DLmI0EKn8o3V/itVs/Wseg=="},"#
                    + #""key":"v/1 a.mp4","method":"PUT","query":{"partNumber":"3","uploadId":"U"},"#
                    + #""url":"\#(fixture.server.endpoint)/media/v/1%20a.mp4?partNumber=3&uploadId=U"}"#)
            #expect(fixture.server.requests.isEmpty)
        }
    }

    @Test(arguments: [Form.urlV4, .headersV4])
    func `An upload in parts is signed elsewhere, and the digests that are sent are signed`(form: Form) async throws {
        let service = try form.service()
        let signer = RecordingSigner { request, _ in
            var signed = try await service.sign(request)
            // One digest on the way to the server is not the one that was signed.
            if request.query["partNumber"] == "2", request.headers["Content-MD5"] != nil, request.refusal == nil {
                signed.headers["Content-MD5"] = Base64.encode([UInt8](repeating: 0, count: 16))
            }
            return signed
        }
        try await self.withSigner(signer) { fixture in
            let file = try fixture.file(size: 3 * Self.part)
            let error = try await failure { try await fixture.upload(file) }
            #expect(error.service?.code == .signatureDoesNotMatch)
            #expect(error.message.contains("the signer signed another request"))
            #expect(error.partNumber == 2)
        }
        let honest = RecordingSigner { request, _ in try await service.sign(request) }
        try await self.withSigner(honest) { fixture in
            let file = try fixture.file(size: 3 * Self.part + 5)
            let result = try await fixture.upload(file)
            #expect(result.proof == .crc64)
            #expect(try await fixture.object() == file.bytes)
            let parts = fixture.server.requests.filter { $0.operation == "UploadPart" }
            #expect(parts.count == 4)
            #expect(parts.allSatisfy { $0.headers["content-md5"] != nil })
        }
    }

    @Test func `URLs that were made beforehand, without any digest, serve an upload`() async throws {
        let account = OSSServer.Account.test
        try await withLocalServer { fixture in
            let backend = fixture.client
            let signer = RecordingSigner { request, _ in
                let upload = OSSMultipartUpload(
                    bucket: "media", key: request.key ?? "", uploadID: request.query["uploadId"] ?? "")
                switch request.operation?.name {
                case "UploadPart":
                    guard let number = request.query["partNumber"].flatMap({ Int($0) }) else { break }
                    return OSSSignedRequest(try await backend.presign(.uploadPart(upload, partNumber: number)))
                case "CompleteMultipartUpload":
                    return OSSSignedRequest(try await backend.presign(.completeMultipartUpload(upload)))
                case "HeadObject":
                    return OSSSignedRequest(
                        try await backend.presign(.headObject(.init(bucket: "media", key: upload.key))))
                default: break
                }
                // The others as the service signs them.
                var service = try OSSSigningService(
                    region: "cn-hangzhou",
                    credentials: .fixed(
                        OSSCredentials(accessKeyID: account.accessKeyID, accessKeySecret: account.accessKeySecret)))
                service.urlLifetime = .seconds(60)
                return try await service.sign(request)
            }
            var options = OSSClient.Configuration()
            options.proxy = ""
            let client = try OSSClient(endpoint: fixture.server.endpoint, signer: signer, configuration: options)
            let own = LocalFixture(server: fixture.server, client: client, folder: fixture.folder)
            let file = try own.file(size: 2 * Self.part + 1)
            let result = try await own.upload(file)
            await client.shutDown()
            #expect(try await own.object() == file.bytes)
            // What no URL allows is not sent; the CRC-64 is compared all the same.
            let parts = own.server.requests.filter { $0.operation == "UploadPart" }
            #expect(parts.count == 3)
            #expect(parts.allSatisfy { $0.headers["content-md5"] == nil && $0.headers["x-oss-date"] == nil })
            #expect(result.proof == .crc64)
        }
    }

    // MARK: Signatures that are refused

    @Test(arguments: [Form.urlV4, .urlV1])
    func `A URL whose time is over in the middle is asked for again, once`(form: Form) async throws {
        let service = try form.service()
        let late = try form.service(
            surroundings: OSSSurroundings(
                clock: { Date.now - 3600 }, wait: { try await Task.sleep(for: $0) }, random: { 0 }))
        let signer = RecordingSigner { request, _ in
            let isOver = ["2", "3"].contains(request.query["partNumber"]) && request.refusal == nil
            return try await (isOver ? late : service).sign(request)
        }
        try await self.withSigner(signer) { fixture in
            let file = try fixture.file(size: 4 * Self.part)
            let result = try await fixture.upload(file)
            #expect(result.partsSent == 4)
            #expect(try await fixture.object() == file.bytes)
            let again = signer.requests.filter { $0.refusal != nil }
            #expect(again.map(\.refusal) == ["AccessDenied", "AccessDenied"])
            #expect(again.compactMap { $0.query["partNumber"] }.sorted() == ["2", "3"])
            #expect(fixture.partsSent == [1, 2, 2, 3, 3, 4])
        }
        // One that is over the second time too is an answer.
        let always = RecordingSigner { request, _ in try await late.sign(request) }
        try await self.withSigner(always) { fixture in
            let error = try await failure {
                _ = try await fixture.client.putObject(.init(bucket: "media", key: "k", body: .bytes([1])))
            }
            #expect(error.service?.code == .accessDenied)
            #expect(error.message.contains("make a new one"))
            #expect(always.requests.map(\.refusal) == [nil, "AccessDenied"])
            #expect(fixture.count("PutObject") == 2)
        }
    }

    @Test func `A denial for another reason is told at once`() async throws {
        let service = try Form.urlV4.service()
        let signer = RecordingSigner { request, _ in try await service.sign(request) }
        try await self.withSigner(signer) { fixture in
            fixture.server.faults.add(.init(.respond(status: 403, code: "AccessDenied"), operation: "PutObject"))
            let error = try await failure {
                _ = try await fixture.client.putObject(.init(bucket: "media", key: "k", body: .bytes([1])))
            }
            #expect(error.message.contains("oss:PutObject"))
            #expect(signer.requests.count == 1)
        }
    }

    @Test func `A signer whose clock is off is asked again, and our clock is left alone`() async throws {
        let good = try Form.headersV4.service()
        let off = try Form.headersV4.service(
            surroundings: OSSSurroundings(
                clock: { Date.now - 7200 }, wait: { try await Task.sleep(for: $0) }, random: { 0 }))
        let signer = RecordingSigner { request, _ in
            try await (request.refusal == nil ? off : good).sign(request)
        }
        try await self.withSigner(signer) { fixture in
            _ = try await fixture.client.putObject(.init(bucket: "media", key: "k", body: .bytes([1])))
            #expect(signer.requests.map(\.refusal) == [nil, "RequestTimeTooSkewed"])
            #expect(fixture.client.clockOffset.value == 0)
        }
    }

    @Test func `Where a token is refused the service takes another, once for each request`() async throws {
        let inAnHour = Int64(Date.now.timeIntervalSince1970) + 3600
        let accounts = ["one", "two"].map {
            OSSServer.Account(
                accessKeyID: "STS.\($0)", accessKeySecret: "secret-\($0)", securityToken: "token-\($0)",
                expiration: inAnHour)
        }
        let loads = Counter()
        let service = try Form.headersV4.service(
            .refreshing {
                let account = accounts[min(loads.next(), 1)]
                return try OSSCredentials(
                    accessKeyID: account.accessKeyID, accessKeySecret: account.accessKeySecret,
                    securityToken: account.securityToken)
            })
        let signer = RecordingSigner { request, _ in try await service.sign(request) }
        try await self.withSigner(signer, server: { $0.accounts = accounts }) { fixture in
            _ = try await fixture.client.putObject(.init(bucket: "media", key: "k", body: .bytes([1])))
            #expect(loads.value == 1)
            fixture.server.setExpiration(1, ofAccessKeyID: "STS.one")
            _ = try await fixture.client.putObject(.init(bucket: "media", key: "k", body: .bytes([2])))
            #expect(signer.requests.map(\.refusal) == [nil, nil, "SecurityTokenExpired"])
            #expect(loads.value == 2)
            #expect(try await fixture.object("k") == [2])
        }
    }

    // MARK: Signers that fail or take their time

    private struct BackendDown: Error {}

    @Test func `A signer that fails is asked again, as the retry policy says`() async throws {
        let service = try Form.headersV4.service()
        let waits = Waits()
        let signer = RecordingSigner { request, number in
            if number < 2 { throw BackendDown() }
            return try await service.sign(request)
        }
        try await self.withSigner(
            signer,
            {
                $0.surroundings = OSSSurroundings(
                    now: OSSSurroundings.live.now, wait: waits.surroundings.wait, random: { 0.5 })
                $0.retryPolicy.baseDelay = .seconds(8)
            }
        ) { fixture in
            _ = try await fixture.client.putObject(.init(bucket: "media", key: "k", body: .bytes([1])))
            #expect(waits.all == [.seconds(4), .seconds(8)])
            #expect(fixture.count("PutObject") == 1)
        }
        let never = RecordingSigner { _, _ in throw BackendDown() }
        try await self.withSigner(never, { $0.retryPolicy.maximumAttempts = 3 }) { fixture in
            let error = try await failure {
                _ = try await fixture.client.putObject(.init(bucket: "media", key: "k", body: .bytes([1])))
            }
            #expect(error.code == .signerFailed)
            #expect(error.underlying is BackendDown)
            #expect(error.description.contains("gave up after 3 attempts"))
            #expect(never.requests.count == 3)
            #expect(fixture.server.requests.isEmpty)
        }
    }

    @Test func `A refusal ends the upload at once, and the next run goes on with what is missing`() async throws {
        let service = try Form.urlV4.service()
        let refuses = Lock(true)
        let signer = RecordingSigner { request, _ in
            if request.query["partNumber"] == "3", refuses.withLock({ $0 }) {
                throw OSSSigningRefusal("the quota is used up")
            }
            return try await service.sign(request)
        }
        try await self.withSigner(signer) { fixture in
            let file = try fixture.file(size: 5 * Self.part)
            let uploader = fixture.uploader { $0.partsInFlight = .fixed(1) }
            let error = try await failure { try await fixture.upload(file, uploader) }
            #expect(error.code == .signerFailed)
            #expect(error.partNumber == 3)
            #expect(error.message.contains("the quota is used up"))
            #expect(error.resumption?.bytesUploaded == Int64(2 * Self.part))
            #expect(signer.requests.count { $0.query["partNumber"] == "3" } == 1)
            #expect(fixture.openUploads.count == 1)
            refuses.withLock { $0 = false }
            fixture.server.removeAllRequests()
            let result = try await fixture.upload(file)
            #expect(fixture.partsSent == [3, 4, 5])
            #expect(result.partsResumed == 2)
            #expect(try await fixture.object() == file.bytes)
        }
    }

    @Test func `A failure before Complete leaves the upload to be gone on with`() async throws {
        let service = try Form.urlV4.service()
        let refuses = Lock(true)
        let signer = RecordingSigner { request, _ in
            if request.operation == .completeMultipartUpload, refuses.withLock({ $0 }) { throw BackendDown() }
            return try await service.sign(request)
        }
        try await self.withSigner(signer, { $0.retryPolicy.maximumAttempts = 2 }) { fixture in
            let file = try fixture.file(size: 2 * Self.part)
            let error = try await failure { try await fixture.upload(file) }
            #expect(error.code == .signerFailed)
            // Nothing was sent: the outcome is known.
            #expect(error.resumption?.bytesUploaded == Int64(2 * Self.part))
            refuses.withLock { $0 = false }
            fixture.server.removeAllRequests()
            try await fixture.upload(file)
            #expect(fixture.partsSent.isEmpty)
            #expect(try await fixture.object() == file.bytes)
        }
    }

    @Test func `A signer may take its time: no time-out of the connection counts meanwhile`() async throws {
        let service = try Form.headersV4.service()
        let gate = Lock(false)
        let signer = RecordingSigner { request, _ in
            if request.query["partNumber"] != nil {
                while !gate.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(2)) }
            }
            return try await service.sign(request)
        }
        try await self.withSigner(
            signer,
            {
                $0.idleTimeout = .seconds(1)
                $0.totalTimeout = .seconds(1)
            }
        ) { fixture in
            let file = try fixture.file(size: 6 * Self.part)
            let uploader = fixture.uploader { $0.partsInFlight = .fixed(4) }
            async let result = fixture.upload(file, uploader)
            // As many are asked for as parts may be in flight, and no more.
            try await fixture.wait { signer.underWay == 4 }
            try await Task.sleep(for: .milliseconds(1500))
            #expect(signer.underWay == 4)
            #expect(fixture.partsSent.isEmpty)
            gate.withLock { $0 = true }
            #expect(try await result.partsSent == 6)
            #expect(try await fixture.object() == file.bytes)
        }
    }

    @Test(arguments: [false, true])
    func `Whoever is cancelled while the signer is asked ends at once, and nothing is sent`(isRefusal: Bool)
        async throws
    {
        let service = try Form.headersV4.service()
        struct Interrupted: Error {}
        let signer = RecordingSigner { request, _ in
            if request.query["partNumber"] != nil {
                // As a library does that has its own word for it.
                do { try await Task.sleep(for: .seconds(3600)) } catch {
                    throw isRefusal ? OSSSigningRefusal("interrupted") : Interrupted() as any Error
                }
            }
            return try await service.sign(request)
        }
        try await self.withSigner(signer) { fixture in
            let file = try fixture.file(size: 3 * Self.part)
            let uploader = fixture.uploader { $0.partsInFlight = .fixed(3) }
            let task = Task { try await fixture.upload(file, uploader) }
            try await fixture.wait { signer.underWay == 3 }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(signer.underWay == 0)
            #expect(fixture.partsSent.isEmpty)
            #expect(fixture.openUploads.count == 1)
        }
    }

    // MARK: Answers that are none

    @Test(arguments: [
        "key", "uploadId", "partNumber", "missing", "scheme", "normalisation", "normalised ID",
    ])
    func `A URL of another request is not used`(wrong: String) async throws {
        let transport = ScriptedTransport([.reply(headers: ["ETag": "\"E\""])])
        let key = "caf\u{E9}"
        let signer = RecordingSigner { request, _ in
            var url = request.url
            switch wrong {
            case "key": url = url.replacing("caf", with: "x/caf")
            case "uploadId": url = url.replacing("uploadId=%C3%9C", with: "uploadId=V")
            case "normalised ID": url = url.replacing("uploadId=%C3%9C", with: "uploadId=U%CC%88")
            case "partNumber": url = url.replacing("partNumber=3", with: "partNumber=4")
            case "missing": url = url.prefix { $0 != "?" } + "?uploadId=%C3%9C"
            case "scheme": url = url.replacing("https:", with: "file:")
            default: url = url.replacing("%C3%A9", with: "e%CC%81")
            }
            return OSSSignedRequest(url: url + "&x-oss-signature=very-secret", headers: [:])
        }
        let client = try OSSClient(
            endpoint: "https://oss-cn-hangzhou.aliyuncs.com", region: nil, authority: .signer(signer),
            configuration: .init(), transport: transport, surroundings: Waits().surroundings)
        let upload = OSSMultipartUpload(bucket: "media", key: key, uploadID: "\u{DC}")
        let error = try await failure {
            _ = try await client.uploadPart(
                .init(upload: upload, partNumber: 3, body: .bytes([1]), isLastPart: true))
        }
        #expect(error.code == .signerFailed)
        let name =
            ["missing": "partNumber", "normalisation": "key", "normalised ID": "uploadId"][wrong] ?? wrong
        #expect(error.message.contains("its \(name) is another"))
        #expect(!String(reflecting: error).contains("very-secret"))
        #expect(signer.requests.count == 1)
        #expect(transport.requests.isEmpty)
    }

    @Test func `A URL of path style, of another host and with more parameters is used`() async throws {
        let transport = ScriptedTransport([.reply(status: 204)])
        let signer = RecordingSigner { request, _ in
            OSSSignedRequest(
                url: "http://inner.example:81/media/a%20%2B?versionId=V&x-oss-signature=1", headers: ["X-A": "1"])
        }
        let client = try OSSClient(
            endpoint: "https://oss-cn-hangzhou.aliyuncs.com", region: nil, authority: .signer(signer),
            configuration: .init(), transport: transport, surroundings: Waits().surroundings)
        _ = try await client.deleteObject(.init(bucket: "media", key: "a +"))
        let sent = try #require(transport.requests.first)
        #expect(sent.url == "http://inner.example:81/media/a%20%2B?versionId=V&x-oss-signature=1")
        #expect(sent.headers == ["X-A": "1", "User-Agent": OSSMultipartVersion.userAgent])
    }

    @Test func `What a client without credentials cannot make is told, and no region is needed`() async throws {
        let signer = RecordingSigner { _, _ in throw BackendDown() }
        let client = try OSSClient(endpoint: "https://store.example", signer: signer)
        #expect(client.region.isEmpty)
        let calls: [() async throws -> Void] = [
            { _ = try await client.presign(.putObject(bucket: "media", key: "k")) },
            { _ = try await client.postForm(.init(bucket: "media", key: "k")) },
            { _ = try await client.postObject(.init(bucket: "media", key: "k", body: .bytes([1]))) },
        ]
        for call in calls {
            let error = try await failure(call)
            #expect(error.code == .missingCredentials)
            #expect(error.message.contains("signer"))
        }
        #expect(signer.requests.isEmpty)
        await client.shutDown()
    }

    @Test func `What is signed goes through the middlewares first`() async throws {
        struct Mark: OSSMiddleware {
            func intercept(
                _ attempt: OSSAttempt, next: (OSSAttempt) async throws -> OSSReply
            ) async throws -> OSSReply {
                var attempt = attempt
                attempt.headers["x-oss-meta-number"] = String(attempt.number)
                return try await next(attempt)
            }
        }
        let service = try Form.urlV4.service()
        let signer = RecordingSigner { request, number in
            if number == 0 { throw BackendDown() }
            return try await service.sign(request)
        }
        try await self.withSigner(signer, { $0.middlewares = [Mark()] }) { fixture in
            _ = try await fixture.client.putObject(.init(bucket: "media", key: "k", body: .bytes([1])))
            #expect(signer.requests.map { $0.headers["x-oss-meta-number"] } == ["1", "2"])
            let head = try await fixture.client.headObject(.init(bucket: "media", key: "k"))
            #expect(head.metadata["number"] == "2")
        }
    }
}
