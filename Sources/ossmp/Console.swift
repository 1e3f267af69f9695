// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import Glibc
import OSSMultipart

/// What the tool writes: results on standard output, all else on standard error.
enum Console {
    /// Writes a result.
    static func output(_ text: String) { self.write(text + "\n", to: STDOUT_FILENO) }

    /// Writes a line for the user.
    static func note(_ text: String) { self.write("ossmp: \(text)\n", to: STDERR_FILENO) }

    /// Writes an error's line.
    static func error(_ text: String) { self.note(text) }

    /// Writes without a line end, for the progress bar.
    static func draw(_ text: String) { self.write(text, to: STDERR_FILENO) }

    /// Tells what failed, and how the upload can go on.
    static func report(_ error: any Error) {
        self.error("\(error)")
        if let error = error as? OSSError, let resumption = error.resumption, error.code != .integrity {
            self.note("\(ByteSize.text(resumption.bytesUploaded)) are stored; run the same command again to go on")
        }
    }

    /// Writes all bytes; output that nobody reads any more is no reason to fail.
    private static func write(_ text: String, to descriptor: Int32) {
        let bytes = Array(text.utf8)
        var done = 0
        while done < bytes.count {
            // SAFETY: the pointer is used within the call; `done` lies within the array.
            let count = unsafe bytes.withUnsafeBytes {
                unsafe Glibc.write(descriptor, $0.baseAddress?.advanced(by: done), $0.count - done)
            }
            if count > 0 { done += count } else if errno != EINTR { return }
        }
    }
}
