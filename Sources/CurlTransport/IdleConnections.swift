// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import Synchronization

/// How many idle connections the loops of a transport may keep, so that together they keep as many as one would.
final class IdleConnections: Sendable {
    /// What one loop may keep.
    enum Share: Sendable {
        /// A single connection.
        case one
        /// A part of what the loops without a thread leave, by the number of the thread, from 0 on.
        case part(IdleConnections, Int)

        /// Connections that the loop may keep as things are.
        var count: Int {
            switch self {
            case .one: 1
            case .part(let all, let number): all.count(ofThread: number)
            }
        }
    }

    private let maximum: Int
    private let threads: Int
    /// How many have gone to loops without a thread.
    private let given = Atomic(0)

    /// - Parameters:
    ///   - maximum: of all loops together.
    ///   - threads: loops that have one.
    init(maximum: Int, threads: Int) {
        self.maximum = maximum
        self.threads = threads
    }

    /// The share of a loop with a thread.
    func share(ofThread number: Int) -> Share { .part(self, number) }

    /// Gives one to a loop without a thread; the others keep fewer from their next request on.
    func give() { self.given.add(1, ordering: .relaxed) }

    private func count(ofThread number: Int) -> Int {
        let left = self.maximum - self.given.load(ordering: .relaxed)
        return left / self.threads + (number < left % self.threads ? 1 : 0)
    }
}
