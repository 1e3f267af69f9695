// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import Glibc

/// A system call failed.
package struct SystemError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The call, for example `open`.
    package let call: String
    /// The file or folder that it was about; empty where there is none.
    package let path: String
    /// The value of `errno`.
    package let number: Int32

    /// Makes an error; `errno` is read where no number is given.
    package init(call: String, path: String = "", number: Int32 = errno) {
        self.call = call
        self.path = path
        self.number = number
    }

    /// Whether a file or folder of that name is missing (`ENOENT`).
    package var isMissingFile: Bool { self.number == ENOENT }

    /// Whether the time was over (`ETIMEDOUT`).
    package var isTimeOut: Bool { self.number == ETIMEDOUT }

    /// Whether the disk, or somebody's share of it, is full (`ENOSPC`, `EDQUOT`).
    package var isFullDisk: Bool { self.number == ENOSPC || self.number == EDQUOT }

    /// The system's sentence for the number, for example `No such file or directory`.
    package var reason: String {
        var text = [CChar](repeating: 0, count: 256)
        // SAFETY: the buffer is ours and its length is passed; the POSIX variant of strerror_r always ends it with zero.
        let isDone = unsafe strerror_r(self.number, &text, text.count) == 0
        guard isDone else { return "error \(self.number)" }
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    package var description: String {
        self.path.isEmpty ? "\(self.call): \(self.reason)" : "\(self.call) \(self.path): \(self.reason)"
    }
}

/// Repeats a system call while a signal interrupts it; the one place where EINTR is handled.
func retryingOnInterrupt<Result: SignedInteger>(
    _ call: String, _ path: String = "", _ body: () -> Result
) throws(SystemError) -> Result {
    while true {
        let result = body()
        if result != -1 { return result }
        guard errno == EINTR else { throw SystemError(call: call, path: path) }
    }
}
