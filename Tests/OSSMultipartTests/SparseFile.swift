// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import FoundationEssentials
import SystemIO

/// A file that takes no room on the disk.
struct SparseFile {
    let url: URL

    init(_ path: String, size: Int64) throws {
        try PosixFile(path: path, [.write, .create]).truncate(to: size)
        self.url = URL(filePath: path)
    }
}
