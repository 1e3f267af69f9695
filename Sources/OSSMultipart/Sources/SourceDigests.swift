// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire
import Synchronization
internal import SystemIO

/// Digests of a region, as far as they were asked for.
struct SourceDigests: Sendable {
    /// 16 bytes.
    var md5: [UInt8]?
    var crc64: UInt64?
}

/// Digests that grow with each piece.
struct RunningDigests: ~Copyable {
    private var md5: MessageDigest?
    private var crc64: CRC64?

    init(md5: Bool, crc64: Bool) throws(DigestError) {
        if md5 { self.md5 = try MessageDigest(.md5) }
        if crc64 { self.crc64 = CRC64() }
    }

    mutating func update(_ bytes: Span<UInt8>) throws(DigestError) {
        try self.md5?.update(bytes)
        self.crc64?.update(bytes)
    }

    /// The digests of all pieces; the last call.
    consuming func finish() throws(DigestError) -> SourceDigests {
        let crc64 = self.crc64?.value
        guard let md5 = self.md5 else { return SourceDigests(crc64: crc64) }
        return SourceDigests(md5: try md5.finish(), crc64: crc64)
    }
}

/// Buffers of one size, used again and again.
private struct BufferPool: ~Copyable, Sendable {
    private let size: Int
    private let limit: Int
    private let spare = Lock<[[UInt8]]>([])

    /// Begins without any.
    ///
    /// - Parameters:
    ///   - size: of each, in bytes.
    ///   - limit: how many are kept while nobody uses them.
    init(size: Int, limit: Int) {
        self.size = size
        self.limit = limit
    }

    /// A buffer; what is in it is left from its last use.
    func take() -> [UInt8] {
        self.spare.withLock { $0.popLast() } ?? [UInt8](repeating: 0, count: self.size)
    }

    /// Takes back a buffer for the next use.
    func putBack(_ buffer: consuming [UInt8]) {
        let buffer = buffer
        self.spare.withLock { if $0.count < self.limit { $0.append(buffer) } }
    }
}

extension SourceRegion {
    /// How much of a file is read at a time, in bytes.
    ///
    /// *Source:* measured: with several threads at work, larger pieces do not stay in the processor's cache between reading
    /// and digest, and cost a fifth more in all. *Applies to:* digests of files.
    private static let fileBufferSize = 32 * 1024
    /// How long a region may be to be read to its end though the task is cancelled, in bytes.
    ///
    /// *Source:* our own choice: it takes half a millisecond, and to listen for a cancellation costs each small part.
    /// *Applies to:* digests of files and memory.
    fileprivate static let shortLength: Int64 = 256 * 1024
    /// How much is asked of the caller's code at a time, in bytes: large enough that calls do not count.
    ///
    /// *Source:* our own choice. *Applies to:* sources of the caller's.
    private static let pieceSize = 128 * 1024

    /// Buffers for reading files: to make one anew for each small part, and to give it back to the system, would cost more than
    /// the reading.
    private static let buffers = BufferPool(size: fileBufferSize, limit: 8)

    private func buffer(of size: Int) -> [UInt8] {
        [UInt8](repeating: 0, count: Int(min(Int64(size), max(1, self.length))))
    }

    /// Reads a region of a file or of memory once and computes the digests.
    ///
    /// Blocks; looks at `isCancelled` between reads.
    func digests(md5: Bool, crc64: Bool, isCancelled: () -> Bool) throws -> SourceDigests {
        var digests = try RunningDigests(md5: md5, crc64: crc64)
        switch self.content {
        // Not a matter of input: `OSSClient.digests` reads the one by async functions, and makes no region of the other.
        case .custom, .stream: preconditionFailure("not a source that is read by calls that block")
        case .memory(let bytes):
            try digests.update(bytes.span.extracting(Int(self.offset)..<Int(self.offset + self.length)))
        case .file(let file, let origin):
            var buffer = Self.buffers.take()
            defer { Self.buffers.putBack(buffer) }
            var done: Int64 = 0
            while done < self.length {
                if isCancelled() { throw CancellationError() }
                let wanted = Int(min(Int64(buffer.count), self.length - done))
                let count: Int
                do throws(SystemError) {
                    count = try file.read(at: origin + self.offset + done, into: &buffer, count: wanted)
                } catch {
                    throw OSSError(.sourceUnreadable, "the source cannot be read: \(error)", underlying: error)
                }
                guard count == wanted else { throw self.becameShorter() }
                try digests.update(buffer.span.extracting(first: count))
                done += Int64(count)
            }
        }
        return try digests.finish()
    }

