// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import CurlTransport
import FoundationEssentials
import LoopbackSockets
import OSSLocalServer
import OSSWire
import SystemIO
import Testing

@testable import OSSMultipart

@Suite(.timeLimit(.minutes(5))) struct TransportOptionTests {
    private func credentials() throws -> OSSCredentialsProvider {
        let account = OSSServer.Account.test
        return .fixed(try OSSCredentials(accessKeyID: account.accessKeyID, accessKeySecret: account.accessKeySecret))
    }

    private func withClient<Value>(
        _ endpoint: String, _ configure: (inout OSSClient.Configuration) -> Void,
        _ body: (OSSClient) async throws -> Value
    ) async throws -> Value {
        var configuration = OSSClient.Configuration()
        configuration.proxy = ""
        configuration.addressing = .path
        configuration.retryPolicy.maximumAttempts = 1
        configure(&configuration)
        let client = try OSSClient(
            endpoint: endpoint, region: "cn-hangzhou", credentials: self.credentials(), configuration: configuration)
        let result: Result<Value, any Error>
        do { result = .success(try await body(client)) } catch { result = .failure(error) }
        await client.shutDown()
        return try result.get()
    }

    private func location(
        _ port: UInt16, host: String = "127.0.0.1", _ configure: (inout OSSClient.Configuration) -> Void
    ) async throws -> String {
        try await self.withClient("https://\(host):\(port)", configure) {
            try await $0.getBucketLocation(.init(bucket: "media"))
        }
    }

    // MARK: TLS

    @Test func `A certificate of a trusted authority is taken, from a file and from a folder`() async throws {
        try await withTemporaryFolder { folder in
            let certificates = try TestCertificates(folder)
            try certificates.issue("good", for: "IP:127.0.0.1,DNS:localhost")
            try TLSEnd.addReply(folder)
            let end = try TLSEnd(certificates, "good")
            let fromFile = try await self.location(end.port) { $0.caFile = certificates.authority }
            #expect(fromFile == "oss-cn-hangzhou")
            let byName = try await self.location(end.port, host: "localhost") { $0.caFile = certificates.authority }
            #expect(byName == "oss-cn-hangzhou")
            let hashed = folder + "/hashed"
            try Directory.create(hashed)
            _ = try TestFile(hashed + "/ca.pem", Array(try Data(contentsOf: URL(filePath: certificates.authority))))
            try TestCertificates.openssl(["rehash", hashed])
            let fromFolder = try await self.location(end.port) { $0.caDirectory = hashed }
            #expect(fromFolder == "oss-cn-hangzhou")
        }
    }

    @Test(arguments: ["authority", "system", "host", "over"])
    func `A certificate that cannot be trusted is refused, unless all are taken`(wrong: String) async throws {
        try await withTemporaryFolder { folder in
            let certificates = try TestCertificates(folder)
            try certificates.issue(
                "server", for: wrong == "host" ? "DNS:example.com" : "IP:127.0.0.1", isOver: wrong == "over")
            try TLSEnd.addReply(folder)
            let end = try TLSEnd(certificates, "server")
            let error = try await failure {
                _ = try await self.location(end.port) {
                    if wrong != "system" {
                        $0.caFile = wrong == "authority" ? folder + "/other.pem" : certificates.authority
                    }
                }
            }
            #expect(error.code == .connection)
            #expect(error.message.contains("TLS failed"))
            #expect(error.message.contains("certificate"))
            let taken = try await self.location(end.port) { $0.acceptsAnyCertificate = true }
            #expect(taken == "oss-cn-hangzhou")
        }
    }

    @Test func `The client shows its certificate where that is wanted`() async throws {
        try await withTemporaryFolder { folder in
            let certificates = try TestCertificates(folder)
            try certificates.issue("server", for: "IP:127.0.0.1")
            try certificates.issue("client", for: "DNS:client")
            try TLSEnd.addReply(folder)
            let end = try TLSEnd(certificates, "server", wantsClientCertificate: true)
            let error = try await failure {
                _ = try await self.location(end.port) { $0.caFile = certificates.authority }
            }
            #expect(error.code == .connection)
            let shown = try await self.location(end.port) {
                $0.caFile = certificates.authority
                $0.clientCertificate = .init(certificateFile: folder + "/client.pem", keyFile: folder + "/client.key")
            }
            #expect(shown == "oss-cn-hangzhou")
            try TestCertificates.openssl([
                "pkey", "-in", folder + "/client.key", "-aes256", "-passout", "pass:word", "-out",
                folder + "/locked.key",
            ])
            let unlocked = try await self.location(end.port) {
                $0.caFile = certificates.authority
                $0.clientCertificate = .init(certificateFile: folder + "/client.pem", keyFile: folder + "/locked.key")
                $0.clientCertificate?.keyPassword = "word"
            }
            #expect(unlocked == "oss-cn-hangzhou")
        }
    }

    @Test func `A CA file that is not there is a mistake of the configuration`() async throws {
        try await withTemporaryFolder { folder in
            let certificates = try TestCertificates(folder)
            try certificates.issue("server", for: "IP:127.0.0.1")
            let end = try TLSEnd(certificates, "server")
            let error = try await failure { _ = try await self.location(end.port) { $0.caFile = folder + "/none.pem" } }
            #expect(error.code == .invalidConfiguration)
            #expect(error.message.contains("CA file"))
        }
    }

    // MARK: Proxies

    /// A proxy of HTTP that answers everything itself.
    private func proxy() throws -> HTTPStandIn {
        try HTTPStandIn { _ in (200, "<LocationConstraint>from-the-proxy</LocationConstraint>") }
    }

    @Test func `Requests go through the proxy, with its credentials, but for its exceptions`() async throws {
        let proxy = try self.proxy()
        try await withLocalServer { fixture in
            let port = try #require(fixture.server.endpoint.split(separator: ":").last.map(String.init))
            func ask(_ configure: (inout OSSClient.Configuration) -> Void) async throws -> String {
                try await self.withClient("http://127.0.0.1:\(port)", configure) {
                    try await $0.getBucketLocation(.init(bucket: "media"))
                }
            }
            let through = try await ask {
                $0.proxy = proxy.url
                $0.proxyCredentials = .init(user: "us:er".filter { $0 != ":" }, password: "pass word")
            }
            #expect(through == "from-the-proxy")
            let request = try #require(proxy.requests.first)
            #expect(request.path == "http://127.0.0.1:\(port)/media/?location")
            #expect(request.headers["Proxy-Authorization"] == "Basic \(Base64.encode(Array("user:pass word".utf8)))")
            let excepted = try await ask {
                $0.proxy = proxy.url
                $0.proxyExceptions = ["example.com", "127.0.0.1"]
            }
            #expect(excepted == "oss-cn-hangzhou")
            let other = try await ask {
                $0.proxy = proxy.url
                $0.proxyExceptions = ["example.com"]
            }
            #expect(other == "from-the-proxy")
            #expect(proxy.requests.count == 2)
        }
    }

    @Test func `A proxy of SOCKS is asked in its own way, with the name where it looks names up`() async throws {
        let socks = try SOCKSProxy()
        try await withLocalServer { fixture in
            let port = try #require(fixture.server.endpoint.split(separator: ":").last.flatMap { UInt16($0) })
            for (scheme, host) in [("socks5", "127.0.0.1"), ("socks5h", "localhost"), ("socks4", "127.0.0.1")] {
                let location = try await self.withClient(
                    "http://\(host):\(port)", { $0.proxy = "\(scheme)://127.0.0.1:\(socks.port)" }
                ) {
                    try await $0.getBucketLocation(.init(bucket: "media"))
                }
                #expect(location == "oss-cn-hangzhou")
            }
            #expect(socks.targets == ["127.0.0.1:\(port)", "localhost:\(port)", "127.0.0.1:\(port)"])
        }
    }

    @Test func `A proxy that speaks TLS itself is trusted as the service is, for both schemes`() async throws {
        try await withTemporaryFolder { folder in
            let certificates = try TestCertificates(folder)
            try certificates.issue("proxy", for: "IP:127.0.0.1")
            let credentials = OSSClient.ProxyCredentials(user: "user", password: "pass word")
            func ask(
                _ endpoint: String, before port: UInt16, _ configure: (inout OSSClient.Configuration) -> Void
            ) async throws -> String {
                let front = try TLSFront(certificates, "proxy", before: port)
                try await front.wait()
                return try await self.withClient(
                    endpoint,
                    {
                        $0.proxy = "https://127.0.0.1:\(front.port)"
                        $0.proxyCredentials = credentials
                        configure(&$0)
                    }
                ) { try await $0.getBucketLocation(.init(bucket: "media")) }
            }
            let authorization = "Basic \(Base64.encode(Array("user:pass word".utf8)))"

            let plain = try self.proxy()
            let location = try await ask("http://203.0.113.7:1", before: plain.port) {
                $0.caFile = certificates.authority
            }
            #expect(location == "from-the-proxy")
            #expect(plain.requests.map(\.path) == ["http://203.0.113.7:1/media/?location"])
            #expect(plain.requests.first?.headers["Proxy-Authorization"] == authorization)
            for file in [folder + "/other.pem", nil] {
                let error = try await failure {
                    _ = try await ask("http://203.0.113.7:1", before: plain.port) { $0.caFile = file }
                }
                #expect(error.code == .connection)
                #expect(error.message.contains("certificate"))
            }
            // Nothing of the request has reached it, the password least of all.
            #expect(plain.requests.count == 1)
            _ = try await ask("http://203.0.113.7:1", before: plain.port) { $0.acceptsAnyCertificate = true }
            #expect(plain.requests.count == 2)

            try certificates.issue("service", for: "IP:127.0.0.1")
            try TLSEnd.addReply(folder)
            let end = try TLSEnd(certificates, "service"), tunnels = try ConnectProxy()
            let behind = try await ask("https://127.0.0.1:\(end.port)", before: tunnels.port) {
                $0.caFile = certificates.authority
            }
            #expect(behind == "oss-cn-hangzhou")
            let head = try #require(tunnels.heads.first { !$0.isEmpty })
            #expect(head.hasPrefix("CONNECT 127.0.0.1:\(end.port) HTTP/1.1\r\n"))
            #expect(head.contains("Proxy-Authorization: \(authorization)\r\n"))
            // What is for the service goes through the tunnel and not to the proxy.
            #expect(!head.contains("OSS4-HMAC-SHA256"))
        }
    }

    @Test func `Hosts of the list, and what is below them, are reached without the proxy`() async throws {
        let proxy = try self.proxy()
        try await withLocalServer { fixture in
            let port = try #require(fixture.server.endpoint.split(separator: ":").last.map(String.init))
            func location(_ exceptions: [String]) async throws -> String {
                try await self.withClient(
                    "http://localhost:\(port)",
                    {
                        $0.proxy = proxy.url
                        $0.proxyExceptions = exceptions
                    }
                ) { try await $0.getBucketLocation(.init(bucket: "media")) }
            }
            for exceptions in [["*"], ["localhost"], ["example.com", "localhost"]] {
                let direct = try await location(exceptions)
                #expect(direct == "oss-cn-hangzhou")
            }
            // A part of a label is no domain.
            for exceptions in [[], ["host"], ["localhost.example.com"]] {
                let through = try await location(exceptions)
                #expect(through == "from-the-proxy")
            }
        }
    }

    @Test func `A proxy of SOCKS is given its user and password, and one that refuses them is told of`() async throws {
        let socks = try SOCKSProxy(user: "user", password: "pass word")
        try await withLocalServer { fixture in
            let port = try #require(fixture.server.endpoint.split(separator: ":").last.flatMap { UInt16($0) })
            func location(_ password: String) async throws -> String {
                try await self.withClient(
                    "http://127.0.0.1:\(port)",
                    {
                        $0.proxy = "socks5h://127.0.0.1:\(socks.port)"
                        $0.proxyCredentials = .init(user: "user", password: password)
                    }
                ) { try await $0.getBucketLocation(.init(bucket: "media")) }
            }
            let through = try await location("pass word")
            #expect(through == "oss-cn-hangzhou")
            #expect(socks.targets == ["127.0.0.1:\(port)"])
            let error = try await failure { _ = try await location("wrong-password") }
            #expect(error.code == .connection)
            #expect(!String(reflecting: error).contains("wrong-password"))
            #expect(socks.targets.count == 1)
        }
    }

    @Test(arguments: ["ftp://host:1", "nonsense://host"])
    func `A proxy that is none is refused when the client is made`(proxy: String) throws {
        var configuration = OSSClient.Configuration()
        configuration.proxy = proxy
        #expect {
            try OSSClient(
                region: "cn-hangzhou", credentials: self.credentials(), configuration: configuration)
        } throws: { "\($0)".contains("socks5h") }
    }

    // MARK: What is sent

    @Test func `What the configuration adds to requests is on those that it is for`() async throws {
        try await withLocalServer(client: {
            $0.trafficLimit = 819_200
            $0.paysForRequests = true
            $0.userAgentSuffix = " media-service/2.1 "
            $0.localAddress = "127.0.0.1"
        }) { fixture in
            let client = fixture.client
            let file = try fixture.file(size: 250_000)
            _ = try await fixture.upload(file)
            _ = try await client.putObject(.init(bucket: "media", key: "k", body: .bytes([1])))
            _ = try await client.getObject(.init(bucket: "media", key: "k")).body.collect(upTo: 1)
            _ = try await client.headObject(.init(bucket: "media", key: "k"))
            let limited = Set(
                fixture.server.requests.filter { $0.headers["x-oss-traffic-limit"] == "819200" }.map(\.operation))
            #expect(limited == ["UploadPart", "PutObject", "GetObject"])
            #expect(fixture.partsSent == [1, 2, 3])
            #expect(
                fixture.server.requests.filter { $0.operation == "UploadPart" }
                    .allSatisfy { $0.headers["x-oss-traffic-limit"] != nil })
            #expect(fixture.server.requests.allSatisfy { $0.headers["x-oss-request-payer"] == "requester" })
            #expect(
                fixture.server.requests.allSatisfy {
                    $0.headers["user-agent"] == "\(OSSMultipartVersion.userAgent) media-service/2.1"
                })
        }
    }

    @Test func `Connections are kept, or none where none are wanted`() async throws {
        for (limit, connections) in [(16, 1), (0, 3)] {
            try await withLocalServer(client: { $0.maximumIdleConnections = limit }) { fixture in
                for _ in 1...3 { _ = try await fixture.client.getBucketLocation(.init(bucket: "media")) }
                #expect(Set(fixture.server.requests.map(\.connectionID)).count == connections)
            }
        }
    }

    @Test(
        arguments: [
            { $0.trafficLimit = 1 }, { $0.trafficLimit = 838_860_801 }, { $0.uploadRateLimit = 0 },
            { $0.maximumIdleConnections = -1 }, { $0.networkThreads = 0 }, { $0.networkThreads = 65 },
            { $0.userAgentSuffix = "a\r\nb" }, { $0.connectTimeout = .zero },
        ] as [@Sendable (inout OSSClient.Configuration) -> Void])
    func `Values that cannot be are refused when the client is made`(
        configure: @Sendable (inout OSSClient.Configuration) -> Void
    ) throws {
        var configuration = OSSClient.Configuration()
        configure(&configuration)
        #expect {
            try OSSClient(region: "cn-hangzhou", credentials: self.credentials(), configuration: configuration)
        } throws: { ($0 as? OSSError)?.code == .invalidConfiguration }
    }

    @Test(arguments: ["connectTimeout", "idleTimeout", "totalTimeout"])
    func `A service that says nothing is given up after the time-out of the configuration`(name: String) async throws {
        // Connections wait in its queue: they come about, and nothing else happens on them.
        let silent = try TestSocket.listening()
        let port = try silent.port
        let error = try await failure {
            // With TLS the connection has not come about before the other side has answered.
            let scheme = name == "connectTimeout" ? "https" : "http"
            try await self.withClient(
                "\(scheme)://127.0.0.1:\(port)",
                {
                    $0.connectTimeout = name == "connectTimeout" ? .milliseconds(200) : .seconds(3600)
                    $0.idleTimeout = name == "idleTimeout" ? .milliseconds(200) : .seconds(3600)
                    $0.totalTimeout = name == "totalTimeout" ? .milliseconds(200) : nil
                }
            ) { _ = try await $0.getBucketLocation(.init(bucket: "media")) }
        }
        #expect(error.code == .timeout)
        #expect(error.message.contains("longer \(name)"))
    }

    @Test func `An interface that is not there is a failure to connect`() async throws {
        try await withLocalServer(client: {
            $0.localAddress = "203.0.113.7"
            $0.retryPolicy.maximumAttempts = 1
        }) { fixture in
            let error = try await failure { _ = try await fixture.client.getBucketLocation(.init(bucket: "media")) }
            #expect(error.code == .connection)
        }
    }

    // MARK: Rate

    @Test func `All uploads of a client share its limit, which can be lifted while they run`() async throws {
        try await withLocalServer(client: { $0.uploadRateLimit = 1000 }) { fixture in
            let client = fixture.client
            #expect(client.uploadRateLimit == 1000)
            // At a thousand bytes a second these would take an hour.
            let bytes = [UInt8](repeating: 7, count: 1_800_000)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 1...2 {
                    group.addTask {
                        _ = try await client.putObject(.init(bucket: "media", key: "k\(number)", body: .bytes(bytes)))
                    }
                }
                // Held back: without the limit both would be there by now.
                try await Task.sleep(for: .milliseconds(300))
                #expect(fixture.server.keys(bucket: "media").isEmpty)
                client.uploadRateLimit = nil
                try await group.waitForAll()
            }
            #expect(fixture.server.keys(bucket: "media").count == 2)
            let stored = try await fixture.object("k2")
            #expect(stored == bytes)
        }
    }
}

