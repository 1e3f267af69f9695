// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import FoundationEssentials
import Glibc
import LoopbackSockets
import OSSLocalServer
import SystemIO
import Testing

@testable import OSSMultipart

/// A process that uploads and has no secret; it asks for each signature over its standard output.
private final class SecretlessProcess: Sendable {
    let process: RunningProcess
    private let lines: AsyncStream<String>

    init(_ fixture: LocalFixture) throws {
        let process = try RunningProcess([Self.program], folder: fixture.folder, hasInput: true)
        self.process = process
        let (lines, source) = AsyncStream.makeStream(of: String.self)
        self.lines = lines
        TestThread.start {
            var text: [UInt8] = []
            while true {
                let bytes = process.read()
                guard !bytes.isEmpty else { break }
                text += bytes
                while let end = text.firstIndex(of: UInt8(ascii: "\n")) {
                    source.yield(String(decoding: text[..<end], as: UTF8.self))
                    text.removeFirst(end + 1)
                }
            }
            source.finish()
        }
    }

    deinit { self.process.kill() }

    /// It is built beside the test program.
    private static let program: String = {
        var path = [CChar](repeating: 0, count: 4096)
        let size = path.count
        // SAFETY: the buffer is ours and its size is passed.
        let count = unsafe readlink("/proc/self/exe", &path, size)
        let text = String(decoding: path.prefix(max(0, count)).map(UInt8.init(bitPattern:)), as: UTF8.self)
        return (Directory.parent(of: text) ?? ".") + "/interop-driver"
    }()

    struct Line: Decodable {
        let sign: Int?
        let request: OSSSigningRequest?
        let error: String?
        let partsSent: Int?
        let partsResumed: Int?
        let proof: String?
    }

    func send(_ fields: [String: String]) throws {
        self.process.write(Array(try JSONEncoder().encode(fields)) + [UInt8(ascii: "\n")])
    }

    /// Answers its questions until it says what came of its upload; nil where `answer` gave nil and it was left waiting.
    func run(_ answer: (OSSSigningRequest) async throws -> OSSSignedRequest?) async throws -> Line? {
        var isClient = true
        for await text in self.lines {
            let line = try JSONDecoder().decode(Line.self, from: Data(text.utf8))
            guard let number = line.sign, let request = line.request else {
                // The first line says that the client is made.
                if isClient, line.error == nil {
                    isClient = false
                    continue
                }
                return line
            }
            guard let signed = try await answer(request) else { return nil }
            struct Answer: Encodable {
                let signed: Int, url: String, headers: [String: String]
            }
            let reply = Answer(signed: number, url: signed.url, headers: signed.headers)
            self.process.write(Array(try JSONEncoder().encode(reply)) + [UInt8(ascii: "\n")])
        }
        throw Unexpected("the process ended")
    }

    /// Whether a text is anywhere in its memory.
    func holds(_ text: String) throws -> Bool {
        let folder = "/proc/\(self.process.process)"
        let wanted = Array(text.utf8), memory = try PosixFile(path: folder + "/mem", .read)
        let maps = try PosixFile(path: folder + "/maps", .read)
        var table: [UInt8] = [], piece = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = try maps.readNext(into: &piece)
            guard count > 0 else { break }
            table += piece[..<count]
        }
        for line in String(decoding: table, as: UTF8.self).split(separator: "\n") {
            let words = line.split(separator: " ")
            let ends = words[0].split(separator: "-").compactMap { Int64($0, radix: 16) }
            guard ends.count == 2, words[1].hasPrefix("r"), !line.hasSuffix("[vvar]"), !line.hasSuffix("[vsyscall]")
            else { continue }
            // A sanitizer's own notes on all other memory are tebibytes.
            guard ends[1] - ends[0] < 64 << 30 else { continue }
            var offset = ends[0], kept: [UInt8] = []
            while offset < ends[1] {
                var buffer = [UInt8](repeating: 0, count: Int(min(1 << 20, ends[1] - offset)))
                let size = buffer.count, start = Int(offset)
                // SAFETY: the buffer is ours and its size is passed.
                let count = unsafe pread(memory.descriptor, &buffer, size, start)
                guard count > 0 else { break }
                let bytes = kept + buffer[..<count]
                let found = Self.holds(bytes, wanted)
                if found { return true }
                kept = Array(bytes.suffix(wanted.count - 1))
                offset += Int64(count)
            }
        }
        return false
    }

    private static func holds(_ bytes: [UInt8], _ wanted: [UInt8]) -> Bool {
        // SAFETY: both arrays are alive, and what is compared lies within them.
        unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe wanted.withUnsafeBufferPointer { wanted in
                guard let first = bytes.baseAddress, let text = wanted.baseAddress else { return false }
                var offset = 0
                while bytes.count - offset >= wanted.count,
                    let place = unsafe memchr(first + offset, Int32(text[0]), bytes.count - wanted.count + 1 - offset)
                {
                    if unsafe memcmp(place, text, wanted.count) == 0 { return true }
                    offset = unsafe UnsafeRawPointer(place) - UnsafeRawPointer(first) + 1
                }
                return false
            }
        }
    }
}

