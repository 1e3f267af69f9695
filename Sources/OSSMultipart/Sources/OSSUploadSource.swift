// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

public import FoundationEssentials
internal import SystemIO

/// What is uploaded.
public struct OSSUploadSource: Sendable, CustomStringConvertible {
    let path: String

    /// A regular file, or a symbolic link to one.
    ///
    /// It must rest while it is uploaded.
    public static func file(_ url: URL) -> OSSUploadSource {
        OSSUploadSource(path: url.path(percentEncoded: false))
    }

    /// The file's path.
    public var description: String { self.path }

    /// Opens the source on a thread that may block.
    func open(on executor: BlockingExecutor) async throws -> OpenSource {
        let path = self.path
        return try await executor.run { () throws(OSSError) in try OpenSource(path: path) }
    }
}
