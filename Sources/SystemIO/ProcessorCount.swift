// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import Glibc

/// The machine's processors.
package enum ProcessorCount {
    /// How many are in use, at least 1.
    ///
    /// The C function is `sysconf` with `_SC_NPROCESSORS_ONLN`.
    package static var available: Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }
}
