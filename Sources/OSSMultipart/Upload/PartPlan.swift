// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// How a source is cut into parts.
struct PartPlan: Sendable, Hashable {
    /// One part of the plan.
    struct Part: Sendable, Hashable {
        /// From 1 on.
        let number: Int
        /// Bytes from the source's start.
        let offset: Int64
        /// Size in bytes.
        let size: Int64
    }

    /// The automatic part size begins here.
    ///
    /// *Source:* our own choice: with four in flight it fills a fast line, and a lost part costs little.
    /// *Applies to:* sources up to 78 GiB; larger ones get larger parts.
    static let automaticPartSize: Int64 = 8 * 1024 * 1024
    private static let mebibyte: Int64 = 1024 * 1024

    /// The source's size in bytes.
    let size: Int64
    /// The sizes of all parts but the last.
    let sizes: PartSizes
    /// The size of the first part, in bytes, and with it of every part but the last where parts do not grow.
    var partSize: Int64 { self.sizes.first }
    /// How many parts there are: at least one, also where the source is empty.
    let count: Int

    /// The plan of a source that was cut before its size was known.
    init(size: Int64, sizes: PartSizes) {
        self.size = size
        self.sizes = sizes
        self.count = sizes.count(for: size)
    }

    /// Plans a source.
    ///
    /// - Parameters:
    ///   - size: the source's size in bytes.
    ///   - partSize: bytes of every part but the last; nil: 8 MiB, or the next MiB with which 10,000 parts suffice.
    /// - Throws: `OSSError.invalidArgument` where there is no such plan, with what to change.
    init(size: Int64, partSize: Int64?) throws(OSSError) {
        guard size <= Limits.maximumObjectSize else {
            throw OSSError(
                .invalidArgument,
                "the source has \(size) bytes; an object has at most \(Limits.maximumObjectSize) (48.8 TiB)"
            )
        }
        let needed = max(1, (size + Int64(Limits.maximumPartNumber) - 1) / Int64(Limits.maximumPartNumber))
        if let partSize {
            guard partSize >= Limits.minimumPartSize, partSize <= Limits.maximumPartSize else {
                throw OSSError(
                    .invalidArgument,
                    "the part size is \(partSize) bytes; it lies between \(Limits.minimumPartSize) (100 KiB) "
                        + "and \(Limits.maximumPartSize) (5 GiB)"
                )
            }
            guard partSize >= needed else {
                throw OSSError(
                    .invalidArgument,
                    "with parts of \(partSize) bytes the source would need more than 10000 of them; use at "
                        + "least \(needed) bytes, or leave the part size out"
                )
            }
            self.sizes = PartSizes(partSize)
        } else if needed <= Self.automaticPartSize {
            self.sizes = PartSizes(Self.automaticPartSize)
        } else {
            let rounded = (needed + Self.mebibyte - 1) / Self.mebibyte * Self.mebibyte
            // 5 GiB is a whole number of MiB, so rounding never passes it.
            self.sizes = PartSizes(rounded)
        }
        self.size = size
        self.count = self.sizes.count(for: size)
    }

    /// Whether the source is so small that it goes up with one request.
    var goesUpWhole: Bool { self.size < min(self.partSize, UploadRun.wholeObjectLimit) }

    /// The part of that number, which lies between 1 and `count`.
    subscript(number: Int) -> Part {
        let offset = self.sizes.offset(of: number)
        return Part(number: number, offset: offset, size: min(self.sizes[number], self.size - offset))
    }
}
