// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import CurlTransport
import FoundationEssentials
import OSSWire
import SystemIO
import Testing

@testable import OSSMultipart

/// Sources of 4 GiB and more: offsets, sizes and checksums that 32 bits do not hold.
@Suite(.timeLimit(.minutes(5))) struct LargeSourceTests {
    private static let limit: Int64 = 1 << 32
    private static let half: Int64 = 512 << 20

    /// An uploader to a service that takes every part without its bytes.
    ///
    /// Its waits take their time: an abort must not lose against a limit that passes at once.
    private func uploader(
        _ service: TakingService, _ folder: String, partSize: Int64?
    ) throws -> OSSUploader {
        let client = try OSSClient(
            endpoint: "https://oss-cn-hangzhou.aliyuncs.com", region: nil,
            credentials: .fixed(OSSCredentials(accessKeyID: "ak", accessKeySecret: "sk")), configuration: .init(),
            transport: service, surroundings: .live)
        var configuration = OSSUploader.Configuration()
        configuration.partSize = partSize
        configuration.partsInFlight = .fixed(1)
        // Without a pass for the MD5: four GiB of it would take longer than the test is worth.
        configuration.integrity = .crc64
        return OSSUploader(
            client: client, checkpointDirectory: URL(filePath: folder + "/records"), configuration: configuration)
    }

    @Test(
        arguments: [
            (limit, half, 8), (limit + 1, half, 9), (limit - 1, half, 8), (limit + 1, Limits.maximumPartSize, 1),
            (limit + 1, nil, 513), (2 * Limits.maximumPartSize + 1, Limits.maximumPartSize, 3),
        ] as [(Int64, Int64?, Int)])
    func `Every part of a source of 4 GiB and more is cut at its own place, and the checksum of the whole is right`(
        size: Int64, partSize: Int64?, count: Int
    ) async throws {
        try await withTemporaryFolder { folder in
            let file = try SparseFile(folder + "/sparse", size: size)
            let service = TakingService()
            let uploader = try self.uploader(service, folder, partSize: partSize)
            let task = uploader.start(.file(file.url), to: .init(bucket: "media", key: "k"))
            let result = try await task.value
            #expect((result.size, result.bytesSent, result.partsSent) == (size, size, count))
            #expect(result.proof == .crc64)
            #expect(result.crc64 == TakingService.checksum(ofZeros: size))
            #expect(task.snapshot.bytesDone == size)
            let parts = service.parts
            #expect(parts.map(\.number) == Array(1...count))
            // One behind the other, from the first byte to the last.
            var end: Int64 = 0
            for part in parts {
                #expect(part.offset == end)
                end += part.length
            }
            #expect(end == size)
            #expect(Set(parts.dropLast().map(\.length)).count <= 1)
            await uploader.client.shutDown()
        }
    }

    @Test func `Broken behind its first 4 GiB, an upload goes on with the one byte that is missing`() async throws {
        try await withTemporaryFolder { folder in
            let file = try SparseFile(folder + "/sparse", size: Self.limit + 1)
            let service = TakingService(refusing: 9)
            let uploader = try self.uploader(service, folder, partSize: Self.half)
            let error = try await failure {
                _ = try await uploader.upload(.file(file.url), to: .init(bucket: "media", key: "k"))
            }
            #expect(error.resumption?.bytesUploaded == Self.limit)
            let result = try await uploader.upload(.file(file.url), to: .init(bucket: "media", key: "k"))
            #expect((result.partsSent, result.partsResumed, result.bytesSent) == (1, 8, 1))
            #expect(service.parts.last == .init(number: 9, offset: Self.limit, length: 1))
            #expect(result.crc64 == TakingService.checksum(ofZeros: Self.limit + 1))
            await uploader.client.shutDown()
        }
    }

    @Test func `A region behind 4 GiB is read at its own place, of a file and of what the caller reads`() async throws {
        try await withLocalServer { fixture in
            let path = fixture.folder + "/sparse"
            let file = try PosixFile(path: path, [.write, .create])
            try file.truncate(to: Self.limit + 10)
            try file.write([7, 8, 9].span, at: Self.limit + 2)
            let custom = OSSUploadSource.reading(named: "asset", size: { Self.limit + 10 }) { offset, buffer in
                // Other bytes than at the same place of the first 4 GiB.
                for index in buffer.indices {
                    let place = offset + Int64(index)
                    buffer[index] = UInt8(truncatingIfNeeded: place + place >> 32 + 4)
                }
                return buffer.count
            }
            for source in [OSSUploadSource.file(URL(filePath: path)), custom] {
                let open = try await source.open(on: fixture.client.blocking)
                #expect(open.size == Self.limit + 10)
                let region = open.region(at: Self.limit + 2, length: 3)
                let digests = try await fixture.client.digests(of: region, md5: true, crc64: true)
                #expect(digests.crc64 == CRC64.of([7, 8, 9]))
            }
        }
    }

    @Test(arguments: [0, 1])
    func `A stream of unknown length fills 10,000 parts, and one that has more publishes nothing`(extra: Int)
        async throws
    {
        try await withTemporaryFolder { folder in
            let service = TakingService()
            var uploader = try self.uploader(service, folder, partSize: LocalFixture.partSize)
            var configuration = uploader.configuration
            // So small that the parts cannot grow.
            configuration.streamBufferLimit = LocalFixture.partSize
            uploader = OSSUploader(
                client: uploader.client, checkpoints: uploader.checkpoints, configuration: configuration)
            let size = 10_000 * Int(LocalFixture.partSize)
            let zeros = [UInt8](repeating: 0, count: 1 << 20), left = Lock(size + extra)
            let stream = AsyncStream<ArraySlice<UInt8>> {
                left.withLock { left in
                    let count = min(left, zeros.count)
                    left -= count
                    return count > 0 ? zeros[..<count] : nil
                }
            }
            let task = uploader.start(.stream(stream), to: .init(bucket: "media", key: "k"))
            if extra == 0 {
                let result = try await task.value
                #expect((result.size, result.partsSent) == (Int64(size), 10_000))
                #expect(result.proof == .crc64)
            } else {
                let error = try await failure { _ = try await task.value }
                #expect(error.code == .invalidArgument)
                #expect(error.message.contains("more than \(size) bytes"))
                #expect(!service.isCompleted && service.isAborted)
            }
            #expect(service.parts.count == 10_000 && service.parts.last?.number == 10_000)
            await uploader.client.shutDown()
        }
    }

    @Test func `A slice on both sides of 4 GiB is stored byte for byte`() async throws {
        try await withLocalServer { fixture in
            let path = fixture.folder + "/sparse"
            let file = try PosixFile(path: path, [.write, .create])
            let bytes = randomBytes(3 * Int(LocalFixture.partSize))
            try file.write(bytes.span, at: Self.limit - 150_000)
            let start = Self.limit - 140_000
            _ = try await fixture.uploader().upload(
                .file(URL(filePath: path), range: start..<start + 250_000), to: fixture.destination)
            #expect(try await fixture.object() == Array(bytes[10_000..<260_000]))
            #expect(fixture.partsSent == [1, 2, 3])
        }
    }
}

