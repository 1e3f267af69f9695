// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import CurlTransport
import OSSWire
import Synchronization
import Testing

/// Bodies of replies that are taken while they come.
@Suite(.bothWays, .timeLimit(.minutes(5))) struct StreamedReplyTests {
    private func get(_ server: RawServer) -> TransportRequest {
        var request = TransportRequest(method: "GET", url: server.url + "/")
        request.streamsReply = true
        return request
    }

    private func collect(_ response: TransportResponse) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        while let piece = try await response.stream?.next() { bytes += piece }
        return bytes
    }

    @Test(arguments: [0, 1, 1_000_003]) func `The body comes in pieces, whole and in order`(size: Int) async throws {
        let body = patternedBytes(size)
        let server = try RawServer { connection in
            try connection.readRequest()
            // An interim reply that nobody asked for is not the head.
            try connection.send("HTTP/1.1 103 Early Hints\r\nX-A: 0\r\n\r\n")
            try connection.send("HTTP/1.1 206 Partial Content\r\nX-A: 1\r\nContent-Length: \(size)\r\n\r\n")
            try connection.send(body)
        }
        try await withTransport { transport in
            let response = try await transport.execute(self.get(server))
            #expect(response.status == 206)
            #expect(response.headers["X-A"] == "1")
            #expect(response.body.isEmpty)
            let received = try await self.collect(response)
            #expect(received == body)
        }
    }

    @Test func `The head is there before the body, and a chunked body ends with its last chunk`() async throws {
        let goOn = Signal()
        let server = try RawServer { connection in
            try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            goOn.waitOnThread()
            try connection.send("3\r\nabc\r\n")
            try connection.send("2\r\nde\r\n0\r\n\r\n")
        }
        try await withTransport { transport in
            let response = try await transport.execute(self.get(server))
            goOn.fire()
            let received = try await self.collect(response)
            #expect(received == Array("abcde".utf8))
        }
    }

    @Test func `A refusal comes whole, as ever`() async throws {
        let server = try RawServer { connection in
            try connection.readRequest()
            try connection.reply("404 Not Found", body: "no")
        }
        let response = try await withTransport { try await $0.execute(self.get(server)) }
        #expect(response.stream == nil)
        #expect(response.body == Array("no".utf8))
    }

    @Test func `A body that breaks off is an error behind the bytes that came`() async throws {
        let server = try RawServer { connection in
            try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
        }
        try await withTransport { transport in
            let response = try await transport.execute(self.get(server))
            var bytes: [UInt8] = []
            var kind: TransportError.Kind?
            do {
                while let piece = try await response.stream?.next() { bytes += piece }
            } catch let error as TransportError { kind = error.kind }
            #expect(bytes == Array("abc".utf8))
            #expect(kind == .receive)
        }
    }

    @Test func `What is not taken holds the sender back, and no time-out strikes meanwhile`() async throws {
        let sent = Atomic64()
        let size = 64 * 1024 * 1024
        let server = try RawServer { connection in
            try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\n\r\n")
            let piece = [UInt8](repeating: 7, count: 64 * 1024)
            for _ in 0..<(size / piece.count) {
                try connection.send(piece)
                sent.add(piece.count)
            }
        }
        try await withTransport { transport in
            var request = self.get(server)
            request.timeouts.idle = .milliseconds(600)
            let response = try await transport.execute(request)
            // The sender comes to rest with the system's buffers full, far from the end.
            var last = -1
            while sent.value != last || last == 0 {
                last = sent.value
                try await Task.sleep(for: .milliseconds(100))
            }
            try await Task.sleep(for: .milliseconds(800))
            #expect(last < size / 2)
            var count = 0, largest = 0
            while let piece = try await response.stream?.next() {
                count += piece.count
                largest = max(largest, piece.count)
            }
            #expect(count == size)
            #expect(largest <= 256 * 1024)
        }
    }

    @Test func `A stream that is let go or cancelled ends the transfer`() async throws {
        let ends = [Signal(), Signal(), Signal()]
        let closed = Mutex(0)
        let server = try RawServer { connection in
            try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\nabc")
            // The client closes; where the server's own time limit does, the test must not wait for ever.
            do { while true { try connection.receive(upTo: 1024) } } catch {
                if error as? RawServer.Failure == .ended { closed.withLock { $0 += 1 } }
                ends[connection.number].fire()
            }
        }
        try await withTransport { transport in
            var request = self.get(server)
            // No time-out ends it in the place of what is tested.
            request.timeouts.idle = .seconds(3600)
            _ = try await transport.execute(request)
            await ends[0].wait()

            let response = try await transport.execute(self.get(server))
            let task = Task { try await self.collect(response) }
            try await Task.sleep(for: .milliseconds(20))
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            await ends[1].wait()

            // One that is cancelled before it asks for the first bytes.
            let third = try await transport.execute(self.get(server))
            let late = Task {
                while !Task.isCancelled { await Task.yield() }
                return try await self.collect(third)
            }
            late.cancel()
            await #expect(throws: CancellationError.self) { try await late.value }
            await ends[2].wait()
            withExtendedLifetime(third) {}
        }
        #expect(closed.withLock { $0 } == 3)
    }

    @Test func `The end of the transport ends the stream`() async throws {
        let server = try RawServer { connection in
            try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nabc")
            connection.readToEnd()
        }
        let transport = CurlTransport()
        let response = try await transport.execute(self.get(server))
        await transport.shutDown()
        var kind: TransportError.Kind?
        do { while try await response.stream?.next() != nil {} } catch let error as TransportError { kind = error.kind }
        #expect(kind == .shutDown)
    }

    @Test func `A stream whose server falls silent times out`() async throws {
        let server = try RawServer { connection in
            try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nabc")
            connection.readToEnd()
        }
        try await withTransport { transport in
            var request = self.get(server)
            request.timeouts.idle = .milliseconds(500)
            let response = try await transport.execute(request)
            var kind: TransportError.Kind?
            do { _ = try await self.collect(response) } catch let error as TransportError { kind = error.kind }
            #expect(kind == .idleTimeout)
        }
    }
}

/// A number that a server's thread counts up.
private final class Atomic64: Sendable {
    private let number = Mutex(0)
    var value: Int { self.number.withLock { $0 } }
    func add(_ count: Int) { self.number.withLock { $0 += count } }
}
