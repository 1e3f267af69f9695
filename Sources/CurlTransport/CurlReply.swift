// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// A reply while it comes in: the head that counts, and the body.
///
/// curl splits the head into lines; interim replies (1xx) come first, trailers last, and neither is part of the reply.
struct CurlReply {
    /// The status of the newest head; 0 before the first.
    private(set) var status = 0
    /// The header fields of the newest head.
    private(set) var headers = HTTPFields()
    /// The body.
    private(set) var body: [UInt8] = []
    /// Bytes of heads and body so far.
    private(set) var bytesReceived: Int64 = 0
    /// Whether the body has become longer than it may.
    private(set) var isTooLarge = false
    /// The last field of the head, kept open because its value may go on in the next line.
    private var openField: (name: String, value: String)?
    /// Whether the blank line behind the newest head has come.
    private(set) var isHeadComplete = false

    /// Whether the whole head of the final reply is there.
    var hasFinalHead: Bool { self.isHeadComplete && (200...599).contains(self.status) }

    /// Takes one line of a head, with the line break at its end.
    mutating func appendHeadLine(_ line: Span<UInt8>) {
        self.bytesReceived += Int64(line.count)
        let line = line.extracting(first: Self.lengthWithoutBreak(line))
        if self.status == 0 || self.isHeadComplete, Self.isStatusLine(line) {
            self.status = Self.status(line)
            self.headers = HTTPFields()
            self.isHeadComplete = false
        } else if self.isHeadComplete {
            // A trailer: the reply's head is complete.
        } else if line.isEmpty {
            self.closeField()
            self.isHeadComplete = true
        } else if line[0].isBlank {
            let more = Self.trimmed(line)
            if let field = self.openField, !more.isEmpty {
                self.openField?.value = field.value.isEmpty ? more : "\(field.value) \(more)"
            }
        } else if let colon = line.indices.first(where: { line[$0] == UInt8(ascii: ":") }) {
            self.closeField()
            self.openField = (
                Self.trimmed(line.extracting(..<colon)), Self.trimmed(line.extracting((colon + 1)...))
            )
        }
    }

    /// Takes the next bytes of the body; false where there are more than `limit` then.
    mutating func appendBody(_ bytes: Span<UInt8>, limit: Int) -> Bool {
        self.bytesReceived += Int64(bytes.count)
        guard bytes.count <= limit - self.body.count else {
            self.isTooLarge = true
            return false
        }
        // SAFETY: the pointer is used within the closure.
        unsafe bytes.withUnsafeBufferPointer { unsafe self.body.append(contentsOf: $0) }
        return true
    }

    /// Counts bytes of the body that went elsewhere.
    mutating func count(_ bytes: Span<UInt8>) { self.bytesReceived += Int64(bytes.count) }

    /// The refusal in bytes that were left unread on a connection which broke while sending; nil where there is none.
    ///
    /// A status of 400 or more and its whole head must be there; the body is what is left, up to its length. Chunks are
    /// not put together here.
    static func refusal(in bytes: [UInt8], limit: Int) -> CurlReply? {
        guard bytes.starts(with: "HTTP/1.".utf8) else { return nil }
        var reply = CurlReply()
        var rest = bytes[...]
        while !reply.hasFinalHead {
            guard let end = rest.firstIndex(of: 0x0A) else { return nil }
            reply.appendHeadLine(Array(rest[...end]).span)
            rest = rest[(end + 1)...]
        }
        guard reply.status >= 400, reply.headers["Transfer-Encoding"] == nil else { return nil }
        if let text = reply.headers["Content-Length"] {
            guard let length = Int(text), length >= 0 else { return nil }
            rest = rest.prefix(length)
        }
        return reply.appendBody(Array(rest).span, limit: limit) ? reply : nil
    }

    private mutating func closeField() {
        if let field = self.openField { self.headers.append(name: field.name, value: field.value) }
        self.openField = nil
    }

    // MARK: Lines

    private static func lengthWithoutBreak(_ line: Span<UInt8>) -> Int {
        var end = line.count
        while end > 0, line[end - 1] == 0x0A || line[end - 1] == 0x0D { end -= 1 }
        return end
    }

    private static func isStatusLine(_ line: Span<UInt8>) -> Bool {
        "HTTP/".withUTF8Bytes { prefix in
            guard line.count >= prefix.count else { return false }
            for index in prefix.indices where line[index] != prefix[index] { return false }
            return true
        }
    }

    /// The status of a status line: up to three digits behind its first blanks; 0 where there are none.
    private static func status(_ line: Span<UInt8>) -> Int {
        var index = 0, status = 0
        while index < line.count, line[index] != UInt8(ascii: " ") { index += 1 }
        while index < line.count, line[index] == UInt8(ascii: " ") { index += 1 }
        for digit in index..<min(index + 3, line.count) {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(line[digit]) else { return 0 }
            status = status * 10 + Int(line[digit] - UInt8(ascii: "0"))
        }
        return status
    }

    /// The text without blanks and tabs at its ends; bytes that are not UTF-8 are replaced.
    private static func trimmed(_ bytes: Span<UInt8>) -> String {
        var start = 0, end = bytes.count
        while start < end, bytes[start].isBlank { start += 1 }
        while end > start, bytes[end - 1].isBlank { end -= 1 }
        return String(utf8: bytes.extracting(start..<end))
    }
}
