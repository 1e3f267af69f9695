// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import ByteProxy
import FoundationEssentials
import OSSLocalServer
import Testing

@testable import OSSMultipart

/// Replies that are right and look strange, and servers that take and give little at a time.
@Suite(.timeLimit(.minutes(5))) struct StrangeReplyTests {
    private static let part = Int(LocalFixture.partSize)

    /// Makes the server close after each reply; what the reply says of it is an edit of its own.
    private static let closes = ByteProxy.Edit("User-Agent: ", "Connection: close\r\nUser-Agent: ")

    private static func configuration(
        _ replyEdits: [ByteProxy.Edit], closes: Bool = false, chunks: Bool = false
    ) -> ByteProxy.Configuration {
        var configuration = ByteProxy.Configuration()
        configuration.replyEdits = replyEdits
        if closes { configuration.requestEdits = [Self.closes] }
        configuration.chunksReplies = chunks
        return configuration
    }

    private func checkEverything(
        _ configuration: ByteProxy.Configuration,
        _ check: (LocalFixture, ByteProxy) throws -> Void = { _, _ in }
    ) async throws {
        try await withProxy(configuration) { fixture, proxy in
            let isRight = try await fixture.useEverything()
            #expect(isRight)
            #expect(proxy.unusedEdits.isEmpty)
            #expect(fixture.partsSent == [3, 4, 5, 6])
            try check(fixture, proxy)
        }
    }

    // Case 18: https://github.com/aws/aws-sdk-js-v3/issues/825
    @Test(arguments: ["", "  ", "\t", " \t "])
    func `Header names count in any letter case, with any blanks after the colon`(blanks: String) async throws {
        let spellings = [
            ("ETag", "etag"), ("x-oss-hash-crc64ecma", "X-OSS-HASH-CRC64ECMA"),
            ("x-oss-request-id", "X-Oss-Request-Id"),
            ("Content-Type", "content-type"), ("Content-Length", "CONTENT-LENGTH"), ("Date", "dAtE"),
        ]
        try await self.checkEverything(
            Self.configuration(spellings.map { .init("\($0.0): ", "\($0.1):\(blanks)") }))
    }

    // Case 56: https://github.com/cvmfs/cvmfs/issues/3065, https://github.com/curl/curl/issues/17139
    @Test func `A server that closes after each reply although it said keep-alive loses nothing`() async throws {
        let configuration = Self.configuration([.init("Connection: close", "Connection: keep-alive")], closes: true)
        try await self.checkEverything(configuration) { fixture, proxy in
            // Each connection was good for one request.
            #expect(proxy.connections >= fixture.server.requests.count)
        }
        try await withProxy(configuration) { fixture, proxy in
            let file = try fixture.file(size: 60 * Self.part)
            try await fixture.upload(file)
            #expect(try await fixture.object() == file.bytes)
            #expect(fixture.partsSent == Array(1...60))
        }
    }

    // Case 68: https://github.com/cvmfs/cvmfs/issues/3065, https://github.com/abraunegg/onedrive/pull/3792
    @Test func `Replies may say that the connection ends, come in chunks, or end with the connection`() async throws {
        try await self.checkEverything(Self.configuration([], closes: true))
        try await self.checkEverything(
            Self.configuration(
                [.init("Content-Length: ", "Transfer-Encoding: chunked\r\nX-Length: ")], closes: true, chunks: true))
        try await self.checkEverything(Self.configuration([.init("Content-Length: ", "X-Length: ")], closes: true))
    }

    // Case 69: https://github.com/curl/curl/issues/4949, https://github.com/yhirose/cpp-httplib/issues/349
    @Test func `An unasked 100, also twice and with fields, is passed over before every reply`() async throws {
        let interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 100 Continue\r\nx-oss-request-id: none\r\n\r\nHTTP/1.1 "
        try await self.checkEverything(
            Self.configuration(["200", "403"].map { .init("HTTP/1.1 \($0)", interim + $0) }))
    }

    // Case 61: https://github.com/swiftlang/swift-corelibs-foundation/issues/5532
    @Test func `A server that takes little at a time through a tiny buffer is waited for, and each part is sent once`()
        async throws
    {
        var configuration = ByteProxy.Configuration()
        configuration.receiveBuffer = 4096
        configuration.requestPace = .init(bytes: 2048, pause: .milliseconds(120))
        // Longer than the idle limit in all, and never without a byte for nearly as long: the proxy has up to 64 KiB, which it
        // is done with in less than 4 seconds, before it takes the last bytes.
        try await withProxy(configuration, client: { $0.idleTimeout = .seconds(5) }) { fixture, proxy in
            let file = try fixture.file(size: 8 * Self.part)
            try await fixture.upload(file, fixture.uploader { $0.partsInFlight = .fixed(8) })
            #expect(try await fixture.object() == file.bytes)
            #expect(fixture.partsSent == Array(1...8))
        }
    }

    @Test(arguments: Exchange.allCases)
    func `A reply that comes byte by byte is read to its end`(exchange: Exchange) async throws {
        let pace = ByteProxy.Action.paceReply(.init(bytes: 1, pause: .milliseconds(1)))
        try await withProxy(rules: [.init(exchange.rawValue, pace)]) { fixture, proxy in
            let file = try fixture.file(size: exchange == .put ? 5000 : 4 * Self.part)
            if exchange == .list { try await fixture.breakUpload(file, atPart: 4) }
            try await fixture.upload(file)
            #expect(try await fixture.object() == file.bytes)
            #expect(proxy.count(ofRule: 0) == 1)
        }
    }

    // Case 8: https://github.com/minio/minio-js/issues/452
    @Test func `Blanks before the document for longer than the idle limit are waited for, and Complete is sent once`()
        async throws
    {
        let configuration = Self.configuration([.init("Content-Length: ", "X-Length: ")], closes: true)
        let blanks = ByteProxy.Action.pauseReply(
            behind: "\r\n\r\n", filling: UInt8(ascii: " "), times: 30, pause: .milliseconds(100))
        let rules = [ByteProxy.Rule(Exchange.complete.rawValue, blanks)]
        try await withProxy(configuration, rules: rules, client: { $0.idleTimeout = .milliseconds(2500) }) {
            fixture, proxy in
            let file = try fixture.file(size: 4 * Self.part)
            let start = ContinuousClock.now
            let result = try await fixture.upload(file)
            #expect(start.duration(to: .now) >= .seconds(3))
            #expect(result.proof == .crc64)
            #expect(proxy.count(ofRule: 0) == 1)
            #expect(try await fixture.object() == file.bytes)
        }
    }

    // MARK: Replies before the request is read

    private static func early(_ status: String, _ headers: [String] = [], body: String = "") -> [UInt8] {
        let lines = ["HTTP/1.1 \(status)"] + headers + ["Content-Length: \(body.utf8.count)", "", body]
        return Array(lines.joined(separator: "\r\n").utf8)
    }

    // Case 58: https://github.com/lysine-dev/okhttp/issues/1001, https://github.com/netty/netty/issues/6706
    @Test(arguments: [ByteProxy.End.close, .halfClose])
    func `A refusal before the body is read is the one that is told, after few tries`(end: ByteProxy.End) async throws {
        let reply = Self.early(
            "403 Forbidden", ["x-oss-request-id: EARLY-ID", "Content-Type: application/xml"],
            body: "<Error><Code>AccessDenied</Code><Message>no</Message><RequestId>EARLY-ID</RequestId></Error>")
        let mark = "PUT /media/v/film.bin?partNumber=1&"
        let rule = ByteProxy.Rule(
            mark, .answer(reply, afterRequestBytes: 4000, then: end), occurrences: ByteProxy.Rule.always)
        try await withProxy(rules: [rule]) { fixture, proxy in
            let file = try SparseFile(fixture.folder + "/sparse", size: 17 << 20)
            let error = try await failure {
                _ = try await fixture.uploader { $0.partSize = 8 << 20 }.upload(
                    .file(file.url), to: fixture.destination)
            }
            #expect(error.service?.code == .accessDenied)
            #expect(error.service?.requestID == "EARLY-ID")
            #expect(error.description.contains("AccessDenied"))
            #expect(proxy.count(ofRule: 0) <= 2)
            #expect(fixture.count("CompleteMultipartUpload") == 0)
        }
    }

    @Test(arguments: ["500 Internal Server Error", "503 Service Unavailable", "200 OK"])
    func `An early reply that is no refusal makes the part be sent again, whole`(status: String) async throws {
        // Also a success: what was not read cannot have been stored, and the ETag shows it.
        let reply = Self.early(status, ["ETag: \"\(String(repeating: "0", count: 32))\""])
        let mark = "PUT /media/v/film.bin?partNumber=2&"
        let rule = ByteProxy.Rule(
            mark, .answer(reply, afterRequestBytes: 4000, then: .halfClose), occurrences: 1...2)
        try await withProxy(rules: [rule]) { fixture, proxy in
            let file = try fixture.file(size: 6 << 20)
            try await fixture.upload(file, fixture.uploader { $0.partSize = 4 << 20 })
            #expect(try await fixture.object() == file.bytes)
            #expect(proxy.count(ofRule: 0) == 3)
        }
    }

    // MARK: Bytes that change on the way

    // Case 20: https://github.com/aws/aws-sdk-ruby/issues/2796, https://github.com/alexmojaki/s3-stream-upload/issues/17
    @Test(arguments: OSSIntegrity.all.filter { $0 != .none }, [Exchange.part, .put])
    func `A bit that flips on the way is seen, and the part is sent again`(integrity: OSSIntegrity, exchange: Exchange)
        async throws
    {
        // Behind the head, whatever its length.
        let flip = ByteProxy.Rule(exchange.rawValue, .flip(4000))
        try await withProxy(rules: [flip]) { fixture, proxy in
            let file = try fixture.file(size: exchange == .put ? 50_000 : 4 * Self.part)
            try await fixture.upload(file, fixture.uploader { $0.integrity = integrity })
            #expect(try await fixture.object() == file.bytes)
            #expect(proxy.count(ofRule: 0) == 2)
        }
    }
}
