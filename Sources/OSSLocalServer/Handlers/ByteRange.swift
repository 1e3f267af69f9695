// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// The region that a header names, as OSS reads it.
enum ByteRange {
    /// The region of an object of `size` bytes; nil where the text names none that the object has.
    ///
    /// An end behind the object's makes the whole range invalid, unless `x-oss-range-behavior: standard` asks for HTTP's own
    /// rule, by which it is cut. Of several ranges the first counts.
    static func parse(_ text: String, size: Int64, isStandard: Bool) -> Range<Int64>? {
        guard text.loweredASCII.hasPrefix("bytes="), size > 0,
            let first = text.dropFirst("bytes=".count).split(separator: ",").first
        else { return nil }
        let ends = first.split(separator: "-", omittingEmptySubsequences: false).map(\.trimmedBlanks)
        guard ends.count == 2 else { return nil }
        switch (Int64(ends[0]), Int64(ends[1])) {
        case (let first?, let last?):
            guard first >= 0, first <= last, first < size, last < size || isStandard else { return nil }
            return first..<(min(last, size - 1) + 1)
        case (let first?, nil):
            guard ends[1].isEmpty, first >= 0, first < size else { return nil }
            return first..<size
        case (nil, let count?):
            guard ends[0].isEmpty, count > 0, count <= size || isStandard else { return nil }
            return max(0, size - count)..<size
        case (nil, nil): return nil
        }
    }
}
