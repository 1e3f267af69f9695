// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import CurlTransport
import FoundationEssentials
import OSSLocalServer
import Testing

@testable import OSSMultipart

@Suite(.timeLimit(.minutes(5))) struct ProgressTests {
    private static let part = Int(LocalFixture.partSize)

    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func `Whatever happens to parts, progress never falls, and 100 % comes once, when all parts are stored`(
        seed: UInt64
    ) async throws {
        try await withLocalServer { fixture in
            let parts = 14
            var random = SplitMix64(state: seed)
            for part in 1...parts {
                let actions: [OSSServer.Fault.Action?] = [
                    nil, .cut(afterBodyBytes: Int64(random.next() % 102_400)), .dropBeforeReply, .commitThenDrop,
                    .respond(status: 500, code: "InternalError"), .respondEarly(status: 503, code: "SlowDown"),
                    .editReplyHeader("x-oss-hash-crc64ecma", "1"), .respond(status: 400, code: "InvalidDigest"),
                ]
                guard let action = actions[Int(random.next() % UInt64(actions.count))] else { continue }
                let times = 1...Int(1 + random.next() % 2)
                fixture.server.faults.add(.init(action, operation: "UploadPart", partNumber: part, occurrences: times))
            }
            let file = try fixture.file(size: parts * Self.part - 11)
            let task = fixture.uploader { $0.partsInFlight = .fixed(5) }
                .start(.file(file.url), to: fixture.destination)
            var events: [OSSUploadEvent] = []
            for await event in task.events { events.append(event) }
            _ = try await task.value
            #expect(try await fixture.object() == file.bytes)

            var last = OSSUploadSnapshot()
            var began: Set<Int> = [], stored: Set<Int> = []
            for event in events {
                let now = event.snapshot
                #expect(now.bytesDone >= last.bytesDone)
                #expect(now.bytesDone <= now.bytesTotal)
                #expect(now.partsDone >= last.partsDone)
                #expect(now.fractionCompleted <= 1)
                switch event.kind {
                case .partBegan: if let number = event.partNumber { #expect(began.insert(number).inserted) }
                case .partStored:
                    if let number = event.partNumber {
                        #expect(began.contains(number))
                        #expect(stored.insert(number).inserted, "each part is stored once")
                    }
                    // Before the last part is stored there is something left to do.
                    if stored.count < parts { #expect(now.fractionCompleted < 1, "\(stored.count) of \(parts)") }
                case .completing: #expect(now.fractionCompleted == 1)
                default: break
                }
                last = now
            }
            #expect(stored == Set(1...parts))
            #expect(events.filter { $0.kind == .completing }.count == 1)
            #expect(task.snapshot.fractionCompleted == 1)
            #expect(task.snapshot.partsDone == parts)
        }
    }

    @Test func `Resumed bytes count at once, and not as sent`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 8 * Self.part)
            try await fixture.breakUpload(file, atPart: 7)
            fixture.server.faults.add(.init(.delay(.seconds(3600)), operation: "UploadPart"))
            let task = fixture.uploader().start(.file(file.url), to: fixture.destination)
            for await event in task.events where event.kind == .resumed {
                #expect(event.snapshot.bytesDone == Int64(6 * Self.part))
                #expect(event.snapshot.bytesResumed == Int64(6 * Self.part))
                #expect((event.snapshot.partsDone, event.snapshot.partsResumed) == (6, 6))
                #expect(event.snapshot.bytesPerSecond == nil)
                #expect(event.snapshot.timeRemaining == nil)
                break
            }
            task.cancel()
            _ = try? await task.value
        }
    }

    @Test func `A source that is another one after a pause does not carry progress over 100 %`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 8 * Self.part)
            fixture.server.faults.add(.init(.delay(.seconds(3600)), operation: "UploadPart", partNumber: 7))
            fixture.server.faults.add(.init(.delay(.seconds(3600)), operation: "UploadPart", partNumber: 8))
            let task = fixture.uploader().start(.file(file.url), to: fixture.destination)
            for await event in task.events where event.snapshot.partsDone == 6 { break }
            let events = task.events
            task.pause()
            for await event in events where event.kind == .paused { break }
            fixture.server.faults.removeAll()
            let smaller = try TestFile(file.path, Array(file.bytes.prefix(3 * Self.part)))
            let more = task.events
            task.resume()
            for await event in more {
                #expect(event.snapshot.bytesDone <= event.snapshot.bytesTotal)
                #expect(event.snapshot.fractionCompleted <= 1)
            }
            _ = try await task.value
            #expect(task.snapshot.fractionCompleted == 1)
            #expect(try await fixture.object() == smaller.bytes)
            #expect(fixture.openUploads.isEmpty)
        }
    }

    @Test func `Rate and time left are those of the bytes that this run sends`() {
        let progress = UploadProgress()
        progress.begin(bytesTotal: 1000, partsTotal: 10)
        progress.resumed(parts: 1...5, bytes: 500)
        #expect(progress.snapshot.bytesPerSecond == nil)
        let part = progress.partBegan(6)
        part.bytesSent = 50
        let (snapshot, states) = (progress.snapshot, progress.partStates)
        #expect(snapshot.bytesDone == 550)
        #expect((snapshot.bytesPerSecond ?? 0) > 0)
        // 450 bytes are left, nine times as much as was sent in the time so far.
        let rate = snapshot.bytesPerSecond ?? 0
        let left = (snapshot.timeRemaining ?? .zero) / .seconds(1)
        #expect(abs(left * rate - 450) < 1)
        #expect(states == Array(repeating: .stored, count: 5) + [.inFlight] + Array(repeating: .pending, count: 4))
        // An attempt that begins anew counts from 0, and the bar waits.
        part.bytesSent = 10
        #expect(progress.snapshot.bytesDone == 550)
        progress.partStored(6, bytes: 100)
        #expect(progress.snapshot.bytesDone == 600)
        progress.end()
    }

    @Test func `A reader that comes late still hears of every warning, once`() async {
        let progress = UploadProgress()
        progress.warn("one")
        progress.warn("two")
        progress.warn("one")
        let events = progress.events()
        progress.warn("three")
        progress.end()
        var heard: [String] = []
        for await event in events where event.kind == .warning { heard.append(event.message ?? "") }
        #expect(heard == ["one", "two", "three"])
    }
}
