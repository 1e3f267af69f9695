// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

/// Writes a document, element by element.
package struct XMLWriter: Sendable {
    /// The namespace of OSS documents.
    package static let namespace = "http://doc.oss-cn-hangzhou.aliyuncs.com"

    /// The document so far, beginning with the XML declaration.
    package private(set) var document = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"

    package init() {}

    /// The document so far as UTF-8.
    package var bytes: [UInt8] { Array(self.document.utf8) }

    /// Writes an element that holds others.
    package mutating func element(
        _ name: String, namespace: String? = nil, _ content: (inout XMLWriter) throws -> Void
    ) rethrows {
        self.document += "<" + name
        if let namespace { self.document += " xmlns=\"" + Self.escaped(namespace) + "\"" }
        self.document += ">"
        try content(&self)
        self.document += "</" + name + ">"
    }

    /// Writes an element that holds text.
    package mutating func element(_ name: String, _ text: some StringProtocol) {
        self.document += "<" + name + ">" + Self.escaped(text) + "</" + name + ">"
    }

    /// Writes an element that holds a number.
    package mutating func element(_ name: String, _ number: some BinaryInteger) {
        self.element(name, String(number))
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
    private static func escaped(_ text: some StringProtocol) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "\r": escaped += "&#13;"
            case "\t", "\n": escaped.unicodeScalars.append(scalar)
            case "\u{0}"..."\u{1F}", "\u{FFFE}", "\u{FFFF}": escaped += "\u{FFFD}"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
