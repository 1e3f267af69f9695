// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import Testing

@testable import OSSMultipart

/// What is run again and again, as often as it is paused: each moment at which it can be paused, resumed or cancelled.
@Suite(.timeLimit(.minutes(1))) struct PausableRunTests {
    /// What was called, in order.
    private final class Calls: Sendable {
        private let counter = Counter()
        let pauses = Counter()
        let resumptions = Counter()

        var starts: Int { self.counter.value }

        /// Waits until it is cancelled the first time, and returns at once from then on.
        func body(throwing error: any Error = CancellationError()) async throws -> Int {
            let start = self.counter.next()
            if start == 0 {
                while !Task.isCancelled { try? await Task.sleep(for: .milliseconds(2)) }
                throw error
            }
            return start
        }
    }

    @Test func `Paused before it begins, it is stopped as soon as it has, and begun anew when it goes on`() async throws
    {
        let run = PausableRun<Int>(), calls = Calls()
        run.pause()
        let result = await run.drive {
            try await calls.body()
        } whenPaused: {
            _ = calls.pauses.next()
            run.resume()
        } whenResumed: {
            _ = calls.resumptions.next()
        }
        #expect(try result.get() == 1)
        #expect((calls.starts, calls.pauses.value, calls.resumptions.value) == (2, 1, 1))
    }

    @Test func `A pause that is taken back before it has come to rest lets another run begin`() async throws {
        let run = PausableRun<Int>(), calls = Calls()
        let driving = Task {
            await run.drive {
                try await calls.body()
            } whenPaused: {
            } whenResumed: {
            }
        }
        while calls.starts == 0 { try await Task.sleep(for: .milliseconds(2)) }
        run.pause()
        run.resume()
        #expect(try await driving.value.get() == 1)
        #expect(calls.starts == 2)
    }

    @Test func `What fails while it is being paused has failed`() async throws {
        let run = PausableRun<Int>(), calls = Calls()
        let driving = Task {
            await run.drive {
                try await calls.body(throwing: Unexpected("broken"))
            } whenPaused: {
                _ = calls.pauses.next()
            } whenResumed: {
            }
        }
        while calls.starts == 0 { try await Task.sleep(for: .milliseconds(2)) }
        run.pause()
        let result = await driving.value
        #expect(throws: Unexpected.self) { try result.get() }
        #expect((calls.starts, calls.pauses.value) == (1, 0))
    }

    @Test func `Cancelled while it is paused it ends and is not begun anew`() async throws {
        let run = PausableRun<Int>(), calls = Calls()
        let driving = Task {
            await run.drive {
                try await calls.body()
            } whenPaused: {
                _ = calls.pauses.next()
            } whenResumed: {
            }
        }
        while calls.starts == 0 { try await Task.sleep(for: .milliseconds(2)) }
        run.pause()
        while calls.pauses.value == 0 { try await Task.sleep(for: .milliseconds(2)) }
        run.cancel()
        let result = await driving.value
        #expect(throws: CancellationError.self) { try result.get() }
        #expect(calls.starts == 1)
        // What comes after the end is nothing.
        run.pause()
        run.resume()
        run.cancel()
    }
}
