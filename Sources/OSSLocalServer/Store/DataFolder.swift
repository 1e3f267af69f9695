// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import Synchronization
internal import SystemIO

/// The folder that holds the parts of one upload, and of the object that comes of it.
///
/// Parts never move: completing an upload only writes the object's document. A folder that is no longer needed is removed
/// when the last one who reads from it is done.
final class DataFolder: Sendable {
    /// The folder's name: the upload's ID, or one of its own for an object put at once.
    let name: String
    /// The folder's path.
    let path: String
    private let isUnwanted = Atomic<Bool>(false)

    /// Names a folder that is there, or that the caller is about to make.
    init(name: String, in parent: String) {
        self.name = name
        self.path = parent + "/" + name
    }

    deinit {
        guard self.isUnwanted.load(ordering: .acquiring) else { return }
        // What cannot be removed now is found unreferenced, and removed, at the next start.
        try? Self.removeTree(self.path)
    }

    /// Has the folder removed once nobody uses it.
    func removeWhenUnused() { self.isUnwanted.store(true, ordering: .releasing) }

    /// Takes ``removeWhenUnused()`` back.
    func keep() { self.isUnwanted.store(false, ordering: .releasing) }

    /// The path of a file in it.
    func path(of file: String) -> String { self.path + "/" + file }

    /// Removes a folder and all that is in it.
    static func removeTree(_ path: String) throws(SystemError) {
        for name in try Directory.names(in: path) {
            let entry = path + "/" + name
            do throws(SystemError) {
                if try FileStatus.ofLink(path: entry).kind == .directory {
                    try self.removeTree(entry)
                } else {
                    try Directory.removeFile(entry)
                }
            } catch  where error.isMissingFile {
                // The folder's last user removes it too while its bucket goes: what was wanted.
            }
        }
        try Directory.removeEmptyDirectory(path)
    }
}
