// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

/// A region of an object, in bytes.
public struct OSSByteRange: Sendable, Hashable {
    enum Kind: Sendable, Hashable {
        case bytes(Range<Int64>)
        case from(Int64)
        case last(Int64)
    }
    let kind: Kind

    /// The bytes from the lower bound up to and without the upper one; both must lie within the object.
    public static func bytes(_ range: Range<Int64>) -> OSSByteRange { OSSByteRange(kind: .bytes(range)) }
    /// All bytes from this one on, counted from 0.
    public static func from(_ offset: Int64) -> OSSByteRange { OSSByteRange(kind: .from(offset)) }
    /// So many bytes at the object's end.
    public static func last(_ count: Int64) -> OSSByteRange { OSSByteRange(kind: .last(count)) }

    /// The value of `Range`.
    var text: String {
        switch self.kind {
        case .bytes(let range): "bytes=\(range.lowerBound)-\(range.upperBound - 1)"
        case .from(let offset): "bytes=\(offset)-"
        case .last(let count): "bytes=-\(count)"
        }
    }

    func validate(_ operation: OSSError.Operation) throws(OSSError) {
        let isUsable =
            switch self.kind {
            case .bytes(let range): range.lowerBound >= 0 && !range.isEmpty
            case .from(let offset): offset >= 0
            case .last(let count): count > 0
            }
        guard isUsable else {
            throw OSSError(
                .invalidArgument,
                "the range \(self.text) is empty or begins before the object; ask for at least one byte",
                operation: operation
            )
        }
    }
}

/// What `Content-Range` says: a region and the size of the whole.
struct ContentRange: Equatable {
    let range: Range<Int64>
    let size: Int64

    /// Reads `bytes first-last/size`; nil where the text is anything else.
    init?(_ text: String) {
        guard text.hasPrefix("bytes ") else { return nil }
        let halves = text.dropFirst("bytes ".count).split(separator: "/", omittingEmptySubsequences: false)
        guard halves.count == 2, let size = Int64(halves[1]) else { return nil }
        let ends = halves[0].split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Int64(ends[0]), let last = Int64(ends[1]), first >= 0, first <= last,
            last < size
        else { return nil }
        self.range = first..<(last + 1)
        self.size = size
    }
}
