// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import CurlTransport
import FoundationEssentials
import OSSLocalServer
import OSSWire
import SystemIO
import Testing

@testable import OSSMultipart

/// A source of the test's own, whose answers the test can change.
final class TestAsset: OSSRandomAccessSource {
    struct State {
        var bytes: [UInt8]
        var identity: String?
        /// Most bytes that a read returns.
        var longestRead = Int.max
        /// What a read at or behind this place throws.
        var failure: (offset: Int64, error: any Error)?
        var bytesRead: Int64 = 0
        var longestBuffer = 0
    }
    let state: Lock<State>
    let name = "asset 7"

    init(_ bytes: [UInt8], identity: String? = nil, longestRead: Int = .max) {
        self.state = Lock(State(bytes: bytes, identity: identity, longestRead: longestRead))
    }

    var size: Int64 { get async throws { self.state.withLock { Int64($0.bytes.count) } } }
    var identity: String? { get async throws { self.state.withLock(\.identity) } }

    func read(at offset: Int64, into buffer: inout [UInt8]) async throws -> Int {
        let wanted = buffer.count
        let bytes = try self.state.withLock { state -> ArraySlice<UInt8> in
            if let failure = state.failure, offset >= failure.offset { throw failure.error }
            state.longestBuffer = max(state.longestBuffer, wanted)
            let bytes = state.bytes.dropFirst(Int(offset)).prefix(min(wanted, state.longestRead))
            state.bytesRead += Int64(bytes.count)
            return bytes
        }
        buffer.replaceSubrange(0..<bytes.count, with: bytes)
        return bytes.count
    }
}