/// A service that takes every part of a file of zeros without looking at its bytes, and lists and joins them.
private final class TakingService: HTTPTransport {
    /// What a part was cut from.
    struct Part: Hashable {
        let number: Int
        let offset: Int64
        let length: Int64
    }

    private struct State {
        var parts: [Part] = []
        var refused: Int?
        var isCompleted = false
        var isAborted = false
    }
    private let state: Lock<State>
    private static let eTag = String(repeating: "F", count: 32)

    /// Makes a service that refuses a part, once.
    init(refusing: Int? = nil) { self.state = Lock(State(refused: refusing)) }

    /// The parts that were taken, in the order they came.
    var parts: [Part] { self.state.withLock(\.parts) }
    /// Whether the parts were joined.
    var isCompleted: Bool { self.state.withLock(\.isCompleted) }
    /// Whether the upload was given up.
    var isAborted: Bool { self.state.withLock(\.isAborted) }

    /// CRC-64 of so many zeros, made of those of halves.
    static func checksum(ofZeros count: Int64) -> UInt64 {
        var whole: UInt64 = 0, block = CRC64.of([0]), size: Int64 = 1
        while size <= count {
            if count & size != 0 { whole = CRC64.combine(whole, block, lengthOfSecond: size) }
            block = CRC64.combine(block, block, lengthOfSecond: size)
            size *= 2
        }
        return whole
    }

    func execute(_ request: TransportRequest) async throws -> TransportResponse {
        func document(_ name: String, _ content: String, _ headers: HTTPFields = [:]) -> TransportResponse {
            TransportResponse(
                status: 200, headers: headers, body: Array("<\(name)Result>\(content)</\(name)Result>".utf8))
        }
        switch request.method {
        case "PUT": return try self.take(request)
        case "DELETE":
            self.state.withLock { $0.isAborted = true }
            return TransportResponse(status: 204)
        case "GET" where self.isAborted:
            return TransportResponse(
                status: 404, body: Array("<Error><Code>NoSuchUpload</Code><Message>gone</Message></Error>".utf8))
        case "GET":
            let parts = self.parts.map { part in
                "<Part><PartNumber>\(part.number)</PartNumber><ETag>\"\(Self.eTag)\"</ETag><Size>\(part.length)</Size>"
                    + "<HashCrc64ecma>\(Self.checksum(ofZeros: part.length))</HashCrc64ecma></Part>"
            }
            return document("ListParts", parts.joined())
        case "POST" where request.url.contains("uploadId"):
            self.state.withLock { $0.isCompleted = true }
            let whole = Self.checksum(ofZeros: self.parts.reduce(0) { $0 + $1.length })
            return document("CompleteMultipartUpload", "<ETag>E</ETag>", ["x-oss-hash-crc64ecma": "\(whole)"])
        default: return document("InitiateMultipartUpload", "<UploadId>UPLOAD</UploadId>")
        }
    }

    private func take(_ request: TransportRequest) throws -> TransportResponse {
        let digits = request.url.split(separator: "partNumber=").last?.prefix(while: \.isNumber) ?? ""
        let (offset, length): (Int64, Int64)
        switch request.body {
        case .file(let file, offset: let start, length: let count) where try file.status().size >= start + count:
            (offset, length) = (start, count)
        case .memory(let bytes): (offset, length) = (0, Int64(bytes.count))
        default: throw Unexpected("no part of a file or a stream: \(request.url)")
        }
        guard let number = Int(digits) else { throw Unexpected("no part: \(request.url)") }
        let isRefused = self.state.withLock { state in
            defer { if state.refused == number { state.refused = nil } }
            guard state.refused != number else { return true }
            state.parts.append(Part(number: number, offset: offset, length: length))
            return false
        }
        if isRefused { return TransportResponse(status: 403) }
        let checksum = Self.checksum(ofZeros: length)
        return TransportResponse(
            status: 200, headers: ["ETag": "\"\(Self.eTag)\"", "x-oss-hash-crc64ecma": "\(checksum)"],
            sentCRC64: checksum)
    }

    func shutDown() async {}
}
