// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import FoundationEssentials
import Glibc
import OSSLocalServer
import SystemIO
import Testing

@testable import OSSMultipart

/// Every place where an upload waits for something outside is tried: each request, each reply, each call of the record.
@Suite(.timeLimit(.minutes(5))) struct SuspensionTests {
    private static let part = Int(LocalFixture.partSize)

    /// What an upload goes through.
    enum Course: CaseIterable, Sendable {
        /// From the start to the end.
        case whole
        /// Goes on with a broken one, and reads its source again.
        case resumed
        /// Gives up a recorded one, for the source has grown.
        case replaced
        /// Learns by looking that a lost Complete was applied.
        case foundOut
        /// Looks for what a lost Initiate left behind.
        case lostInitiate
        /// Goes up with one request.
        case small
    }

    /// Brings the fixture to the beginning of a course and returns the file to upload.
    private func prepare(_ course: Course, _ fixture: LocalFixture) async throws -> TestFile {
        fixture.server.faults.removeAll()
        try await fixture.server.removeObject(bucket: LocalFixture.bucket, key: LocalFixture.key)
        let file = try fixture.file(size: course == .small ? 100 : 3 * Self.part)
        switch course {
        case .whole, .small: break
        case .resumed: try await fixture.breakUpload(file, atPart: 3)
        case .replaced:
            try await fixture.breakUpload(file, atPart: 3)
            return try TestFile(file.path, file.bytes + [1])
        case .foundOut:
            fixture.server.faults.add(.init(.commitThenDrop, operation: "CompleteMultipartUpload", occurrences: 1...1))
        case .lostInitiate:
            fixture.server.faults.add(.init(.commitThenDrop, operation: "InitiateMultipartUpload", occurrences: 1...1))
        }
        return file
    }

    /// Does something at step after step of a course, one upload for each, until an upload has had fewer steps.
    private func atEveryStep(
        of course: Course, in fixture: LocalFixture, withRecord: Bool = true,
        _ act: @escaping @Sendable (OSSUploadTask) -> Void,
        then check: (OSSUploadTask, TestFile, Int) async throws -> Void
    ) async throws -> Int {
        let steps = Steps()
        let uploader = try fixture.steppingUploader(steps, withRecord: withRecord) {
            $0.verification = .content
            $0.partsInFlight = .fixed(2)
        }
        var step = 0
        while true {
            let file = try await self.prepare(course, fixture)
            let task = Lock<OSSUploadTask?>(nil)
            let hasActed = Lock(false)
            let chosen = step
            steps.begin { number, _ in
                guard number == chosen else { return }
                // The step may come before the test has the task.
                while task.withLock({ $0 == nil }) { sched_yield() }
                if let task = task.withLock({ $0 }) { act(task) }
                hasActed.withLock { $0 = true }
            }
            let upload = uploader.start(.file(file.url), to: fixture.destination)
            task.withLock { $0 = upload }
            _ = try? await upload.value
            guard hasActed.withLock({ $0 }) else { break }
            try await check(upload, file, step)
            step += 1
        }
        await uploader.client.shutDown()
        return step
    }

    @Test(arguments: Course.allCases)
    func `Cancelled at any step, it keeps what it needs, and the next run finishes and leaves nothing behind`(
        course: Course
    ) async throws {
        try await withLocalServer { fixture in
            let steps = try await self.atEveryStep(of: course, in: fixture) {
                $0.cancel()
            } then: { task, file, step in
                // It may have been too late: then it is stored.
                do { _ = try await task.value } catch is CancellationError {}
                fixture.server.faults.removeAll()
                try await fixture.upload(file)
                #expect(try await fixture.object() == file.bytes, "step \(step)")
                #expect(fixture.records.isEmpty, "step \(step)")
                #expect(fixture.openUploads.isEmpty, "step \(step)")
            }
            #expect(steps >= (course == .small ? 3 : 10))
        }
    }

    @Test(arguments: Course.allCases)
    func `Paused at any step and resumed, it finishes`(course: Course) async throws {
        try await withLocalServer { fixture in
            _ = try await self.atEveryStep(of: course, in: fixture) {
                $0.pause()
                $0.resume()
            } then: { task, file, step in
                _ = try await task.value
                #expect(try await fixture.object() == file.bytes, "step \(step)")
                #expect(fixture.records.isEmpty, "step \(step)")
                #expect(fixture.openUploads.isEmpty, "step \(step)")
            }
        }
    }

    @Test(arguments: Course.allCases, [true, false])
    func `Aborted at any step, it leaves no record, and no open upload or the object`(course: Course, withRecord: Bool)
        async throws
    {
        // Without a record there is none to begin with.
        guard withRecord || course != .resumed && course != .replaced else { return }
        try await withLocalServer { fixture in
            _ = try await self.atEveryStep(of: course, in: fixture, withRecord: withRecord) {
                $0.cancel()
            } then: { task, file, step in
                try await task.abort()
                #expect(fixture.openUploads.isEmpty, "step \(step)")
                #expect(fixture.records.isEmpty, "step \(step)")
                if let object = try await fixture.object() { #expect(object == file.bytes, "step \(step)") }
            }
        }
    }

    @Test func `The order is lock, durable intent, Initiate, durable upload, parts, Complete, removal`() async throws {
        try await withLocalServer { fixture in
            let steps = Steps()
            let file = try fixture.file(size: 2 * Self.part)
            let uploader = try fixture.steppingUploader(steps) { $0.partsInFlight = .fixed(1) }
            try await fixture.upload(file, uploader)
            await uploader.client.shutDown()
            // On a slow machine the lines of parts are made durable in between, once a second.
            let names = steps.names.enumerated().filter { index, name in
                name != "synchronize" || steps.names[index - 1] == "append upload"
            }
            #expect(
                names.map(\.element) == [
                    "open", "read", "append journal+intent", "synchronize with name", "send Initiate",
                    "reply Initiate", "append upload", "synchronize", "send UploadPart", "reply UploadPart",
                    "append part", "send UploadPart", "reply UploadPart", "append part", "append completing",
                    "send Complete", "reply Complete", "remove",
                ]
            )
        }
    }
}