/// Sources that are no files and can be read at any place.
@Suite(.timeLimit(.minutes(5))) struct RandomAccessSourceTests {
    private static let part = Int(LocalFixture.partSize)

    private struct AssetGone: Error {}

    @Test(arguments: [0, 1, part - 1, part, 4 * part + 17], [Int.max, 1000])
    func `An asset that is no file arrives byte for byte, also where reads give less than asked`(
        size: Int, longestRead: Int
    ) async throws {
        try await withLocalServer { fixture in
            let bytes = randomBytes(size)
            let asset = TestAsset(bytes, longestRead: longestRead)
            let result = try await fixture.uploader().upload(.randomAccess(asset), to: fixture.destination)
            #expect(try await fixture.object() == bytes)
            #expect(result.proof == .crc64)
            #expect(result.size == Int64(size))
            #expect(fixture.openUploads.isEmpty && fixture.records.isEmpty)
        }
    }

    @Test(arguments: [OSSIntegrity.md5AndCRC64, .crc64])
    func `A large part is read in small pieces`(integrity: OSSIntegrity) async throws {
        try await withLocalServer { fixture in
            let bytes = randomBytes(9 * Self.part)
            let asset = TestAsset(bytes)
            let uploader = fixture.uploader {
                $0.partSize = 4 * LocalFixture.partSize
                $0.integrity = integrity
            }
            _ = try await uploader.upload(.randomAccess(asset), to: fixture.destination)
            #expect(try await fixture.object() == bytes)
            #expect(asset.state.withLock(\.longestBuffer) <= 128 * 1024)
        }
    }

    @Test func `A pair of closures is a source`() async throws {
        try await withLocalServer { fixture in
            let bytes = randomBytes(3 * Self.part + 5)
            let source = OSSUploadSource.reading(named: "photo", size: { Int64(bytes.count) }) { offset, buffer in
                let piece = bytes.dropFirst(Int(offset)).prefix(min(buffer.count, 7777))
                buffer.replaceSubrange(0..<piece.count, with: piece)
                return piece.count
            }
            #expect(source.description == "photo")
            _ = try await fixture.uploader().upload(source, to: fixture.destination)
            #expect(try await fixture.object() == bytes)
        }
    }

    @Test(arguments: [0..<0, 0..<1, 5..<(3 * part + 6), part..<(2 * part), (4 * part - 3)..<(4 * part)])
    func `A slice of a file is uploaded and nothing else of it`(range: Range<Int>) async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 4 * Self.part)
            let slice = Int64(range.lowerBound)..<Int64(range.upperBound)
            _ = try await fixture.uploader().upload(.file(file.url, range: slice), to: fixture.destination)
            #expect(try await fixture.object() == Array(file.bytes[range]))
        }
    }

    @Test func `A slice that lies outside the file is refused before anything is sent`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 1000)
            for range in [500..<1001, -1..<10] as [Range<Int64>] {
                let error = try await failure {
                    _ = try await fixture.uploader().upload(.file(file.url, range: range), to: fixture.destination)
                }
                #expect(error.code == .invalidArgument)
                #expect(error.message.contains("1000 bytes"))
            }
            #expect(fixture.server.requests.isEmpty)
        }
    }

    @Test func `Two slices of one file are two sources, whatever their size`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 10 * Self.part)
            fixture.server.faults.add(
                .init(.respond(status: 403, code: "AccessDenied"), operation: "UploadPart", partNumber: 3))
            let size = Int64(4 * Self.part)
            let uploader = fixture.uploader { $0.partsInFlight = .fixed(1) }
            _ = try await failure {
                _ = try await uploader.upload(.file(file.url, range: 0..<size), to: fixture.destination)
            }
            fixture.server.faults.removeAll()
            fixture.server.removeAllRequests()
            let other = Int64(Self.part) + 11
            let result = try await uploader.upload(
                .file(file.url, range: other..<(other + size)), to: fixture.destination)
            #expect(fixture.partsSent == [1, 2, 3, 4], "bytes of the first slice were taken for the second's")
            #expect(result.partsResumed == 0)
            #expect(try await fixture.object() == Array(file.bytes[Int(other)..<Int(other + size)]))
        }
    }

    @Test func `Bytes in memory go on where they were broken off, and what differs is sent`() async throws {
        try await withLocalServer { fixture in
            var bytes = randomBytes(5 * Self.part)
            try await self.breakUpload(.bytes(bytes), fixture)
            bytes[Self.part] ^= 1
            let result = try await fixture.uploader().upload(.bytes(bytes), to: fixture.destination)
            #expect(fixture.partsSent == [2, 4, 5])
            #expect(result.partsResumed == 2)
            #expect(try await fixture.object() == bytes)
        }
    }

    @Test(arguments: [nil, "version 1"], ["version 1", "version 2"])
    func `The caller's identity decides whether what is stored is trusted or read again`(
        before: String?, after: String
    ) async throws {
        try await withLocalServer { fixture in
            let bytes = randomBytes(5 * Self.part)
            try await self.breakUpload(.randomAccess(TestAsset(bytes, identity: before)), fixture)
            let asset = TestAsset(bytes, identity: after)
            let result = try await fixture.uploader().upload(.randomAccess(asset), to: fixture.destination)
            #expect(result.partsResumed == 3)
            #expect(fixture.partsSent == [4, 5])
            // Each part that is sent is read twice, once for its MD5.
            let again = before == after ? 0 : 3
            #expect(asset.state.withLock(\.bytesRead) == Int64((4 + again) * Self.part))
            #expect(try await fixture.object() == bytes)
        }
    }

    @Test func `With the mode content what is stored is read again, whatever the identity says`() async throws {
        try await withLocalServer { fixture in
            var bytes = randomBytes(5 * Self.part)
            try await self.breakUpload(.randomAccess(TestAsset(bytes, identity: "1")), fixture)
            bytes[Self.part] ^= 1
            let uploader = fixture.uploader { $0.verification = .content }
            let asset = TestAsset(bytes, identity: "1")
            let result = try await uploader.upload(.randomAccess(asset), to: fixture.destination)
            #expect(fixture.partsSent == [2, 4, 5])
            #expect(result.partsResumed == 2)
            #expect(try await fixture.object() == bytes)
        }
    }

    @Test func `What was read again once is trusted by the run after it`() async throws {
        try await withLocalServer { fixture in
            let bytes = randomBytes(5 * Self.part)
            for identity in ["1", "2"] {
                try await self.breakUpload(.randomAccess(TestAsset(bytes, identity: identity)), fixture)
            }
            let asset = TestAsset(bytes, identity: "2")
            _ = try await fixture.uploader().upload(.randomAccess(asset), to: fixture.destination)
            #expect(fixture.partsSent == [4, 5])
            #expect(asset.state.withLock(\.bytesRead) == Int64(4 * Self.part))
            #expect(try await fixture.object() == bytes)
        }
    }

    @Test func `With the mode etag a source is read once, and the ETags prove it`() async throws {
        try await withLocalServer { fixture in
            let bytes = randomBytes(5 * Self.part + 17)
            let asset = TestAsset(bytes, longestRead: 10_000)
            let wrong = "\"\(String(repeating: "0A", count: 16))\""
            fixture.server.faults.add(
                .init(.editReplyHeader("ETag", wrong), operation: "UploadPart", partNumber: 2, occurrences: 1...1))
            let uploader = fixture.uploader {
                $0.integrity = .eTag
                $0.partsInFlight = .fixed(1)
            }
            let result = try await uploader.upload(.randomAccess(asset), to: fixture.destination)
            #expect(result.proof == .eTag)
            // The part whose ETag differed was sent and read again.
            #expect(fixture.partsSent == [1, 2, 2, 3, 4, 5, 6])
            #expect(asset.state.withLock(\.bytesRead) == Int64(bytes.count + Self.part))
            #expect(try await fixture.object() == bytes)

            fixture.server.faults.add(
                .init(.editReplyHeader("ETag", wrong), operation: "UploadPart", occurrences: OSSServer.Fault.always))
            let error = try await failure {
                _ = try await uploader.upload(.randomAccess(TestAsset(bytes)), to: fixture.destination)
            }
            #expect(error.code == .integrity)
        }
    }

    @Test func `An identity that changes during the upload ends it, and nothing is published`() async throws {
        try await withLocalServer { fixture in
            let asset = TestAsset(randomBytes(5 * Self.part), identity: "1")
            let task = fixture.uploader { $0.partsInFlight = .fixed(1) }.start(
                .randomAccess(asset), to: fixture.destination)
            for await event in task.events where event.kind == .partStored {
                asset.state.withLock { $0.identity = "2" }
            }
            let error = try await failure { _ = try await task.value }
            #expect(error.code == .sourceChanged)
            #expect(try await fixture.object() == nil)
        }
    }

    @Test func `An asset that shrinks ends the upload, and nothing is published`() async throws {
        try await withLocalServer { fixture in
            let asset = TestAsset(randomBytes(5 * Self.part))
            let task = fixture.uploader { $0.partsInFlight = .fixed(1) }.start(
                .randomAccess(asset), to: fixture.destination)
            for await event in task.events where event.kind == .partStored {
                asset.state.withLock { $0.bytes.removeLast(Self.part + 1) }
            }
            let error = try await failure { _ = try await task.value }
            #expect(error.code == .sourceChanged)
            #expect(try await fixture.object() == nil)
        }
    }

    @Test(arguments: [false, true])
    func `What the caller's read throws is told, at the digest and while sending`(sendsMD5: Bool) async throws {
        try await withLocalServer { fixture in
            let bytes = randomBytes(5 * Self.part)
            let asset = TestAsset(bytes, longestRead: 10_000)
            asset.state.withLock { $0.failure = (Int64(3 * Self.part + 50_000), AssetGone()) }
            let uploader = fixture.uploader {
                $0.partsInFlight = .fixed(1)
                $0.integrity = sendsMD5 ? .md5AndCRC64 : .crc64
            }
            let error = try await failure {
                _ = try await uploader.upload(.randomAccess(asset), to: fixture.destination)
            }
            #expect(error.code == .sourceUnreadable)
            #expect(error.underlying is AssetGone)
            #expect(error.message.contains("asset 7"))
            #expect(error.resumption != nil)
            if sendsMD5 { #expect(error.operation == .uploadPart && error.partNumber == 4) }
            #expect(fixture.partsSent.count <= 4, "a source that fails is not asked again and again")
            // The next run goes on.
            asset.state.withLock { $0.failure = nil }
            let result = try await uploader.upload(.randomAccess(asset), to: fixture.destination)
            #expect(result.partsResumed == 3)
            #expect(try await fixture.object() == bytes)
        }
    }

    @Test func `What the caller's code throws is its own matter, whatever it is`() async throws {
        // As of a source that is an object of another service.
        let elsewhere = try scriptedClient(ScriptedTransport([.refusal(404, "NoSuchUpload"), .broken(.shutDown)]))
        for (count, code) in [(0, OSSError.Code.service), (1, .shutDown)] {
            try await withLocalServer { fixture in
                let source = OSSUploadSource.reading(named: "there", size: { Int64(3 * Self.part) }) { _, _ in
                    try await Int(elsewhere.headObject(.init(bucket: "media", key: "k")).size)
                }
                let items = [
                    OSSUploadQueue.Item(source, to: fixture.destination),
                    OSSUploadQueue.Item(.bytes([1]), to: .init(bucket: LocalFixture.bucket, key: "other")),
                ]
                let queue = OSSUploadQueue(uploader: fixture.uploader { $0.partsInFlight = .fixed(1) })
                let result = try await queue.upload(items)
                let error = try #require(result.files[0].error)
                #expect(error.code == .sourceUnreadable, "\(count)")
                #expect((error.underlying as? OSSError)?.code == code)
                #expect(error.service == nil)
                #expect(error.message.contains("there cannot be read"))
                #expect(fixture.count("InitiateMultipartUpload") == 1)
                #expect(try await fixture.object("other") == [1])
            }
        }
        await #expect(throws: Never.self) {
            try await withLocalServer { fixture in
                let source = OSSUploadSource.reading(named: "odd", size: { 5 }) { _, _ in throw CancellationError() }
                // Nobody has cancelled this task: for whoever waits it is an error like another.
                let error = try await failure {
                    _ = try await fixture.uploader().upload(source, to: fixture.destination)
                }
                #expect(error.code == .sourceUnreadable)
            }
        }
    }

    @Test func `A size below nothing is an answer that is none`() async throws {
        try await withLocalServer { fixture in
            let source = OSSUploadSource.reading(named: "odd", size: { -1 }) { _, _ in 0 }
            let error = try await failure { _ = try await fixture.uploader().upload(source, to: fixture.destination) }
            #expect(error.code == .sourceUnreadable)
            #expect(error.message.contains("-1 bytes"))
            #expect(fixture.server.requests.isEmpty)
        }
    }

    @Test(arguments: [0, 200_000])
    func `A read that returns nothing, or more than was asked for, ends the upload`(count: Int) async throws {
        try await withLocalServer { fixture in
            let source = OSSUploadSource.reading(named: "liar", size: { Int64(3 * Self.part) }) { _, _ in count }
            let error = try await failure { _ = try await fixture.uploader().upload(source, to: fixture.destination) }
            #expect(error.code == (count == 0 ? .sourceChanged : .sourceUnreadable))
            #expect(try await fixture.object() == nil)
        }
    }

    @Test(arguments: [-1, 1]) func `A read that changes its buffer's size ends the upload`(change: Int) async throws {
        try await withLocalServer { fixture in
            let source = OSSUploadSource.reading(named: "odd", size: { Int64(3 * Self.part) }) { _, buffer in
                let wanted = buffer.count
                if change < 0 { buffer.removeLast() } else { buffer.append(0) }
                return wanted
            }
            let error = try await failure { _ = try await fixture.uploader().upload(source, to: fixture.destination) }
            #expect(error.code == .sourceUnreadable)
            #expect(error.message.contains("changed the buffer's size"))
            #expect(try await fixture.object() == nil)
        }
    }

    @Test func `A part of an asset that was cut on its way is read and sent again, whole`() async throws {
        try await withLocalServer { fixture in
            fixture.server.faults.add(
                .init(.cut(afterBodyBytes: 50_000), operation: "UploadPart", partNumber: 2, occurrences: 1...2),
                .init(
                    .respond(status: 500, code: "InternalError"), operation: "UploadPart", partNumber: 3,
                    occurrences: 1...1)
            )
            let bytes = randomBytes(4 * Self.part)
            _ = try await fixture.uploader().upload(.randomAccess(TestAsset(bytes)), to: fixture.destination)
            #expect(try await fixture.object() == bytes)
            #expect(fixture.partsSent.filter { $0 == 2 }.count == 3)
        }
    }

    @Test func `Cancelling while the caller's read hangs cancels the read`() async throws {
        try await withLocalServer { fixture in
            let (hangs, signal) = AsyncStream.makeStream(of: Void.self)
            let source = OSSUploadSource.reading(named: "slow", size: { Int64(3 * Self.part) }) { _, buffer in
                signal.yield()
                try await Task.sleep(for: .seconds(3600))
                return buffer.count
            }
            let task = fixture.uploader().start(source, to: fixture.destination)
            for await _ in hangs { break }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    }

    /// Uploads all but part 4 and 5, one by one.
    private func breakUpload(_ source: OSSUploadSource, _ fixture: LocalFixture) async throws {
        fixture.server.faults.add(
            .init(.respond(status: 403, code: "AccessDenied"), operation: "UploadPart", partNumber: 4)
        )
        let error = try await failure {
            _ = try await fixture.uploader { $0.partsInFlight = .fixed(1) }.upload(source, to: fixture.destination)
        }
        #expect(error.service?.code == .accessDenied)
        fixture.server.faults.removeAll()
        fixture.server.removeAllRequests()
    }
}

/// Bytes that differ from place to place, the same in every run.
func randomBytes(_ count: Int, seed: UInt64 = 7) -> [UInt8] {
    var random = SplitMix64(state: seed)
    return (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) }
}