@Suite(.timeLimit(.minutes(5))) struct SecretlessProcessTests {
    @Test(arguments: [true, false])
    func `A process without the secret uploads, is killed, and goes on, and never holds the secret`(
        byURL: Bool
    ) async throws {
        let secret = "secret-\(UUID().uuidString)", part = Int(LocalFixture.partSize)
        let account = OSSServer.Account(accessKeyID: "backend", accessKeySecret: secret)
        let credentials = try OSSCredentials(accessKeyID: "backend", accessKeySecret: secret)
        try await withLocalServer({ $0.accounts = [account] }, credentials: .fixed(credentials)) { fixture in
            var service = try OSSSigningService(region: "cn-hangzhou", credentials: .fixed(credentials))
            service.urlLifetime = byURL ? .seconds(60) : nil
            let signing = service
            let file = try fixture.file(size: 12 * part + 7)
            func process() throws -> SecretlessProcess {
                let process = try SecretlessProcess(fixture)
                try process.send([
                    "do": "client", "endpoint": fixture.server.endpoint, "checkpoints": fixture.checkpointFolder,
                ])
                try process.send([
                    "do": "upload", "bucket": "media", "key": LocalFixture.key, "file": file.path,
                ])
                return process
            }
            let first = try process()
            let cut = try await first.run { request in
                request.query["partNumber"] == "7" ? nil : try await signing.sign(request)
            }
            #expect(cut == nil)
            // Those before it are on their way, or stored.
            try await fixture.wait { fixture.openUploads.count == 1 && fixture.partsSent.count >= 3 }
            #expect(try first.holds(secret) == false)
            #expect(try first.holds("interop-driver/" + LocalFixture.key) == false)
            #expect(try first.holds(LocalFixture.key))
            first.process.kill()

            let upload = try #require(fixture.openUploads.first)
            // What was on its way when it was killed may still be stored: the service is quiet when it is so.
            let stored = try await self.settled { fixture.server.parts(ofUpload: upload).map(\.partNumber).sorted() }
            fixture.server.removeAllRequests()
            let second = try process()
            let done = try await second.run { try await signing.sign($0) }
            #expect(done?.error == nil)
            #expect(done?.proof == "crc64")
            #expect(done?.partsResumed == stored.count)
            #expect(fixture.partsSent == (1...13).filter { !stored.contains($0) })
            #expect(try second.holds(secret) == false)
            #expect(try await fixture.object() == file.bytes)
            #expect(fixture.openUploads.isEmpty)
            #expect(fixture.records.isEmpty)
        }
    }

    /// A value that has stayed the same for a while.
    private func settled<Value: Equatable>(_ value: () -> Value) async throws -> Value {
        var last = value(), times = 0
        while times < 20 {
            try await Task.sleep(for: .milliseconds(10))
            let now = value()
            times = now == last ? times + 1 : 0
            last = now
        }
        return last
    }
}
