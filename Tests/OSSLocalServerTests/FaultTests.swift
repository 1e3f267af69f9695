// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import OSSLocalServer
import OSSWire
import Testing

@Suite(.timeLimit(.minutes(5))) struct FaultTests {
    @Test func `A rule meets the requests that it names, as often as it says`() async throws {
        try await withServer { server, client async throws in
            server.faults.add(
                .init(
                    .respond(status: 503, code: "ServiceUnavailable", headers: ["Retry-After": "7"]),
                    operation: "PutObject", keyPrefix: "a", occurrences: 2...3))
            var statuses: [Int] = []
            for _ in 1...4 { statuses.append(try await client.send("PUT", key: "ab", body: [1]).status) }
            #expect(statuses == [200, 503, 503, 200])
            #expect(try await client.send("PUT", key: "b", body: [1]).status == 200)
            let records = server.requests
            #expect(records.map(\.metFault) == [false, true, true, false, false])
            #expect(records[1].errorCode == "ServiceUnavailable")
        }
    }

    @Test func `A part is met by its number`() async throws {
        try await withServer { server, client async throws in
            server.faults.add(.init(.respond(status: 500, code: "InternalError"), partNumber: 2))
            let id = try await client.initiate("k")
            #expect(try await client.uploadPart(1, id, key: "k", body: [1]).status == 200)
            #expect(try await client.uploadPart(2, id, key: "k", body: [1]).status == 500)
            #expect(server.parts(ofUpload: id).map(\.partNumber) == [1])
            server.faults.removeAll()
            #expect(try await client.uploadPart(2, id, key: "k", body: [1]).status == 200)
        }
    }

    @Test func `A dropped request leaves nothing, a committed one does`() async throws {
        try await withServer { server, client async throws in
            server.faults.add(.init(.dropBeforeReply, key: "dropped"), .init(.commitThenDrop, key: "committed"))
            await #expect(throws: ConnectionClosed.self) { try await client.send("PUT", key: "dropped", body: [1]) }
            await #expect(throws: ConnectionClosed.self) { try await client.send("PUT", key: "committed", body: [2]) }
            #expect(server.keys(bucket: "bucket") == ["committed"])
            #expect(server.requests.map(\.status) == [0, 0])
            server.faults.add(.init(.commitThenRespond(status: 500, code: "InternalError"), key: "both"))
            #expect(try await client.send("PUT", key: "both", body: [3]).errorCode == "InternalError")
            #expect(try await server.objectData(bucket: "bucket", key: "both") == [3])
        }
    }

    @Test func `A body is cut after so many bytes`() async throws {
        try await withServer { server, client async throws in
            server.faults.add(.init(.cut(afterBodyBytes: 1_000_000)))
            await #expect(throws: (any Error).self) {
                try await client.send("PUT", key: "k", body: [UInt8](repeating: 0, count: 8_000_000))
            }
            #expect(server.keys(bucket: "bucket").isEmpty)
            let record = try #require(server.requests.last)
            #expect((1_000_000..<8_000_000).contains(record.bytesReceived))
        }
    }

    @Test func `An early reply arrives though the body is on its way`() async throws {
        try await withServer { server, client async throws in
            server.faults.add(.init(.respondEarly(status: 403, code: "AccessDenied")))
            let reply = try await client.send("PUT", key: "k", body: [UInt8](repeating: 0, count: 20_000_000))
            #expect(reply.errorCode == "AccessDenied")
            #expect(reply.headers["Connection"] == "close")
        }
    }

    @Test func `Time passes where a rule wants it, and the stop does not wait for it`() async throws {
        try await withServer { server, client async throws in
            let clock = ContinuousClock()
            server.faults.add(
                .init(.stall(.milliseconds(300)), key: "stalled"), .init(.delay(.seconds(3600)), key: "late"))
            let time = try await clock.measure {
                let reply = try await client.send("PUT", key: "stalled", body: [1])
                #expect(reply.status == 200)
            }
            #expect(time >= .milliseconds(300))
            server.faults.add(.init(.slow(bytesPerSecond: 200_000), key: "slow"))
            let slow = try await clock.measure {
                _ = try await client.send("PUT", key: "slow", body: [UInt8](repeating: 0, count: 100_000))
            }
            #expect(slow >= .milliseconds(400))
            let held = server.faults.count(ofOperation: "PutObject")
            async let late = client.send("PUT", key: "late", body: [1])
            while server.faults.count(ofOperation: "PutObject") == held { try await Task.sleep(for: .milliseconds(2)) }
            // Held for longer than the test may take: only stopping ends it.
            await server.stop()
            // It gets no reply, or one in the last moment.
            _ = try? await late
        }
    }

    @Test func `Replies are changed as a rule wants it`() async throws {
        try await withServer { server, client async throws in
            server.faults.add(
                .init(.editReplyHeader("ETag", "\"other\""), operation: "PutObject"),
                .init(.editReplyHeader("x-oss-hash-crc64ecma", nil), operation: "PutObject"),
                .init(
                    .editReplyBody(replacing: "<Name>bucket</Name>", with: "<Name>x</Name>"), operation: "ListObjects"),
                .init(.replaceReplyBody(Array("<html/>".utf8)), operation: "ListMultipartUploads"),
                .init(.respondRaw(status: 200, headers: ["Content-Length": "100"], body: [1]), operation: "GetObject"))
            let put = try await client.send("PUT", key: "k", body: [1])
            #expect(put.headers["ETag"] == "\"other\"")
            #expect(put.headers["x-oss-hash-crc64ecma"] == nil)
            #expect(try await client.send("GET").document.string("Name") == "x")
            #expect(try await client.send("GET", query: [QueryItem("uploads")]).body == Array("<html/>".utf8))
            await #expect(throws: ConnectionClosed.self) { try await client.send("GET", key: "k") }
        }
    }

    @Test func `Keys that look alike are two to a rule`() async throws {
        try await withServer { server, client async throws in
            server.faults.add(.init(.respond(status: 500, code: "InternalError"), key: "\u{E9}"))
            #expect(try await client.send("PUT", key: "e\u{301}", body: [1]).status == 200)
            #expect(try await client.send("PUT", key: "\u{E9}", body: [1]).status == 500)
        }
    }

    @Test func `A rate of nothing and a time without end hold a request and hurt nobody`() async throws {
        try await withServer { server, client async throws in
            server.faults.add(
                .init(.slow(bytesPerSecond: 0), key: "slow"), .init(.stall(.seconds(Int64.max)), key: "stalled"))
            async let slow = client.send("PUT", key: "slow", body: [1])
            async let stalled = client.send("PUT", key: "stalled", body: [1])
            while server.faults.count(ofOperation: "PutObject") < 2 { try await Task.sleep(for: .milliseconds(2)) }
            #expect(try await client.send("PUT", key: "k", body: [1]).status == 200)
            await server.stop()
            // They get no reply, or one in the last moment.
            _ = try? await slow
            _ = try? await stalled
        }
    }

    @Test func `An object may come with a length that is not its own`() async throws {
        try await withServer({ $0.allowsAnonymous = true }) { server, client async throws in
            _ = try await client.send("PUT", key: "k", body: Array("0123456789".utf8))
            server.faults.add(.init(.editReplyHeader("Content-Length", "4")))
            #expect(try await client.send("GET", key: "k").body == Array("0123".utf8))
            let connection = try TestConnection(port: server.port)
            #expect(connection.send(Array("HEAD /bucket/k HTTP/1.1\r\nHost: a\r\n\r\n".utf8)))
            #expect(try connection.reply(toHead: true).headers["Content-Length"] == "4")
            #expect(throws: ConnectionClosed.self) { try connection.interim() }
        }
    }
}
