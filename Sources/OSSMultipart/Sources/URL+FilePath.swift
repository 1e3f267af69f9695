// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import FoundationEssentials

extension URL {
    /// The path of a file as it was given, for the system to resolve.
    ///
    /// `path` takes `name/..` out of a relative URL by its letters alone; where the name is a symbolic link, what is left leads to
    /// another file.
    var filePath: String {
        let relative = self.relativePath
        guard let base = self.baseURL,
            relative.utf8.split(separator: UInt8(ascii: "/")).contains(where: { $0.elementsEqual("..".utf8) })
        else { return self.path(percentEncoded: false) }
        let folder = base.hasDirectoryPath ? base : base.deletingLastPathComponent()
        let start = folder.filePath
        return start + (start.utf8.last == UInt8(ascii: "/") ? "" : "/") + relative + (self.hasDirectoryPath ? "/" : "")
    }
}
