// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import CurlTransport
import Glibc
import OSSWire
import SystemIO
import Testing

extension PosixFile {
    /// Takes the file's bytes from the system's memory, and returns whether its first ones are on the disk alone.
    ///
    /// Asked again, the answer may be another: a look lets the system fetch them.
    @discardableResult fileprivate func letGo() throws -> Bool {
        // The system keeps, for a moment, what another processor has just written.
        for _ in 0..<50 {
            try self.synchronize()
            _ = posix_fadvise(self.descriptor, 0, 0, POSIX_FADV_DONTNEED)
            if self.isOnDiskAlone { return true }
            usleep(10_000)
        }
        return false
    }

    /// Whether its first bytes are on the disk and nowhere else.
    fileprivate var isOnDiskAlone: Bool {
        var buffer = [UInt8](repeating: 0, count: 4096)
        // SAFETY: the memory is used within the closure.
        return unsafe buffer.withUnsafeMutableBytes { unsafe self.readCached(at: 0, into: $0) } == .none
    }

    /// Whether the folder for temporary files is on a disk whose bytes can be let go.
    fileprivate static func canBeOnDiskAlone() throws -> Bool {
        let file = try temporaryFile(patternedBytes(100_000))
        return try file.letGo()
    }
}

/// Files that are not in the system's memory.
@Suite(
    .bothWays, .timeLimit(.minutes(5)), .enabled("files can be on a disk alone") { try PosixFile.canBeOnDiskAlone() })
struct FileFetchTests {
    /// A thread for disks that is kept busy, as if the disk were slow, until the signal.
    private static func slowDisk(until isFast: Signal) async -> BlockingExecutor {
        let executor = BlockingExecutor(threads: 1)
        executor.start {
            isFast.waitOnThread()
            return {}
        }
        return executor
    }

    private func echoServer() throws -> RawServer {
        try RawServer { connection in
            while true {
                try connection.readRequest()
                try connection.reply("200 OK", body: "ok")
            }
        }
    }

    @Test(arguments: [1, 1024 * 1024, 1024 * 1024 + 1, 5_000_017])
    func `A region that is on the disk alone arrives byte for byte`(length: Int) async throws {
        let bytes = patternedBytes(6_000_000)
        let file = try temporaryFile(bytes)
        let isOnDiskAlone = try file.letGo()
        try #require(isOnDiskAlone)
        let server = try self.echoServer()
        let offset = 123_457
        var request = TransportRequest(
            method: "PUT", url: server.url + "/", body: .file(file, offset: Int64(offset), length: Int64(length)))
        request.computesCRC64 = true
        let response = try await withTransport { try await $0.execute(request) }
        let region = Array(bytes[offset..<(offset + length)])
        #expect(server.connections.first?.requests.first?.body == region)
        #expect(response.sentCRC64 == CRC64.of(region))
    }

    @Test func `A slow disk holds up no other transfer of the same thread`() async throws {
        let bytes = patternedBytes(3_000_000)
        let file = try temporaryFile(bytes)
        try file.letGo()
        let isFast = Signal()
        let server = try self.echoServer()
        let transport = CurlTransport(disk: await Self.slowDisk(until: isFast))
        let slow = Task {
            try await transport.execute(
                TransportRequest(
                    method: "PUT", url: server.url + "/slow", body: .file(file, offset: 0, length: 3_000_000)))
        }
        for _ in 0..<5 {
            let quick = TransportRequest(
                method: "PUT", url: server.url + "/quick", body: .bytes(patternedBytes(500_000)))
            #expect(try await transport.execute(quick).status == 200)
        }
        isFast.fire()
        #expect(try await slow.value.status == 200)
        await transport.shutDown()
        let requests = server.connections.flatMap(\.requests)
        #expect(requests.count { $0.line.contains("/quick") } == 5)
        #expect(requests.first { $0.line.contains("/slow") }?.body.elementsEqual(bytes) == true)
    }

    @Test func `A request that is cancelled while the disk is read ends when nothing reads the file any more`()
        async throws
    {
        let file = try temporaryFile(patternedBytes(3_000_000))
        try file.letGo()
        let isFast = Signal()
        let hasEnded = Signal()
        let head = Signal()
        let server = try RawServer { connection in
            try connection.readHead()
            head.fire()
            connection.readToEnd()
        }
        let transport = CurlTransport(disk: await Self.slowDisk(until: isFast))
        let task = Task {
            defer { hasEnded.fire() }
            return try await transport.execute(
                TransportRequest(method: "PUT", url: server.url + "/", body: .file(file, offset: 0, length: 3_000_000)))
        }
        await head.wait()
        task.cancel()
        // The server sees the end of the connection; the caller waits for the disk.
        await server.connections.first?.over.wait()
        #expect(!hasEnded.hasFired)
        isFast.fire()
        await #expect(throws: CancellationError.self) { try await task.value }
        await transport.shutDown()
    }

    @Test func `A file that has become shorter while it is on the disk alone is told as such`() async throws {
        let file = try temporaryFile(patternedBytes(3_000_000))
        try file.truncate(to: 2_500_000)
        try file.letGo()
        let server = try self.echoServer()
        let kind = try await withTransport {
            try await $0.failure(
                of: TransportRequest(
                    method: "PUT", url: server.url + "/", body: .file(file, offset: 0, length: 3_000_000)))
        }
        #expect(kind == .sourceTooShort)
    }
}
