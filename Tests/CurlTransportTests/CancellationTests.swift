// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import CurlTransport
import LoopbackSockets
import OSSWire
import SystemIO
import Testing

/// After a cancellation or a shutdown nothing is under way.
@Suite(.bothWays, .timeLimit(.minutes(5))) struct CancellationTests {
    /// Where a request can be when its task is cancelled.
    enum CancellationPoint: CaseIterable, Sendable {
        case sending, waiting, readingHead, readingBody
    }

    private static let size: Int64 = 64 << 20

    /// A server that stops at a point, says that it is there, and goes on reading when it may.
    private func server(
        stoppingAt point: CancellationPoint, _ isThere: Signal, until isOver: Signal
    ) throws -> RawServer {
        try RawServer { connection in
            try connection.readHead()
            switch point {
            case .sending: try connection.read(1_000_000)
            case .waiting: try connection.read(Int(Self.size))
            case .readingHead: try connection.send("HTTP/1.1 200 OK\r\nContent-")
            case .readingBody: try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc")
            }
            isThere.fire()
            isOver.waitOnThread()
            connection.readToEnd()
        }
    }

    private func request(_ server: RawServer, _ point: CancellationPoint? = nil) throws -> TransportRequest {
        let file = try temporaryFile([])
        try file.truncate(to: Self.size)
        let isPut = point == .sending || point == .waiting
        var request = TransportRequest(
            method: isPut ? "PUT" : "GET", url: server.url + "/",
            body: isPut ? .file(file, offset: 0, length: Self.size) : .none)
        request.progress = TransferProgress()
        return request
    }

    @Test(arguments: CancellationPoint.allCases)
    func `A cancelled request is over when it returns`(point: CancellationPoint) async throws {
        let isThere = Signal()
        let isOver = Signal()
        let server = try self.server(stoppingAt: point, isThere, until: isOver)
        let request = try self.request(server, point)
        try await withTransport { transport in
            let task = Task { try await transport.execute(request) }
            await isThere.wait()
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            isOver.fire()
            let received = try await server.receivedInAll(nothingMoreOf: request)
            if point == .sending { #expect(received < Int(Self.size)) }
        }
        #expect(server.connections.count == 1)
    }

    @Test func `A request that is cancelled before it begins is never sent`() async throws {
        let server = try RawServer { $0.readToEnd() }
        let request = try self.request(server)
        try await withTransport { transport in
            let mayBegin = Signal()
            let task = Task {
                await mayBegin.wait()
                return try await transport.execute(request)
            }
            task.cancel()
            mayBegin.fire()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        #expect(server.connections.isEmpty)
    }

    @Test func `A request that is cancelled while it connects is over`() async throws {
        let server = try RawServer(accepts: false, backlog: 0) { _ in }
        let first = try LoopbackSocket.connect(port: server.port)
        var request = try self.request(server)
        request.timeouts.connect = .seconds(50)
        try await withTransport { [request] transport in
            let task = Task { try await transport.execute(request) }
            for _ in 0..<100 { await Task.yield() }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        LoopbackSocket.close(first)
    }

    @Test func `A cancellation at any moment is either in time or too late`() async throws {
        let server = try RawServer { connection in
            while true {
                try connection.readRequest()
                try connection.reply("200 OK")
            }
        }
        let request = TransportRequest(method: "PUT", url: server.url + "/", body: .bytes(patternedBytes(1000)))
        try await withTransport { transport in
            for round in 0..<500 {
                let task = Task { try await transport.execute(request) }
                for _ in 0..<(round % 50) { await Task.yield() }
                task.cancel()
                switch await task.result {
                case .success(let response): #expect(response.status == 200)
                case .failure(let error): #expect(error is CancellationError)
                }
            }
            let response = try await transport.execute(request)
            #expect(response.status == 200)
        }
    }

    @Test func `One cancelled request leaves the others alone`() async throws {
        let mayReply = Signal()
        let isThere = Signal()
        let server = try RawServer { connection in
            let request = try connection.readRequest()
            if request.line.contains("cancelled") {
                isThere.fire()
                return connection.readToEnd()
            }
            mayReply.waitOnThread()
            try connection.reply("200 OK")
        }
        let other = TransportRequest(method: "GET", url: server.url + "/other")
        let cancelled = TransportRequest(method: "GET", url: server.url + "/cancelled")
        try await withTransport { transport in
            async let status = transport.execute(other).status
            let task = Task { try await transport.execute(cancelled) }
            await isThere.wait()
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            mayReply.fire()
            let answered = try await status
            #expect(answered == 200)
        }
    }

    // MARK: Shutdown

    @Test func `A shutdown ends what is under way`() async throws {
        let isThere = Signal()
        let server = try RawServer { connection in
            try connection.readRequest()
            if connection.number == 3 { isThere.fire() }
            connection.readToEnd()
        }
        let transport = CurlTransport()
        let request = TransportRequest(method: "GET", url: server.url + "/")
        let tasks = (0..<4).map { _ in Task { try await transport.failure(of: request) } }
        await isThere.wait()
        async let first: Void = transport.shutDown()
        async let second: Void = transport.shutDown()
        _ = await (first, second)
        for task in tasks {
            let kind = try await task.value
            #expect(kind == .shutDown)
        }
        for connection in server.connections { await connection.over.wait() }
        let late = try await transport.failure(of: request)
        #expect(late == .shutDown)
        await transport.shutDown()
    }

    @Test func `A transport that was never used can be shut down`() async throws {
        let transport = CurlTransport()
        await transport.shutDown()
        let kind = try await transport.failure(of: TransportRequest(method: "GET", url: "http://127.0.0.1:1/"))
        #expect(kind == .shutDown)
    }

    @Test func `A transport that is let go closes its connections`() async throws {
        let server = try RawServer { connection in
            try connection.readRequest()
            try connection.reply("200 OK")
            connection.readToEnd()
        }
        var transport: CurlTransport? = CurlTransport()
        weak let observed = transport
        _ = try await transport?.execute(TransportRequest(method: "GET", url: server.url + "/"))
        #expect(server.connections.first?.over.hasFired == false)
        transport = nil
        #expect(observed == nil)
        await server.connections.first?.over.wait()
    }

    @Test func `Requests and shutdowns at once all end`() async throws {
        let server = try RawServer { connection in
            while true {
                try connection.readRequest()
                try connection.reply("200 OK")
            }
        }
        let request = TransportRequest(method: "GET", url: server.url + "/")
        for _ in 0..<50 {
            let transport = CurlTransport()
            await withTaskGroup(of: Void.self) { group in
                for index in 0..<8 {
                    group.addTask {
                        if index == 5 { return await transport.shutDown() }
                        let kind = try? await transport.failure(of: request)
                        #expect(kind == .some(nil) || kind == .shutDown)
                    }
                }
            }
        }
    }
}
