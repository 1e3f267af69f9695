// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import Glibc

/// Messages for people.
enum StandardError {
    /// Writes a text; where it cannot be written there is nobody to tell.
    static func write(_ text: String) {
        let bytes = Array(text.utf8)
        // SAFETY: the array lives for the length of the call.
        _ = unsafe Glibc.write(STDERR_FILENO, bytes, bytes.count)
    }
}
