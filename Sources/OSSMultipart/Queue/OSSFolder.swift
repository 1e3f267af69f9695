// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

public import FoundationEssentials
internal import SystemIO

/// A folder whose files are uploaded, each under its path from the folder.
public struct OSSFolder: Sendable {
    /// What is done with symbolic links.
    public struct SymbolicLinks: Sendable, Hashable, CustomStringConvertible {
        private enum Policy: String { case skip, follow }
        private let policy: Policy

        /// They are passed over.
        public static let skip = SymbolicLinks(policy: .skip)
        /// What they lead to is uploaded under the link's name; a folder that leads back into itself is passed over.
        public static let follow = SymbolicLinks(policy: .follow)

        /// Every policy.
        public static let all: [SymbolicLinks] = [.skip, .follow]

        /// The name, as the tool takes it: `skip` or `follow`.
        public var description: String { self.policy.rawValue }
    }

    /// The folder's path.
    public let path: String
    /// Patterns of which a file must match one; none: every file.
    ///
    /// `*`, `?` and `[...]` as in a shell, `*` also over slashes. A pattern without a slash is compared with the file's name, one
    /// with a slash with its path from the folder. Default: none.
    public var include: [String] = []
    /// Patterns of which a file must match none; they win over `include`.
    ///
    /// A folder that matches is passed over with all that is in it. Default: none.
    public var exclude: [String] = []
    /// What is done with symbolic links.
    ///
    /// Default: ``SymbolicLinks/skip``.
    public var symbolicLinks: SymbolicLinks = .skip

    /// Names a folder.
    public init(_ url: URL) {
        var path = url.filePath
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        self.path = path
    }

    /// What a walk found.
    public struct Listing: Sendable {
        /// Paths of the files from the folder, in the order of their bytes.
        public internal(set) var files: [String] = []
        /// What was passed over although no pattern says so, and why: links, pipes, names that no key can hold.
        public internal(set) var passedOver: [String] = []
    }

    /// Walks the folder.
    ///
    /// - Throws: `OSSError.sourceUnreadable` for a folder that cannot be read: what is in it would be missing unseen.
    public func listing() async throws -> Listing {
        let executor = BlockingExecutor(threads: 1)
        let walk = FolderWalk(self)
        let flag = CancellationFlag()
        let listing = try await withTaskCancellationHandler {
            try await executor.run { () throws(any Error) in try walk.run { flag.isSet } }
        } onCancel: {
            flag.set()
        }
        await executor.shutDown()
        return listing
    }

    /// Walks the folder and returns a queue's items: each file goes to the prefix and its path from the folder.
    ///
    /// - Throws: as ``listing()``.
    public func items(
        bucket: String, prefix: String = "", headers: OSSObjectHeaders = OSSObjectHeaders()
    ) async throws -> [OSSUploadQueue.Item] {
        self.items(of: try await self.listing(), bucket: bucket, prefix: prefix, headers: headers)
    }

    /// The items of a walk that was made.
    public func items(
        of listing: Listing, bucket: String, prefix: String = "", headers: OSSObjectHeaders = OSSObjectHeaders()
    ) -> [OSSUploadQueue.Item] {
        listing.files.map { file in
            var destination = OSSUploader.Destination(bucket: bucket, key: prefix + file)
            destination.headers = headers
            return OSSUploadQueue.Item(.file(URL(filePath: self.path + "/" + file)), to: destination)
        }
    }
}

/// A walk through a folder and those in it.
private struct FolderWalk: Sendable {
    private let folder: OSSFolder

    init(_ folder: OSSFolder) { self.folder = folder }

    func run(isCancelled: () -> Bool) throws -> OSSFolder.Listing {
        var listing = OSSFolder.Listing()
        let top: FileStatus
        do { top = try FileStatus.of(path: self.folder.path) } catch { throw Self.unreadable(error) }
        guard top.kind == .directory else {
            throw OSSError(.sourceUnreadable, "\(self.folder.path) is no folder; name one, or upload it as a file")
        }
        try self.walk("", [Self.mark(top)], &listing, isCancelled)
        listing.files.sort { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        return listing
    }

    /// - Parameter above: the folders that lead here, to see one that leads back into itself.
    private func walk(
        _ relative: String, _ above: [[UInt64]], _ listing: inout OSSFolder.Listing, _ isCancelled: () -> Bool
    ) throws {
        if isCancelled() { throw CancellationError() }
        let names: [String]
        do { names = try Directory.names(in: self.folder.path + "/" + relative) } catch { throw Self.unreadable(error) }
        for name in names.sorted() {
            let path = relative.isEmpty ? name : relative + "/" + name
            if self.matches(path, name, self.folder.exclude) { continue }
            // A name that is not UTF-8 would name another key, and another file.
            guard !name.unicodeScalars.contains("\u{FFFD}") else {
                listing.passedOver.append("\(path): its name is not UTF-8")
                continue
            }
            var status: FileStatus
            do throws(SystemError) {
                status = try FileStatus.ofLink(path: self.folder.path + "/" + path)
                if status.kind == .symbolicLink {
                    guard self.folder.symbolicLinks == .follow else {
                        listing.passedOver.append("\(path): a symbolic link")
                        continue
                    }
                    status = try FileStatus.of(path: self.folder.path + "/" + path)
                }
            } catch {
                // Gone since the folder was read, or a link to nothing.
                listing.passedOver.append("\(path): \(error)")
                continue
            }
            switch status.kind {
            case .directory:
                guard !above.contains(Self.mark(status)) else {
                    listing.passedOver.append("\(path): it leads back into itself")
                    continue
                }
                try self.walk(path, above + [Self.mark(status)], &listing, isCancelled)
            case .regular:
                if self.folder.include.isEmpty || self.matches(path, name, self.folder.include) {
                    listing.files.append(path)
                }
            default: listing.passedOver.append("\(path): neither a file nor a folder")
            }
        }
    }

    private func matches(_ path: String, _ name: String, _ patterns: [String]) -> Bool {
        patterns.contains { NamePattern.matches($0.utf8.contains(UInt8(ascii: "/")) ? path : name, $0) }
    }

    private static func mark(_ status: FileStatus) -> [UInt64] { [status.device, status.inode] }

    private static func unreadable(_ error: any Error) -> OSSError {
        OSSError(.sourceUnreadable, "the folder cannot be read: \(error)", underlying: error)
    }
}
