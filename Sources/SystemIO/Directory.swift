// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import Glibc

/// Folders and names.
package enum Directory {
    /// Makes a folder and those above it, where they are missing.
    ///
    /// The corresponding C function is `mkdir`.
    ///
    /// Folders made here are open to their owner alone unless `permissions` says otherwise.
    package static func create(_ path: String, permissions: UInt32 = 0o700) throws(SystemError) {
        do {
            _ = try retryingOnInterrupt("mkdir", path) { unsafe mkdir(path, mode_t(permissions)) }
        } catch {
            switch error.number {
            case EEXIST:
                guard try FileStatus.of(path: path).kind == .directory else {
                    throw SystemError(call: "mkdir", path: path, number: ENOTDIR)
                }
            case ENOENT:
                guard let parent = self.parent(of: path) else { throw error }
                try self.create(parent, permissions: permissions)
                do {
                    _ = try retryingOnInterrupt("mkdir", path) { unsafe mkdir(path, mode_t(permissions)) }
                } catch  where error.number == EEXIST {
                    // Somebody else made it in the meantime: what was wanted.
                }
            default: throw error
            }
        }
    }

    /// The folder that holds a path's last component; nil for `/` and for a bare name.
    package static func parent(of path: String) -> String? {
        // As bytes: a slash with an accent behind it is no character `/` to Swift.
        let slash = UInt8(ascii: "/")
        var trimmed = path.utf8[...]
        while trimmed.count > 1, trimmed.last == slash { trimmed.removeLast() }
        guard let last = trimmed.lastIndex(of: slash) else { return nil }
        if last == trimmed.startIndex { return trimmed.count > 1 ? "/" : nil }
        return String(decoding: trimmed[..<last], as: UTF8.self)
    }

    /// Makes a fresh folder for temporary files, in `TMPDIR` or else in `/tmp`, and returns its path.
    ///
    /// The corresponding C function is `mkdtemp`.
    package static func createTemporary(named name: String) throws(SystemError) -> String {
        // SAFETY: the text is copied before anybody could change the environment from here.
        let variable = unsafe getenv("TMPDIR").map { unsafe String(cString: $0) } ?? ""
        let folder = variable.isEmpty ? "/tmp" : variable
        var template = Array("\(folder)/\(name)-XXXXXX".utf8CString)
        // SAFETY: the array is ours and ends with zero; the function changes its six last letters.
        guard unsafe mkdtemp(&template) != nil else { throw SystemError(call: "mkdtemp", path: folder) }
        return String(decoding: template.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// The names in a folder, without `.` and `..`, in no order.
    ///
    /// The corresponding C function is `readdir`.
    package static func names(in path: String) throws(SystemError) -> [String] {
        guard let stream = unsafe opendir(path) else { throw SystemError(call: "opendir", path: path) }
        // SAFETY: the stream is closed on every way out; an entry is used before the next is read.
        defer { _ = unsafe closedir(stream) }
        var names: [String] = []
        while true {
            errno = 0
            guard let entry = unsafe readdir(stream) else {
                if errno != 0 { throw SystemError(call: "readdir", path: path) }
                return names
            }
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { tuple in
                unsafe tuple.withMemoryRebound(to: CChar.self, capacity: Int(NAME_MAX) + 1) {
                    unsafe String(cString: $0)
                }
            }
            if name != ".", name != ".." { names.append(name) }
        }
    }

    /// Makes a folder's entries durable.
    ///
    /// The corresponding C function is `fsync` on the folder.
    package static func synchronize(_ path: String) throws(SystemError) {
        try PosixFile(path: path, .init(rawValue: O_RDONLY | O_DIRECTORY)).synchronize()
    }

    /// Gives a file another name; one of that name is replaced.
    ///
    /// The corresponding C function is `rename`.
    package static func rename(_ path: String, to newPath: String) throws(SystemError) {
        _ = try retryingOnInterrupt("rename", path) { unsafe Glibc.rename(path, newPath) }
    }

    /// Gives a file a second name.
    ///
    /// The corresponding C function is `link`.
    package static func link(_ path: String, to newPath: String) throws(SystemError) {
        _ = try retryingOnInterrupt("link", newPath) { unsafe Glibc.link(path, newPath) }
    }

    /// Removes a file's name.
    ///
    /// The corresponding C function is `unlink`.
    package static func removeFile(_ path: String) throws(SystemError) {
        _ = try retryingOnInterrupt("unlink", path) { unsafe unlink(path) }
    }

    /// Removes an empty folder.
    ///
    /// The corresponding C function is `rmdir`.
    package static func removeEmptyDirectory(_ path: String) throws(SystemError) {
        _ = try retryingOnInterrupt("rmdir", path) { unsafe rmdir(path) }
    }
}
