// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import Glibc

/// Patterns of a shell.
package enum NamePattern {
    /// Whether a text matches a pattern of `*`, `?` and `[...]`; `*` takes slashes too.
    ///
    /// The corresponding C function is `fnmatch` without flags.
    package static func matches(_ text: String, _ pattern: String) -> Bool { unsafe fnmatch(pattern, text, 0) == 0 }
}
