// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import Glibc

/// The time of day.
package enum WallClock {
    /// Milliseconds since 1970-01-01T00:00:00Z.
    ///
    /// The corresponding C function is `clock_gettime` with `CLOCK_REALTIME`.
    package static var milliseconds: Int64 {
        var time = timespec()
        // SAFETY: the pointer is to this frame's value; the call cannot fail for this clock.
        _ = unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}
