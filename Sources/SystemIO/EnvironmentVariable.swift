// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import Glibc

/// The process's environment.
package enum EnvironmentVariable {
    /// The value of a variable, nil where it is not set.
    ///
    /// The corresponding C function is `getenv`.
    package static func value(of name: String) -> String? {
        // SAFETY: the text is copied at once; a program that calls setenv on another thread meanwhile breaks getenv's rules.
        unsafe getenv(name).map { unsafe String(cString: $0) }
    }
}
