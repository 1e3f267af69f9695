// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import CExpat

/// A document that cannot be taken: not well-formed, of a foreign kind, or beyond the bounds.
package struct XMLError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What is wrong with the document.
    package let description: String

    package init(_ description: String) { self.description = description }
}

/// One element of a reply's document: local name, text and children.
///
/// Attributes are not kept, for OSS uses none.
///
/// Documents are read with Expat (`XML_Parse`); a DOCTYPE is refused before anything in it is looked at, so no entity of the
/// document's own is ever expanded.
package struct XMLElement: Sendable, Equatable {
    /// The name without prefix.
    package var name: String
    /// All text directly inside, as it stands, CDATA included.
    package var text: String = ""
    /// The elements directly inside, in order.
    package var children: [XMLElement] = []

    /// Deepest nesting taken.
    ///
    /// *Source:* OSS documents nest four deep. *Applies to:* replies and request bodies.
    package static let maximumDepth = 32

    /// Most elements of one document.
    ///
    /// *Source:* 10,000 parts of a Complete are 30,001 elements.
    /// *Applies to:* replies and request bodies.
    package static let maximumElements = 100_000

    /// Reads a document whose root has to be called `root`; blanks and a byte order mark before it are skipped.
    ///
    /// - Throws: `XMLError` where the document is empty, not well-formed, has a DOCTYPE, nests deeper than
    ///   ``maximumDepth``, has more than ``maximumElements`` elements, or has another root.
    package static func parse(_ document: [UInt8], root: String) throws(XMLError) -> XMLElement {
        try self.parse(document, expecting: root)
    }

    /// Reads a document, whatever its root is called; see ``parse(_:root:)``.
    package static func parse(_ document: [UInt8]) throws(XMLError) -> XMLElement {
        try self.parse(document, expecting: nil)
    }

    private static func parse(_ document: [UInt8], expecting root: String?) throws(XMLError) -> XMLElement {
        // Blanks come while a long Complete is processed; XML itself allows none before its declaration.
        let blanks: Set<UInt8> = [0x20, 0x09, 0x0A, 0x0D]
        let content = Array(document.drop { blanks.contains($0) })
        guard !content.isEmpty else { throw XMLError("the document is empty") }
        guard content.count <= Int(Int32.max) else { throw XMLError("the document is longer than 2 GiB") }
        return try XMLTreeBuilder.build(content, root: root)
    }

    /// The first child of that name.
    package subscript(name: String) -> XMLElement? { self.children.first { $0.name == name } }

    /// All children of that name, in order.
    package func all(_ name: String) -> [XMLElement] { self.children.filter { $0.name == name } }

    /// The text of the first child of that name, as it stands; nil where there is none.
    package func string(_ name: String) -> String? { self[name]?.text }

    /// The text of the first child of that name, as it stands.
    ///
    /// - Throws: `XMLError` where there is none.
    package func requiredString(_ name: String) throws(XMLError) -> String {
        guard let text = self.string(name) else { throw XMLError("\(self.name) has no \(name)") }
        return text
    }

    /// The number in the first child of that name; nil where there is none.
    ///
    /// - Throws: `XMLError` where the text is no number of that type.
    package func integer<Number: FixedWidthInteger>(
        _ name: String, as type: Number.Type = Number.self
    ) throws(XMLError) -> Number? {
        guard let text = self.string(name) else { return nil }
        guard let number = Number(Self.trimmed(text)) else {
            throw XMLError("\(name) in \(self.name) is no number of the expected range")
        }
        return number
    }

    /// The number in the first child of that name.
    ///
    /// - Throws: `XMLError` where there is none, or the text is no number of that type.
    package func requiredInteger<Number: FixedWidthInteger>(
        _ name: String, as type: Number.Type = Number.self
    ) throws(XMLError) -> Number {
        guard let number = try self.integer(name, as: type) else { throw XMLError("\(self.name) has no \(name)") }
        return number
    }

    /// The truth value in the first child of that name; nil where there is none.
    ///
    /// - Throws: `XMLError` where the text is neither `true` nor `false`.
    package func boolean(_ name: String) throws(XMLError) -> Bool? {
        guard let text = self.string(name) else { return nil }
        switch Self.trimmed(text) {
        case "true": return true
        case "false": return false
        default: throw XMLError("\(name) in \(self.name) is neither true nor false")
        }
    }

    private static func trimmed(_ text: String) -> String {
        String(decoding: text.utf8.filter { $0 != 0x20 && $0 != 0x09 && $0 != 0x0A && $0 != 0x0D }, as: UTF8.self)
    }
}
