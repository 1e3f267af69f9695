// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import SystemIO

/// Removes a folder of a test and all that is in it.
func removeFolder(_ path: String) {
    // What is left behind is in the folder for temporary files.
    for name in (try? Directory.names(in: path)) ?? [] {
        if (try? Directory.removeFile(path + "/" + name)) == nil { removeFolder(path + "/" + name) }
    }
    try? Directory.removeEmptyDirectory(path)
}
