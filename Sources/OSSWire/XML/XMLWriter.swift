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

    private mutating func append(_ text: String) { self.bytes.append(contentsOf: text.utf8) }

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
        // Most texts stand as they are.
        guard text.utf8.contains(where: Self.mayNeedEscape) else { return self.append(text) }
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": self.append("&amp;")
            case "<": self.append("&lt;")
            case ">": self.append("&gt;")
            case "\"": self.append("&quot;")
            case "\r": self.append("&#13;")
            case _ where !Self.canHold(scalar): self.append("\u{FFFD}")
            case _ where scalar.isASCII: self.bytes.append(UInt8(scalar.value))
            default: self.bytes.append(contentsOf: UTF8.encode(scalar) ?? .init())
            }
        }
    }

    private static func mayNeedEscape(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x00...0x1F, 0x80...0xFF, UInt8(ascii: "&"), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\""): true
        default: false
        }
    }
}
