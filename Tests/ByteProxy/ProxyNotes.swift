// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import SystemIO

/// What a proxy has seen; its thread writes, the test reads.
final class ProxyNotes: Sendable {
    private struct State {
        var connections = 0
        var meddles = true
        var edits: Set<[UInt8]> = []
        var counts: [Int]
    }
    private let state: Lock<State>

    init(rules: [ByteProxy.Rule]) {
        self.state = Lock(State(counts: Array(repeating: 0, count: rules.count)))
    }

    var connections: Int { self.state.withLock { $0.connections } }
    func count(ofRule rule: Int) -> Int { self.state.withLock { $0.counts[rule] } }
    func addConnection() { self.state.withLock { $0.connections += 1 } }

    /// Whether the rules are in force.
    var meddles: Bool { self.state.withLock { $0.meddles } }
    func stopMeddling() { self.state.withLock { $0.meddles = false } }

    func addEdit(of target: [UInt8]) { self.state.withLock { _ = $0.edits.insert(target) } }
    func hasEdited(_ target: [UInt8]) -> Bool { self.state.withLock { $0.edits.contains(target) } }

    /// Counts a rule's mark, and returns how often it has been seen.
    func addMark(ofRule rule: Int) -> Int {
        self.state.withLock { state in
            state.counts[rule] += 1
            return state.counts[rule]
        }
    }
}
