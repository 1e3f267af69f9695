// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import CLinux
import Glibc

/// An open file; it is closed when the last reference goes.
///
/// Reads and writes name their place (`pread`, `pwrite`), so one file can serve many tasks at once. Every call here may
/// block: use ``BlockingExecutor``.
package final class PosixFile: Sendable {
    /// How a file is opened.
    package struct Mode: OptionSet, Sendable {
        package let rawValue: Int32
        package init(rawValue: Int32) { self.rawValue = rawValue }

        package static let read = Mode(rawValue: O_RDONLY)
        package static let write = Mode(rawValue: O_WRONLY)
        package static let readWrite = Mode(rawValue: O_RDWR)
        /// Makes the file where it is missing, readable and writable by its owner alone.
        package static let create = Mode(rawValue: O_CREAT)
        /// With `create`: an error where the file is there.
        package static let exclusive = Mode(rawValue: O_EXCL)
        package static let truncate = Mode(rawValue: O_TRUNC)
        package static let append = Mode(rawValue: O_APPEND)
        /// An error where the last component is a symbolic link.
        package static let noFollow = Mode(rawValue: O_NOFOLLOW)
        /// Does not wait for the other end of a pipe.
        package static let nonBlocking = Mode(rawValue: O_NONBLOCK)
    }

    /// The path it was opened by, for messages.
    package let path: String
    /// The descriptor, good for as long as this object is referenced.
    package let descriptor: Int32

    /// Opens a file.
    ///
    /// The corresponding C function is `open`, with `O_CLOEXEC`.
    package init(path: String, _ mode: Mode, permissions: UInt32 = 0o600) throws(SystemError) {
        self.path = path
        self.descriptor = try retryingOnInterrupt("open", path) {
            unsafe open(path, mode.rawValue | O_CLOEXEC, mode_t(permissions))
        }
    }

    /// Takes over a descriptor that somebody else opened, and closes it in the end.
    package init(adopting descriptor: Int32, path: String) {
        self.path = path
        self.descriptor = descriptor
    }

    // The result is of no use: after EIO or EINTR the descriptor is gone all the same, and what must be durable is synced.
    deinit { _ = close(self.descriptor) }

    /// The file's status.
    ///
    /// The corresponding C function is `fstat`.
    package func status() throws(SystemError) -> FileStatus {
        var status = stat()
        _ = try retryingOnInterrupt("fstat", self.path) { unsafe fstat(self.descriptor, &status) }
        return FileStatus(status)
    }

    /// Reads at `offset` until `buffer` is full or the file ends, and returns how many bytes there were.
    ///
    /// The corresponding C function is `pread`.
    package func read(at offset: Int64, into buffer: inout [UInt8]) throws(SystemError) -> Int {
        let wanted = buffer.count
        return try self.read(at: offset, into: &buffer, count: wanted)
    }

    /// Reads up to `count` bytes at `offset` into the front of `buffer`; fewer only where the file ends.
    package func read(at offset: Int64, into buffer: inout [UInt8], count: Int) throws(SystemError) -> Int {
        precondition(count <= buffer.count)
        let outcome = unsafe buffer.withUnsafeMutableBytes { bytes -> Result<Int, SystemError> in
            do throws(SystemError) {
                // SAFETY: the bytes belong to the array for the length of the closure; `count` lies within.
                return .success(try unsafe self.read(at: offset, into: .init(rebasing: bytes[..<count])))
            } catch {
                return .failure(error)
            }
        }
        return try outcome.get()
    }

    /// Reads at `offset` until the memory is full or the file ends, and returns how many bytes there were.
    ///
    /// The caller owns the memory, for the length of the call.
    @unsafe package func read(
        at offset: Int64, into memory: UnsafeMutableRawBufferPointer
    ) throws(SystemError) -> Int {
        var done = 0
        while done < memory.count {
            // SAFETY: `done` bytes lie behind, `memory.count - done` ahead, all within the memory.
            let count = try retryingOnInterrupt("pread", self.path) {
                unsafe pread(
                    self.descriptor, memory.baseAddress?.advanced(by: done), memory.count - done,
                    off_t(offset) + off_t(done))
            }
            if count == 0 { break }
            done += count
        }
        return done
    }

    /// What there is of a region without a wait for a disk.
    package enum CachedBytes: Equatable {
        /// So many bytes, from the beginning of the region on; 0 at the end of the file.
        case bytes(Int)
        /// The first of them are still to be fetched.
        case none
        /// The file system cannot tell: only ``PosixFile/read(at:into:)`` does.
        case unknown
    }

    /// Reads as much of what begins at `offset` as is in the system's memory.
    ///
    /// The caller owns the memory, for the length of the call. The corresponding C function is `preadv2` with `RWF_NOWAIT`.
    @unsafe package func readCached(
        at offset: Int64, into memory: UnsafeMutableRawBufferPointer
    ) -> CachedBytes {
        // SAFETY: the memory is the caller's.
        let count = unsafe clinux_read_cached(self.descriptor, memory.baseAddress, memory.count, Int(offset))
        if count >= 0 { return .bytes(count) }
        return errno == EAGAIN || errno == EINTR ? .none : .unknown
    }

    /// Fetches a region into the system's memory, and lets the next one be fetched.
    ///
    /// A failure is not reported: whoever reads the region then sees it.
    package func fetch(at offset: Int64, length: Int64, next: Int64) {
        if next > 0 { self.willRead(at: offset + length, length: next) }
        var buffer = [UInt8](repeating: 0, count: Int(min(length, 64 * 1024)))
        var done: Int64 = 0
        while done < length {
            let wanted = Int(min(Int64(buffer.count), length - done))
            guard let count = try? self.read(at: offset + done, into: &buffer, count: wanted), count == wanted else {
                return
            }
            done += Int64(count)
        }
    }

    /// Reads what is there next, at most `buffer.count` bytes; 0 is the end.
    ///
    /// For pipes. The corresponding C function is `read`.
    package func readNext(into buffer: inout [UInt8]) throws(SystemError) -> Int {
        let size = buffer.count
        return try retryingOnInterrupt("read", self.path) { unsafe Glibc.read(self.descriptor, &buffer, size) }
    }

    /// Writes all bytes at the file's position: at its end where it was opened with `append`.
    ///
    /// The corresponding C function is `write`.
    package func write(_ bytes: [UInt8]) throws(SystemError) {
        var done = 0
        while done < bytes.count {
            // SAFETY: the pointer is used within the call; `done` lies within the array.
            done += try retryingOnInterrupt("write", self.path) {
                unsafe bytes.withUnsafeBytes {
                    unsafe Glibc.write(self.descriptor, $0.baseAddress?.advanced(by: done), $0.count - done)
                }
            }
        }
    }

    /// Writes all bytes of the memory at `offset`.
    ///
    /// The corresponding C function is `pwrite`.
    @unsafe package func write(_ memory: UnsafeRawBufferPointer, at offset: Int64) throws(SystemError) {
        var done = 0
        while done < memory.count {
            // SAFETY: as in `read(at:into:)`.
            done += try retryingOnInterrupt("pwrite", self.path) {
                unsafe pwrite(
                    self.descriptor, memory.baseAddress?.advanced(by: done), memory.count - done,
                    off_t(offset) + off_t(done))
            }
        }
    }

    /// Writes all bytes of the span at `offset`.
    ///
    /// The corresponding C function is `pwrite`.
    package func write(_ bytes: Span<UInt8>, at offset: Int64) throws(SystemError) {
        let outcome = unsafe bytes.withUnsafeBytes { memory -> Result<Void, SystemError> in
            do throws(SystemError) {
                // SAFETY: the memory is the span's, for the length of the closure.
                return .success(try unsafe self.write(memory, at: offset))
            } catch {
                return .failure(error)
            }
        }
        try outcome.get()
    }

    /// Cuts or lengthens the file.
    ///
    /// The corresponding C function is `ftruncate`.
    package func truncate(to size: Int64) throws(SystemError) {
        _ = try retryingOnInterrupt("ftruncate", self.path) { ftruncate(self.descriptor, off_t(size)) }
    }

    /// Gives the file other permission bits; the process's mask takes nothing from them.
    ///
    /// The corresponding C function is `fchmod`.
    package func setPermissions(_ permissions: UInt32) throws(SystemError) {
        _ = try retryingOnInterrupt("fchmod", self.path) { fchmod(self.descriptor, mode_t(permissions)) }
    }

    /// Makes content and attributes durable.
    ///
    /// The corresponding C function is `fsync`.
    package func synchronize() throws(SystemError) {
        _ = try retryingOnInterrupt("fsync", self.path) { fsync(self.descriptor) }
    }

    /// Makes the content durable.
    ///
    /// The corresponding C function is `fdatasync`.
    package func synchronizeContent() throws(SystemError) {
        _ = try retryingOnInterrupt("fdatasync", self.path) { fdatasync(self.descriptor) }
    }

    /// Takes the file's lock for this open file; false where another open file has it.
    ///
    /// It goes with the descriptor.
    ///
    /// The corresponding C function is `flock` with `LOCK_EX | LOCK_NB`.
    package func lock() throws(SystemError) -> Bool {
        do {
            _ = try retryingOnInterrupt("flock", self.path) { flock(self.descriptor, LOCK_EX | LOCK_NB) }
            return true
        } catch let error where error.number == EWOULDBLOCK {
            return false
        }
    }

    /// Gives up the file's lock, while the file stays open.
    ///
    /// The corresponding C function is `flock` with `LOCK_UN`, which fails only for a descriptor that is none.
    package func unlock() { _ = flock(self.descriptor, LOCK_UN) }

    /// Tells the system that a region will be read soon.
    ///
    /// Advice only: a failure changes nothing and is not reported.
    ///
    /// The corresponding C function is `posix_fadvise` with `POSIX_FADV_WILLNEED`.
    package func willRead(at offset: Int64, length: Int64) {
        _ = posix_fadvise(self.descriptor, off_t(offset), off_t(length), POSIX_FADV_WILLNEED)
    }
}
