// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import SystemIO
import Testing

/// Runs each test twice: as tasks are wont to go, and on threads that may block, which carry their requests themselves.
struct BothWays: TestTrait, SuiteTrait, TestScoping {
    let isRecursive = true

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        // It is asked for suites and for tests as a whole too, in which the cases go.
        guard testCase != nil else { return try await function() }
        try await function()
        let executor = BlockingExecutor(threads: 16)
        do { try await executor.carry { try await function() } } catch {
            await executor.shutDown()
            throw error
        }
        await executor.shutDown()
    }
}

extension Trait where Self == BothWays {
    /// Runs each test twice, on Swift's own threads and on threads that may block.
    static var bothWays: BothWays { BothWays() }
}
