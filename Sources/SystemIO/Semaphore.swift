// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import Glibc

/// A counting semaphore.
///
/// The corresponding C functions are `sem_post`, `sem_wait` and `sem_timedwait`.
@safe package final class Semaphore: Sendable {
    // Owned: made in init, freed in deinit. The C functions may be called from any thread.
    private nonisolated(unsafe) let semaphore: UnsafeMutablePointer<sem_t>

    /// Makes a semaphore that nobody has posted to.
    package init() {
        unsafe self.semaphore = .allocate(capacity: 1)
        _ = unsafe sem_init(self.semaphore, 0, 0)
    }

    deinit {
        _ = unsafe sem_destroy(self.semaphore)
        unsafe self.semaphore.deallocate()
    }

    /// Lets one waiter go on, now or later.
    package func post() { _ = unsafe sem_post(self.semaphore) }

    /// Waits for a post; false after `seconds` without one.
    package func wait(seconds: Int) -> Bool {
        var end = timespec()
        _ = unsafe clock_gettime(CLOCK_REALTIME, &end)
        end.tv_sec += seconds
        while unsafe sem_timedwait(self.semaphore, &end) != 0 {
            // A signal is no post.
            guard errno == EINTR else { return false }
        }
        return true
    }

    /// Waits for a post, however long.
    package func wait() {
        // Nothing but a signal ends it early.
        while unsafe sem_wait(self.semaphore) != 0, errno == EINTR {}
    }
}
