// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import CurlTransport
import LoopbackSockets
import OSSWire
import SystemIO
import Testing

/// How connections come about, are kept and are lost.
@Suite(.bothWays, .timeLimit(.minutes(5))) struct ConnectionTests {
    /// A server that answers every request on every connection.
    private func echoServer() throws -> RawServer {
        try RawServer { connection in
            while true {
                try connection.readRequest()
                try connection.reply("200 OK", body: "ok")
            }
        }
    }

    @Test func `A hundred requests one after another use one connection`() async throws {
        let server = try self.echoServer()
        var configuration = CurlTransportConfiguration()
        configuration.threads = 2
        try await withTransport(configuration) { transport in
            for index in 0..<100 {
                let body = TransportBody.bytes(patternedBytes(index * 100))
                let request = TransportRequest(method: "PUT", url: server.url + "/\(index)", body: body)
                let response = try await transport.execute(request)
                #expect(response.status == 200)
            }
        }
        #expect(server.connections.count == 1)
        #expect(server.connections.first?.requests.count == 100)
    }

    @Test(arguments: [(4, 16), (12, 12), (12, 1)], [1, 2, 3])
    func `Requests at a time use as many connections`(sizes: (width: Int, idle: Int), threads: Int) async throws {
        let (width, idle) = sizes
        let server = try self.echoServer()
        var configuration = CurlTransportConfiguration()
        configuration.maximumIdleConnections = idle
        configuration.threads = threads
        try await withTransport(configuration) { transport in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for index in 0..<(20 * width) {
                    if index >= width { try await group.next() }
                    group.addTask {
                        let body = TransportBody.bytes(patternedBytes(10_000))
                        _ = try await transport.execute(
                            TransportRequest(method: "PUT", url: server.url + "/", body: body))
                    }
                }
                try await group.waitForAll()
            }
        }
        #expect(server.connections.flatMap(\.requests).count == 20 * width)
        // Where few may be kept, how many meet one depends on the pace; what must not be is that nearly none does.
        #expect(server.connections.count <= (idle >= width ? 2 * width : 18 * width))
    }

    @Test func `A kept connection that dies under a request is replaced and the body sent anew`() async throws {
        let bytes = patternedBytes(3_000_000)
        let file = try temporaryFile(bytes)
        let server = try RawServer { connection in
            try connection.readRequest()
            try connection.reply("200 OK")
            guard connection.number == 0 else { return connection.readToEnd() }
            try connection.readHead()
            try connection.read(500_000)
            connection.reset()
        }
        try await withTransport { transport in
            let first = TransportRequest(method: "GET", url: server.url + "/")
            _ = try await transport.execute(first)
            var second = TransportRequest(
                method: "PUT", url: server.url + "/", body: .file(file, offset: 0, length: Int64(bytes.count)))
            second.computesCRC64 = true
            second.progress = TransferProgress()
            let response = try await transport.execute(second)
            #expect(response.sentCRC64 == CRC64.of(bytes))
            #expect(response.bytesSent == Int64(bytes.count))
            #expect(second.progress?.bytesSent == Int64(bytes.count))
        }
        #expect(server.connections.count == 2)
        #expect(server.connections.last?.requests.first?.body == bytes)
    }

    @Test func `A kept connection may break at any place of a body`() async throws {
        let bytes = patternedBytes(1_500_000)
        let file = try temporaryFile(bytes)
        let server = try RawServer { connection in
            try connection.readRequest()
            try connection.reply("200 OK")
            // Each is good for one request, and breaks in the second.
            try connection.readHead()
            try connection.read(connection.number * 7919 % 700_000)
            connection.reset()
        }
        try await withTransport { transport in
            for _ in 0..<150 {
                var request = TransportRequest(
                    method: "PUT", url: server.url + "/", body: .file(file, offset: 0, length: Int64(bytes.count)))
                request.computesCRC64 = true
                let response = try await transport.execute(request)
                #expect(response.sentCRC64 == CRC64.of(bytes))
            }
        }
        #expect(server.connections.count == 150)
        #expect(server.connections.flatMap(\.requests).allSatisfy { $0.body == bytes })
    }

    @Test func `A kept connection that breaks within the reply's head is an error, and nothing is sent anew`()
        async throws
    {
        let server = try RawServer { connection in
            try connection.readRequest()
            try connection.reply("200 OK")
            try connection.readHead()
            try connection.read(100_000)
            try connection.send("HTTP/1.1 200 OK\r\nConte")
            // Until it has been read: a reset may overtake what nobody has taken.
            TestThread.sleep(milliseconds: 200)
            connection.reset()
        }
        let bytes = patternedBytes(1_500_000)
        try await withTransport { transport in
            for _ in 0..<10 {
                _ = try await transport.execute(TransportRequest(method: "GET", url: server.url + "/"))
                let kind = try await transport.failure(
                    of: TransportRequest(method: "PUT", url: server.url + "/", body: .bytes(bytes)))
                #expect(kind == .send || kind == .receive)
            }
        }
        #expect(server.connections.count == 10)
    }

    @Test func `Where all kept connections die under a request, it goes on a new one`() async throws {
        let bytes = patternedBytes(1_500_000)
        let width = 4
        let arrived = Signal()
        let server = try RawServer { connection in
            try connection.readRequest()
            if connection.number == width - 1 { arrived.fire() }
            if connection.number < width { arrived.waitOnThread() }
            try connection.reply("200 OK")
            guard connection.number < width else {
                while true {
                    try connection.readRequest()
                    try connection.reply("200 OK")
                }
            }
            try connection.readHead()
            try connection.read(100_000 + connection.number * 50_000)
            connection.reset()
        }
        try await withTransport { transport in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<width {
                    group.addTask {
                        _ = try await transport.execute(TransportRequest(method: "GET", url: server.url + "/"))
                    }
                }
                try await group.waitForAll()
            }
            for _ in 0..<width {
                let request = TransportRequest(method: "PUT", url: server.url + "/", body: .bytes(bytes))
                let response = try await transport.execute(request)
                #expect(response.status == 200)
            }
        }
        #expect(
            server.connections.flatMap(\.requests).filter { $0.line.hasPrefix("PUT") }.allSatisfy { $0.body == bytes })
    }

    @Test(arguments: [0, 1000])
    func `A POST is not sent anew when a kept connection dies under it`(length: Int) async throws {
        let server = try RawServer { connection in
            try connection.readRequest()
            try connection.reply("200 OK")
            // Carried out, but the reply is lost.
            try connection.readRequest()
        }
        let kind = try await withTransport { transport in
            _ = try await transport.execute(TransportRequest(method: "GET", url: server.url + "/"))
            let body = TransportBody.bytes(patternedBytes(length))
            return try await transport.failure(of: TransportRequest(method: "POST", url: server.url + "/", body: body))
        }
        #expect(kind == .send)
        for connection in server.connections { await connection.over.wait() }
        let requests = server.connections.flatMap(\.requests)
        #expect(requests.map { $0.line.prefix(4) } == ["GET ", "POST"])
    }

    /// libcurl tries another connection by itself, and then tells of that one.
    @Test(arguments: ["POST", "PUT"])
    func `A request that broke on a kept connection may have been carried out, though no other connection comes about`(
        method: String
    ) async throws {
        let (arrived, isAlone) = (Signal(), Signal())
        let server = try RawServer { connection in
            try connection.readRequest()
            try connection.reply("200 OK")
            try connection.readRequest()
            arrived.fire()
            isAlone.waitOnThread()
            connection.reset()
        }
        let failure = try await withTransport { transport in
            _ = try await transport.execute(TransportRequest(method: "GET", url: server.url + "/"))
            async let failure = transport.failure(
                of: TransportRequest(method: method, url: server.url + "/", body: .bytes([1, 2, 3])))
            await arrived.wait()
            server.stopListening()
            isAlone.fire()
            return try await failure
        }
        #expect(failure == .send)
        #expect(server.connections.count == 1)
    }

    @Test func `A server that closes after each reply without notice loses nothing`() async throws {
        let server = try RawServer { connection in
            try connection.readRequest()
            try connection.reply("200 OK")
        }
        let bytes = patternedBytes(100_000)
        try await withTransport { transport in
            for _ in 0..<60 {
                let request = TransportRequest(method: "PUT", url: server.url + "/", body: .bytes(bytes))
                let response = try await transport.execute(request)
                #expect(response.status == 200)
            }
        }
        let requests = server.connections.flatMap(\.requests)
        #expect(requests.count == 60)
        #expect(requests.allSatisfy { $0.body == bytes })
    }

    @Test func `A port where nobody listens is an error of connecting`() async throws {
        let listener = try LoopbackSocket.listen(backlog: 1)
        let port = try LoopbackSocket.port(of: listener)
        LoopbackSocket.close(listener)
        let request = TransportRequest(method: "GET", url: "http://127.0.0.1:\(port)/")
        let kind = try await withTransport { try await $0.failure(of: request) }
        #expect(kind == .connect)
    }

    @Test func `A host without an address is an error of resolving`() async throws {
        var request = TransportRequest(method: "GET", url: "http://name.invalid/")
        request.timeouts.connect = .seconds(50)
        let kind = try await withTransport { [request] in try await $0.failure(of: request) }
        #expect(kind == .resolve)
    }

    @Test func `A proxy that refuses the tunnel is an error of connecting`() async throws {
        let server = try RawServer { connection in
            try connection.readHead()
            try connection.reply("407 Proxy Authentication Required")
        }
        var configuration = CurlTransportConfiguration()
        configuration.proxy = server.url
        let request = TransportRequest(method: "GET", url: "https://h.invalid/", headers: ["Authorization": "hush"])
        let kind = try await withTransport(configuration) { try await $0.failure(of: request) }
        #expect(kind == .connect)
        await server.connections.first?.over.wait()
        let text = String(decoding: server.connections.first?.received ?? [], as: UTF8.self)
        #expect(text.hasPrefix("CONNECT h.invalid:443 HTTP/1.1\r\n"))
        #expect(!text.contains("hush"))
    }

    @Test func `A proxy that is none is an error of configuration and keeps its password`() async throws {
        var configuration = CurlTransportConfiguration()
        configuration.proxy = "gopher://user:hush@127.0.0.1:1"
        let request = TransportRequest(method: "GET", url: "http://h.invalid/")
        let error = try await withTransport(configuration) { transport in
            await #expect(throws: TransportError.self) { try await transport.execute(request) }
        }
        #expect(error?.kind == .configuration)
        #expect(error?.message.contains("hush") == false)
    }

    @Test func `TLS that fails is told from a connection that fails`() async throws {
        let plain = try RawServer { connection in
            try connection.receive(upTo: 1000)
            try connection.reply("400 Bad Request")
            connection.readToEnd()
        }
        let closing = try RawServer { try $0.receive(upTo: 1000) }
        let resetting = try RawServer { connection in
            try connection.receive(upTo: 1000)
            connection.reset()
        }
        let kinds = try await withTransport { transport in
            var kinds: [TransportError.Kind?] = []
            for server in [plain, closing, resetting] {
                let url = "https://127.0.0.1:\(server.port)/"
                kinds.append(try await transport.failure(of: TransportRequest(method: "GET", url: url)))
            }
            return kinds
        }
        #expect(kinds == [.tls, .connect, .connect])
    }

    @Test func `A CA file that is not there is an error of configuration`() async throws {
        let server = try RawServer { $0.readToEnd() }
        var configuration = CurlTransportConfiguration()
        configuration.caFile = "/nonexistent.pem"
        let request = TransportRequest(method: "GET", url: "https://127.0.0.1:\(server.port)/")
        let kind = try await withTransport(configuration) { try await $0.failure(of: request) }
        #expect(kind == .configuration)
    }
}
