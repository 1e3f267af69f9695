// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

public import FoundationEssentials
internal import SystemIO

/// What a request sends: bytes in memory, or a region of a file that is read while it is sent.
public struct OSSBody: Sendable {
    private enum Kind: Sendable {
        case bytes([UInt8])
        case file(path: String, range: Range<Int64>?)
    }
    private let kind: Kind

    /// These bytes.
    public static func bytes(_ bytes: [UInt8]) -> OSSBody { OSSBody(kind: .bytes(bytes)) }

    /// A file, or a region of it in bytes from its start; the file is opened when the request is made.
    public static func file(_ url: URL, range: Range<Int64>? = nil) -> OSSBody {
        OSSBody(kind: .file(path: url.filePath, range: range))
    }

    /// The same as a region of an open source.
    func openRegion(on executor: BlockingExecutor) async throws(OSSError) -> SourceRegion {
        switch try await self.open(on: executor) {
        case .region(let region), .form(_, let region, _): return region
        case .bytes(let bytes):
            return OpenSource(bytes: bytes, name: "bytes in memory").region(at: 0, length: Int64(bytes.count))
        case .none: return OpenSource(bytes: [], name: "no bytes").region(at: 0, length: 0)
        }
    }

    /// Opens what has to be opened and looks at its size, on a thread that may block.
    func open(on executor: BlockingExecutor) async throws(OSSError) -> ServiceBody {
        switch self.kind {
        case .bytes(let bytes): return .bytes(bytes)
        case .file(let path, let range):
            let source = try await executor.run { () throws(OSSError) in try OpenSource(path: path, region: range) }
            return .region(source.region(at: 0, length: source.size))
        }
    }
}
