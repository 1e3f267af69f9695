// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import SystemIO

/// What tells whether a source is still the one it was.
struct SourceIdentity: Sendable, Hashable {
    /// What a source shows of itself beside its size.
    enum Evidence: Sendable, Hashable {
        /// A file's times of change, its number and its device's.
        case file(FileMarks)
        /// What the caller says; it changes with the content.
        case label(String)
        /// Nothing: the content itself has to be compared.
        case none
    }

    /// What the system says of a file.
    struct FileMarks: Sendable, Hashable {
        /// Last change of the content, in nanoseconds since 1970.
        var modificationTime: Int64
        /// Last change of content or attributes, in nanoseconds since 1970; no program can set it back.
        var changeTime: Int64
        /// The file's number on its device.
        var inode: UInt64
        /// The device's number.
        var device: UInt64
        /// Where in the file the source begins, in bytes.
        var origin: Int64 = 0
    }

    /// Size in bytes; nil for a stream whose length nobody knows before its end.
    var size: Int64?
    /// What it shows beside its size.
    var evidence: Evidence

    init(size: Int64?, evidence: Evidence) {
        self.size = size
        self.evidence = evidence
    }

    /// The identity of a file, or of a region of it.
    init(_ status: FileStatus, region: Range<Int64>? = nil) {
        let marks = FileMarks(
            modificationTime: status.modificationTime, changeTime: status.changeTime, inode: status.inode,
            device: status.device, origin: region?.lowerBound ?? 0
        )
        self.init(size: region.map { $0.upperBound - $0.lowerBound } ?? status.size, evidence: .file(marks))
    }

    /// The size, for messages.
    var sizeText: String { self.size.map { "\($0) bytes long" } ?? "a stream" }

    /// Whether a source of this identity has the content that it had, as far as that can be told without reading it.
    func isSurely(_ earlier: SourceIdentity) -> Bool { self == earlier && self.evidence != .none }
}
