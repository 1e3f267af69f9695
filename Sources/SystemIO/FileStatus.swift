// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import Glibc

/// What `stat` tells of a file.
package struct FileStatus: Sendable, Equatable {
    /// The kinds of files.
    package enum Kind: Sendable {
        case regular, directory, symbolicLink, pipe, socket, characterDevice, blockDevice, other
    }

    /// The file's kind.
    package let kind: Kind
    /// Size in bytes.
    package let size: Int64
    /// Bytes that the file takes on the disk: less than the size where it is sparse.
    package let allocatedSize: Int64
    /// Last change of the content, in nanoseconds since 1970.
    package let modificationTime: Int64
    /// Last change of content or attributes, in nanoseconds since 1970; no call can set it.
    package let changeTime: Int64
    /// The file's number on its device.
    package let inode: UInt64
    /// The device's number.
    package let device: UInt64
    /// The permission bits.
    package let permissions: UInt32
    /// How many names the file has; 0 where it has been removed.
    package let linkCount: Int

    init(_ status: stat) {
        self.kind =
            switch status.st_mode & S_IFMT {
            case S_IFREG: .regular
            case S_IFDIR: .directory
            case S_IFLNK: .symbolicLink
            case S_IFIFO: .pipe
            case S_IFSOCK: .socket
            case S_IFCHR: .characterDevice
            case S_IFBLK: .blockDevice
            default: .other
            }
        self.size = Int64(status.st_size)
        self.allocatedSize = Int64(status.st_blocks) * 512
        self.modificationTime = Self.nanoseconds(status.st_mtim)
        self.changeTime = Self.nanoseconds(status.st_ctim)
        self.inode = UInt64(status.st_ino)
        self.device = UInt64(status.st_dev)
        self.permissions = UInt32(status.st_mode & 0o7777)
        self.linkCount = Int(status.st_nlink)
    }

    private static func nanoseconds(_ time: timespec) -> Int64 {
        Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    /// Looks at what a path names, behind symbolic links.
    ///
    /// The corresponding C function is `stat`.
    package static func of(path: String) throws(SystemError) -> FileStatus {
        var status = stat()
        _ = try retryingOnInterrupt("stat", path) { unsafe stat(path, &status) }
        return FileStatus(status)
    }

    /// Looks at what a path names, not following a symbolic link at its end.
    ///
    /// The corresponding C function is `lstat`.
    package static func ofLink(path: String) throws(SystemError) -> FileStatus {
        var status = stat()
        _ = try retryingOnInterrupt("lstat", path) { unsafe lstat(path, &status) }
        return FileStatus(status)
    }
}
