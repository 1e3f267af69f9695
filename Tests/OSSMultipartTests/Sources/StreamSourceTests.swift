// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import FoundationEssentials
import Glibc
import OSSLocalServer
import OSSWire
import SystemIO
import Testing

@testable import OSSMultipart

/// Sources that are read from their beginning to their end.
@Suite(.timeLimit(.minutes(5))) struct StreamSourceTests {
    private static let part = Int(LocalFixture.partSize)

    struct BrokenStream: Error {}

    /// A sequence of chunks that counts what was asked of it.
    struct Chunks: AsyncSequence, Sendable {
        struct State {
            var given = 0
            var isLetGo = false
        }
        final class Box: Sendable {
            let state = Lock(State())
        }
        struct Iterator: AsyncIteratorProtocol {
            let base: Chunks
            let token: Token
            var offset = 0

            mutating func next() async throws -> [UInt8]? {
                guard self.offset < self.base.bytes.count else {
                    try await self.base.onEnd?()
                    if self.base.fails { throw BrokenStream() }
                    return nil
                }
                let chunk = Array(self.base.bytes[self.offset...].prefix(self.base.size))
                self.offset += chunk.count
                self.base.box.state.withLock { $0.given += chunk.count }
                return chunk
            }
        }
        /// Tells when the iterator has been let go.
        final class Token: Sendable {
            let box: Box
            init(_ box: Box) { self.box = box }
            deinit { self.box.state.withLock { $0.isLetGo = true } }
        }

        let bytes: [UInt8]
        let size: Int
        var fails = false
        /// Runs before the end is told.
        var onEnd: (@Sendable () async throws -> Void)?
        let box = Box()

        init(_ bytes: [UInt8], size: Int, fails: Bool = false) {
            self.bytes = bytes
            self.size = size
            self.fails = fails
        }

        func makeAsyncIterator() -> Iterator { Iterator(base: self, token: Token(self.box)) }
    }

    @Test(
        arguments: [0, 1, part - 1, part, part + 1, 3 * part, 4 * part + 17], [1000, part, 10 * part])
    func `A stream of unknown length arrives byte for byte, whatever its chunks`(size: Int, chunk: Int) async throws {
        try await withLocalServer { fixture in
            let bytes = randomBytes(size)
            let result = try await fixture.uploader().upload(
                .stream(Chunks(bytes, size: chunk)), to: fixture.destination)
            #expect(try await fixture.object() == bytes)
            #expect(result.size == Int64(size))
            #expect(result.proof == .crc64)
            #expect(result.partsTotal == max(1, (size + Self.part - 1) / Self.part), "an empty part was sent")
            #expect(fixture.openUploads.isEmpty && fixture.records.isEmpty)
            #expect(fixture.count("InitiateMultipartUpload") == (size < Self.part ? 0 : 1))
        }
    }

    @Test func `Chunks of one byte make the same object`() async throws {
        try await withLocalServer { fixture in
            let bytes = randomBytes(2 * Self.part + 3)
            _ = try await fixture.uploader().upload(.stream(Chunks(bytes, size: 1)), to: fixture.destination)
            #expect(try await fixture.object() == bytes)
        }
    }

    @Test func `An AsyncStream of slices with empty ones among them is a source`() async throws {
        try await withLocalServer { fixture in
            let bytes = randomBytes(3 * Self.part)
            let stream = AsyncStream<ArraySlice<UInt8>> { continuation in
                for start in stride(from: 0, to: bytes.count, by: 99_999) {
                    continuation.yield([])
                    continuation.yield(bytes[start..<min(start + 99_999, bytes.count)])
                }
                continuation.yield([])
                continuation.finish()
            }
            _ = try await fixture.uploader().upload(.stream(stream), to: fixture.destination)
            #expect(try await fixture.object() == bytes)
        }
    }

    @Test(arguments: [part / 2, 3 * part + 1], [-1, 1])
    func `A stream that ends early or late against its given length publishes nothing`(
        size: Int, error difference: Int
    ) async throws {
        try await withLocalServer { fixture in
            let chunks = Chunks(randomBytes(size), size: 10_000)
            let error = try await failure {
                _ = try await fixture.uploader()
                    .upload(.stream(chunks, size: Int64(size + difference)), to: fixture.destination)
            }
            #expect(error.code == .sourceChanged)
            #expect(error.message.contains("\(size + difference) bytes"))
            #expect(try await fixture.object() == nil)
            #expect(fixture.openUploads.isEmpty && fixture.records.isEmpty)
        }
    }

    @Test(arguments: [0, part / 2, 3 * part, 3 * part + 1])
    func `A stream of the given length is uploaded`(size: Int) async throws {
        try await withLocalServer { fixture in
            let bytes = randomBytes(size)
            let task = fixture.uploader().start(
                .stream(Chunks(bytes, size: 7000), size: Int64(size)), to: fixture.destination)
            for await event in task.events where event.kind == .partStored {
                #expect(event.snapshot.bytesTotal == Int64(size))
                #expect(event.snapshot.isSizeKnown)
            }
            _ = try await task.value
            #expect(try await fixture.object() == bytes)
        }
    }

    @Test func `The next chunk is asked for when there is room, and not before`() async throws {
        try await withLocalServer { fixture in
            let (window, chunk) = (3, 5000)
            fixture.server.faults.add(.init(.stall(.seconds(3600)), operation: "UploadPart"))
            let chunks = Chunks(randomBytes(40 * Self.part), size: chunk)
            let uploader = fixture.uploader { $0.partsInFlight = .fixed(window) }
            let task = uploader.start(.stream(chunks), to: fixture.destination)
            while fixture.server.faults.count(ofOperation: "UploadPart") < window {
                try await Task.sleep(for: .milliseconds(5))
            }
            // Time to read too far, were it not held back.
            try await Task.sleep(for: .milliseconds(100))
            #expect(chunks.box.state.withLock(\.given) <= window * Self.part + chunk)
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    }

    @Test func `Fewer parts are in flight where they would not fit into the buffer limit`() async throws {
        try await withLocalServer { fixture in
            fixture.server.faults.add(.init(.delay(.milliseconds(20)), operation: "UploadPart"))
            let bytes = randomBytes(8 * Self.part)
            let uploader = fixture.uploader {
                $0.partsInFlight = .fixed(8)
                $0.streamBufferLimit = 2 * LocalFixture.partSize
            }
            let task = uploader.start(.stream(Chunks(bytes, size: 1000)), to: fixture.destination)
            for await event in task.events { #expect(event.snapshot.partsInFlight <= 2) }
            _ = try await task.value
            #expect(try await fixture.object() == bytes)
        }
    }

    @Test func `A part size above the buffer limit is lowered, and that is said`() async throws {
        try await withLocalServer { fixture in
            let bytes = randomBytes(4 * Self.part)
            let uploader = fixture.uploader {
                $0.partSize = 3 * LocalFixture.partSize
                $0.streamBufferLimit = LocalFixture.partSize
            }
            let result = try await uploader.upload(.stream(Chunks(bytes, size: 1000)), to: fixture.destination)
            #expect(result.partsTotal == 4)
            #expect(result.warnings.contains { $0.contains("streamBufferLimit") })
            #expect(try await fixture.object() == bytes)
        }
    }

    @Test func `A buffer limit below the smallest part is refused before anything is read or sent`() async throws {
        try await withLocalServer { fixture in
            let chunks = Chunks(randomBytes(10), size: 1)
            let error = try await failure {
                _ = try await fixture.uploader { $0.streamBufferLimit = 102_399 }
                    .upload(.stream(chunks), to: fixture.destination)
            }
            #expect(error.code == .invalidConfiguration)
            #expect(chunks.box.state.withLock(\.given) == 0)
            #expect(fixture.server.requests.isEmpty)
        }
    }

    @Test(arguments: [part / 2, 3 * part + 1]) func `A stream that fails is told, and nothing stays`(size: Int)
        async throws
    {
        try await withLocalServer { fixture in
            let chunks = Chunks(randomBytes(size), size: 1000, fails: true)
            let error = try await failure {
                _ = try await fixture.uploader().upload(.stream(chunks), to: fixture.destination)
            }
            #expect(error.code == .sourceUnreadable)
            #expect(error.underlying is BrokenStream)
            #expect(error.resumption == nil)
            #expect(try await fixture.object() == nil)
            #expect(fixture.openUploads.isEmpty && fixture.records.isEmpty)
        }
    }

    @Test func `A failed upload lets the sequence go and leaves nothing`() async throws {
        try await withLocalServer { fixture in
            fixture.server.faults.add(
                .init(.respond(status: 403, code: "AccessDenied"), operation: "UploadPart", partNumber: 2)
            )
            // A stream that is never finished: only whoever reads it can let it go.
            let (stream, continuation) = AsyncStream.makeStream(of: [UInt8].self)
            let (ends, end) = AsyncStream.makeStream(of: Void.self)
            continuation.onTermination = { _ in end.yield() }
            continuation.yield(randomBytes(2 * Self.part))
            let error = try await failure {
                _ = try await fixture.uploader().upload(.stream(stream), to: fixture.destination)
            }
            #expect(error.service?.code == .accessDenied)
            for await _ in ends { break }
            #expect(fixture.openUploads.isEmpty && fixture.records.isEmpty)
        }
    }

    @Test func `Cancelling stops a stream that hangs, and aborts what can never be gone on with`() async throws {
        try await withLocalServer { fixture in
            let (stream, continuation) = AsyncStream.makeStream(of: [UInt8].self)
            continuation.yield(randomBytes(3 * Self.part))
            let task = fixture.uploader().start(.stream(stream), to: fixture.destination)
            for await event in task.events where event.snapshot.partsDone == 3 { break }
            // Pausing would lose what was read.
            task.pause()
            #expect(!task.snapshot.isPaused)
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(fixture.openUploads.isEmpty && fixture.records.isEmpty)
            continuation.finish()
        }
    }

    @Test func `A stream that can be read once is not uploaded twice`() async throws {
        try await withLocalServer { fixture in
            let source = OSSUploadSource.stream(Chunks(randomBytes(10), size: 3))
            #expect(!source.canBeReadAgain)
            _ = try await fixture.uploader().upload(source, to: fixture.destination)
            let error = try await failure { _ = try await fixture.uploader().upload(source, to: fixture.destination) }
            #expect(error.code == .sourceUnreadable)
            #expect(error.message.contains("was read before"))
        }
    }

    @Test func `An upload that cannot be aborted after a failed stream is aborted by the next run`() async throws {
        try await withLocalServer { fixture in
            fixture.server.faults.add(
                .init(.respond(status: 403, code: "AccessDenied"), operation: "UploadPart", partNumber: 2),
                .init(.respond(status: 403, code: "AccessDenied"), operation: "AbortMultipartUpload")
            )
            _ = try await failure {
                _ = try await fixture.uploader()
                    .upload(.stream(Chunks(randomBytes(3 * Self.part), size: 1000)), to: fixture.destination)
            }
            #expect(fixture.openUploads.count == 1)
            fixture.server.faults.removeAll()
            let bytes = randomBytes(3 * Self.part, seed: 8)
            let result = try await fixture.uploader().upload(
                .stream(Chunks(bytes, size: 1000)), to: fixture.destination)
            #expect(result.partsSent == 3)
            #expect(fixture.openUploads.isEmpty && fixture.records.isEmpty)
            #expect(try await fixture.object() == bytes)
        }
    }

    @Test func `Taking over an upload is refused for a stream`() async throws {
        try await withLocalServer { fixture in
            let error = try await failure {
                _ = try await fixture.uploader { $0.adoption = .latest }
                    .upload(.stream(Chunks(randomBytes(10), size: 3)), to: fixture.destination)
            }
            #expect(error.code == .invalidConfiguration)
            #expect(fixture.server.requests.isEmpty)
        }
    }

    // MARK: Streams that can be opened again

    @Test func `A stream that can be opened again goes on in a later run`() async throws {
        try await withLocalServer { fixture in
            let bytes = randomBytes(6 * Self.part + 5)
            try await self.breakUpload(bytes, fixture)
            let result = try await fixture.uploader().upload(self.replayable(bytes), to: fixture.destination)
            #expect(fixture.partsSent == [4, 5, 6, 7])
            #expect(result.partsResumed == 3)
            #expect(result.partsSent == 4)
            #expect(result.bytesSent == Int64(3 * Self.part + 5))
            #expect(try await fixture.object() == bytes)
            #expect(fixture.openUploads.isEmpty && fixture.records.isEmpty)
        }
    }

    @Test func `What differs from what was stored is sent again`() async throws {
        try await withLocalServer { fixture in
            var bytes = randomBytes(6 * Self.part)
            try await self.breakUpload(bytes, fixture)
            bytes[Self.part + 5] ^= 0x80
            let result = try await fixture.uploader().upload(self.replayable(bytes), to: fixture.destination)
            #expect(fixture.partsSent == [2, 4, 5, 6])
            #expect(result.partsResumed == 2)
            #expect(try await fixture.object() == bytes)
        }
    }

    @Test func `A stream that is shorter now makes the shorter object`() async throws {
        try await withLocalServer { fixture in
            let bytes = randomBytes(6 * Self.part)
            try await self.breakUpload(bytes, fixture)
            let shorter = Array(bytes.prefix(2 * Self.part + 1))
            let result = try await fixture.uploader().upload(self.replayable(shorter), to: fixture.destination)
            #expect(fixture.partsSent == [3])
            #expect(result.partsTotal == 3)
            #expect(try await fixture.object() == shorter)
        }
    }

    @Test func `Parts that the service lost are read and sent again`() async throws {
        try await withLocalServer { fixture in
            let bytes = randomBytes(5 * Self.part)
            let isFirst = Lock(true)
            let source = OSSUploadSource.replayable(named: "tape") {
                var chunks = Chunks(bytes, size: 33_333)
                guard
                    isFirst.withLock({ first in
                        defer { first = false }; return first
                    })
                else { return chunks }
                chunks.onEnd = {
                    while fixture.server.parts(ofUpload: fixture.openUploads.first ?? "").count < 5 {
                        try await Task.sleep(for: .milliseconds(5))
                    }
                    guard let upload = fixture.openUploads.first else { throw Unexpected("there is no upload") }
                    try await fixture.server.removeParts([2, 4], ofUpload: upload)
                }
                return chunks
            }
            let result = try await fixture.uploader().upload(source, to: fixture.destination)
            #expect(fixture.partsSent == [1, 2, 2, 3, 4, 4, 5])
            #expect(result.size == Int64(bytes.count))
            #expect(result.warnings.contains { $0.contains("lost 2 parts") })
            #expect(try await fixture.object() == bytes)
        }
    }

    /// Uploads a stream in a run that completes it and does not learn so.
    private func completeUnheard(_ bytes: [UInt8], _ fixture: LocalFixture) async throws {
        fixture.server.faults.add(.init(.commitThenDrop, operation: "CompleteMultipartUpload"))
        // The look at the key fails as well, so that the run does not learn that the object is there.
        fixture.server.faults.add(.init(.respond(status: 403, code: "AccessDenied"), operation: "HeadObject"))
        let error = try await failure {
            _ = try await fixture.uploader().upload(self.replayable(bytes), to: fixture.destination)
        }
        #expect(error.code == .outcomeUnknown)
        fixture.server.faults.removeAll()
        fixture.server.removeAllRequests()
    }

    @Test func `An upload that an earlier run completed is not sent again`() async throws {
        try await withLocalServer { fixture in
            let bytes = randomBytes(4 * Self.part + 1)
            try await self.completeUnheard(bytes, fixture)
            let result = try await fixture.uploader().upload(self.replayable(bytes), to: fixture.destination)
            #expect(fixture.partsSent.isEmpty)
            #expect(result.proof == .crc64)
            #expect(result.partsResumed == 5)
            #expect(fixture.records.isEmpty)
        }
    }

    @Test func `An upload that vanishes is begun anew once, where the stream can be opened again`() async throws {
        try await withLocalServer { fixture in
            let bytes = randomBytes(3 * Self.part)
            let gone = OSSServer.Fault.Action.respond(status: 404, code: "NoSuchUpload")
            let uploader = fixture.uploader { $0.partsInFlight = .fixed(1) }
            for (source, begun) in [(.stream(Chunks(bytes, size: 1000)), 1), (self.replayable(bytes), 2)] {
                fixture.server.removeAllRequests()
                fixture.server.faults.add(.init(gone, operation: "UploadPart", partNumber: 2))
                let error = try await failure { _ = try await uploader.upload(source, to: fixture.destination) }
                #expect(error.message.contains("vanished"))
                #expect(fixture.count("InitiateMultipartUpload") == begun)
                #expect(try await fixture.object() == nil)
                fixture.server.faults.removeAll()
            }
            fixture.server.faults.add(.init(gone, operation: "UploadPart", partNumber: 2, occurrences: 1...1))
            let result = try await uploader.upload(self.replayable(bytes), to: fixture.destination)
            #expect(result.warnings.contains { $0.contains("is gone from the service") })
            #expect(try await fixture.object() == bytes)
        }
    }

    @Test func `Parts that the service lost cannot be sent again of a stream that is read once`() async throws {
        try await withLocalServer { fixture in
            fixture.server.faults.add(
                .init(.respond(status: 400, code: "InvalidPart"), operation: "CompleteMultipartUpload"))
            let error = try await failure {
                _ = try await fixture.uploader()
                    .upload(.stream(Chunks(randomBytes(2 * Self.part), size: 1000)), to: fixture.destination)
            }
            #expect(error.message.contains("cannot be read again"))
            #expect(fixture.count("CompleteMultipartUpload") == 1)
            #expect(fixture.openUploads.isEmpty)
        }
    }

    @Test func `A recorded stream goes on with its part size, without a listing too, and anew with other headers`()
        async throws
    {
        try await withLocalServer { fixture in
            let bytes = randomBytes(5 * Self.part)
            try await self.breakUpload(bytes, fixture)
            fixture.server.faults.add(.init(.respond(status: 403, code: "AccessDenied"), operation: "ListParts"))
            let larger = fixture.uploader { $0.partSize = 2 * LocalFixture.partSize }
            let result = try await larger.upload(self.replayable(bytes), to: fixture.destination)
            #expect(fixture.partsSent == [4, 5])
            #expect(result.warnings.contains { $0.contains("begun with parts of \(Self.part) bytes") })
            #expect(try await fixture.object() == bytes)

            fixture.server.faults.removeAll()
            try await self.breakUpload(bytes, fixture)
            var destination = fixture.destination
            destination.headers.metadata = ["a": "1"]
            let anew = try await fixture.uploader().upload(self.replayable(bytes), to: destination)
            #expect(anew.partsResumed == 0)
            #expect(fixture.partsSent == [1, 2, 3, 4, 5])
            #expect(fixture.openUploads.isEmpty)
        }
    }

    @Test func `How long a stream of unknown length may be is said at the start`() async throws {
        let account = OSSServer.Account.test
        let isOpen = Lock(false)
        let provider = OSSCredentialsProvider.refreshing {
            while !isOpen.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(2)) }
            return try OSSCredentials(accessKeyID: account.accessKeyID, accessKeySecret: account.accessKeySecret)
        }
        try await withLocalServer(credentials: provider) { fixture in
            let uploader = fixture.uploader { $0.streamBufferLimit = LocalFixture.partSize }
            for size in [nil, 10] as [Int64?] {
                isOpen.withLock { $0 = size != nil }
                let task = uploader.start(
                    .stream(Chunks(randomBytes(10), size: 3), size: size), to: fixture.destination)
                let events = task.events(of: [.notice])
                isOpen.withLock { $0 = true }
                _ = try await task.value
                var notices: [String] = []
                for await event in events where event.kind == .notice { notices.append(event.message ?? "") }
                #expect(notices.count == (size == nil ? 1 : 0))
                #expect(notices.allSatisfy { $0.contains("may have up to \(10_000 * Self.part) bytes") })
            }
        }
    }

    @Test func `How long a stream is, is known at its end and not before`() async throws {
        try await withLocalServer { fixture in
            let (stream, continuation) = AsyncStream.makeStream(of: [UInt8].self)
            let task = fixture.uploader().start(.stream(stream), to: fixture.destination)
            continuation.yield(randomBytes(Self.part))
            continuation.yield(randomBytes(Self.part))
            for await event in task.events where event.snapshot.partsDone == 2 { break }
            #expect(!task.snapshot.isSizeKnown)
            #expect(task.snapshot.fractionCompleted == 0)
            continuation.finish()
            let result = try await task.value
            #expect(task.snapshot.isSizeKnown && task.snapshot.fractionCompleted == 1)
            #expect(result.bytesSent == Int64(2 * Self.part))
        }
    }

    @Test(arguments: ["other bytes", "shorter", "longer"])
    func `What an earlier run completed is not taken for another stream`(kind: String) async throws {
        try await withLocalServer { fixture in
            let bytes = randomBytes(4 * Self.part)
            try await self.completeUnheard(bytes, fixture)
            var other = bytes
            switch kind {
            case "shorter": other.removeLast(Self.part)
            case "longer": other += randomBytes(Self.part)
            default: other[3 * Self.part] ^= 1
            }
            let result = try await fixture.uploader().upload(self.replayable(other), to: fixture.destination)
            #expect(fixture.partsSent == Array(1...(other.count / Self.part)))
            #expect(result.partsResumed == 0)
            #expect(try await fixture.object() == other)
        }
    }

    @Test func `A stream that can be read once is not paused, and its length is known at its end`() async throws {
        try await withLocalServer { fixture in
            let bytes = randomBytes(3 * Self.part + 7)
            let (chunks, continuation) = AsyncStream.makeStream(of: [UInt8].self)
            let task = fixture.uploader().start(.stream(chunks), to: fixture.destination)
            continuation.yield(Array(bytes.prefix(Self.part)))
            task.pause()
            #expect(!task.snapshot.isPaused)
            continuation.yield(Array(bytes.dropFirst(Self.part)))
            continuation.finish()
            _ = try await task.value
            #expect(task.snapshot.bytesTotal == Int64(bytes.count))
            #expect(task.snapshot.bytesDone == Int64(bytes.count))
            #expect(try await fixture.object() == bytes)
        }
    }

    @Test func `A paused stream that can be opened again goes on`() async throws {
        try await withLocalServer { fixture in
            fixture.server.faults.add(
                .init(.stall(.seconds(3600)), operation: "UploadPart", partNumber: 3, occurrences: 1...1))
            let bytes = randomBytes(5 * Self.part)
            let task = fixture.uploader { $0.partsInFlight = .fixed(1) }.start(
                self.replayable(bytes), to: fixture.destination)
            while fixture.server.faults.count(ofOperation: "UploadPart") < 1 {
                try await Task.sleep(for: .milliseconds(5))
            }
            let events = task.events
            task.pause()
            for await event in events where event.kind == .paused { break }
            fixture.server.removeAllRequests()
            task.resume()
            let result = try await task.value
            // Whether the part that was on its way is stored is the service's secret.
            #expect([[3, 4, 5], [4, 5]].contains(fixture.partsSent))
            #expect(result.partsResumed == 5 - fixture.partsSent.count)
            #expect(try await fixture.object() == bytes)
        }
    }

    @Test func `A stream that cannot be opened is told before anything is sent`() async throws {
        try await withLocalServer { fixture in
            let source = OSSUploadSource.replayable(named: "tape") { () async throws -> Chunks in throw BrokenStream() }
            let error = try await failure { _ = try await fixture.uploader().upload(source, to: fixture.destination) }
            #expect(error.code == .sourceUnreadable)
            #expect(error.message.contains("tape"))
            #expect(fixture.server.requests.isEmpty)
        }
    }

    // MARK: Descriptors

    @Test(arguments: [0, 5, 3 * part + 5]) func `A pipe is read to its end`(size: Int) async throws {
        try await withLocalServer { fixture in
            let bytes = randomBytes(size)
            let pipe = try TestPipe()
            let writing = Task.detached {
                try pipe.write(bytes); pipe.closeWriter()
            }
            let source = OSSUploadSource.fileDescriptor(pipe.reader.descriptor)
            _ = try await fixture.uploader().upload(source, to: fixture.destination)
            try await writing.value
            #expect(try await fixture.object() == bytes)
        }
    }

    @Test func `Cancelling does not wait for whoever has the pipe's other end`() async throws {
        try await withLocalServer { fixture in
            let pipe = try TestPipe()
            try pipe.write([1, 2, 3])
            let task = fixture.uploader().start(.fileDescriptor(pipe.reader.descriptor), to: fixture.destination)
            try await Task.sleep(for: .milliseconds(20))
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            pipe.closeWriter()
        }
    }

    // MARK: Helpers

    private func replayable(_ bytes: [UInt8]) -> OSSUploadSource {
        .replayable(named: "tape") { Chunks(bytes, size: 33_333) }
    }

    /// Uploads the parts before part 4, one by one.
    private func breakUpload(_ bytes: [UInt8], _ fixture: LocalFixture) async throws {
        fixture.server.faults.add(
            .init(.respond(status: 403, code: "AccessDenied"), operation: "UploadPart", partNumber: 4)
        )
        let error = try await failure {
            _ = try await fixture.uploader { $0.partsInFlight = .fixed(1) }
                .upload(self.replayable(bytes), to: fixture.destination)
        }
        #expect(error.service?.code == .accessDenied)
        #expect(error.resumption?.bytesUploaded == Int64(3 * Self.part))
        fixture.server.faults.removeAll()
        fixture.server.removeAllRequests()
    }
}

/// A pipe of the system.
private final class TestPipe: Sendable {
    let reader: PosixFile
    private let end: Lock<PosixFile?>

    init() throws {
        var ends: [Int32] = [0, 0]
        guard unsafe pipe(&ends) == 0 else { throw Unexpected("no pipe can be had") }
        self.reader = PosixFile(adopting: ends[0], path: "pipe")
        self.end = Lock(PosixFile(adopting: ends[1], path: "pipe"))
    }

    func write(_ bytes: [UInt8]) throws { try self.end.withLock { $0 }?.write(bytes) }
    func closeWriter() { self.end.withLock { $0 = nil } }
}
