// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// How large each part is when it is full: always the same, or growing with its number.
///
/// A stream of unknown length cannot be cut so that 10,000 parts suffice; its parts grow instead, always at the same numbers,
/// so that a later run cuts the same stream in the same way.
struct PartSizes: Sendable, Hashable {
    /// How parts grow.
    struct Growth: Sendable, Hashable {
        /// No part is larger than this, in bytes.
        let limit: Int64
    }

    /// So many parts have the same size; the next ones have twice that.
    ///
    /// *Source:* our own choice: with parts of 8 MiB at first, 4 GiB go up before they grow, and memory follows slowly.
    /// *Applies to:* streams of unknown length.
    private static let partsOfOneSize = 500

    /// Size of the first part, in bytes.
    let first: Int64
    /// Nil: every part has the size of the first.
    let growth: Growth?

    init(_ first: Int64, growth: Growth? = nil) {
        self.first = first
        self.growth = growth
    }

    /// The sizes for a stream of unknown length: growing from `first` on, to `limit` bytes.
    static func growing(from first: Int64, limit: Int64) -> PartSizes {
        PartSizes(first, growth: Growth(limit: max(first, limit)))
    }

    /// Size of the part with that number, from 1 on, when it is full.
    subscript(number: Int) -> Int64 {
        guard let growth = self.growth else { return self.first }
        var size = self.first
        for _ in 0..<((number - 1) / Self.partsOfOneSize) {
            guard size <= growth.limit / 2 else { return growth.limit }
            size *= 2
        }
        return size
    }

    /// Where the part with that number begins, in bytes.
    func offset(of number: Int) -> Int64 {
        guard self.growth != nil else { return Int64(number - 1) * self.first }
        var offset: Int64 = 0
        var next = 1
        while next < number {
            let count = min(Self.partsOfOneSize, number - next)
            offset += Int64(count) * self[next]
            next += count
        }
        return offset
    }

    /// How many parts so many bytes make: at least one.
    func count(for size: Int64) -> Int {
        guard self.growth != nil else { return max(1, Int((size + self.first - 1) / self.first)) }
        var left = size
        var count = 0
        while left > 0 {
            let size = self[count + 1]
            let needed = Int(min(Int64(Self.partsOfOneSize), (left + size - 1) / size))
            left -= Int64(needed) * size
            count += needed
        }
        return max(1, count)
    }

    /// The most bytes that go into as many parts as an upload may have.
    var capacity: Int64 { min(Limits.maximumObjectSize, self.offset(of: Limits.maximumPartNumber + 1)) }
}
