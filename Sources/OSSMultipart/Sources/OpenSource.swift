// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire
internal import SystemIO

/// What tells whether a source is still the one it was.
struct SourceIdentity: Sendable, Hashable {
    /// Size in bytes.
    var size: Int64
    /// Last change of the content, in nanoseconds since 1970.
    var modificationTime: Int64
    /// Last change of content or attributes, in nanoseconds since 1970; no program can set it back.
    var changeTime: Int64
    /// The file's number on its device.
    var inode: UInt64
    /// The device's number.
    var device: UInt64

    init(size: Int64, modificationTime: Int64, changeTime: Int64, inode: UInt64, device: UInt64) {
        self.size = size
        self.modificationTime = modificationTime
        self.changeTime = changeTime
        self.inode = inode
        self.device = device
    }

    init(_ status: FileStatus) {
        self.init(
            size: status.size, modificationTime: status.modificationTime, changeTime: status.changeTime,
            inode: status.inode, device: status.device
        )
    }
}

/// A region of an open file.
struct SourceRegion: Sendable {
    let file: PosixFile
    let offset: Int64
    let length: Int64
}

/// A file that is open for reading, and what it was when it was opened.
///
/// Its calls may block.
struct OpenSource: Sendable {
    let file: PosixFile
    let identity: SourceIdentity

    /// Opens a regular file.
    ///
    /// - Throws: `OSSError.sourceUnreadable` where there is none, or it cannot be read.
    init(path: String) throws(OSSError) {
        guard !path.isEmpty else { throw OSSError(.sourceUnreadable, "the source's path is empty; name a file") }
        let status: FileStatus
        do throws(SystemError) {
            // Opening a pipe would wait for its other end: the kind is looked at before anything is read.
            self.file = try PosixFile(path: path, [.read, .nonBlocking])
            status = try self.file.status()
        } catch {
            throw OSSError(.sourceUnreadable, "the source cannot be opened: \(error)", underlying: error)
        }
        guard status.kind == .regular else {
            throw OSSError(.sourceUnreadable, "the source \(path) is \(status.kind.noun), not a file")
        }
        self.identity = SourceIdentity(status)
        guard status.size == 0 else { return }
        // Files of /proc and the like say that they are empty, and are not.
        var byte: [UInt8] = [0]
        let hasMore: Bool
        do throws(SystemError) { hasMore = try self.file.read(at: 0, into: &byte) > 0 } catch {
            throw OSSError(.sourceUnreadable, "the source cannot be read: \(error)", underlying: error)
        }
        guard !hasMore else {
            throw OSSError(
                .sourceUnreadable, "the source \(path) says that it has no bytes, and has some: copy it to a file first"
            )
        }
    }

    /// A region of the file, for a request's body.
    func region(at offset: Int64, length: Int64) -> SourceRegion {
        SourceRegion(file: self.file, offset: offset, length: length)
    }

    /// Checks that the file is still what it was when it was opened.
    ///
    /// - Throws: `OSSError.sourceChanged` where it is not.
    func checkUnchanged() throws(OSSError) {
        let now: SourceIdentity
        do throws(SystemError) { now = SourceIdentity(try self.file.status()) } catch {
            throw OSSError(.sourceUnreadable, "the source cannot be looked at: \(error)", underlying: error)
        }
        // A rename changes the change time alone, and not a byte: size, content time and file decide here. Between runs,
        // when nobody watched, the change time counts too.
        guard now.size == self.identity.size, now.modificationTime == self.identity.modificationTime,
            now.inode == self.identity.inode, now.device == self.identity.device
        else {
            throw OSSError(
                .sourceChanged,
                "the source \(self.file.path) changed while it was uploaded"
                    + (now.size == self.identity.size ? "" : " (it had \(self.identity.size) bytes, now \(now.size))")
                    + "; nothing was published: let it rest, then run again"
            )
        }
    }
}

extension FileStatus.Kind {
    fileprivate var noun: String {
        switch self {
        case .regular: "a file"
        case .directory: "a folder"
        case .symbolicLink: "a symbolic link"
        case .pipe: "a pipe"
        case .socket: "a socket"
        case .characterDevice, .blockDevice: "a device"
        case .other: "something else"
        }
    }
}
