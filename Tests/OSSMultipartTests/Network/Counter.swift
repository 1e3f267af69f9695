// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import Synchronization

/// Counts from 0 on, for scripts that answer differently each time.
final class Counter: Sendable {
    private let number = Mutex(0)

    /// How many calls there were.
    var value: Int { self.number.withLock { $0 } }

    /// The number of this call.
    func next() -> Int {
        self.number.withLock { number in
            defer { number += 1 }
            return number
        }
    }
}
