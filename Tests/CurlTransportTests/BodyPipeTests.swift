// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import OSSWire
import SystemIO
import Testing

@testable import CurlTransport

/// Bodies that a task makes while they are sent.
@Suite(.timeLimit(.minutes(5))) struct BodyPipeTests {
    /// Writes bytes in pieces of the given sizes, again and again, and returns how many were taken.
    private static func write(_ bytes: [UInt8], to pipe: BodyPipe, pieces: [Int]) async -> Int {
        var (done, turn) = (0, 0)
        while done < bytes.count {
            let piece = Array(bytes[done...].prefix(pieces[turn % pieces.count]))
            guard await pipe.write(piece) else { break }
            done += piece.count
            turn += 1
        }
        return done
    }

    private func request(_ server: RawServer, _ pipe: BodyPipe) -> TransportRequest {
        var request = TransportRequest(method: "PUT", url: server.url + "/key", body: .pipe(pipe))
        request.computesCRC64 = true
        return request
    }

    private func answeringServer() throws -> RawServer {
        try RawServer { connection in
            while true {
                try connection.readRequest()
                try connection.reply("200 OK")
            }
        }
    }

    @Test(arguments: [[1, 2, 3], [1000], [400_000, 1], [2_000_000]])
    func `Pieces of any size arrive as one body`(pieces: [Int]) async throws {
        let bytes = patternedBytes(pieces == [1, 2, 3] ? 2000 : 2_000_000)
        let server = try self.answeringServer()
        let pipe = BodyPipe(length: Int64(bytes.count))
        async let written = Self.write(bytes, to: pipe, pieces: pieces)
        let response = try await withTransport { try await $0.execute(self.request(server, pipe)) }
        #expect(response.sentCRC64 == CRC64.of(bytes))
        #expect(await written == bytes.count)
        let request = try #require(server.connections.first?.requests.first)
        #expect(request.body == bytes)
        #expect(request.values(of: "content-length") == [" \(bytes.count)"])
    }

    @Test func `A writer that is faster than the network waits`() async throws {
        let release = Signal()
        let server = try RawServer(receiveBuffer: 4096) { connection in
            try connection.readHead()
            release.waitOnThread()
            connection.readToEnd()
        }
        let bytes = patternedBytes(40_000_000)
        let pipe = BodyPipe(length: Int64(bytes.count))
        let progress = TransferProgress()
        var request = self.request(server, pipe)
        request.progress = progress
        try await withTransport { [request] transport in
            let sending = Task { try await transport.execute(request) }
            let writing = Task { await Self.write(bytes, to: pipe, pieces: [100_000]) }
            // As much as the sockets take, and then no more.
            var last: Int64 = -1
            while last < 0 || last != progress.bytesSent {
                last = progress.bytesSent == 0 ? -1 : progress.bytesSent
                try await Task.sleep(for: .milliseconds(50))
            }
            #expect(pipe.bytesWaiting <= 256 * 1024 + 100_000)
            sending.cancel()
            await #expect(throws: CancellationError.self) { try await sending.value }
            pipe.close()
            #expect(await writing.value < bytes.count)
            release.fire()
        }
    }

    @Test func `A writer that pauses stops its own transfer alone`() async throws {
        let server = try self.answeringServer()
        try await withTransport { transport in
            let slow = BodyPipe(length: 10)
            let sending = Task { try await transport.execute(self.request(server, slow)) }
            let begins = await slow.write([0, 1, 2, 3, 4])
            #expect(begins)
            for _ in 1...5 {
                let quick = TransportRequest(method: "PUT", url: server.url + "/quick", body: .bytes([9]))
                let status = try await transport.execute(quick).status
                #expect(status == 200)
            }
            let ends = await slow.write([5, 6, 7, 8, 9])
            #expect(ends)
            let checksum = try await sending.value.sentCRC64
            #expect(checksum == CRC64.of([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]))
        }
    }

    @Test func `A writer that is slow is no idle network`() async throws {
        let server = try self.answeringServer()
        try await withTransport { transport in
            let pipe = BodyPipe(length: 2)
            var request = self.request(server, pipe)
            request.timeouts.idle = .seconds(1)
            let sending = Task { [request] in try await transport.execute(request) }
            #expect(await pipe.write([1]) == true)
            try await Task.sleep(for: .milliseconds(2100))
            #expect(await pipe.write([2]) == true)
            let status = try await sending.value.status
            #expect(status == 200)
        }
    }

    @Test(.timeLimit(.minutes(1))) func `A refusal is heard while the writer has nothing to send`() async throws {
        let server = try RawServer { connection in
            try connection.readHead()
            try connection.reply("403 Forbidden")
            connection.readToEnd()
        }
        try await withTransport { transport in
            let pipe = BodyPipe(length: 1000)
            let sending = Task { try await transport.execute(self.request(server, pipe)) }
            let begins = await pipe.write([1])
            #expect(begins)
            let response = try await sending.value
            #expect(response.status == 403)
            #expect(response.sentCRC64 == nil)
        }
    }

    @Test func `A writer that gives up ends the transfer`() async throws {
        let server = try self.answeringServer()
        try await withTransport { transport in
            let pipe = BodyPipe(length: 1000)
            let sending = Task { try await transport.execute(self.request(server, pipe)) }
            #expect(await pipe.write([1]) == true)
            pipe.breakOff()
            await #expect { try await sending.value } throws: { ($0 as? TransportError)?.kind == .brokenBody }
        }
    }

    // A body that is asked for once more never comes: the request would wait for it for ever.
    @Test(.timeLimit(.minutes(1))) func `A body that was taken is not sent once more`() async throws {
        // The first connection ends without a reply when the second request has come in whole: libcurl takes it for one that
        // was dead before, and would send the request again.
        let server = try RawServer { connection in
            guard connection.number == 0 else {
                try connection.readHead()
                return try connection.reply("500 Sent Again")
            }
            try connection.readRequest()
            try connection.reply("200 OK")
            try connection.readRequest()
        }
        try await withTransport { transport in
            let first = TransportRequest(method: "PUT", url: server.url + "/first", body: .bytes([1]))
            let status = try await transport.execute(first).status
            #expect(status == 200)
            let bytes = patternedBytes(100_000)
            let pipe = BodyPipe(length: Int64(bytes.count))
            async let written = Self.write(bytes, to: pipe, pieces: [50_000])
            await #expect { try await transport.execute(self.request(server, pipe)) } throws: {
                ($0 as? TransportError)?.kind == .send
            }
            pipe.close()
            #expect(await written == bytes.count)
        }
        #expect(server.connections.flatMap(\.requests).map(\.line) == ["PUT /first HTTP/1.1", "PUT /key HTTP/1.1"])
        #expect(server.connections.dropFirst().allSatisfy { $0.received.isEmpty })
    }
}
