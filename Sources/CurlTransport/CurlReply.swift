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
        let text = Self.text(line)
        if text.utf8.starts(with: "HTTP/".utf8), self.status == 0 || self.isHeadComplete {
            let digits = text.utf8.drop { $0 != UInt8(ascii: " ") }.drop { $0 == UInt8(ascii: " ") }.prefix(3)
            self.status = Int(String(decoding: Array(digits), as: UTF8.self)) ?? 0
            self.headers = HTTPFields()
            self.isHeadComplete = false
        } else if self.isHeadComplete {
            // A trailer: the reply's head is complete.
        } else if text.isEmpty {
            self.closeField()
            self.isHeadComplete = true
        } else if text.utf8.first == UInt8(ascii: " ") || text.utf8.first == UInt8(ascii: "\t") {
            let more = text.trimmedBlanks
            if let field = self.openField, !more.isEmpty {
                self.openField?.value = field.value.isEmpty ? more : "\(field.value) \(more)"
            }
        } else if let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) {
            self.closeField()
            self.openField = (text[..<colon].trimmedBlanks, text[text.utf8.index(after: colon)...].trimmedBlanks)
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

    /// The line without its line break; bytes that are not UTF-8 are replaced.
    private static func text(_ line: Span<UInt8>) -> String {
        var end = line.count
        while end > 0, line[end - 1] == 0x0A || line[end - 1] == 0x0D { end -= 1 }
        // SAFETY: the pointer is used within the closure, and `end` lies within the line.
        return unsafe line.withUnsafeBufferPointer { unsafe String(decoding: $0[..<end], as: UTF8.self) }
    }
}
