// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

/// Writes a document, element by element.
package struct XMLWriter: Sendable {
    /// The namespace of OSS documents.
    package static let namespace = "http://doc.oss-cn-hangzhou.aliyuncs.com"

    /// The document so far as UTF-8, beginning with the XML declaration.
    package private(set) var bytes = Array("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".utf8)

    /// Begins a document.
    ///
    /// - Parameter capacity: how long it will be in bytes, where that is known.
    package init(capacity: Int = 0) { self.bytes.reserveCapacity(capacity) }

    /// Writes an element that holds others.
    package mutating func element(
        _ name: String, namespace: String? = nil, _ content: (inout XMLWriter) throws -> Void
    ) rethrows {
        self.append("<")
        self.append(name)
        if let namespace {
            self.append(" xmlns=\"")
            self.appendEscaped(namespace)
            self.append("\"")
        }
        self.append(">")
        try content(&self)
        self.end(name)
    }

    /// Writes an element that holds text.
    package mutating func element(_ name: String, _ text: String) {
        self.append("<")
        self.append(name)
        self.append(">")
        self.appendEscaped(text)
        self.end(name)
    }

    /// Writes an element that holds a number.
    package mutating func element(_ name: String, _ number: some BinaryInteger) {
        self.element(name, String(number))
    }

    private mutating func append(_ text: String) { self.bytes.append(utf8: text) }

    private mutating func end(_ name: String) {
        self.append("</")
        self.append(name)
        self.append(">")
    }

    /// Whether a document can hold a character as it is.
    package static func canHold(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "\t", "\n", "\r": true
        case "\u{0}"..."\u{1F}", "\u{FFFE}", "\u{FFFF}": false
        default: true
        }
    }

    /// Escapes what XML reserves; a carriage return too, which a reader would otherwise take for a line feed.
    ///
    /// Characters that XML 1.0 cannot hold become U+FFFD: a listing that must be exact is asked for URL-encoded.
    private mutating func appendEscaped(_ text: String) {
        // Byte by byte: a list of parts has ten thousand ETags in quotes. A character's bytes other than its first are none of
        // those that are looked for.
        text.withUTF8Bytes { bytes in
            var index = 0
            while index < bytes.count {
                let byte = bytes[index]
                switch byte {
                case UInt8(ascii: "&"): self.append("&amp;")
                case UInt8(ascii: "<"): self.append("&lt;")
                case UInt8(ascii: ">"): self.append("&gt;")
                case UInt8(ascii: "\""): self.append("&quot;")
                case 0x0D: self.append("&#13;")
                case 0x00...0x1F where !Self.canHold(Unicode.Scalar(byte)): self.append("\u{FFFD}")
                // U+FFFE and U+FFFF.
                case 0xEF where bytes[index + 1] == 0xBF && bytes[index + 2] >= 0xBE:
                    self.append("\u{FFFD}")
                    index += 2
                default: self.bytes.append(byte)
                }
                index += 1
            }
        }
    }
}
