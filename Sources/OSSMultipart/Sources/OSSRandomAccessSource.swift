// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

/// Something that is no file but can be read at any place: an asset of a library, a blob of a database, a remote file.
///
/// It is read in pieces, several at a time, each part twice where a digest goes ahead of it; its memory does not depend on
/// its size. Methods may be called from any task, never on the main actor, and must not block a thread for long.
public protocol OSSRandomAccessSource: Sendable {
    /// What it is called in messages.
    var name: String { get }

    /// Its size in bytes.
    ///
    /// It is asked for at the beginning, at each part and before the object is completed; another answer ends the upload with
    /// ``OSSError/Code/sourceChanged``.
    var size: Int64 { get async throws }

    /// A text that changes whenever the content does, for example a version or a time of change; nil where there is none.
    ///
    /// An upload that goes on in a later run trusts what was stored where the text is the same, and reads all of it again where
    /// it is another one or nil. Default: nil.
    var identity: String? { get async throws }

    /// Reads bytes at a place.
    ///
    /// - Parameters:
    ///   - offset: bytes from the source's beginning.
    ///   - buffer: what to fill from its front on; its `count` is how many bytes are wanted at most, and must stay.
    /// - Returns: how many bytes were read, at least 1; fewer than wanted are fine.
    /// - Throws: anything; the upload ends with ``OSSError/Code/sourceUnreadable``, which has the error beneath.
    func read(at offset: Int64, into buffer: inout [UInt8]) async throws -> Int
}

extension OSSRandomAccessSource {
    /// The type's name.
    public var name: String { "\(type(of: self))" }

    /// Nil: nothing is known of what it was.
    public var identity: String? { get async throws { nil } }
}

/// A source made of two closures.
struct ClosureSource: OSSRandomAccessSource {
    typealias Read = @Sendable (_ offset: Int64, _ buffer: inout [UInt8]) async throws -> Int

    let name: String
    let fixedIdentity: String?
    let sizeOf: @Sendable () async throws -> Int64
    let readAt: Read

    var size: Int64 { get async throws { try await self.sizeOf() } }
    var identity: String? { get async throws { self.fixedIdentity } }
    func read(at offset: Int64, into buffer: inout [UInt8]) async throws -> Int {
        try await self.readAt(offset, &buffer)
    }
}
