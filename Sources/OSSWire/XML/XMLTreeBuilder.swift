// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import CExpat
import Glibc

/// Makes elements of what Expat tells of a document, and stops it at the first thing that cannot be taken.
@safe final class XMLTreeBuilder {
    /// An element whose end has not come.
    private struct Open {
        let name: String
        var text = ""
        var children: [XMLElement] = []
    }

    // SAFETY: made and freed by `build`, which the builder does not outlive.
    private let parser: XML_Parser
    private let expectedRoot: String?
    private var open: [Open] = []
    /// Text that has come since the last tag.
    private var text: [UInt8] = []
    private var root: XMLElement?
    private var elements = 0
    private var failure: XMLError?

    private init(_ parser: XML_Parser, root: String?) {
        unsafe self.parser = parser
        self.expectedRoot = root
    }

    /// Reads a document.
    ///
    /// - Parameters:
    ///   - document: at most 2 GiB, without blanks before its beginning.
    ///   - root: what the root has to be called; of another document nothing more is read. Nil for any.
    /// - Throws: `XMLError`; see ``XMLElement/parse(_:)``.
    static func build(_ document: [UInt8], root: String?) throws(XMLError) -> XMLElement {
        // Without namespaces: documents of OSS have one at most, and a prefix that is not bound does no harm.
        guard let parser = unsafe XML_ParserCreate(nil) else {
            throw XMLError("Expat could not make a parser; memory may be short")
        }
        defer { unsafe XML_ParserFree(parser) }
        let builder = unsafe XMLTreeBuilder(parser, root: root)
        let isWellFormed = withExtendedLifetime(builder) {
            // SAFETY: the builder and the bytes outlive the only call of `XML_Parse`, which alone calls the handlers.
            unsafe XML_SetUserData(parser, Unmanaged.passUnretained(builder).toOpaque())
            unsafe self.setHandlers(of: parser)
            return unsafe document.withUnsafeBytes { bytes in
                let text = unsafe bytes.assumingMemoryBound(to: CChar.self)
                return unsafe XML_Parse(parser, text.baseAddress, Int32(text.count), 1) == XML_STATUS_OK
            }
        }
        if let failure = builder.failure { throw failure }
        guard isWellFormed else {
            let reason = unsafe XML_ErrorString(XML_GetErrorCode(parser)).map { unsafe String(cString: $0) }
            throw XMLError("the document is not well-formed XML, or it is cut short: \(reason ?? "no reason is known")")
        }
        guard let root = builder.root else { throw XMLError("the document has no element") }
        return root
    }

    private static func setHandlers(of parser: XML_Parser) {
        // SAFETY: what Expat hands over is the builder of this parser, and texts that live until the handler returns.
        unsafe XML_SetElementHandler(
            parser,
            { context, name, _ in
                guard let name = unsafe name else { return }
                // Only the local name counts.
                let colon = unsafe strrchr(name, Int32(UInt8(ascii: ":")))
                let local = unsafe colon.map { unsafe UnsafePointer($0 + 1) } ?? name
                unsafe XMLTreeBuilder.at(context)?.begin(String(cString: local))
            },
            { context, _ in unsafe XMLTreeBuilder.at(context)?.end() })
        unsafe XML_SetCharacterDataHandler(parser) { context, text, length in
            let bytes = unsafe UnsafeRawBufferPointer(start: text, count: Int(length))
            unsafe XMLTreeBuilder.at(context)?.add(bytes)
        }
        unsafe XML_SetStartDoctypeDeclHandler(parser) { context, _, _, _, _ in
            unsafe XMLTreeBuilder.at(context)?.stop("the document has a DOCTYPE, which OSS never sends")
        }
    }

    private static func at(_ context: UnsafeMutableRawPointer?) -> XMLTreeBuilder? {
        unsafe context.map { unsafe Unmanaged.fromOpaque($0).takeUnretainedValue() }
    }

    private func begin(_ name: String) {
        self.elements += 1
        guard self.elements <= XMLElement.maximumElements else {
            return self.stop("the document has too many elements")
        }
        guard self.open.count < XMLElement.maximumDepth else { return self.stop("the document nests too deep") }
        if self.open.isEmpty, let root = self.expectedRoot, root != name {
            return self.stop("the document is a \(name), not a \(root)")
        }
        self.takeText()
        self.open.append(Open(name: name))
    }

    private func end() {
        self.takeText()
        guard let closed = self.open.popLast() else { return }
        let element = XMLElement(name: closed.name, text: closed.text, children: closed.children)
        if self.open.isEmpty { self.root = element } else { self.open[self.open.count - 1].children.append(element) }
    }

    private func add(_ text: UnsafeRawBufferPointer) {
        guard !self.open.isEmpty else { return }
        unsafe self.text.append(contentsOf: text)
    }

    private func takeText() {
        guard !self.text.isEmpty else { return }
        self.open[self.open.count - 1].text += String(decoding: self.text, as: UTF8.self)
        self.text.removeAll(keepingCapacity: true)
    }

    /// Nothing more is read; the few things that Expat may still tell of do not matter any more.
    private func stop(_ reason: String) {
        self.failure = XMLError(reason)
        unsafe XML_StopParser(self.parser, 0)
    }
}
