// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import OSSLocalServer
import OSSWire
import SystemIO

/// Sends signed requests to a server, each over a connection of its own.
struct TestClient: Sendable {
    /// How a request proves who sends it.
    enum Signing: Sendable {
        case v4, v1, none
    }

    var port: UInt16
    var account = OSSServer.Account.test
    var signing = Signing.v4
    var region = "cn-hangzhou"
    /// How far the client's clock is ahead, in seconds.
    var clockOffset: Int64 = 0
    private let executor: BlockingExecutor

    init(_ server: OSSServer) { self.init(port: server.port) }

    /// - Parameter requests: most requests at a time.
    init(port: UInt16, requests: Int = 8) {
        self.port = port
        self.executor = BlockingExecutor(threads: requests)
    }

    /// Sends a request and returns the reply.
    func send(
        _ method: String, bucket: String? = "bucket", key: String? = nil, query: [QueryItem] = [],
        headers: HTTPFields = [:], body: [UInt8]? = nil, target: String? = nil, host: String? = nil,
        change: @escaping @Sendable (inout SignableRequest) -> Void = { _ in }
    ) async throws -> TestReply {
        var request = SignableRequest(method: method, bucket: bucket, key: key, query: query, headers: headers)
        try self.sign(&request)
        change(&request)
        var path = "/"
        if let bucket { path += bucket + "/" }
        if let key { path += PercentEncoding.encode(key, keepingSlash: true) }
        if !query.isEmpty { path += "?" + query.encoded }
        var text = "\(method) \(target ?? path) HTTP/1.1\r\nHost: \(host ?? "127.0.0.1:\(self.port)")\r\n"
        for field in request.headers.all { text += "\(field.name): \(field.value)\r\n" }
        if let body { text += "Content-Length: \(body.count)\r\n" }
        return try await self.sendRaw(Array((text + "\r\n").utf8) + (body ?? []), isHead: method == "HEAD")
    }

    /// Sends bytes as they are and reads one reply.
    func sendRaw(_ bytes: [UInt8], isHead: Bool = false) async throws -> TestReply {
        let port = self.port
        return try await self.executor.run { () throws(any Error) in
            let connection = try TestConnection(port: port)
            // An early reply is there even where the server no longer takes the body.
            _ = connection.send(bytes)
            return try connection.reply(toHead: isHead)
        }
    }

    private func sign(_ request: inout SignableRequest) throws {
        let now = Timestamp(milliseconds: WallClock.milliseconds + self.clockOffset * 1000)
        switch self.signing {
        case .none: break
        case .v4:
            try SignatureV4(date: now, region: self.region).sign(
                &request, accessKeyID: self.account.accessKeyID, secret: self.account.accessKeySecret,
                securityToken: self.account.securityToken)
        case .v1:
            try SignatureV1.sign(
                &request, date: now, accessKeyID: self.account.accessKeyID, secret: self.account.accessKeySecret,
                securityToken: self.account.securityToken)
        }
    }

    // MARK: Operations

    func initiate(_ key: String, query: [QueryItem] = [], headers: HTTPFields = [:]) async throws -> String {
        let reply = try await self.send(
            "POST", key: key, query: [QueryItem("uploads")] + query, headers: headers, body: [])
        return try reply.document.requiredString("UploadId")
    }

    @discardableResult
    func uploadPart(
        _ number: Int, _ uploadID: String, key: String, headers: HTTPFields = [:], body: [UInt8]
    ) async throws -> TestReply {
        try await self.send(
            "PUT", key: key, query: [QueryItem("partNumber", String(number)), QueryItem("uploadId", uploadID)],
            headers: headers, body: body)
    }

    func complete(
        _ uploadID: String, key: String, parts: [(number: Int, eTag: String)], headers: HTTPFields = [:]
    ) async throws -> TestReply {
        var writer = XMLWriter()
        writer.element("CompleteMultipartUpload") { writer in
            for part in parts {
                writer.element("Part") { writer in
                    writer.element("PartNumber", part.number)
                    writer.element("ETag", "\"\(part.eTag)\"")
                }
            }
        }
        return try await self.send(
            "POST", key: key, query: [QueryItem("uploadId", uploadID)], headers: headers, body: writer.bytes)
    }
}

/// Runs a test with a server of its own.
func withServer<Value>(
    _ configure: (inout OSSServer.Configuration) -> Void = { _ in },
    _ body: (OSSServer, TestClient) async throws -> Value
) async throws -> Value {
    var configuration = OSSServer.Configuration()
    configuration.buckets = ["bucket"]
    configure(&configuration)
    let server = try await OSSServer.start(configuration)
    do {
        let value = try await body(server, TestClient(server))
        await server.stop()
        return value
    } catch {
        await server.stop()
        throw error
    }
}

/// The MD5 of bytes as an ETag.
func eTag(_ bytes: [UInt8]) throws -> String { Hex.upper(try MessageDigest.of(bytes, .md5)) }

/// Bytes that differ from part to part.
func bytes(_ count: Int, seed: UInt8 = 1) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: ($0 &* 31) ^ ($0 >> 8)) &+ seed }
}
