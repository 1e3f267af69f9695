// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import Glibc
package import SystemIO

/// Threads for the tests' stand-ins, which block.
package final class TestThread: Sendable {
    private final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    private let thread: pthread_t

    /// Begins a thread that somebody waits for in the end, with ``join()``.
    package init(_ body: @escaping @Sendable () -> Void) throws(SystemError) {
        var thread = pthread_t()
        // SAFETY: the box is retained here and released by the thread's first act, or here where no thread came of it.
        let box = unsafe Unmanaged.passRetained(Body(body))
        let result = unsafe pthread_create(
            &thread, nil,
            { context in
                if let context = unsafe context {
                    unsafe Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
                }
                return nil
            }, unsafe box.toOpaque())
        self.thread = thread
        guard result == 0 else {
            unsafe box.release()
            throw SystemError(call: "pthread_create", number: result)
        }
    }

    /// Waits for the thread's end; once.
    package func join() { _ = pthread_join(self.thread, nil) }

    /// Begins a thread that nobody waits for.
    package static func start(_ body: @escaping @Sendable () -> Void) {
        do throws(SystemError) { _ = pthread_detach(try TestThread(body).thread) } catch {
            preconditionFailure("no thread for a stand-in: \(error)")
        }
    }

    /// Lets the calling thread wait, where the time itself is what a stand-in is about.
    package static func sleep(milliseconds: UInt32) { _ = usleep(milliseconds * 1000) }
}
