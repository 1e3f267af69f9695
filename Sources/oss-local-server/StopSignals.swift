// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import Glibc

/// SIGINT and SIGTERM, taken by the thread that waits for them and by no handler.
///
/// The corresponding C functions are `pthread_sigmask` and `sigwait`.
struct StopSignals {
    private var set = sigset_t()

    /// Blocks the signals for this thread and those that it begins.
    init() {
        // SAFETY: the set is ours; the calls cannot fail with these signals.
        unsafe sigemptyset(&self.set)
        unsafe sigaddset(&self.set, SIGINT)
        unsafe sigaddset(&self.set, SIGTERM)
        unsafe pthread_sigmask(SIG_BLOCK, &self.set, nil)
    }

    /// Waits for the next one.
    func wait() {
        var set = self.set
        var number: Int32 = 0
        // SAFETY: both are ours for the length of the call.
        unsafe sigwait(&set, &number)
    }
}
