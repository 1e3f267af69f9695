// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import CurlTransport
import OSSWire
import Synchronization
import Testing

@testable import OSSMultipart

@Suite struct OSSClientTests {
    private static let initiated =
        "<InitiateMultipartUploadResult><UploadId>UPLOAD</UploadId></InitiateMultipartUploadResult>"
    private static let completed =
        "<CompleteMultipartUploadResult><Location>l</Location><ETag>\"E-1\"</ETag></CompleteMultipartUploadResult>"
    private let upload = OSSMultipartUpload(bucket: "media", key: "v/1.mp4", uploadID: "UPLOAD")

    private func code(_ body: () async throws -> Void) async -> OSSError.Code? {
        do { try await body() } catch { return (error as? OSSError)?.code }
        return nil
    }

    // MARK: Before anything is sent

    // Case 73: https://github.com/haierkeys/custom-image-gateway/issues/25
    @Test(arguments: [
        ("UPPER", "k"), ("ab", "k"), ("-ab", "k"), ("ab-", "k"), ("a_b", "k"), (String(repeating: "a", count: 64), "k"),
        ("media", ""), ("media", "/k"), ("media", "\\k"), ("media", String(repeating: "k", count: 1024)),
        ("media", String(repeating: "文", count: 342)),
    ])
    func `Names that the service refuses are refused before anything is sent`(bucket: String, key: String) async throws
    {
        let transport = ScriptedTransport([])
        let client = try scriptedClient(transport)
        let upload = OSSMultipartUpload(bucket: bucket, key: key, uploadID: "U")
        let calls: [() async throws -> Void] = [
            { _ = try await client.initiateMultipartUpload(.init(bucket: bucket, key: key)) },
            {
                _ = try await client.uploadPart(
                    .init(upload: upload, partNumber: 1, body: .bytes([1]), isLastPart: true))
            },
            { _ = try await client.listParts(.init(upload: upload)) },
            {
                _ = try await client.completeMultipartUpload(
                    .init(upload: upload, parts: [.init(partNumber: 1, eTag: "E")]))
            },
            { try await client.abortMultipartUpload(.init(upload: upload)) },
            { _ = try await client.putObject(.init(bucket: bucket, key: key, body: .bytes([]))) },
            { _ = try await client.headObject(.init(bucket: bucket, key: key)) },
        ]
        for call in calls { #expect(await self.code(call) == .invalidArgument) }
        #expect(transport.requests.isEmpty)
    }

    @Test(arguments: [0, -1, 10_001, Int.max])
    func `A part number outside 1 to 10,000 is refused before anything is sent`(number: Int) async throws {
        let transport = ScriptedTransport([])
        let client = try scriptedClient(transport)
        let body = OSSBody.bytes(Array(repeating: 0, count: 102_400))
        #expect(
            await self.code {
                _ = try await client.uploadPart(.init(upload: self.upload, partNumber: number, body: body))
            }
                == .invalidArgument
        )
        #expect(transport.requests.isEmpty)
    }

    @Test func `A part below 102,400 bytes is refused unless it is the last one`() async throws {
        let transport = ScriptedTransport([
            .reply(headers: ["ETag": "\"E\""]), .reply(headers: ["ETag": "\"E\""]),
        ])
        let client = try scriptedClient(transport)
        func send(_ size: Int, isLast: Bool) async throws {
            let body = OSSBody.bytes(Array(repeating: 0, count: size))
            _ = try await client.uploadPart(.init(upload: self.upload, partNumber: 1, body: body, isLastPart: isLast))
        }
        #expect(await self.code { try await send(102_399, isLast: false) } == .invalidArgument)
        #expect(transport.requests.isEmpty)
        try await send(102_399, isLast: true)
        try await send(102_400, isLast: false)
        #expect(transport.requests.count == 2)
    }

    @Test func `A part over 5 GiB is refused before anything is sent`() async throws {
        let transport = ScriptedTransport([])
        let client = try scriptedClient(transport)
        try await withTemporaryFolder { folder in
            let file = try SparseFile(folder + "/large", size: Limits.maximumPartSize + 1)
            let request = UploadPartRequest(upload: self.upload, partNumber: 1, body: .file(file.url), isLastPart: true)
            #expect(await self.code { _ = try await client.uploadPart(request) } == .invalidArgument)
        }
        #expect(transport.requests.isEmpty)
    }

