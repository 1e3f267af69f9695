// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import CLinux

/// The name of a thread, for those who look at the process with `ps`, `top` or a debugger.
package enum ThreadName {
    /// Names the thread that calls; a name of more than 15 bytes changes nothing.
    ///
    /// The C function is `pthread_setname_np`.
    // SAFETY: the text lives for the length of the call, which copies it.
    package static func set(_ name: String) { unsafe clinux_name_thread(name) }
}
