// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import FoundationEssentials
import OSSLocalServer
import Testing

@testable import OSSMultipart

@Suite(.timeLimit(.minutes(5))) struct CancellationTests {
    private static let part = Int(LocalFixture.partSize)

    /// Where an upload can be when it is cancelled: the operation that is held up.
    enum Point: String, CaseIterable, Sendable {
        case initiate = "InitiateMultipartUpload"
        case part = "UploadPart"
        case complete = "CompleteMultipartUpload"
        case list = "ListParts"
        case head = "HeadObject"
        case put = "PutObject"
        case uploads = "ListMultipartUploads"
        case abort = "AbortMultipartUpload"
    }

    /// Brings an upload to where it will ask for the operation, and returns the file to upload.
    private func prepare(_ point: Point, _ fixture: LocalFixture) async throws -> TestFile {
        let file = try fixture.file(size: 6 * Self.part)
        switch point {
        case .initiate, .part, .complete: return file
        case .put: return try fixture.file("small", size: 100)
        case .list:
            try await fixture.breakUpload(file, atPart: 3)
            return file
        case .abort:
            try await fixture.breakUpload(file, atPart: 3)
            return try TestFile(file.path, file.bytes + [1])
        case .head:
            fixture.server.faults.add(
                .init(.commitThenDrop, operation: "CompleteMultipartUpload", occurrences: 1...1)
            )
            return file
        case .uploads:
            fixture.server.faults.add(
                .init(.commitThenDrop, operation: "InitiateMultipartUpload", occurrences: 1...1)
            )
            return file
        }
    }

    @Test(arguments: Point.allCases)
    func `Cancelled anywhere it ends at once, and the next run finishes`(point: Point) async throws {
        try await withLocalServer { fixture in
            let file = try await self.prepare(point, fixture)
            // What is held is held for longer than the test may take: only cancelling can end it.
            fixture.server.faults.add(.init(.delay(.seconds(3600)), operation: point.rawValue))
            let task = fixture.uploader().start(.file(file.url), to: fixture.destination)
            try await fixture.waitUntilHeld(point.rawValue)
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            fixture.server.faults.removeAll()
            try await fixture.upload(file)
            #expect(try await fixture.object() == file.bytes)
            #expect(fixture.records.isEmpty)
            #expect(fixture.openUploads.isEmpty)
        }
    }

    @Test func `Cancelled while it waits before another attempt it ends at once`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 6 * Self.part)
            let later = OSSServer.Fault.Action.respond(status: 503, code: "SlowDown", headers: ["Retry-After": "3600"])
            fixture.server.faults.add(.init(later, operation: "UploadPart"))
            let task = fixture.uploader().start(.file(file.url), to: fixture.destination)
            try await fixture.waitUntilHeld("UploadPart")
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    }

    @Test func `Cancelled while the source is read again it ends, and nothing is lost`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 6 * Self.part)
            try await fixture.breakUpload(file, atPart: 5)
            let uploader = fixture.uploader { $0.verification = .content }
            let destination = fixture.destination
            for yields in 0..<12 {
                let task = Task { try await uploader.upload(.file(file.url), to: destination) }
                for _ in 0..<yields * 3 { await Task.yield() }
                task.cancel()
                // It may have been quicker than the cancellation; then it must be right.
                if (try? await task.value) != nil { break }
            }
            // One that was cancelled while Complete was on its way does not know what came of it: the next run finds out.
            if !fixture.records.isEmpty { try await fixture.upload(file) }
            #expect(try await fixture.object() == file.bytes)
            #expect(fixture.records.isEmpty)
            #expect(fixture.openUploads.isEmpty)
        }
    }

    // Case 83: https://github.com/vm0-ai/vm0/pull/28100
    @Test(arguments: [true, false])
    func `Cancelled while Complete is on its way, without a checkpoint, it leaves the object or nothing`(
        isApplied: Bool
    ) async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 3 * Self.part)
            let held: OSSServer.Fault.Action = isApplied ? .stall(.seconds(3600)) : .delay(.seconds(3600))
            fixture.server.faults.add(.init(held, operation: "CompleteMultipartUpload"))
            let task = fixture.uploader(checkpoints: OSSCheckpoints.none).start(
                .file(file.url), to: fixture.destination)
            try await fixture.waitUntilHeld("CompleteMultipartUpload")
            if isApplied { while try await fixture.object() == nil { try await Task.sleep(for: .milliseconds(2)) } }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(fixture.openUploads.isEmpty)
            #expect(fixture.count("AbortMultipartUpload") == (isApplied ? 0 : 1))
            let object = try await fixture.object()
            #expect(object == (isApplied ? file.bytes : nil))
        }
    }

    @Test func `A task that is cancelled before it begins sends nothing`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 6 * Self.part)
            let uploader = fixture.uploader()
            let destination = fixture.destination
            let task = Task {
                while !Task.isCancelled { try? await Task.sleep(for: .milliseconds(2)) }
                return try await uploader.upload(.file(file.url), to: destination)
            }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(fixture.server.requests.isEmpty)
            #expect(fixture.openUploads.isEmpty)
        }
    }

    @Test func `A waiter that is cancelled does not cancel the upload`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 4 * Self.part)
            fixture.server.faults.add(.init(.delay(.milliseconds(20)), operation: "UploadPart"))
            let upload = fixture.uploader().start(.file(file.url), to: fixture.destination)
            let waiter = Task { try await upload.value }
            waiter.cancel()
            _ = try await waiter.value
            #expect(try await fixture.object() == file.bytes)
        }
    }
}

extension LocalFixture {
    /// Waits until a request of that operation is at the server, held by a rule.
    fileprivate func waitUntilHeld(_ operation: String) async throws {
        let started = ContinuousClock.now
        while self.server.faults.count(ofOperation: operation) == 0 {
            if started.duration(to: .now) > .seconds(90) { throw Unexpected("no \(operation) came") }
            // Sleeps, for a task that only yields takes the threads from those it waits for.
            try await Task.sleep(for: .milliseconds(2))
        }
    }
}
