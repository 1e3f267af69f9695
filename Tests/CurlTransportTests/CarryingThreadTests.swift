// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import CurlTransport
import LoopbackSockets
import OSSWire
import Synchronization
import SystemIO
import Testing

/// Runs `body` with a transport, on threads that may block.
private func onBlockingThreads<Value: Sendable>(
    calls: Int = 16, _ configuration: CurlTransportConfiguration = .init(),
    _ body: @concurrent @Sendable (CurlTransport, BlockingExecutor) async throws -> Value
) async throws -> Value {
    let executor = BlockingExecutor(threads: calls)
    let result: Result<Value, any Error>
    do {
        result = .success(
            try await withTransport(configuration) { transport in
                try await executor.carry { try await body(transport, executor) }
            })
    } catch { result = .failure(error) }
    await executor.shutDown()
    return try result.get()
}

/// Which thread carries a request: the transport's, or the one that asks for it, where that may block.
///
/// Each has connections of its own; that tells them apart.
@Suite(.timeLimit(.minutes(5))) struct CarryingThreadTests {
    /// A server that answers every request on every connection.
    private func echoServer() throws -> RawServer {
        try RawServer { connection in
            while true {
                try connection.readRequest()
                try connection.reply("200 OK", body: "ok")
            }
        }
    }

    private func put(_ server: RawServer, _ name: String = "", _ count: Int = 10_000) -> TransportRequest {
        TransportRequest(method: "PUT", url: server.url + "/" + name, body: .bytes(patternedBytes(count)))
    }

    @Test func `A thread that may block carries its request itself`() async throws {
        let server = try self.echoServer()
        try await onBlockingThreads { transport, _ in
            for round in 0..<3 {
                let response = try await transport.execute(self.put(server, "here\(round)"))
                #expect(response.status == 200)
                // A task of its own is where tasks are wont to be.
                let request = self.put(server, "there\(round)")
                _ = try await Task { try await transport.execute(request) }.value
            }
        }
        let lines = server.connections.map { $0.requests.map { $0.line.split(separator: "/")[1].prefix(4) } }
        #expect(lines == [["here", "here", "here"], ["ther", "ther", "ther"]])
    }

    @Test func `The transport's thread carries what others make or take meanwhile`() async throws {
        let server = try self.echoServer()
        try await onBlockingThreads { transport, _ in
            _ = try await transport.execute(self.put(server))
            var streamed = TransportRequest(method: "GET", url: server.url + "/")
            streamed.streamsReply = true
            let stream = try #require(try await transport.execute(streamed).stream)
            var bytes: [UInt8] = []
            while let piece = try await stream.next() { bytes += piece }
            #expect(bytes == Array("ok".utf8))
            let pipe = BodyPipe(length: 3)
            async let response = transport.execute(
                TransportRequest(method: "PUT", url: server.url + "/", body: .pipe(pipe)))
            let isTaken = await pipe.write([1, 2, 3])
            #expect(isTaken)
            let status = try await response.status
            #expect(status == 200)
        }
        #expect(server.connections.map(\.requests.count) == [1, 2])
    }

    @Test func `With TLS the transport's thread carries all, for each loop would read the certificates`() {
        #expect(TransportRequest(method: "PUT", url: "http://127.0.0.1:1/", body: .bytes([1])).mayBeCarriedByThread)
        #expect(!TransportRequest(method: "PUT", url: "https://127.0.0.1:1/", body: .bytes([1])).mayBeCarriedByThread)
    }

    @Test func `Nor does a thread carry what goes through a proxy with TLS`() {
        func reaches(_ proxy: String?, _ environment: [String: String] = [:]) -> Bool {
            var configuration = CurlTransportConfiguration()
            configuration.proxy = proxy
            return configuration.reachesProxyWithTLS { environment[$0] }
        }
        #expect(reaches("https://127.0.0.1:1"))
        #expect(reaches("HTTPS://127.0.0.1:1", ["http_proxy": "http://127.0.0.1:1"]))
        #expect(!reaches("http://127.0.0.1:1", ["http_proxy": "https://127.0.0.1:1"]))
        #expect(!reaches("127.0.0.1:1"))
        #expect(!reaches("", ["all_proxy": "https://127.0.0.1:1"]))
        #expect(!reaches(nil))
        #expect(reaches(nil, ["http_proxy": "https://127.0.0.1:1", "all_proxy": "http://127.0.0.1:1"]))
        #expect(reaches(nil, ["ALL_PROXY": "https://127.0.0.1:1"]))
        #expect(!reaches(nil, ["http_proxy": "http://127.0.0.1:1", "all_proxy": "https://127.0.0.1:1"]))
        #expect(!reaches(nil, ["https_proxy": "https://127.0.0.1:1", "HTTP_PROXY": "https://127.0.0.1:1"]))
    }

    @Test func `Hosts in turns keep their connections`() async throws {
        // More of them than there are loops without a thread.
        let servers = try (0..<6).map { _ in try self.echoServer() }
        try await onBlockingThreads { transport, _ in
            for _ in 0..<50 {
                for server in servers { _ = try await transport.execute(self.put(server)) }
            }
        }
        // One more where the machine was so slow that a host seemed done with.
        for server in servers { #expect(server.connections.count <= 3) }
    }

    @Test func `A thread carries for another host when nothing has come for the first ones for a while`() async throws {
        let servers = try (0..<5).map { _ in try self.echoServer() }
        try await onBlockingThreads { transport, _ in
            for server in servers { _ = try await transport.execute(self.put(server)) }
            // A connection is kept for its host for two seconds.
            try await Task.sleep(for: .milliseconds(2100))
            for _ in 0..<3 { _ = try await transport.execute(self.put(servers[4])) }
            // Which was first gives its connection for that.
            try await #require(servers[0].connections.first).over.wait()
            let request = self.put(servers[4])
            _ = try await Task { try await transport.execute(request) }.value
        }
        // The transport's thread has carried the first and the last.
        #expect(servers[4].connections.map(\.requests.count) == [2, 3])
    }

    @Test func `Four at a time are carried by their threads, the fifth by the transport's`() async throws {
        let mayReply = Signal()
        let server = try RawServer { connection in
            while true {
                try connection.readRequest()
                if connection.number == 4 { mayReply.fire() }
                mayReply.waitOnThread()
                try connection.reply("200 OK")
            }
        }
        try await onBlockingThreads { transport, _ in
            for _ in 0..<10 {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<5 { group.addTask { _ = try await transport.execute(self.put(server)) } }
                    try await group.waitForAll()
                }
            }
            let request = self.put(server, "there")
            _ = try await Task { try await transport.execute(request) }.value
        }
        #expect(server.connections.count == 5)
        let there = server.connections.map { $0.requests.count { $0.line.contains("there") } }
        #expect(there.count { $0 > 0 } == 1)
    }

    @Test(arguments: [0, 1, 2, 5, 16])
    func `Together they keep as many connections as they may`(idle: Int) async throws {
        let server = try self.echoServer()
        var configuration = CurlTransportConfiguration()
        configuration.maximumIdleConnections = idle
        try await onBlockingThreads(configuration) { transport, _ in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for index in 0..<200 {
                    if index >= 8 { try await group.next() }
                    group.addTask { _ = try await transport.execute(self.put(server)) }
                }
                try await group.waitForAll()
            }
            // Where several have ended at once, curl closes what is too much one by one, each with a later request.
            for _ in 0..<16 {
                let request = self.put(server)
                _ = try await Task { try await transport.execute(request) }.value
                _ = try await transport.execute(request)
            }
            // The server hears of the end of a connection a moment later.
            let clock = ContinuousClock()
            let end = clock.now + .seconds(20)
            while server.connections.count(where: { !$0.over.hasFired }) > idle, clock.now < end {
                try await Task.sleep(for: .milliseconds(5))
            }
            #expect(server.connections.count { !$0.over.hasFired } <= idle)
        }
        if idle >= 16 { #expect(server.connections.count <= 16) }
    }

    @Test func `Where other calls have every turn the transport's thread carries it`() async throws {
        let server = try self.echoServer()
        let isAnswered = Signal()
        try await onBlockingThreads(calls: 1) { transport, executor in
            _ = try await transport.execute(self.put(server))
            let isBusy = Signal()
            let busy = Task {
                await executor.run {
                    isBusy.fire()
                    isAnswered.waitOnThread()
                }
            }
            await isBusy.wait()
            _ = try await transport.execute(self.put(server))
            isAnswered.fire()
            await busy.value
            _ = try await transport.execute(self.put(server))
        }
        #expect(server.connections.map(\.requests.count) == [2, 1])
    }

    // MARK: The end

    /// Where a request can be when its task is cancelled, or the transport shut down.
    enum Point: CaseIterable, Sendable {
        case sending, waiting, readingHead, readingBody
    }

    private static let size: Int64 = 16 << 20

    /// A server that stops at a point, says that it is there, and goes on reading when it may.
    private func server(stoppingAt point: Point, _ isThere: Signal, until isOver: Signal) throws -> RawServer {
        try RawServer { connection in
            try connection.readHead()
            switch point {
            case .sending: try connection.read(1_000_000)
            case .waiting: try connection.read(Int(Self.size))
            case .readingHead:
                try connection.read(Int(Self.size))
                try connection.send("HTTP/1.1 200 OK\r\nContent-")
            case .readingBody:
                try connection.read(Int(Self.size))
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc")
            }
            isThere.fire()
            isOver.waitOnThread()
            connection.readToEnd()
        }
    }

    private func largePut(_ server: RawServer) throws -> TransportRequest {
        let file = try temporaryFile([])
        try file.truncate(to: Self.size)
        var request = TransportRequest(
            method: "PUT", url: server.url + "/", body: .file(file, offset: 0, length: Self.size))
        request.progress = TransferProgress()
        return request
    }

    @Test(arguments: Point.allCases)
    func `A cancelled request is over when it returns`(point: Point) async throws {
        let (isThere, isOver) = (Signal(), Signal())
        let server = try self.server(stoppingAt: point, isThere, until: isOver)
        let request = try self.largePut(server)
        try await onBlockingThreads { transport, _ in
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    await #expect(throws: CancellationError.self) { try await transport.execute(request) }
                }
                await isThere.wait()
                group.cancelAll()
                await group.waitForAll()
            }
            isOver.fire()
            let received = try await server.receivedInAll(nothingMoreOf: request)
            if point == .sending { #expect(received < Int(Self.size)) }
        }
        #expect(server.connections.count == 1)
    }

    @Test func `A cancellation at any moment is either in time or too late`() async throws {
        let server = try self.echoServer()
        try await onBlockingThreads { transport, _ in
            for round in 0..<500 {
                await withTaskGroup(of: Void.self) { group in
                    group.addTask {
                        do {
                            let response = try await transport.execute(self.put(server))
                            #expect(response.status == 200)
                        } catch { #expect(error is CancellationError) }
                    }
                    for _ in 0..<(round % 50) { await Task.yield() }
                    group.cancelAll()
                }
            }
            let response = try await transport.execute(self.put(server))
            #expect(response.status == 200)
        }
    }

    @Test func `A cancellation that comes too late leaves nothing of the request behind`() async throws {
        let replies = Atomic(0)
        let server = try RawServer { connection in
            while true {
                try connection.readRequest()
                try connection.reply("200 OK", body: "ok")
                replies.add(1, ordering: .sequentiallyConsistent)
            }
        }
        let executor = BlockingExecutor(threads: 4)
        let clock = ContinuousClock()
        try await withTransport { transport in
            for round in 0..<1000 {
                weak var left: TransferProgress?
                do {
                    let progress = TransferProgress()
                    left = progress
                    var request = self.put(server)
                    request.progress = progress
                    let before = replies.load(ordering: .sequentiallyConsistent)
                    let task = Task { [request] in
                        try await executor.carry {
                            await Task.yield()
                            _ = try await transport.execute(request)
                        }
                    }
                    // The moment is just before the call is over, or just behind: each time another one.
                    let end = clock.now + .seconds(20)
                    while replies.load(ordering: .sequentiallyConsistent) == before, clock.now < end {}
                    let moment = clock.now + .microseconds(round % 100)
                    while clock.now < moment {}
                    task.cancel()
                    _ = await task.result
                }
                // The task itself may be there for a moment longer.
                let end = clock.now + .seconds(10)
                while left != nil, clock.now < end { try await Task.sleep(for: .milliseconds(1)) }
                try #require(left == nil)
            }
        }
        await executor.shutDown()
    }

    @Test func `A shutdown closes the connections that threads have kept`() async throws {
        let server = try self.echoServer()
        let executor = BlockingExecutor(threads: 2)
        try await executor.carry {
            // From here on this is one of its threads.
            await Task.yield()
            let transport = CurlTransport()
            _ = try await transport.execute(self.put(server))
            #expect(server.connections.first?.over.hasFired == false)
            await transport.shutDown()
            await server.connections.first?.over.wait()
            withExtendedLifetime(transport) {}
        }
        await executor.shutDown()
    }

    @Test(arguments: Point.allCases) func `A shutdown ends what is under way`(point: Point) async throws {
        let (isThere, isOver) = (Signal(), Signal())
        let server = try self.server(stoppingAt: point, isThere, until: isOver)
        let request = try self.largePut(server)
        try await onBlockingThreads { transport, _ in
            async let kind = transport.failure(of: request)
            await isThere.wait()
            async let first: Void = transport.shutDown()
            async let second: Void = transport.shutDown()
            _ = await (first, second)
            isOver.fire()
            let ended = try await kind
            #expect(ended == .shutDown)
            await server.connections.first?.over.wait()
            let late = try await transport.failure(of: request)
            #expect(late == .shutDown)
        }
    }

    @Test func `A transport that is let go closes the connections of others' threads`() async throws {
        let server = try RawServer { connection in
            try connection.readRequest()
            try connection.reply("200 OK")
            connection.readToEnd()
        }
        let executor = BlockingExecutor(threads: 2)
        try await executor.carry {
            // From here on this is one of its threads.
            await Task.yield()
            var transport: CurlTransport? = CurlTransport()
            weak let observed = transport
            _ = try await transport?.execute(self.put(server))
            #expect(server.connections.first?.over.hasFired == false)
            transport = nil
            #expect(observed == nil)
            await server.connections.first?.over.wait()
        }
        await executor.shutDown()
    }

    @Test func `Requests and shutdowns at once all end`() async throws {
        let server = try self.echoServer()
        let executor = BlockingExecutor(threads: 16)
        await executor.carry {
            await Task.yield()
            for round in 0..<40 {
                let transport = CurlTransport()
                await withTaskGroup(of: Void.self) { group in
                    for _ in 0..<8 {
                        group.addTask {
                            do {
                                while true { _ = try await transport.execute(self.put(server, "", 1000)) }
                            } catch { #expect((error as? TransportError)?.kind == .shutDown) }
                        }
                    }
                    for _ in 0..<(round % 10 * 10) { await Task.yield() }
                    group.addTask { await transport.shutDown() }
                }
            }
        }
        await executor.shutDown()
    }
}

/// The transport's own threads, told by their names: so one test after the other, and no other one has as many.
@Suite(.serialized, .timeLimit(.minutes(5))) struct NetworkThreadTests {
    /// How many threads there are in the process that are a transport's, and the n-th of it.
    private func networkThreads(numbered number: Int) throws -> Int {
        try Directory.names(in: "/proc/self/task").count { name in
            var text = [UInt8](repeating: 0, count: 32)
            // One that has ended meanwhile has no name any more.
            let count = try? PosixFile(path: "/proc/self/task/\(name)/comm", .read).readNext(into: &text)
            return text.prefix(count ?? 0).elementsEqual("oss-network-\(number)\n".utf8)
        }
    }

    @Test func `Requests at a time are spread over the threads, which all end with the transport`() async throws {
        let arrived = Signal()
        let server = try RawServer { connection in
            try connection.readRequest()
            if connection.number == 4 { arrived.fire() }
            try connection.readRequest()
        }
        var configuration = CurlTransportConfiguration()
        configuration.threads = 5
        try await withTransport(configuration) { transport in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<5 {
                    group.addTask {
                        _ = try await transport.execute(TransportRequest(method: "GET", url: server.url + "/"))
                    }
                }
                await arrived.wait()
                let found = try self.networkThreads(numbered: 5)
                #expect(found == 1)
                group.cancelAll()
                while await group.nextResult() != nil {}
            }
        }
        #expect(try self.networkThreads(numbered: 5) == 0)
    }

    @Test(arguments: [true, false]) func `Through a proxy the transport's threads carry all where it has TLS`(
        hasTLS: Bool
    ) async throws {
        let arrived = Signal()
        let proxy = try RawServer { connection in
            if connection.number == 5 { arrived.fire() }
            connection.readToEnd()
        }
        var configuration = CurlTransportConfiguration()
        configuration.threads = 6
        configuration.proxy = (hasTLS ? "https" : "http") + proxy.url.dropFirst(4)
        try await onBlockingThreads(configuration) { transport, _ in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<6 {
                    group.addTask {
                        _ = try await transport.execute(TransportRequest(method: "GET", url: "http://192.0.2.1/"))
                    }
                }
                await arrived.wait()
                let found = try self.networkThreads(numbered: 6)
                #expect(found == (hasTLS ? 1 : 0))
                group.cancelAll()
                while await group.nextResult() != nil {}
            }
        }
    }
}
