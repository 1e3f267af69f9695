// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import Glibc
internal import OSSWire
internal import SystemIO

/// Records as files in a folder, one a record, locked with `flock`.
///
/// The folder is made where it is missing, for its owner alone; the files are readable and writable by their owner alone.
struct DirectoryCheckpointStore: CheckpointStore {
    /// The folder's path.
    let path: String

    /// How often a file that was replaced while its lock was taken is opened anew.
    ///
    /// *Source:* our own choice: each time another upload of this key has just ended. *Applies to:* ``open(_:creating:)``.
    private static let attempts = 16

    private static let suffix = ".journal"

    func location(of name: String) -> String { "\(self.path)/\(name)\(Self.suffix)" }

    func names() throws -> [String]? {
        do {
            return try Directory.names(in: self.path).filter { $0.hasSuffix(Self.suffix) }
                .map { String($0.dropLast(Self.suffix.count)) }
        } catch {
            if error.number == ENOENT { return nil }
            throw OSSError.checkpointUnusable(self.path, error)
        }
    }

    func peek(_ name: String, limit: Int) throws -> [UInt8]? {
        let path = self.location(of: name)
        do {
            let file = try PosixFile(path: path, [.read, .noFollow, .nonBlocking])
            let status = try file.status()
            guard status.kind == .regular else { return nil }
            var bytes = [UInt8](repeating: 0, count: Int(min(Int64(limit), status.size)))
            let count = try file.read(at: 0, into: &bytes)
            bytes.removeLast(bytes.count - count)
            return bytes
        } catch {
            // Gone in the meantime; or a link or a socket, which is no record.
            if [ENOENT, ELOOP, ENXIO].contains(error.number) { return nil }
            throw OSSError.checkpointUnusable(path, error)
        }
    }

    func open(_ name: String, creating: Bool) throws -> (any CheckpointRecord)? {
        let file = self.location(of: name)
        do {
            if creating {
                try Directory.create(self.path)
            }
            for _ in 0..<Self.attempts {
                guard let handle = try self.openFile(file, creating: creating) else { return nil }
                guard try handle.lock() else {
                    throw OSSError(
                        .checkpointInUse,
                        "another process, or another upload of this one, is uploading to the same bucket "
                            + "and key (its record is \(file)); wait until it has ended"
                    )
                }
                // The one who had the lock before may have removed the file: then this is a lock on a file without a name.
                if try self.isStill(handle, at: file) { return DirectoryCheckpointRecord(handle, directory: self.path) }
            }
        } catch let error as SystemError {
            if !creating, error.number == ENOENT || error.number == ENOTDIR { return nil }
            throw OSSError.checkpointUnusable(self.path, error)
        }
        throw OSSError(.checkpointInUse, "other uploads keep replacing the record \(file); wait until they have ended")
    }

    private func openFile(_ file: String, creating: Bool) throws(SystemError) -> PosixFile? {
        let mode: PosixFile.Mode = [.readWrite, .noFollow, .append, .nonBlocking]
        do {
            let handle = try PosixFile(path: file, creating ? [mode, .create] : mode)
            if try handle.status().kind == .regular { return handle }
        } catch {
            switch error.number {
            // A symbolic link, a folder, a socket: nothing of ours. It is set aside below.
            case ELOOP, EISDIR, ENXIO: break
            case ENOENT where !creating: return nil
            default: throw error
            }
        }
        try self.putAside(file)
        guard creating else { return nil }
        return try PosixFile(path: file, [mode, .create, .exclusive])
    }

    /// Gives what stands in a record's place another name, one that is free where the usual one is taken by a folder.
    private func putAside(_ file: String) throws(SystemError) {
        let place = file + DirectoryCheckpointRecord.damagedSuffix
        for number in 1..<Self.attempts {
            do { return try Directory.rename(file, to: number == 1 ? place : "\(place)-\(number)") } catch
                where [EISDIR, ENOTDIR, ENOTEMPTY, EEXIST].contains(error.number)
            {
                continue
            }
        }
        try Directory.rename(file, to: "\(place)-\(Self.attempts)")
    }

    private func isStill(_ handle: PosixFile, at file: String) throws(SystemError) -> Bool {
        do {
            let (ours, named) = (try handle.status(), try FileStatus.ofLink(path: file))
            return ours.inode == named.inode && ours.device == named.device
        } catch {
            guard error.number == ENOENT else { throw error }
            return false
        }
    }
}

/// A record in a file.
final class DirectoryCheckpointRecord: CheckpointRecord {
    /// What a file is called that was set aside.
    static let damagedSuffix = ".damaged"

    private let file: PosixFile
    private let directory: String

    init(_ file: PosixFile, directory: String) {
        self.file = file
        self.directory = directory
    }

    func read() throws -> [UInt8] {
        try self.reporting {
            var bytes = [UInt8](repeating: 0, count: Int(try self.file.status().size))
            let count = try self.file.read(at: 0, into: &bytes)
            // Without a copy: the record of ten thousand parts is a million and a half bytes.
            bytes.removeLast(bytes.count - count)
            return bytes
        }
    }

    func append(_ bytes: [UInt8]) throws { try self.reporting { try self.file.write(bytes) } }

    func truncate(to length: Int) throws { try self.reporting { try self.file.truncate(to: Int64(length)) } }

    func synchronize(name: Bool) throws {
        try self.reporting {
            guard name else { return try self.file.synchronizeContent() }
            try self.file.synchronize()
            try Directory.synchronize(self.directory)
        }
    }

    func setAside() throws -> String {
        let copy = self.file.path + Self.damagedSuffix
        let bytes = try self.read()
        try self.reporting {
            // A copy, not a new name: the lock is on this file and must stay with the record's name.
            try PosixFile(path: copy, [.write, .create, .truncate, .noFollow]).write(bytes)
            try self.file.truncate(to: 0)
        }
        return copy
    }

    func close() { self.file.unlock() }

    func remove() throws {
        try self.reporting {
            try Directory.removeFile(self.file.path)
            let copy = self.file.path + Self.damagedSuffix
            if (try? FileStatus.ofLink(path: copy))?.kind == .regular {
                // What was set aside is of no use any more; a copy that cannot be removed does no harm.
                try? Directory.removeFile(copy)
            }
        }
    }

    private func reporting<Value>(_ body: () throws -> Value) throws -> Value {
        do { return try body() } catch let error as SystemError {
            throw OSSError.checkpointUnusable(self.file.path, error)
        }
    }
}

extension OSSError {
    fileprivate static func checkpointUnusable(_ path: String, _ error: SystemError) -> OSSError {
        OSSError(
            .checkpointUnusable,
            "the checkpoint \(path) cannot be used: \(error); choose a folder that can be written, or go without a checkpoint",
            underlying: error
        )
    }
}
