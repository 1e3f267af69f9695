// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import SystemIO

/// The fetching of a file's next bytes from a disk, away from the loop's thread, which carries other transfers meanwhile.
final class FileFetch: Sendable {
    /// Bytes fetched at a time.
    ///
    /// *Source:* our own choice: so many that a change of threads does not count. *Applies to:* bodies from files that are
    /// not in the system's memory.
    private static let size: Int64 = 1024 * 1024

    private struct State {
        var isDone = false
        var whenDone: (@Sendable () -> Void)?
    }
    private let state = Lock(State())

    /// Begins to fetch what begins at `offset`.
    ///
    /// - Parameters:
    ///   - left: how many bytes of the file will be read from there on.
    ///   - announce: says that it is done.
    init(
        _ file: PosixFile, at offset: Int64, left: Int64, on executor: BlockingExecutor,
        announce: @escaping @Sendable () -> Void
    ) {
        let length = min(Self.size, left)
        let next = min(Self.size, left - length)
        executor.start {
            file.fetch(at: offset, length: length, next: next)
            return {
                self.finish()
                announce()
            }
        }
    }

    /// Whether the bytes are there, or cannot be had.
    var isDone: Bool { self.state.withLock { $0.isDone } }

    /// Runs `body` when nothing is read any more, which may be now.
    func whenDone(_ body: @escaping @Sendable () -> Void) {
        let isDone = self.state.withLock { state in
            if !state.isDone { state.whenDone = body }
            return state.isDone
        }
        if isDone { body() }
    }

    private func finish() {
        let body = self.state.withLock { state in
            state.isDone = true
            return state.whenDone.take()
        }
        body?()
    }
}
