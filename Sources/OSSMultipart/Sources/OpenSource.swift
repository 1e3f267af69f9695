// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire
internal import SystemIO

/// A source and what it was when it was opened.
struct OpenSource: Sendable {
    /// Where the bytes are.
    enum Content: Sendable {
        /// In an open file, from an offset on.
        case file(PosixFile, origin: Int64)
        /// In memory.
        case memory([UInt8])
        /// Where the caller's code finds them.
        case custom(any OSSRandomAccessSource)
        /// Ahead, in a stream: there are no regions of it.
        case stream(StreamSource)
    }

    let content: Content
    /// What it is called in messages: a file's path.
    let name: String
    let identity: SourceIdentity
    /// Size in bytes.
    let size: Int64
    /// The whole file's status as it was, where the source is a file or a region of one.
    let status: FileStatus?

    /// Opens a regular file, or a region of one; may block.
    ///
    /// - Throws: `OSSError.sourceUnreadable` where there is none, or it cannot be read; `invalidArgument` for a region that
    ///   lies outside.
    init(path: String, region: Range<Int64>? = nil) throws(OSSError) {
        guard !path.isEmpty else { throw OSSError(.sourceUnreadable, "the source's path is empty; name a file") }
        let file: PosixFile
        let status: FileStatus
        do throws(SystemError) {
            // Opening a pipe would wait for its other end: the kind is looked at before anything is read.
            file = try PosixFile(path: path, [.read, .nonBlocking])
            status = try file.status()
        } catch {
            throw OSSError(.sourceUnreadable, "the source cannot be opened: \(error)", underlying: error)
        }
        guard status.kind == .regular else {
            throw OSSError(.sourceUnreadable, "the source \(path) is \(status.kind.noun), not a file")
        }
        if let region {
            guard region.lowerBound >= 0, region.upperBound <= status.size else {
                throw OSSError(
                    .invalidArgument,
                    "the range \(region.lowerBound)..<\(region.upperBound) lies outside the file \(path), which has "
                        + "\(status.size) bytes"
                )
            }
        } else if status.size == 0 {
            try Self.checkEmptiness(of: file)
        }
        self.content = .file(file, origin: region?.lowerBound ?? 0)
        self.name = path
        self.status = status
        self.size = region.map { $0.upperBound - $0.lowerBound } ?? status.size
        self.identity = SourceIdentity(status, region: region)
    }

    /// Bytes in memory; `identity` is nil where their content has to be compared at a resume.
    init(bytes: [UInt8], name: String, identity: String? = nil) {
        self.content = .memory(bytes)
        self.name = name
        self.status = nil
        self.size = Int64(bytes.count)
        self.identity = SourceIdentity(size: self.size, evidence: identity.map { .label($0) } ?? .none)
    }

    /// Asks a source of the caller's for its size and identity.
    init(_ source: any OSSRandomAccessSource) async throws {
        self.content = .custom(source)
        self.name = source.name
        self.status = nil
        self.identity = try await Self.identity(of: source)
        self.size = self.identity.size ?? 0
    }

    /// A stream that is still to be opened.
    init(_ stream: StreamSource) {
        self.content = .stream(stream)
        self.name = stream.name
        self.status = nil
        self.size = stream.size ?? 0
        self.identity = SourceIdentity(size: stream.size, evidence: .none)
    }

    /// The stream, where it is one.
    var stream: StreamSource? {
        guard case .stream(let stream) = self.content else { return nil }
        return stream
    }

    /// A region, for a request's body.
    func region(at offset: Int64, length: Int64) -> SourceRegion {
        SourceRegion(content: self.content, name: self.name, offset: offset, length: length)
    }

    /// Checks that the source is still what it was when it was opened: as far as attributes tell, and under its name.
    ///
    /// A file that was only renamed, removed, linked or given other rights is the same; its change time then differs from that
    /// of ``status``. So it does where somebody wrote and set the content's time back: there the bytes have to tell.
    ///
    /// - Returns: a file's status now; nil where it is no file.
    /// - Throws: `OSSError.sourceChanged` where it is not, `sourceUnreadable` where it cannot be told.
    @discardableResult
    func checkUnchanged(on executor: BlockingExecutor) async throws -> FileStatus? {
        switch self.content {
        case .memory, .stream: return nil
        case .custom(let source):
            let now = try await Self.identity(of: source)
            guard now == self.identity else { throw self.changed(size: now.size) }
            return nil
        case .file(let file, _):
            let before = self.status
            let now: FileStatus
            let named: FileStatus?
            do {
                (now, named) = try await executor.run { () throws(SystemError) in
                    // Where nothing is under the name any more, what is open is still whole.
                    let named = try? FileStatus.of(path: file.path)
                    // What has the name is most often what is open: one look is enough.
                    if let named, let before, named.inode == before.inode, named.device == before.device {
                        return (named, named)
                    }
                    return (try file.status(), named)
                }
            } catch {
                throw OSSError(.sourceUnreadable, "the source cannot be looked at: \(error)", underlying: error)
            }
            guard let before, now.size == before.size, now.modificationTime == before.modificationTime,
                now.inode == before.inode, now.device == before.device
            else { throw self.changed(size: now.size, from: self.status?.size) }
            // Another file has taken the name: that one is meant.
            if let named, named.inode != now.inode || named.device != now.device { throw self.changed(size: now.size) }
            return now
        }
    }

    /// The error of a source that is not what it was.
    func changed(size: Int64?, from before: Int64? = nil) -> OSSError {
        let before = before ?? self.size
        let sizes = size.map { $0 == before ? "" : " (it had \(before) bytes, now \($0))" } ?? ""
        return OSSError(
            .sourceChanged,
            "the source \(self.name) changed while it was uploaded\(sizes); nothing was published: let it rest, then run again"
        )
    }

    private static func identity(of source: any OSSRandomAccessSource) async throws -> SourceIdentity {
        let size: Int64
        let label: String?
        do {
            size = try await source.size
            label = try await source.identity
        } catch {
            throw try OSSError.sourceUnreadable(source.name, error)
        }
        guard size >= 0 else {
            throw OSSError(.sourceUnreadable, "the source \(source.name) says that it has \(size) bytes")
        }
        return SourceIdentity(size: size, evidence: label.map { .label($0) } ?? .none)
    }

    /// Files of /proc and the like say that they are empty, and are not.
    private static func checkEmptiness(of file: PosixFile) throws(OSSError) {
        var byte: [UInt8] = [0]
        let hasMore: Bool
        do throws(SystemError) { hasMore = try file.read(at: 0, into: &byte) > 0 } catch {
            throw OSSError(.sourceUnreadable, "the source cannot be read: \(error)", underlying: error)
        }
        guard !hasMore else {
            throw OSSError(
                .sourceUnreadable,
                "the source \(file.path) says that it has no bytes, and has some: copy it to a file first"
            )
        }
    }
}

/// A region of a source.
struct SourceRegion: Sendable {
    let content: OpenSource.Content
    /// The source's name, for messages.
    let name: String
    /// Bytes from the source's beginning.
    let offset: Int64
    /// Length in bytes.
    let length: Int64
}

extension OSSError {
    /// What the caller's own code threw while it was asked for bytes; a cancellation of this task passes unchanged.
    static func sourceUnreadable(_ name: String, _ error: any Error) throws -> OSSError {
        if error is CancellationError, Task.isCancelled { throw error }
        // One of another client says nothing of this upload: it goes beneath like any other.
        return OSSError(.sourceUnreadable, "the source \(name) cannot be read: \(error)", underlying: error)
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
