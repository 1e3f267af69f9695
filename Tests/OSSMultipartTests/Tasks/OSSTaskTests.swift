// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import Foundation
import OSSLocalServer
import SystemIO
import Testing

@testable import OSSMultipart

/// What futures promise.
@Suite(.timeLimit(.minutes(5))) struct OSSTaskTests {
    private struct Failed: Error, Equatable { let number: Int }

    /// Opens once; those who wait before go on then.
    private final class Gate: Sendable {
        private let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        func open() { self.continuation.finish() }
        func wait() async { for await _ in self.stream {} }
    }

    /// Runs synchronous code on a thread that belongs to no task.
    private func onThread<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            Thread { continuation.resume(returning: body()) }.start()
        }
    }

    @Test func `A future that nobody awaits still runs`() async {
        let gate = Gate()
        _ = OSSTask { gate.open() }
        await gate.wait()
    }

    @Test func `Every waiter gets the value, also one that comes late`() async throws {
        let gate = Gate()
        let future = OSSTask { () async throws -> Int in
            await gate.wait()
            return 7
        }
        async let first = future.value
        async let second = future.value
        gate.open()
        #expect(try await [first, second] == [7, 7])
        #expect(try await future.value == 7)
        #expect(try await future.result.get() == 7)
    }

    @Test func `An error is delivered once to each waiter`() async {
        let calls = Lock(0)
        let future = OSSTask { () async throws -> Int in
            calls.withLock { $0 += 1 }
            throw Failed(number: 1)
        }
        for _ in 1...3 { await #expect(throws: Failed(number: 1)) { try await future.value } }
        #expect(calls.withLock { $0 } == 1)
    }

    @Test func `Cancelling stops the operation, and each waiter hears of it`() async {
        let future = OSSTask { try await Task.sleep(for: .seconds(3600)) }
        future.cancel()
        for _ in 1...2 { await #expect(throws: CancellationError.self) { try await future.value } }
    }

    @Test func `A waiter that is cancelled cancels nothing`() async throws {
        let gate = Gate()
        let future = OSSTask { () async throws -> Int in
            await gate.wait()
            try Task.checkCancellation()
            return 5
        }
        let waiter = Task { try await future.value }
        waiter.cancel()
        gate.open()
        #expect(try await waiter.value == 5)
        #expect(try await future.value == 5)
    }

    // MARK: Continuations

    @Test func `A continuation gets the value, and what it makes of it is a future again`() async throws {
        let text = OSSTask { 20 }.continueWith { try $0.get() + 1 }.continueWith { "\(try $0.get())" }
        #expect(try await text.value == "21")
    }

    @Test func `A continuation gets the error too, and may make a value of it`() async throws {
        let calls = Lock(0)
        let future = OSSTask { () async throws -> Int in throw Failed(number: 3) }
        let next = future.continueWith { result -> Int in
            calls.withLock { $0 += 1 }
            guard case .failure(let error as Failed) = result else { return -1 }
            return error.number
        }
        #expect(try await next.value == 3)
        #expect(calls.withLock { $0 } == 1)
        await #expect(throws: Failed(number: 3)) { try await future.value }
    }

    @Test func `Cancelling a continuation does not cancel its source, and ends it at once`() async throws {
        let gate = Gate()
        let source = OSSTask { () async throws -> Int in
            await gate.wait()
            try Task.checkCancellation()
            return 1
        }
        let wasCalled = Lock(false)
        let next = source.continueWith { _ in wasCalled.withLock { $0 = true } }
        next.cancel()
        // The source still waits at the gate.
        await #expect(throws: CancellationError.self) { try await next.value }
        gate.open()
        #expect(try await source.value == 1)
        #expect(!wasCalled.withLock { $0 })
    }

    @Test func `Cancelling the source tells its continuation`() async throws {
        let source = OSSTask { try await Task.sleep(for: .seconds(3600)) }
        let next = source.continueWith { result -> Bool in
            guard case .failure(let error) = result else { return false }
            return error is CancellationError
        }
        source.cancel()
        #expect(try await next.value)
    }

    @MainActor @Test func `Operations and continuations never run on the main actor unless asked`() async throws {
        let hasEnded = Semaphore()
        let next = OSSTask { 1 }.continueWith { _ in hasEnded.post() }
        // The main actor is held here: whatever needed it could not end.
        #expect(hasEnded.wait(seconds: 240))
        let asked = next.continueWith { @MainActor _ in MainActor.assertIsolated() }
        try await asked.value
    }

    @Test func `The priority is the one asked for`() async throws {
        #expect(try await OSSTask(priority: .background) { Task.basePriority }.value == .background)
        let next = OSSTask { 1 }.continueWith(priority: .utility) { _ in Task.basePriority }
        #expect(try await next.value == .utility)
        let tasks = try scriptedClient(ScriptedTransport([])).tasks.withPriority(.background)
        #expect(try await tasks.start { _ in Task.basePriority }.value == .background)
    }

    // MARK: Many

    @Test func `All values come in the order of the futures, whatever the order of their ends`() async throws {
        let gates = (0..<3).map { _ in Gate() }
        let futures = gates.enumerated().map { index, gate in
            OSSTask { () async throws -> Int in
                await gate.wait()
                return index
            }
        }
        let all = OSSTask.whenAll(futures)
        for gate in gates.reversed() { gate.open() }
        #expect(try await all.value == [0, 1, 2])
        #expect(try await OSSTask<Int>.whenAll([]).value == [])
    }

    @Test func `Of several errors the first in the list is thrown, when all have ended`() async throws {
        let gate = Gate(), lastGate = Gate()
        let late = Lock(false)
        let futures: [OSSTask<Int>] = [
            OSSTask { 0 },
            OSSTask {
                await gate.wait()
                throw Failed(number: 1)
            },
            OSSTask { throw Failed(number: 2) },
            OSSTask {
                await lastGate.wait()
                late.withLock { $0 = true }
                return 3
            },
        ]
        let all = OSSTask.whenAll(futures)
        let wasLast = all.continueWith { _ in late.withLock { $0 } }
        _ = await futures[2].result
        gate.open()
        _ = await futures[1].result
        // Time to end too early.
        try await Task.sleep(for: .milliseconds(50))
        lastGate.open()
        await #expect(throws: Failed(number: 1)) { try await all.value }
        #expect(try await wasLast.value)
    }

    @Test func `Cancelling the future of many cancels none of them`() async throws {
        let gate = Gate()
        let future = OSSTask { () async throws -> Int in
            await gate.wait()
            try Task.checkCancellation()
            return 1
        }
        let all = OSSTask.whenAll([future])
        all.cancel()
        await #expect(throws: CancellationError.self) { try await all.value }
        gate.open()
        #expect(try await future.value == 1)
    }

    // MARK: Blocking

    @Test func `A thread of one's own may wait`() async throws {
        let result = await self.onThread { Result { try OSSTask { 9 }.waitUntilFinished() } }
        #expect(try result.get() == 9)
        let failure = await self.onThread {
            Result { try OSSTask { () async throws -> Int in throw Failed(number: 4) }.waitUntilFinished() }
        }
        #expect(throws: Failed(number: 4)) { try failure.get() }
    }

    @Test func `Within a task waiting is refused at once, and the future goes on`() async throws {
        let gate = Gate()
        let future = OSSTask { () async throws -> Int in
            await gate.wait()
            return 1
        }
        // A synchronous function hides from the compiler where it is called.
        func wait() throws -> Int { try future.waitUntilFinished() }
        #expect { try wait() } throws: { ($0 as? OSSError)?.code == .wouldBlock }
        let elsewhere = await Task.detached { Result { try wait() } }.value
        #expect { try elsewhere.get() } throws: { ($0 as? OSSError)?.code == .wouldBlock }
        gate.open()
        #expect(try await future.value == 1)
    }

    @Test func `Threads that wait take none of Swift's: tasks go on beside them`() async throws {
        let gate = Gate()
        let future = OSSTask { () async throws -> Int in
            await gate.wait()
            return 1
        }
        let waiters = (0..<64).map { _ in Task { await self.onThread { Result { try future.waitUntilFinished() } } } }
        // More tasks than threads, each of which must run for the gate to open.
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<64 { group.addTask { await Task.yield() } }
        }
        gate.open()
        for waiter in waiters { #expect(try await waiter.value.get() == 1) }
    }

    // MARK: Memory

    @Test func `Nothing is left of futures that nobody keeps`() async throws {
        final class Token: Sendable {}
        weak var token: Token?
        weak var shared: Token?
        do {
            let held = Token()
            let other = Token()
            token = held
            shared = other
            _ = OSSTask { withExtendedLifetime(held) {} }.continueWith { _ in withExtendedLifetime(other) {} }
            let failing = OSSTask { () async throws -> Token in throw Failed(number: 1) }
            _ = OSSTask.whenAll([failing, OSSTask { held }])
        }
        while token != nil || shared != nil { try await Task.sleep(for: .milliseconds(5)) }
    }

    // MARK: The operations

    @Test func `The operations run as futures, step by step`() async throws {
        try await withLocalServer { fixture in
            let tasks = fixture.client.tasks
            let bytes = randomBytes(2 * 102_400 + 5)
            let upload = try await tasks.initiateMultipartUpload(
                .init(bucket: LocalFixture.bucket, key: LocalFixture.key)
            ).value
            let pieces = [0..<102_400, 102_400..<204_800, 204_800..<bytes.count]
            let parts = pieces.enumerated().map { index, piece in
                tasks.uploadPart(
                    .init(
                        upload: upload, partNumber: index + 1, body: .bytes(Array(bytes[piece])), isLastPart: index == 2
                    )
                )
            }
            let results = try await OSSTask.whenAll(parts).value
            #expect(try await tasks.listParts(.init(upload: upload)).value.parts.count == 3)
            #expect(
                try await tasks.listMultipartUploads(.init(bucket: LocalFixture.bucket)).value.uploads.count == 1)
            let complete = tasks.completeMultipartUpload(.init(upload: upload, parts: results.map(\.info)))
            let crc = complete.continueWith { try $0.get().crc64 }
            #expect(try await crc.value != nil)
            #expect(try await fixture.object() == bytes)
            let head = try await tasks.headObject(.init(bucket: LocalFixture.bucket, key: LocalFixture.key)).value
            #expect(head.size == Int64(bytes.count))
            let put = try await tasks.putObject(.init(bucket: LocalFixture.bucket, key: "small", body: .bytes([1])))
                .value
            #expect(put.crc64 != nil)
            let second = try await tasks.initiateMultipartUpload(.init(bucket: LocalFixture.bucket, key: "b")).value
            try await tasks.abortMultipartUpload(.init(upload: second)).value
            #expect(fixture.openUploads.isEmpty)
        }
    }

    @Test func `An upload is a future too`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 3 * 102_400)
            let task = fixture.uploader().start(.file(file.url), to: fixture.destination)
            let size = task.continueWith { try $0.get().size }
            #expect(try await size.value == Int64(file.bytes.count))
            let result = await self.onThread { Result { try task.waitUntilFinished() } }
            #expect(try result.get().proof == .crc64)
            #expect(try await task.result.get().partsTotal == 3)
        }
    }

    @Test func `Cancelling an upload's future keeps its record`() async throws {
        try await withLocalServer { fixture in
            fixture.server.faults.add(.init(.stall(.seconds(3600)), operation: "UploadPart", partNumber: 2))
            let file = try fixture.file(size: 3 * 102_400)
            let task = fixture.uploader().start(.file(file.url), to: fixture.destination)
            for await event in task.events where event.kind == .partStored { break }
            task.future.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(fixture.records.count == 1)
        }
    }
}
