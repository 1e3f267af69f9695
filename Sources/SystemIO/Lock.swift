// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

package import Glibc

/// A value that is only reached with its lock held.
///
/// The same as the standard library's `Mutex`, over the C library's: ThreadSanitizer does not know the futex calls of the
/// former on Linux and reports a race wherever it is contended, which would hide the real ones. The corresponding C
/// functions are `pthread_mutex_lock` and `pthread_mutex_unlock`.
@safe package struct Lock<Value: Sendable>: ~Copyable, @unchecked Sendable {
    // Sendable: `value` is only reached within `withLock`, which holds `mutex`. Owned: made in init, freed in deinit.
    @usableFromInline let mutex: UnsafeMutablePointer<pthread_mutex_t>
    @usableFromInline let value: UnsafeMutablePointer<Value>

    /// Makes a lock around a value.
    package init(_ value: Value) {
        unsafe self.mutex = .allocate(capacity: 1)
        unsafe self.value = .allocate(capacity: 1)
        // SAFETY: both were just allocated. A mutex with the default attributes cannot fail to be made on Linux.
        _ = unsafe pthread_mutex_init(self.mutex, nil)
        unsafe self.value.initialize(to: value)
    }

    deinit {
        // SAFETY: nobody holds the lock: whoever could take it would hold a reference to its owner.
        _ = unsafe pthread_mutex_destroy(self.mutex)
        unsafe self.value.deinitialize(count: 1)
        unsafe self.mutex.deallocate()
        unsafe self.value.deallocate()
    }

    /// Runs `body` with the lock held; it must not wait for anything, nor take the same lock again.
    @inlinable package borrowing func withLock<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // SAFETY: the value is this lock's own, and no other thread is within.
        _ = unsafe pthread_mutex_lock(self.mutex)
        defer { _ = unsafe pthread_mutex_unlock(self.mutex) }
        return try unsafe body(&self.value.pointee)
    }
}
