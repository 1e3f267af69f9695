// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import OSSLocalServer
import SystemIO
import Testing

@testable import OSSMultipart

/// A store whose disk is full after so many writes.
private struct FullDiskStore: CheckpointStore {
    let memory = MemoryCheckpointStore()
    let writesLeft: Counter
    /// Whether what was written can be made durable.
    var synchronizes = true

    func names() throws -> [String]? { try self.memory.names() }
    func peek(_ name: String, limit: Int) throws -> [UInt8]? { try self.memory.peek(name, limit: limit) }

    final class Counter: Sendable {
        private let count: Lock<Int>
        private let failures: Int
        /// - Parameters:
        ///   - count: writes that succeed at first.
        ///   - failures: writes that fail then, until there is room again.
        init(_ count: Int, failures: Int = .max) {
            self.count = Lock(count)
            self.failures = failures
        }
        func take() -> Bool {
            self.count.withLock { count in
                count -= 1
                return count >= 0 || -count > self.failures
            }
        }
    }

    func location(of name: String) -> String { self.memory.location(of: name) }

    func open(_ name: String, creating: Bool) throws -> (any CheckpointRecord)? {
        try self.memory.open(name, creating: creating).map {
            Record(inner: $0, writesLeft: self.writesLeft, synchronizes: self.synchronizes)
        }
    }

    private final class Record: CheckpointRecord {
        private let inner: any CheckpointRecord
        private let writesLeft: Counter
        private let synchronizes: Bool

        init(inner: any CheckpointRecord, writesLeft: Counter, synchronizes: Bool) {
            self.inner = inner
            self.writesLeft = writesLeft
            self.synchronizes = synchronizes
        }

        func read() throws -> [UInt8] { try self.inner.read() }
        func append(_ bytes: [UInt8]) throws {
            guard self.writesLeft.take() else {
                // A full disk takes the first bytes of a line and not the rest.
                try self.inner.append(Array(bytes.prefix(bytes.count / 2)))
                throw OSSError(.checkpointUnusable, "write: No space left on device")
            }
            try self.inner.append(bytes)
        }
        func truncate(to length: Int) throws { try self.inner.truncate(to: length) }
        func synchronize(name: Bool) throws {
            guard self.synchronizes else { throw OSSError(.checkpointUnusable, "fsync: Input/output error") }
            try self.inner.synchronize(name: name)
        }
        func setAside() throws -> String { try self.inner.setAside() }
        func close() { self.inner.close() }
        func remove() throws { try self.inner.remove() }
    }
}

@Suite(.timeLimit(.minutes(5))) struct FullDiskTests {
    private static let part = Int(LocalFixture.partSize)

    private func checkpoints(_ store: FullDiskStore, isRequired: Bool) -> OSSCheckpoints {
        OSSCheckpoints(store: store, isRequired: isRequired, warning: nil, description: "full")
    }

    @Test func `A disk that is full at the start is an error where the record is required, and leaves no upload`()
        async throws
    {
        for writes in [0, 1] {
            try await withLocalServer { fixture in
                let file = try fixture.file(size: 4 * Self.part)
                let store = FullDiskStore(writesLeft: .init(writes))
                let error = try await failure {
                    try await fixture.upload(
                        file, fixture.uploader(checkpoints: self.checkpoints(store, isRequired: true)))
                }
                #expect(error.code == .checkpointUnusable)
                #expect(fixture.openUploads.isEmpty)
                #expect(fixture.partsSent.isEmpty)
            }
        }
    }

    @Test func `A disk that is full at the start is a warning where the record is not required`() async throws {
        for writes in [0, 1] {
            try await withLocalServer { fixture in
                let file = try fixture.file(size: 4 * Self.part)
                let store = FullDiskStore(writesLeft: .init(writes))
                let result = try await fixture.upload(
                    file, fixture.uploader(checkpoints: self.checkpoints(store, isRequired: false))
                )
                #expect(result.warnings.contains { $0.contains("without a checkpoint") })
                #expect(try await fixture.object() == file.bytes)
            }
        }
    }

    @Test func `A disk that becomes full does not stop the upload, and the torn line spoils nothing`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 6 * Self.part)
            let store = FullDiskStore(writesLeft: .init(4))
            fixture.server.faults.add(
                .init(.respond(status: 403, code: "AccessDenied"), operation: "UploadPart", partNumber: 6)
            )
            let full = fixture.uploader(checkpoints: self.checkpoints(store, isRequired: true)) {
                $0.partsInFlight = .fixed(1)
            }
            let task = full.start(.file(file.url), to: fixture.destination)
            var warnings: [String] = []
            for await event in task.events where event.kind == .warning { warnings.append(event.message ?? "") }
            _ = try await failure { _ = try await task.value }
            // Told once, however many lines could not be written.
            #expect(warnings.filter { $0.contains("No space left") }.count == 1)

            fixture.server.faults.removeAll()
            fixture.server.removeAllRequests()
            let result = try await fixture.upload(file, full)
            // Two parts are recorded, three more are known to the service and compared with the source.
            #expect(fixture.partsSent == [6])
            #expect(result.partsResumed == 5)
            #expect(try await fixture.object() == file.bytes)
        }
    }

    @Test func `A disk that is full for a while costs a queue's manifest one line and no other`() async throws {
        try await withLocalServer { fixture in
            let items = try (0..<5).map { number in
                OSSUploadQueue.Item(
                    .file(try fixture.file("f\(number)", size: 10).url),
                    to: .init(bucket: LocalFixture.bucket, key: "k\(number)"))
            }
            fixture.server.faults.add(
                .init(.respond(status: 403, code: "AccessDenied"), operation: "PutObject", key: "k4"))
            let store = FullDiskStore(writesLeft: .init(1, failures: 2))
            var configuration = OSSUploadQueue.Configuration()
            configuration.maximumFilesAtWork = 1
            let queue = OSSUploadQueue(
                uploader: fixture.uploader(checkpoints: self.checkpoints(store, isRequired: true)),
                configuration: configuration)
            let first = try await queue.upload(items, manifest: "batch")
            // Told once, however many lines could not be written.
            #expect(first.warnings.count == 1)
            #expect(first.warnings.first?.contains("No space left on device; what is stored now will be sent") == true)
            let second = try await queue.upload(items, manifest: "batch")
            #expect(second.files.map(\.wasStoredBefore) == [true, false, false, true, false])
        }
    }

    @Test func `Lines that were written and not made durable stay whole when a later one is torn`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 4 * Self.part)
            let store = FullDiskStore(writesLeft: .init(1), synchronizes: false)
            let run = try UploadRun(
                uploader: fixture.uploader(checkpoints: self.checkpoints(store, isRequired: true)),
                source: OpenSource(path: file.path),
                plan: PartPlan(size: Int64(file.bytes.count), partSize: LocalFixture.partSize),
                destination: fixture.destination, progress: UploadProgress())
            try await run.openRecord(creating: true)
            let lines = Journal.beginning(run.intent)
            let error = try await failure { try await run.writeDurably(lines, isFirst: true) }
            #expect(error.code == .checkpointUnusable)
            await run.appendLine(Journal.completingLine)
            #expect(try await run.readRecord() == lines)
        }
    }
}
