// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import SystemIO
import Testing

/// Lets at most so many cases of one test go at a time; the others wait for their turn.
///
/// For tests whose cases tell a connection that is silent from one that is slow: where dozens go side by side on a machine
/// that is slowed by a sanitizer, healthy ones look silent.
final class AtMost: TestTrait, TestScoping {
    private struct State {
        var places: Int
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state: Lock<State>

    init(_ cases: Int) { self.state = Lock(State(places: cases)) }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        // Once more it is asked for the test as a whole, in which its cases go: that must not take a place.
        guard testCase != nil else { return try await function() }
        await self.enter()
        defer { self.leave() }
        try await function()
    }

    private func enter() async {
        await withCheckedContinuation { continuation in
            let hasPlace = self.state.withLock { state in
                guard state.places > 0 else {
                    state.waiting.append(continuation)
                    return false
                }
                state.places -= 1
                return true
            }
            if hasPlace { continuation.resume() }
        }
    }

    private func leave() {
        let next = self.state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
            state.places += 1
            return nil
        }
        next?.resume()
    }
}

extension Trait where Self == AtMost {
    /// Lets at most so many cases of the test go at a time.
    static func atMost(_ cases: Int) -> AtMost { AtMost(cases) }
}