/// A proxy of SOCKS 4 and 5, for connections to 127.0.0.1.
private final class SOCKSProxy: Sendable {
    let port: UInt16
    private let listener: TestSocket
    private let log = Log()

    private final class Log: Sendable {
        let targets = Lock<[String]>([])
    }

    var targets: [String] { self.log.targets.withLock { $0 } }

    /// - Parameters:
    ///   - user: the user's name; nil where everybody is served, and nobody's is asked for.
    ///   - password: the password.
    init(user: String? = nil, password: String = "") throws {
        let listener = try TestSocket.listening(), log = self.log
        self.listener = listener
        self.port = try listener.port
        // RFC 1929: a version, and both texts behind their lengths.
        let login = user.map { user in
            [1, UInt8(user.utf8.count)] + Array(user.utf8) + [UInt8(password.utf8.count)] + Array(password.utf8)
        }
        TestThread.start {
            while let client = listener.accept() {
                TestThread.start { Self.serve(client, log, login) }
            }
        }
    }

    deinit { self.listener.shutDown() }

    private static func serve(_ client: TestSocket, _ log: Log, _ login: [UInt8]?) {
        var bytes = client.receive()
        let host: String, port: UInt16, answer: [UInt8]
        if bytes.first == 4, bytes.count >= 9 {
            host = bytes[4..<8].map(String.init).joined(separator: ".")
            port = UInt16(bytes[2]) << 8 | UInt16(bytes[3])
            answer = [0, 90, 0, 0, 0, 0, 0, 0]
        } else {
            if let login {
                // Method 2 is user and password; without it among those offered there is none to agree on.
                guard bytes.dropFirst(2).contains(2) else {
                    client.send([5, 0xFF])
                    return client.shutDown()
                }
                client.send([5, 2])
                guard client.receive() == login else {
                    client.send([1, 1])
                    return client.shutDown()
                }
                client.send([1, 0])
            } else {
                client.send([5, 0])
            }
            bytes = client.receive()
            guard bytes.count >= 10 else { return }
            if bytes[3] == 3 {
                host = String(decoding: bytes[5..<(5 + Int(bytes[4]))], as: UTF8.self)
            } else {
                host = bytes[4..<8].map(String.init).joined(separator: ".")
            }
            port = UInt16(bytes[bytes.count - 2]) << 8 | UInt16(bytes[bytes.count - 1])
            answer = [5, 0, 0, 1, 0, 0, 0, 0, 0, 0]
        }
        log.targets.withLock { $0.append("\(host):\(port)") }
        guard let upstream = try? TestSocket.connected(to: port) else { return client.shutDown() }
        client.send(answer)
        Tunnel.join(client, upstream)
    }
}
