// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import FoundationEssentials
import OSSLocalServer
import Testing

@testable import OSSMultipart

@Suite(.timeLimit(.minutes(5))) struct UploadTaskTests {
    private static let part = Int(LocalFixture.partSize)

    /// Begins an upload that stores the first parts and is held at the others.
    private func heldTask(
        _ fixture: LocalFixture, _ file: TestFile, stored: Int, parts: Int, _ checkpoints: OSSCheckpoints? = nil
    ) async throws -> OSSUploadTask {
        for part in stored + 1...parts {
            fixture.server.faults.add(.init(.delay(.seconds(3600)), operation: "UploadPart", partNumber: part))
        }
        let task = fixture.uploader(checkpoints: checkpoints).start(.file(file.url), to: fixture.destination)
        // By what the snapshots say: an event may have come before anybody listened.
        for await event in task.events where event.snapshot.partsDone >= stored { break }
        return task
    }

    @Test(arguments: [true, false])
    func `A paused upload waits, and goes on with what is missing`(withRecord: Bool) async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 8 * Self.part)
            let task = try await self.heldTask(
                fixture, file, stored: 3, parts: 8, withRecord ? nil : OSSCheckpoints.none)
            let events = task.events
            task.pause()
            for await event in events where event.kind == .paused { break }
            #expect(task.snapshot.isPaused)
            #expect(!task.snapshot.hasEnded)
            #expect(task.snapshot.partsInFlight == 0)
            #expect(fixture.openUploads.count == 1)
            fixture.server.faults.removeAll()
            fixture.server.removeAllRequests()
            task.resume()
            let result = try await task.value
            #expect(fixture.partsSent == Array(4...8))
            #expect(result.partsResumed == 3)
            #expect(try await fixture.object() == file.bytes)
            #expect(fixture.records.isEmpty)
            #expect(task.snapshot.hasEnded)
        }
    }

    @Test func `It counts as paused no longer than until it goes on, be its parts listed or not`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 6 * Self.part)
            let task = try await self.heldTask(fixture, file, stored: 2, parts: 6)
            let events = task.events
            task.pause()
            for await event in events where event.kind == .paused { break }
            fixture.server.faults.removeAll()
            fixture.server.faults.add(.init(.delay(.seconds(3600)), operation: "ListParts"))
            task.resume()
            try await fixture.wait { fixture.server.faults.count(ofOperation: "ListParts") > 0 }
            #expect(!task.snapshot.isPaused)
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    }

    @Test func `Paused and resumed many times in a row it still stores the object`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 12 * Self.part)
            let task = fixture.uploader().start(.file(file.url), to: fixture.destination)
            for round in 0..<40 {
                task.pause()
                if round.isMultiple(of: 3) { await Task.yield() }
                task.resume()
                await Task.yield()
            }
            _ = try await task.value
            #expect(try await fixture.object() == file.bytes)
            #expect(fixture.openUploads.isEmpty)
            #expect(fixture.records.isEmpty)
        }
    }

    @Test func `A cancelled paused upload ends, and keeps its record`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 6 * Self.part)
            let task = try await self.heldTask(fixture, file, stored: 2, parts: 6)
            let events = task.events
            task.pause()
            for await event in events where event.kind == .paused { break }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            task.resume()
            task.pause()
            #expect(fixture.records.count == 1)
            fixture.server.faults.removeAll()
            fixture.server.removeAllRequests()
            try await fixture.upload(file)
            #expect(fixture.partsSent == Array(3...6))
        }
    }

    @Test func `Cancelled while paused it is cancelled, also where its source has gone meanwhile`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 6 * Self.part)
            let task = try await self.heldTask(fixture, file, stored: 2, parts: 6)
            let events = task.events
            task.pause()
            for await event in events where event.kind == .paused { break }
            try FileManager.default.removeItem(atPath: file.path)
            fixture.server.removeAllRequests()
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(fixture.server.requests.isEmpty)
            #expect(fixture.records.count == 1)
        }
    }

    @Test(arguments: [true, false])
    func `Aborting stops the parts, gives up the upload and removes the record`(isPaused: Bool) async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 6 * Self.part)
            let task = try await self.heldTask(fixture, file, stored: 2, parts: 6)
            if isPaused {
                let events = task.events
                task.pause()
                for await event in events where event.kind == .paused { break }
            }
            try await task.abort()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(fixture.openUploads.isEmpty)
            #expect(fixture.records.isEmpty)
            // Once more is nothing.
            try await task.abort()
        }
    }

    @Test func `Aborting an upload that has ended changes nothing`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 3 * Self.part)
            let task = fixture.uploader().start(.file(file.url), to: fixture.destination)
            _ = try await task.value
            try await task.abort()
            #expect(try await fixture.object() == file.bytes)
        }
    }

    @Test func `An abort that fails is thrown, and keeps the record`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 6 * Self.part)
            let task = try await self.heldTask(fixture, file, stored: 2, parts: 6)
            fixture.server.faults.add(
                .init(.respond(status: 403, code: "AccessDenied"), operation: "AbortMultipartUpload"))
            let error = try await failure { try await task.abort() }
            #expect(error.service?.code == .accessDenied)
            #expect(fixture.records.count == 1)
            fixture.server.faults.removeAll()
            #expect(try await fixture.uploader().abandon(fixture.destination))
            #expect(fixture.openUploads.isEmpty)
            #expect(fixture.records.isEmpty)
            #expect(try await fixture.uploader().abandon(fixture.destination) == false)
        }
    }

    @Test func `A part that lands after the abort does not keep the upload`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 3 * Self.part)
            try await fixture.breakUpload(file, atPart: 2)
            // The first abort is answered well and does nothing, as where a part lands behind it.
            fixture.server.faults.add(
                .init(.respondRaw(status: 204, body: []), operation: "AbortMultipartUpload", occurrences: 1...1))
            #expect(try await fixture.uploader().abandon(fixture.destination))
            #expect(fixture.count("AbortMultipartUpload") == 2)
            #expect(fixture.openUploads.isEmpty)
        }
    }

    @Test func `An upload that is at work cannot be abandoned from elsewhere`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 6 * Self.part)
            let task = try await self.heldTask(fixture, file, stored: 2, parts: 6)
            let error = try await failure { try await fixture.uploader().abandon(fixture.destination) }
            #expect(error.code == .checkpointInUse)
            try await task.abort()
        }
    }

    @Test func `Without a checkpoint what was begun is given up, and what was taken over is not`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 4 * Self.part)
            let refusal = OSSServer.Fault(
                .respond(status: 403, code: "AccessDenied"), operation: "UploadPart", partNumber: 3)
            fixture.server.faults.add(refusal)
            let own = fixture.uploader(checkpoints: OSSCheckpoints.none).start(
                .file(file.url), to: fixture.destination)
            let error = try await failure { _ = try await own.value }
            // The record that a pause would need has gone with the task.
            #expect(error.resumption == nil)
            #expect(fixture.openUploads.isEmpty)

            fixture.server.faults.removeAll()
            let other = try await fixture.breakUpload(file, atPart: 2)
            fixture.server.faults.add(refusal)
            let adopting = fixture.uploader(checkpoints: OSSCheckpoints.none) { $0.adoption = .latest }
                .start(.file(file.url), to: fixture.destination)
            _ = try await failure { _ = try await adopting.value }
            #expect(fixture.openUploads == [other])

            fixture.server.faults.add(
                .init(.respond(status: 403, code: "AccessDenied"), operation: "AbortMultipartUpload"))
            let stuck = fixture.uploader(checkpoints: OSSCheckpoints.none).start(
                .file(file.url), to: .init(bucket: LocalFixture.bucket, key: "other"))
            #expect(try await failure { _ = try await stuck.value }.service?.code == .accessDenied)
            var warnings: [String] = []
            for await event in stuck.events where event.kind == .warning { warnings.append(event.message ?? "") }
            #expect(warnings.contains { $0.contains("could not be aborted") })
        }
    }

    @Test func `Each part's state can be seen`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 8 * Self.part)
            let task = try await self.heldTask(fixture, file, stored: 3, parts: 8)
            #expect(task.partStates.prefix(3).allSatisfy { $0 == .stored })
            #expect(task.partStates.contains(.inFlight))
            #expect(task.partStates.last == .pending)
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(!task.partStates.contains(.inFlight))
            #expect(!task.partStates.contains(.failed))

            fixture.server.faults.removeAll()
            fixture.server.faults.add(
                .init(.respond(status: 403, code: "AccessDenied"), operation: "UploadPart", partNumber: 5))
            let failing = fixture.uploader().start(.file(file.url), to: fixture.destination)
            _ = try await failure { _ = try await failing.value }
            #expect(failing.partStates[4] == .failed)
            #expect(failing.partStates.prefix(3).allSatisfy { $0 == .stored })

            fixture.server.faults.removeAll()
            let last = fixture.uploader().start(.file(file.url), to: fixture.destination)
            _ = try await last.value
            #expect(last.partStates == Array(repeating: .stored, count: 8))
        }
    }

    @Test func `Every reader of events gets a snapshot first and the end last, also one that comes late`() async throws
    {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 3 * Self.part)
            let task = fixture.uploader().start(.file(file.url), to: fixture.destination)
            let early = [task.events, task.events]
            _ = try await task.value
            for events in early {
                var kinds: [OSSUploadEvent.Kind] = []
                for await event in events { kinds.append(event.kind) }
                #expect(kinds.first == .snapshot)
                #expect(kinds.filter { $0 == .partStored }.count <= 3)
                // The file is not all stored yet when somebody listens at once.
                #expect(kinds.last == .completing)
            }
            var late: [OSSUploadEvent] = []
            for await event in task.events { late.append(event) }
            #expect(late.map(\.kind) == [.snapshot])
            #expect(late.first?.snapshot.hasEnded == true)
        }
    }

    @Test func `A reader of some kinds of events hears of a snapshot and of those alone`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 3 * Self.part)
            let task = fixture.uploader().start(.file(file.url), to: fixture.destination)
            let events = task.events(of: [.completing, .warning])
            _ = try await task.value
            var kinds: [OSSUploadEvent.Kind] = []
            for await event in events { kinds.append(event.kind) }
            #expect(kinds == [.snapshot, .completing])
        }
    }
}
