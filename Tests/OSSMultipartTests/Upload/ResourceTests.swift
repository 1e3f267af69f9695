// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import FoundationEssentials
import Glibc
import OSSLocalServer
import Testing

@testable import OSSMultipart

/// Counts of this process's threads and open files; each test runs in a process of its own.
private enum ProcessCounts {
    static var descriptors: Int { (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? -1 }
    static var threads: Int { (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count) ?? -1 }

    /// Waits until neither is above what it was; threads take a moment to end after their last act.
    static func settle(descriptors: Int, threads: Int) async throws -> Bool {
        for _ in 0..<400 {
            if self.descriptors <= descriptors, self.threads <= threads { return true }
            try await Task.sleep(for: .milliseconds(25))
        }
        return false
    }
}

@Suite(.timeLimit(.minutes(5))) struct ResourceTests {
    /// Runs uploads of every end and returns how many files and threads were left over.
    private static func useEverything() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 8 * Int(LocalFixture.partSize))
            // A good one, a broken one, a cancelled one, an aborted one.
            try await fixture.upload(file)
            try await fixture.breakUpload(file, atPart: 4)
            for isAborted in [false, true] {
                fixture.server.faults.add(.init(.delay(.seconds(3600)), operation: "UploadPart", partNumber: 6))
                let task = fixture.uploader().start(.file(file.url), to: fixture.destination)
                for await event in task.events where event.snapshot.partsDone >= 5 { break }
                if isAborted { try await task.abort() } else { task.cancel() }
                _ = try? await task.value
                fixture.server.faults.removeAll()
            }
        }
    }

    @Test func `However many uploads end, well or not, no descriptors and threads pile up`() async {
        await #expect(processExitsWith: .success) {
            // The first rounds make what the process keeps for good: Swift's own threads, libraries' files.
            for _ in 0..<3 { try await ResourceTests.useEverything() }
            let (descriptors, threads) = (ProcessCounts.descriptors, ProcessCounts.threads)
            // Fifty uploads: whatever one of them left behind would be there fifty times. A few more than before are
            // allowed, for Swift's own pool makes its threads when it sees fit.
            for _ in 0..<10 { try await ResourceTests.useEverything() }
            guard try await ProcessCounts.settle(descriptors: descriptors + 4, threads: threads + 8) else { exit(1) }
        }
    }
}
