// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import ByteProxy
import FoundationEssentials
import OSSLocalServer
import Testing

@testable import OSSMultipart

/// Connections that break or fall silent, at every kind of place, under every request of the uploader.
///
/// A signal would end the test program itself: that none comes is part of every test.
@Suite(.timeLimit(.minutes(5))) struct BrokenConnectionTests {
    private static let part = Int(LocalFixture.partSize)
    /// The last bytes of part 3, and of the small source.
    private static let lastWords = "THE LAST WORDS"

    /// Where a connection breaks.
    enum Moment: CaseIterable, Sendable {
        case beforeRequest, requestHead, requestBody, endOfRequest, beforeReply, statusLine, replyHeaders, replyBody

        /// The place in the bytes; nil where the exchange has no such.
        func place(in exchange: Exchange) -> ByteProxy.Place? {
            switch (self, exchange) {
            case (.beforeRequest, _): .request(0)
            case (.requestHead, _): .request(30)
            case (.requestBody, .part): .request(70_000)
            case (.requestBody, .put): .request(3000)
            case (.requestBody, .complete): .requestThrough("<Part>")
            case (.requestBody, _): nil
            case (.endOfRequest, .part), (.endOfRequest, .put): .requestThrough(BrokenConnectionTests.lastWords)
            case (.endOfRequest, .complete): .requestThrough("</CompleteMultipartUpload>")
            case (.endOfRequest, _): .requestThrough("\r\n\r\n")
            case (.beforeReply, _): .reply(0)
            case (.statusLine, _): .reply(7)
            case (.replyHeaders, _): .reply(60)
            case (.replyBody, .initiate): .replyThrough("<UploadId>")
            case (.replyBody, .list): .replyThrough("<PartNumber>")
            case (.replyBody, .complete): .replyThrough("<Location>")
            case (.replyBody, _): nil
            }
        }
    }

    /// A connection that breaks: under which request, where and how.
    struct Break: Sendable, CustomTestStringConvertible {
        let exchange: Exchange, moment: Moment, end: ByteProxy.End

        static func all(_ ends: [ByteProxy.End]) -> [Break] {
            Exchange.allCases.flatMap { exchange in
                Moment.allCases.filter { $0.place(in: exchange) != nil }.flatMap { moment in
                    ends.map { Break(exchange: exchange, moment: moment, end: $0) }
                }
            }
        }

        var testDescription: String { "\(self.exchange), \(self.moment), \(self.end)" }

        func rule(_ occurrences: ClosedRange<Int> = 1...1) throws -> ByteProxy.Rule {
            let place = try self.moment.place(in: self.exchange).unwrapped()
            return ByteProxy.Rule(self.exchange.rawValue, .end(self.end, place), occurrences: occurrences)
        }
    }

    /// Brings an upload to where it will ask for the exchange, and returns the file to upload.
    private func prepare(_ exchange: Exchange, _ fixture: LocalFixture) async throws -> TestFile {
        let size = exchange == .put ? 5000 : 4 * Self.part + 17
        var bytes = try fixture.file(size: size).bytes
        let end = exchange == .put ? size : 3 * Self.part
        bytes.replaceSubrange(end - Self.lastWords.utf8.count..<end, with: Self.lastWords.utf8)
        let file = try TestFile(fixture.folder + "/film.bin", bytes)
        if exchange == .list { try await fixture.breakUpload(file, atPart: 4) }
        return file
    }

    private func checkRecovery(
        from broken: Break, client configure: (inout OSSClient.Configuration) -> Void = { _ in }
    ) async throws {
        try await withProxy(rules: [broken.rule()], client: configure) { fixture, proxy in
            let file = try await self.prepare(broken.exchange, fixture)
            let result = try await fixture.upload(file)
            #expect(result.proof == .crc64)
            #expect(try await fixture.object() == file.bytes)
            #expect(fixture.openUploads.isEmpty)
            #expect(fixture.records.isEmpty)
            // The one that broke, the next one, and one for a machine so slow that a healthy one timed out.
            #expect((1...3).contains(proxy.count(ofRule: 0)), "\(proxy.count(ofRule: 0)) times")
            #expect(fixture.partsSent.count <= (broken.exchange == .list ? 2 : 5) + 2)
        }
    }

    // Case 59: https://github.com/googleapis/google-cloud-cpp/issues/7133, https://github.com/curl/curl/issues/3787
    @Test(
        arguments: Break.all([.close, .reset])
            + Break.all([.halfClose]).filter { [.beforeReply, .replyHeaders, .replyBody].contains($0.moment) })
    func `A connection that breaks once, wherever it is, costs one more try and nothing else`(broken: Break)
        async throws
    {
        try await self.checkRecovery(from: broken)
    }

    // Case 62: https://github.com/aliyun/aliyun-oss-android-sdk/issues/75
    @Test(.atMost(6), arguments: Break.all([.silence]))
    func `A connection that falls silent, wherever it is, is given up in time and the request sent again`(broken: Break)
        async throws
    {
        // Long enough that healthy ones are not given up, however slow the machine.
        try await self.checkRecovery(from: broken) { $0.idleTimeout = .seconds(3) }
    }

    // A Complete whose replies are all lost is not among them: that it was applied is found out.
    @Test(
        arguments: Exchange.allCases.map { Break(exchange: $0, moment: .requestHead, end: .reset) }
            + Exchange.allCases.filter { $0 != .complete }.map {
                Break(exchange: $0, moment: .replyHeaders, end: .close)
            })
    func `Connections that always break end the upload within bounds, and the next run finishes`(broken: Break)
        async throws
    {
        let rule = try broken.rule(ByteProxy.Rule.always)
        try await withProxy(rules: [rule]) { fixture, proxy in
            let file = try await self.prepare(broken.exchange, fixture)
            let stored = fixture.partsSent.count
            let error = try await failure { try await fixture.upload(file) }
            #expect([.connection, .outcomeUnknown].contains(error.code), "\(error)")
            // Eight attempts, and once for each of them curl itself where a kept connection was dead.
            #expect((8...16).contains(proxy.count(ofRule: 0)), "\(proxy.count(ofRule: 0)) times")
            #expect(fixture.partsSent.count - stored <= 4 + 16)

            proxy.stopMeddling()
            try await fixture.upload(file)
            #expect(try await fixture.object() == file.bytes)
            #expect(fixture.openUploads.isEmpty)
            #expect(fixture.records.isEmpty)
        }
    }

    // Case 54: https://github.com/dandi/dandi-cli/pull/1824, https://github.com/aws/aws-sdk-java-v2/issues/5415
    @Test func `A part that is cut twice in its midst is sent whole each time, from its own offset`() async throws {
        let cut = ByteProxy.Rule(Exchange.part.rawValue, .end(.close, .request(70_000)), occurrences: 1...2)
        try await withProxy(rules: [cut]) { fixture, proxy in
            let file = try fixture.file(size: 10 * Self.part + 17)
            let result = try await fixture.upload(file)
            #expect(try await fixture.object() == file.bytes)
            #expect(result.partsSent == 11)
            #expect(proxy.count(ofRule: 0) == 3)
            for request in fixture.server.requests where request.partNumber == 3 {
                #expect(request.headers["content-length"] == "\(Self.part)")
            }
        }
    }

    // Case 23: https://github.com/aliyun/aliyun-oss-ios-sdk/issues/286, https://github.com/dandi/dandi-cli/pull/1824
    @Test func `Parts whose replies were lost are sent again with the same number and the same bytes`() async throws {
        let marks = ["PUT /media/v/film.bin?partNumber=4&", "PUT /media/v/film.bin?partNumber=11&"]
        try await withProxy(rules: marks.map { .init($0, .end(.close, .reply(0))) }) { fixture, proxy in
            let file = try fixture.file(size: 10 * Self.part + 17)
            let result = try await fixture.upload(file)
            #expect(fixture.partsSent == [1, 2, 3, 4, 4, 5, 6, 7, 8, 9, 10, 11, 11])
            let fours = fixture.server.requests.filter { $0.partNumber == 4 }
            #expect(Set(fours.map { $0.headers["content-md5"] }).count == 1)
            #expect(result.proof == .crc64)
            #expect(try await fixture.object() == file.bytes)
        }
    }

    // Case 59: https://github.com/googleapis/google-cloud-cpp/issues/7133, https://github.com/curl/curl/issues/3787
    @Test func `Resets after the head and within the body of several large parts are no signal`() async throws {
        let rules: [ByteProxy.Rule] = [2, 5, 8].flatMap { number -> [ByteProxy.Rule] in
            let mark = "PUT /media/v/film.bin?partNumber=\(number)&"
            return [
                .init(mark, .end(.reset, .requestThrough("\r\n\r\n"))),
                .init(mark, .end(.reset, .request(4000)), occurrences: 2...2),
            ]
        }
        try await withProxy(rules: rules) { fixture, proxy in
            let file = try fixture.file(size: 9 * (1 << 20) + 5)
            try await fixture.upload(file, fixture.uploader { $0.partSize = 1 << 20 })
            #expect(try await fixture.object() == file.bytes)
            for rule in stride(from: 0, to: 6, by: 2) { #expect((3...4).contains(proxy.count(ofRule: rule))) }
        }
    }
}
