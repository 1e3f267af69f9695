// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire
internal import SystemIO

/// Remembers requests, counts them, and writes them to a file.
final class RequestLog: Sendable {
    private struct State {
        var records: [OSSServer.RequestRecord] = []
        /// Where the oldest record is, once the array is full.
        var oldest = 0
        var counters: [String: Int] = [:]
    }

    private let state = Lock(State())
    private let limit: Int
    private let file: PosixFile?

    init(limit: Int, path: String?) throws(SystemError) {
        self.limit = limit
        self.file = if let path { try PosixFile(path: path, [.write, .create, .append]) } else { nil }
    }

    /// Takes in a request.
    func add(_ record: OSSServer.RequestRecord) {
        self.state.withLock { state in
            state.counters[record.operation, default: 0] += 1
            guard self.limit > 0 else { return }
            if state.records.count < self.limit {
                state.records.append(record)
            } else {
                state.records[state.oldest] = record
                state.oldest = (state.oldest + 1) % self.limit
            }
        }
        // A log that cannot be written is no reason to fail the request.
        try? self.file?.write(Array((record.json + "\n").utf8))
    }

    /// The requests, the oldest first.
    var records: [OSSServer.RequestRecord] {
        self.state.withLock { Array($0.records[$0.oldest...] + $0.records[..<$0.oldest]) }
    }

    /// How many requests there were of each operation.
    var counters: [String: Int] { self.state.withLock { $0.counters } }

    /// Forgets all.
    func removeAll() { self.state.withLock { $0 = State() } }
}
