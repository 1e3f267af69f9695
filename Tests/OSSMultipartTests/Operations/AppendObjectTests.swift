// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import CurlTransport
import OSSLocalServer
import OSSWire
import Testing

@testable import OSSMultipart

@Suite(.timeLimit(.minutes(5))) struct AppendObjectTests {
    private func request(_ position: Int64, _ bytes: [UInt8]) -> AppendObjectRequest {
        .init(bucket: LocalFixture.bucket, key: "log", position: position, body: .bytes(bytes))
    }

    @Test func `Bytes are appended one after the other, with the CRC-64 of the whole`() async throws {
        try await withLocalServer { fixture in
            let first = try await fixture.client.appendObject(self.request(0, [1, 2]))
            #expect(first.nextPosition == 2)
            #expect(first.crc64 == CRC64.of([1, 2]))
            var next = self.request(2, [3])
            next.crc64SoFar = first.crc64
            let second = try await fixture.client.appendObject(next)
            #expect(second.nextPosition == 3)
            #expect(second.crc64 == CRC64.of([1, 2, 3]))
            // Without the CRC-64 so far nothing can be compared.
            let file = try TestFile(fixture.folder + "/more", [4, 5])
            let third = try await fixture.client.appendObject(
                .init(bucket: LocalFixture.bucket, key: "log", position: 3, body: .file(file.url)))
            #expect(third.nextPosition == 5)
            #expect(try await fixture.object("log") == [1, 2, 3, 4, 5])
            // Each reply was believed: a checksum of the wrong bytes would have made the client ask again and look.
            #expect(fixture.count("AppendObject") == 3)
            #expect(fixture.count("HeadObject") == 0)
        }
    }

    @Test func `A CRC-64 so far that is not the object's is an integrity error`() async throws {
        try await withLocalServer(client: { $0.retryPolicy.maximumAttempts = 1 }) { fixture in
            _ = try await fixture.client.appendObject(self.request(0, [1, 2]))
            var next = self.request(2, [3])
            next.crc64SoFar = 5
            #expect(try await failure { _ = try await fixture.client.appendObject(next) }.code == .integrity)
        }
    }

    @Test func `Another position and an object of another kind are refused`() async throws {
        try await withLocalServer { fixture in
            _ = try await fixture.client.appendObject(self.request(0, [1, 2]))
            var error = try await failure { _ = try await fixture.client.appendObject(self.request(1, [3])) }
            #expect(error.service?.code == "PositionNotEqualToLength")
            try await fixture.server.putObject(bucket: LocalFixture.bucket, key: "log", data: [1])
            error = try await failure { _ = try await fixture.client.appendObject(self.request(1, [3])) }
            #expect(error.service?.code == "ObjectNotAppendable")
            error = try await failure { _ = try await fixture.client.appendObject(self.request(-1, [3])) }
            #expect(error.code == .invalidArgument)
        }
    }

    @Test func `Bytes whose reply was lost are not appended twice, and the object tells`() async throws {
        try await withLocalServer { fixture in
            let first = try await fixture.client.appendObject(self.request(0, [1, 2]))
            fixture.server.faults.add(.init(.commitThenDrop, operation: "AppendObject", occurrences: 1...1))
            var next = self.request(2, [3])
            next.crc64SoFar = first.crc64
            let second = try await fixture.client.appendObject(next)
            #expect(second.nextPosition == 3)
            #expect(second.crc64 == CRC64.of([1, 2, 3]))
            #expect(try await fixture.object("log") == [1, 2, 3])

            fixture.server.faults.add(.init(.commitThenDrop, operation: "AppendObject", occurrences: 1...1))
            let error = try await failure { _ = try await fixture.client.appendObject(self.request(3, [4])) }
            #expect(error.code == .outcomeUnknown)
        }
    }

    @Test func `A reply without the next position is none`() async throws {
        let transport = ScriptedTransport([.reply(headers: ["ETag": "\"E\""])])
        let client = try scriptedClient(transport) { $0.retryPolicy.maximumAttempts = 1 }
        #expect(try await failure { _ = try await client.appendObject(self.request(0, [1])) }.code == .malformedReply)
        #expect(transport.requests[0].url.hasSuffix("/log?append&position=0"))
    }
}
