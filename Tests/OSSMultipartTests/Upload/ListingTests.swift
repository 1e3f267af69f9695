// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import CurlTransport
import OSSLocalServer
import Testing

@testable import OSSMultipart

/// What the service lists is compared with the source, however it is cut into pages and whatever else happened.
@Suite(.timeLimit(.minutes(5))) struct ListingTests {
    private static let part = Int(LocalFixture.partSize)

    /// Cuts a page of ListParts to its first part.
    private static func firstPartOnly(_ request: TransportRequest, _ reply: TransportResponse) -> TransportResponse {
        var text = String(decoding: reply.body, as: UTF8.self)
        guard request.method == "GET", let end = text.range(of: "</Part>")?.upperBound,
            let last = text.range(of: "</Part>", backwards: true)?.upperBound,
            let number = text.value(of: "PartNumber")
        else { return reply }
        let isCut = end != last
        text.removeSubrange(end..<last)
        if isCut {
            text = text.replacing("<IsTruncated>false</IsTruncated>", with: "<IsTruncated>true</IsTruncated>")
            if let marker = text.value(of: "NextPartNumberMarker") {
                text = text.replacing(
                    "<NextPartNumberMarker>\(marker)</NextPartNumberMarker>",
                    with: "<NextPartNumberMarker>\(number)</NextPartNumberMarker>")
            } else {
                text = text.replacing(
                    "<IsTruncated>", with: "<NextPartNumberMarker>\(number)</NextPartNumberMarker><IsTruncated>")
            }
        }
        return TransportResponse(status: reply.status, headers: reply.headers, body: Array(text.utf8))
    }

    @Test func `Pages of one part are put together`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 10 * Self.part + 17)
            try await fixture.breakUpload(file, atPart: 8)
            let steps = Steps()
            let uploader = try fixture.steppingUploader(steps, change: Self.firstPartOnly)
            let result = try await fixture.upload(file, uploader)
            await uploader.client.shutDown()
            #expect(fixture.partsSent == Array(8...11))
            #expect(result.partsResumed == 7)
            #expect(fixture.count("ListParts") == 7)
            #expect(try await fixture.object() == file.bytes)
        }
    }

    @Test func `A marker that goes back or stands still in the middle ends the run, and nothing is lost`() async throws
    {
        for marker in [1, 2] {
            try await withLocalServer { fixture in
                let file = try fixture.file(size: 6 * Self.part)
                try await fixture.breakUpload(file, atPart: 6)
                // The second page says again where the first one ended, or before that.
                let steps = Steps()
                let uploader = try fixture.steppingUploader(
                    steps,
                    change: { request, reply in
                        let text = String(decoding: reply.body, as: UTF8.self)
                        guard request.method == "GET", text.contains("<ListPartsResult") else { return reply }
                        let isFirst = !request.url.contains("part-number-marker=")
                        let page = Self.page(text, endingAt: isFirst ? 2 : marker)
                        return TransportResponse(status: 200, headers: reply.headers, body: Array(page.utf8))
                    })
                let error = try await failure { try await fixture.upload(file, uploader) }
                await uploader.client.shutDown()
                #expect(error.code == .malformedReply)
                #expect(fixture.partsSent.isEmpty)
                #expect(fixture.count("AbortMultipartUpload") == 0)
                fixture.server.removeAllRequests()
                try await fixture.upload(file)
                #expect(fixture.partsSent == [6])
                #expect(try await fixture.object() == file.bytes)
            }
        }
    }

    private static func page(_ text: String, endingAt marker: Int) -> String {
        var page = text.replacing("<IsTruncated>false</IsTruncated>", with: "<IsTruncated>true</IsTruncated>")
        if let old = page.value(of: "NextPartNumberMarker") {
            page = page.replacing("<NextPartNumberMarker>\(old)<", with: "<NextPartNumberMarker>\(marker)<")
        } else {
            page = page.replacing(
                "<IsTruncated>", with: "<NextPartNumberMarker>\(marker)</NextPartNumberMarker><IsTruncated>")
        }
        return page
    }

    @Test func `Where listing is denied and the source was touched, the recorded parts are read again`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 6 * Self.part)
            try await fixture.breakUpload(file, atPart: 5)
            var bytes = file.bytes
            bytes[Self.part + 1] ^= 1
            let changed = try TestFile(file.path, bytes)
            fixture.server.faults.add(.init(.respond(status: 403, code: "AccessDenied"), operation: "ListParts"))
            let result = try await fixture.upload(changed)
            #expect(fixture.partsSent == [2, 5, 6])
            #expect(result.partsResumed == 3)
            #expect(try await fixture.object() == changed.bytes)
        }
    }

    @Test func `NoSuchUpload at Complete, with nothing under the key, begins anew in the same run`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 3 * Self.part)
            fixture.server.faults.add(
                .init(
                    .respond(status: 404, code: "NoSuchUpload"), operation: "CompleteMultipartUpload",
                    occurrences: 1...1))
            let result = try await fixture.upload(file)
            #expect(fixture.count("InitiateMultipartUpload") == 2)
            #expect(result.warnings.contains { $0.contains("gone") })
            #expect(try await fixture.object() == file.bytes)
        }
    }

    @Test func `An upload that vanishes again and again ends the run`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 3 * Self.part)
            fixture.server.faults.add(.init(.respond(status: 404, code: "NoSuchUpload"), operation: "UploadPart"))
            let error = try await failure { try await fixture.upload(file) }
            #expect(error.message.contains("twice"))
            #expect(fixture.count("InitiateMultipartUpload") == 2)
        }
    }

    @Test func `A service that keeps saying that parts are missing ends the run, and the next one finishes`()
        async throws
    {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 3 * Self.part)
            fixture.server.faults.add(
                .init(.respond(status: 400, code: "InvalidPart"), operation: "CompleteMultipartUpload"))
            let error = try await failure { try await fixture.upload(file) }
            #expect(error.message.contains("keeps saying"))
            #expect(fixture.count("CompleteMultipartUpload") == 3)
            fixture.server.faults.removeAll()
            fixture.server.removeAllRequests()
            try await fixture.upload(file)
            #expect(fixture.partsSent.isEmpty)
            #expect(try await fixture.object() == file.bytes)
        }
    }

    /// Lets the reply to part 2 name another ETag than the one that the service keeps.
    private func garbleETag(_ fixture: LocalFixture) {
        fixture.server.faults.add(
            .init(
                .editReplyHeader("ETag", "\"\(String(repeating: "0", count: 32))\""), operation: "UploadPart",
                partNumber: 2,
                occurrences: 1...1))
    }

    @Test func `A part that the service keeps under another ETag than it said is sent again, not asked for in vain`()
        async throws
    {
        try await withLocalServer { fixture in
            self.garbleETag(fixture)
            let file = try fixture.file(size: 4 * Self.part)
            try await fixture.upload(file)
            #expect(fixture.partsSent == [1, 2, 2, 3, 4])
            #expect(fixture.count("CompleteMultipartUpload") == 2)
            #expect(try await fixture.object() == file.bytes)
        }
    }

    @Test func `A resumed upload names the ETag that the service keeps`() async throws {
        try await withLocalServer { fixture in
            self.garbleETag(fixture)
            let file = try fixture.file(size: 4 * Self.part)
            try await fixture.breakUpload(file, atPart: 4)
            let result = try await fixture.upload(file)
            #expect(fixture.partsSent == [4])
            #expect(result.partsResumed == 3)
            #expect(fixture.count("CompleteMultipartUpload") == 1)
            #expect(try await fixture.object() == file.bytes)
        }
    }
}

extension String {
    /// What stands in the first element of that name; nil where there is none.
    fileprivate func value(of element: String) -> Substring? {
        guard let open = self.range(of: "<\(element)>"),
            let close = self[open.upperBound...].range(of: "</\(element)>")
        else { return nil }
        return self[open.upperBound..<close.lowerBound]
    }

    fileprivate func range(of text: String, backwards: Bool) -> Range<Index>? {
        backwards ? self.ranges(of: text).last : self.firstRange(of: text)
    }

    fileprivate func range(of text: String) -> Range<Index>? { self.firstRange(of: text) }
}

extension Substring {
    fileprivate func range(of text: String) -> Range<Index>? { self.firstRange(of: text) }
}