    /// Reads the region piece by piece, away from Swift's own threads where reading blocks.
    ///
    /// - Parameter take: gets each piece; false ends the reading.
    func readPieces(
        on executor: BlockingExecutor, take: ([UInt8]) async throws -> Bool
    ) async throws {
        var done: Int64 = 0
        while done < self.length {
            try Task.checkCancellation()
            let piece = try await self.piece(at: done, on: executor)
            done += Int64(piece.count)
            guard try await take(piece) else { return }
        }
    }

    /// The next bytes behind the first `done`, at least one.
    private func piece(at done: Int64, on executor: BlockingExecutor) async throws -> [UInt8] {
        var buffer = self.buffer(of: Self.pieceSize)
        let wanted = Int(min(Int64(buffer.count), self.length - done))
        let place = self.offset + done
        let count: Int
        switch self.content {
        // Not a matter of input, as above.
        case .stream: preconditionFailure("a stream has no regions")
        case .memory(let bytes): return Array(bytes[Int(place)..<(Int(place) + wanted)])
        case .file(let file, let origin):
            do {
                (buffer, count) = try await executor.run { [buffer] () throws(SystemError) in
                    var buffer = buffer
                    let count = try file.read(at: origin + place, into: &buffer, count: wanted)
                    return (buffer, count)
                }
            } catch {
                throw OSSError(.sourceUnreadable, "the source cannot be read: \(error)", underlying: error)
            }
        case .custom(let source):
            buffer.removeLast(buffer.count - wanted)
            do { count = try await source.read(at: place, into: &buffer) } catch {
                throw try OSSError.sourceUnreadable(self.name, error)
            }
            guard count <= wanted, buffer.count == wanted else {
                throw OSSError(
                    .sourceUnreadable,
                    "the source \(self.name) says that it read \(count) bytes into a buffer for \(wanted), or changed the buffer's size"
                )
            }
        }
        guard count > 0 else { throw self.becameShorter() }
        buffer.removeLast(buffer.count - count)
        return buffer
    }

    private func becameShorter() -> OSSError {
        OSSError(
            .sourceChanged,
            "the source \(self.name) became shorter while it was read; nothing was published: let it rest, then run again"
        )
    }
}

extension OSSClient {
    /// Computes digests of a region away from Swift's own threads; a cancelled task ends that of a long one between two reads.
    func digests(of region: SourceRegion, md5: Bool, crc64: Bool) async throws -> SourceDigests {
        if case .custom = region.content {
            var digests = try RunningDigests(md5: md5, crc64: crc64)
            try await region.readPieces(on: self.blocking) { piece in
                try digests.update(piece.span)
                return true
            }
            return try digests.finish()
        }
        guard region.length > SourceRegion.shortLength else {
            return try await self.blocking.run { () throws(any Error) in
                try region.digests(md5: md5, crc64: crc64) { false }
            }
        }
        let flag = CancellationFlag()
        return try await withTaskCancellationHandler {
            try await self.blocking.run { () throws(any Error) in
                try region.digests(md5: md5, crc64: crc64) { flag.isSet }
            }
        } onCancel: {
            flag.set()
        }
    }

    /// MD5 of a request's body.
    func md5(of body: ServiceBody, operation: OSSError.Operation, part: Int?) async throws -> [UInt8] {
        do {
            switch body {
            case .none: return try MessageDigest.of([], .md5)
            case .bytes(let bytes):
                return try await self.blocking.run { () throws(DigestError) in try MessageDigest.of(bytes, .md5) }
            case .region(let region), .form(_, let region, _):
                let digests = try await self.digests(of: region, md5: true, crc64: false)
                return digests.md5 ?? []
            }
        } catch let error as DigestError {
            throw OSSError(
                .invalidConfiguration, "\(error); choose an integrity mode without MD5", operation: operation,
                partNumber: part, underlying: error
            )
        } catch var error as OSSError {
            error.operation = operation
            error.partNumber = part
            throw error
        }
    }
}

/// Says across threads that a task was cancelled.
final class CancellationFlag: Sendable {
    private let flag = Atomic<Bool>(false)

    var isSet: Bool { self.flag.load(ordering: .relaxed) }
    func set() { self.flag.store(true, ordering: .relaxed) }
}