    @Test(
        arguments: [
            [], [(2, 102_400), (1, 102_400)], [(1, 102_400), (1, 102_400)], [(1, 102_399), (2, 1)], [(0, 102_400)],
            [(10_001, 102_400)],
        ] as [[(Int, Int64)]])
    func `A list that Complete would refuse is refused before anything is sent`(list: [(Int, Int64)]) async throws {
        let transport = ScriptedTransport([])
        let client = try scriptedClient(transport)
        let parts = list.map { OSSPartInfo(partNumber: $0.0, eTag: "E", size: $0.1) }
        #expect(
            await self.code { _ = try await client.completeMultipartUpload(.init(upload: self.upload, parts: parts)) }
                == .invalidArgument
        )
        #expect(transport.requests.isEmpty)
    }

    @Test func `Gaps in the numbers and a small last part are allowed at Complete`() async throws {
        let transport = ScriptedTransport([.reply(Self.completed)])
        let client = try scriptedClient(transport)
        let parts = [1, 5, 8].map { OSSPartInfo(partNumber: $0, eTag: "E\($0)", size: $0 == 8 ? 1 : 102_400) }
        let result = try await client.completeMultipartUpload(.init(upload: self.upload, parts: parts))
        #expect(result.eTag == "E-1")
        guard case .memory(let body)? = transport.requests.first?.body else { return #expect(Bool(false), "no body") }
        #expect(
            String(decoding: body, as: UTF8.self).contains(
                "<Part><PartNumber>5</PartNumber><ETag>&quot;E5&quot;</ETag></Part>"))
    }

    @Test func `A header value with a line end is refused before anything is sent`() async throws {
        let transport = ScriptedTransport([])
        let client = try scriptedClient(transport)
        for change: @Sendable (inout OSSObjectHeaders) -> Void in [
            { $0.contentType = "a\r\nx-oss-object-acl: public-read" }, { $0.metadata = ["a": "b\nc"] },
            { $0.metadata = ["a b": "c"] }, { $0.metadata = ["a": String(repeating: "x", count: 9000)] },
        ] {
            var request = InitiateMultipartUploadRequest(bucket: "media", key: "k")
            change(&request.headers)
            #expect(await self.code { _ = try await client.initiateMultipartUpload(request) } == .invalidArgument)
        }
        #expect(transport.requests.isEmpty)
    }

    // MARK: What is sent

    @Test func `Each attempt is signed anew and sends the whole body`() async throws {
        let transport = ScriptedTransport([
            .refusal(500, "InternalError"), .broken(.send), .reply(headers: ["ETag": "\"E\""]),
        ])
        let waits = Waits()
        let client = try scriptedClient(transport, waits: waits) { $0.retryPolicy.baseDelay = .seconds(4) }
        let bytes = Array(repeating: UInt8(7), count: 102_400)
        let result = try await client.uploadPart(.init(upload: self.upload, partNumber: 3, body: .bytes(bytes)))
        #expect(result.info.eTag == "E")
        #expect(transport.requests.count == 3)
        for request in transport.requests {
            #expect(request.body.length == 102_400)
            #expect(request.headers["Content-MD5"] == Base64.encode(try MessageDigest.of(bytes, .md5)))
            #expect(request.headers["Authorization"]?.hasPrefix("OSS4-HMAC-SHA256 Credential=ak/20231216/") == true)
            #expect(request.url == "https://media.oss-cn-hangzhou.aliyuncs.com/v/1.mp4?partNumber=3&uploadId=UPLOAD")
        }
        // Half of 4 s and of 8 s: the random source gives a half.
        #expect(waits.all == [.seconds(2), .seconds(4)])
        // Each with the time of its own, and the signature that belongs to it.
        let dates = transport.requests.map { $0.headers["x-oss-date"] }
        #expect(dates == ["20231216T162057Z", "20231216T162059Z", "20231216T162103Z"])
        #expect(Set(transport.requests.map { $0.headers["Authorization"] }).count == 3)
    }

    @Test func `The number of attempts is bounded, and the error says how many there were`() async throws {
        let transport = ScriptedTransport(Array(repeating: .refusal(500, "InternalError"), count: 20))
        let client = try scriptedClient(transport)
        do {
            try await client.abortMultipartUpload(.init(upload: self.upload))
            Issue.record("it succeeded")
        } catch let error as OSSError {
            #expect(error.service?.code == .internalError)
            #expect(error.description.contains("REQUEST-InternalError"))
            #expect(error.description.contains("8 attempts"))
        }
        #expect(transport.requests.count == 8)
    }

    @Test func `A refusal is told at once, with code, request ID and operation`() async throws {
        let transport = ScriptedTransport([.refusal(403, "AccessDenied")])
        let client = try scriptedClient(transport)
        do {
            _ = try await client.uploadPart(
                .init(upload: self.upload, partNumber: 3, body: .bytes([1]), isLastPart: true))
            Issue.record("it succeeded")
        } catch let error as OSSError {
            for word in ["UploadPart", "part 3", "AccessDenied", "REQUEST-AccessDenied", "403"] {
                #expect(error.description.contains(word))
            }
        }
        #expect(transport.requests.count == 1)
    }

    @Test func `A clock that is off is corrected once`() async throws {
        let skewed = ScriptedTransport.Answer.refusal(
            403, "RequestTimeTooSkewed", extra: "<ServerTime>2023-12-16T18:20:57.000Z</ServerTime>"
        )
        let transport = ScriptedTransport([skewed, .reply(Self.initiated), .reply(Self.initiated)])
        let client = try scriptedClient(transport)
        _ = try await client.initiateMultipartUpload(.init(bucket: "media", key: "k"))
        _ = try await client.initiateMultipartUpload(.init(bucket: "media", key: "k"))
        let dates = transport.requests.map { $0.headers["x-oss-date"] }
        #expect(dates == ["20231216T162057Z", "20231216T182057Z", "20231216T182057Z"])

        let hopeless = ScriptedTransport([skewed, skewed, skewed])
        let other = try scriptedClient(hopeless)
        #expect(await self.code { try await other.abortMultipartUpload(.init(upload: self.upload)) } == .service)
        #expect(hopeless.requests.count == 2)
    }

    @Test func `Credentials that expired are renewed once for all who ask`() async throws {
        let loads = Mutex(0)
        let provider = OSSCredentialsProvider.refreshing {
            let count = loads.withLock { count in
                count += 1
                return count
            }
            return try OSSCredentials(accessKeyID: "ak\(count)", accessKeySecret: "s", securityToken: "token\(count)")
        }
        let transport = ScriptedTransport([
            .refusal(403, "SecurityTokenExpired"), .reply(Self.initiated), .reply(Self.initiated),
        ])
        let client = try scriptedClient(transport, credentials: provider)
        _ = try await client.initiateMultipartUpload(.init(bucket: "media", key: "k"))
        _ = try await client.initiateMultipartUpload(.init(bucket: "media", key: "k"))
        #expect(transport.requests.map { $0.headers["x-oss-security-token"] } == ["token1", "token2", "token2"])
        #expect(loads.withLock { $0 } == 2)
    }

    @Test func `Credentials that cannot be renewed are told at once`() async throws {
        let transport = ScriptedTransport([
            .refusal(403, "SecurityTokenExpired"), .refusal(403, "SecurityTokenExpired"),
        ])
        let client = try scriptedClient(transport)
        #expect(await self.code { try await client.abortMultipartUpload(.init(upload: self.upload)) } == .service)
        #expect(transport.requests.count == 1)
    }

    @Test func `Signature V1 can be asked for, and needs no region`() async throws {
        let transport = ScriptedTransport([.reply(Self.initiated)])
        let client = try scriptedClient(transport) { $0.signatureVersion = .v1 }
        _ = try await client.initiateMultipartUpload(.init(bucket: "media", key: "k"))
        #expect(transport.requests.first?.headers["Authorization"]?.hasPrefix("OSS ak:") == true)
        #expect(throws: Never.self) {
            var configuration = OSSClient.Configuration()
            configuration.signatureVersion = .v1
            _ = try OSSClient(endpoint: "http://127.0.0.1", credentials: .environment, configuration: configuration)
        }
        #expect { try OSSClient(endpoint: "http://127.0.0.1", credentials: .environment) } throws: {
            "\($0)".contains("region")
        }
    }

    // MARK: What comes back

    @Test func `A part whose checksum differs is sent again, and told when it stays so`() async throws {
        let bytes = Array(repeating: UInt8(7), count: 102_400)
        let crc = CRC64.of(bytes)
        func reply(_ crc64: UInt64) -> ScriptedTransport.Answer {
            .reply(headers: ["ETag": "\"E\"", "X-OSS-Hash-CRC64ECMA": "\(crc64)"], sentCRC64: crc)
        }
        let healed = ScriptedTransport([reply(1), reply(crc)])
        let client = try scriptedClient(healed)
        let result = try await client.uploadPart(.init(upload: self.upload, partNumber: 1, body: .bytes(bytes)))
        #expect(result.info.crc64 == crc)

        let broken = ScriptedTransport(Array(repeating: reply(1), count: 9))
        let other = try scriptedClient(broken)
        #expect(
            await self.code {
                _ = try await other.uploadPart(.init(upload: self.upload, partNumber: 1, body: .bytes(bytes)))
            } == .integrity
        )
        #expect(broken.requests.count == 8)
    }

    @Test func `A part's reply without ETag is not taken`() async throws {
        let transport = ScriptedTransport([.reply(), .reply(headers: ["etag": "\"E\""])])
        let client = try scriptedClient(transport)
        let result = try await client.uploadPart(
            .init(upload: self.upload, partNumber: 1, body: .bytes([1]), isLastPart: true)
        )
        #expect(result.info.eTag == "E")
    }

    @Test(arguments: ["", "<html><body>Welcome</body></html>", "<CompleteMultipartUploadResult><Loc", "{}"])
    func `A reply of 200 that is no result of Complete leaves the outcome open`(body: String) async throws {
        let transport = ScriptedTransport(Array(repeating: .reply(body), count: 9))
        let client = try scriptedClient(transport)
        let request = CompleteMultipartUploadRequest(upload: self.upload, parts: [.init(partNumber: 1, eTag: "E")])
        #expect(await self.code { _ = try await client.completeMultipartUpload(request) } == .outcomeUnknown)
    }

    @Test func `NoSuchUpload after a lost reply of Complete leaves the outcome open, and without one it does not`()
        async throws
    {
        let request = CompleteMultipartUploadRequest(upload: self.upload, parts: [.init(partNumber: 1, eTag: "E")])
        let lost = try scriptedClient(ScriptedTransport([.broken(.receive), .refusal(404, "NoSuchUpload")]))
        #expect(await self.code { _ = try await lost.completeMultipartUpload(request) } == .outcomeUnknown)
        let plain = try scriptedClient(ScriptedTransport([.refusal(404, "NoSuchUpload")]))
        #expect(await self.code { _ = try await plain.completeMultipartUpload(request) } == .service)
    }

    @Test func `A Complete that may not be resent is sent once when its outcome is open`() async throws {
        let request = CompleteMultipartUploadRequest(upload: self.upload, parts: [.init(partNumber: 1, eTag: "E")])
        let answers: [ScriptedTransport.Answer] = [
            .broken(.idleTimeout), .refusal(500, "InternalError"), .refusal(200, "InternalError"),
        ]
        for answer in answers {
            let transport = ScriptedTransport([answer, .reply(Self.completed)])
            let client = try scriptedClient(transport)
            #expect(
                await self.code {
                    _ = try await client.completeMultipartUpload(
                        request, document: OSSClient.completeDocument(request.parts, count: 1), mayBeResent: false)
                }
                    == .outcomeUnknown
            )
            #expect(transport.requests.count == 1)
        }
        let refused = ScriptedTransport([.broken(.connect), .refusal(503, "SlowDown"), .reply(Self.completed)])
        let client = try scriptedClient(refused)
        _ = try await client.completeMultipartUpload(
            request, document: OSSClient.completeDocument(request.parts, count: 1), mayBeResent: false)
        #expect(refused.requests.count == 3)
    }

    @Test func `A request that a shut-down ends says so, whether or not it may have been applied`() async throws {
        let complete = CompleteMultipartUploadRequest(upload: self.upload, parts: [.init(partNumber: 1, eTag: "E")])
        for mayBeResent in [true, false] {
            let transport = ScriptedTransport([.broken(.shutDown), .reply(Self.completed)])
            let client = try scriptedClient(transport)
            let error = try await failure {
                _ = try await client.completeMultipartUpload(
                    complete, document: OSSClient.completeDocument(complete.parts, count: 1), mayBeResent: mayBeResent)
            }
            #expect(error.code == .shutDown)
            #expect(error.message.contains("make a new one"))
            #expect(transport.requests.count == 1)
        }
    }

    @Test func `Status 203 says that the object is stored and the callback failed`() async throws {
        let answer = ScriptedTransport.Answer.refusal(203, "CallbackFailed")
        let client = try scriptedClient(ScriptedTransport([answer]))
        let request = CompleteMultipartUploadRequest(upload: self.upload, parts: [.init(partNumber: 1, eTag: "E")])
        let result = try await client.completeMultipartUpload(request)
        #expect(result.callback?.hasSucceeded == false)
    }

    @Test func `Aborting an upload that is gone is done`() async throws {
        let client = try scriptedClient(ScriptedTransport([.refusal(404, "NoSuchUpload")]))
        try await client.abortMultipartUpload(.init(upload: self.upload))
    }

    @Test func `A document that is written over many lines says the same`() async throws {
        let client = try scriptedClient(
            ScriptedTransport([
                .reply(
                    """
                    <ListPartsResult xmlns="\(XMLWriter.namespace)">
                      <Part>
                        <PartNumber> 1 </PartNumber>
                        <ETag>
                          "E"
                        </ETag>
                        <Size>
                          7
                        </Size>
                      </Part>
                    </ListPartsResult>
                    """)
            ]))
        var stored: [OSSStoredPart] = []
        for try await part in client.listPartsPages(.init(upload: self.upload)) { stored.append(part) }
        #expect(stored.map(\.info.partNumber) == [1])
        #expect(stored.map(\.info.eTag) == ["E"])
        #expect(stored.map(\.size) == [7])
    }

    // Case 36: https://github.com/afreidah/s3-orchestrator/issues/1535
    @Test func `All pages of ListParts are read, repeated parts count once`() async throws {
        func page(_ numbers: [Int], next: Int?) -> ScriptedTransport.Answer {
            let parts = numbers.map { "<Part><PartNumber>\($0)</PartNumber><ETag>\"E\"</ETag><Size>1</Size></Part>" }
            let end =
                next.map { "<IsTruncated>true</IsTruncated><NextPartNumberMarker>\($0)</NextPartNumberMarker>" } ?? ""
            return .reply("<ListPartsResult xmlns=\"\(XMLWriter.namespace)\">\(parts.joined())\(end)</ListPartsResult>")
        }
        let client = try scriptedClient(ScriptedTransport([page([1, 2], next: 2), page([1, 2, 3, 4], next: nil)]))
        var numbers: [Int] = []
        for try await part in client.listPartsPages(.init(upload: self.upload)) { numbers.append(part.info.partNumber) }
        #expect(numbers == [1, 2, 3, 4])

        let endless = ScriptedTransport(Array(repeating: page([1, 2], next: 2), count: 9))
        let other = try scriptedClient(endless)
        #expect(
            await self.code { for try await _ in other.listPartsPages(.init(upload: self.upload)) {} }
                == .malformedReply
        )
        #expect(endless.requests.count == 2)
    }

    @Test func `Errors of HEAD come from the header`() async throws {
        let document = "<Error><Code>NoSuchBucket</Code><Message>m</Message><RequestId>R</RequestId></Error>"
        let transport = ScriptedTransport([
            .reply(headers: ["x-oss-err": Base64.encode(Array(document.utf8))], status: 404), .reply(status: 404),
        ])
        let client = try scriptedClient(transport)
        // Where nothing is said the status is all there is.
        for code in [OSSError.ServiceCode.noSuchBucket, .noSuchKey] {
            let error = try await failure { _ = try await client.headObject(.init(bucket: "media", key: "k")) }
            #expect(error.service?.code == code)
        }
    }

    // Case 52: https://github.com/jxxghp/MoviePilot/issues/6295
    @Test func `No secret is in any error, description, dump or request`() async throws {
        let credentials = try OSSCredentials(
            accessKeyID: "ak", accessKeySecret: "very-secret", securityToken: "the-token")
        var dumped = ""
        dump(credentials, to: &dumped)
        dump(OSSCredentialsProvider.fixed(credentials), to: &dumped)
        let texts = [
            dumped, "\(credentials)", String(reflecting: credentials), "\(OSSCredentialsProvider.fixed(credentials))",
        ]
        for text in texts {
            #expect(!text.contains("very-secret"))
            #expect(!text.contains("the-token"))
        }
        let echo = "<StringToSign>the-token</StringToSign><CanonicalRequest>the-token</CanonicalRequest>"
        let transport = ScriptedTransport([.refusal(403, "SignatureDoesNotMatch", extra: echo)])
        let client = try scriptedClient(transport, credentials: .fixed(credentials))
        do {
            try await client.abortMultipartUpload(.init(upload: self.upload))
            Issue.record("it succeeded")
        } catch {
            #expect(!String(reflecting: error).contains("the-token"))
            #expect(!String(reflecting: error).contains("very-secret"))
            #expect(!String(reflecting: error).contains("Signature="))
        }
        for request in transport.requests {
            #expect(!request.url.contains("secret"))
            #expect(request.headers.all.allSatisfy { !$0.value.contains("very-secret") })
        }
    }
}
