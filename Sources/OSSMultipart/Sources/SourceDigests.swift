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

    /// How much is read at a time, in bytes: large enough that calls do not count, small enough for a thread each.
    private static let bufferSize = 128 * 1024

    /// Reads a region once and computes the digests.
    ///
    /// Blocks; looks at `isCancelled` between reads.
    static func compute(
        of region: SourceRegion, md5 wantsMD5: Bool, crc64 wantsCRC64: Bool, isCancelled: () -> Bool
    ) throws -> SourceDigests {
        var md5 = try MessageDigest(.md5)
        var crc = CRC64()
        var buffer = [UInt8](repeating: 0, count: Int(min(Int64(Self.bufferSize), max(1, region.length))))
        var done: Int64 = 0
        while done < region.length {
            if isCancelled() { throw CancellationError() }
            let wanted = Int(min(Int64(buffer.count), region.length - done))
            let count: Int
            do throws(SystemError) {
                count = try region.file.read(at: region.offset + done, into: &buffer, count: wanted)
            } catch {
                throw OSSError(.sourceUnreadable, "the source cannot be read: \(error)", underlying: error)
            }
            guard count == wanted else {
                throw OSSError(
                    .sourceChanged,
                    "the source \(region.file.path) became shorter while it was read; nothing was published: "
                        + "let it rest, then run again"
                )
            }
            let bytes = buffer.span.extracting(first: count)
            if wantsMD5 { try md5.update(bytes) }
            if wantsCRC64 { crc.update(bytes) }
            done += Int64(count)
        }
        return SourceDigests(md5: wantsMD5 ? try md5.finish() : nil, crc64: wantsCRC64 ? crc.value : nil)
    }
}

extension OSSClient {
    /// Computes digests of a region on a thread that may block; a cancelled task ends it between two reads.
    func digests(of region: SourceRegion, md5: Bool, crc64: Bool) async throws -> SourceDigests {
        let flag = CancellationFlag()
        return try await withTaskCancellationHandler {
            try await self.blocking.run { () throws(any Error) in
                try SourceDigests.compute(of: region, md5: md5, crc64: crc64) { flag.isSet }
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
            case .region(let region):
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
