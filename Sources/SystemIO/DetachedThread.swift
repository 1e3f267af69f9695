// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import Glibc

/// A thread that nobody waits for.
package enum DetachedThread {
    private final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// Runs `body` on a new thread, which ends with it.
    ///
    /// The C functions are `pthread_create` and `pthread_detach`.
    ///
    /// - Returns: false where the system gives no thread; `body` is then let go.
    package static func begin(_ body: @escaping @Sendable () -> Void) -> Bool {
        // SAFETY: the box is retained here and released by the thread's first act, or here where no thread came of it.
        let box = unsafe Unmanaged.passRetained(Body(body))
        var thread = pthread_t()
        let result = unsafe pthread_create(
            &thread, nil,
            { context in
                if let context = unsafe context {
                    unsafe Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
                }
                return nil
            }, unsafe box.toOpaque()
        )
        guard result == 0 else {
            unsafe box.release()
            return false
        }
        _ = pthread_detach(thread)
        return true
    }
}
