// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import Glibc

/// How many files and connections the process may have open.
enum Descriptors {
    /// How many a run takes: the runtime's own, the file, its record, and connections.
    ///
    /// With fewer the runtime ends the process, or connections fail by turns.
    private static let needed = 32
    /// What a limit is raised to at most where it may be.
    private static let most: rlim_t = 1024

    /// There is no room for a run.
    struct Shortage: Error, CustomStringConvertible {
        let description = "too few files may be open at a time; raise the limit (ulimit -n) to 64 at least"
    }

    /// Raises the limit where it is low, as far as that is allowed.
    ///
    /// - Returns: whether there is room for a run.
    static func areEnough() -> Bool {
        var limit = rlimit()
        // SAFETY: the pointers are to this frame's own value.
        if unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0, limit.rlim_cur < self.most {
            limit.rlim_cur = min(self.most, limit.rlim_max)
            // Where that is refused, what is there has to do.
            _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        }
        // Others may have left some open: only trying tells how many are left.
        var open: [Int32] = []
        defer { for descriptor in open { close(descriptor) } }
        while open.count < self.needed {
            let descriptor = unsafe Glibc.open("/", O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { return errno != EMFILE }
            open.append(descriptor)
        }
        return true
    }
}
