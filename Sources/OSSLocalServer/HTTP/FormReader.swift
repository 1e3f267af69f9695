// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// What the header fields of a form's part tell.
struct FormPart: Sendable, Equatable {
    /// The field's name.
    var name: String
    /// The file's name without folders; nil where the part does not name one.
    var fileName: String?
    /// The value of `Content-Type`; nil where there is none.
    var contentType: String?
}

/// Takes the parts of a form as they come.
protocol FormSink: AnyObject {
    /// A part begins.
    func begin(_ part: FormPart) throws(ServiceError)
    /// The part's next bytes.
    func take(_ bytes: Span<UInt8>) throws(ServiceError)
    /// The part is there as a whole.
    func end() throws(ServiceError)
}

/// Reads a form (multipart/form-data: RFC 7578, framed by RFC 2046, section 5.1.1) in pieces of any length.
///
/// It keeps nothing but the header fields of the part that begins: a part's bytes are handed on as they come. What may be the
/// beginning of a boundary is held back as a count alone, for its bytes are those of the boundary.
struct FormReader {
    private enum State {
        /// Before the first boundary.
        case preamble
        /// Behind a boundary, up to the line's end.
        case boundaryLine
        /// In the header fields of a part.
        case head
        /// In the bytes of a part.
        case content
        /// Behind the last boundary.
        case epilogue
    }

    /// Longest header fields of a part.
    ///
    /// *Source:* own choice. *Applies to:* each part, in bytes.
    private static let maximumHead = 16 * 1024
    /// Longest padding behind a boundary.
    ///
    /// *Source:* own choice. *Applies to:* blanks up to the line's end, in bytes.
    private static let maximumPadding = 128
    /// Lengths of a boundary.
    ///
    /// *Source:* RFC 2046, section 5.1.1. *Applies to:* the parameter `boundary`.
    private static let boundaryLengths = 1...70

    /// A line break, two hyphens and the boundary; only its first byte is a carriage return.
    private let delimiter: [UInt8]
    private var state = State.preamble
    /// How many bytes of the delimiter came last; at the beginning of the body its line break counts as there.
    private var matched = 2
    /// The boundary's line or the header fields, so far.
    private var held: [UInt8] = []

    /// Takes the value of the request's `Content-Type`.
    ///
    /// - Throws: `MalformedPOSTRequest` where it is no form's or has no boundary that can be.
    init(contentType: String) throws(ServiceError) {
        guard let value = HeaderValue(contentType), value.token == "multipart/form-data",
            let boundary = value.parameters["boundary"], Self.boundaryLengths.contains(boundary.utf8.count)
        else { throw ServiceError.malformedForm }
        self.delimiter = Array("\r\n--\(boundary)".utf8)
    }

    /// Reads the next bytes of the body.
    ///
    /// - Throws: `MalformedPOSTRequest` where they are no form's, and what the sink throws.
    mutating func read(_ bytes: Span<UInt8>, into sink: some FormSink) throws(ServiceError) {
        var position = 0
        while position < bytes.count {
            switch self.state {
            case .preamble, .content: try self.scan(bytes, from: &position, into: sink)
            case .boundaryLine:
                try self.readBoundaryLine(bytes[position])
                position += 1
            case .head:
                try self.readHead(bytes[position], into: sink)
                position += 1
            case .epilogue: return
            }
        }
    }

    /// Ends the body.
    ///
    /// - Throws: `MalformedPOSTRequest` where the last boundary has not been there.
    func finish() throws(ServiceError) {
        guard case .epilogue = self.state else { throw ServiceError.malformedForm }
    }

    /// Goes on to the next delimiter or to the end of the bytes, and hands on what lies before.
    private mutating func scan(
        _ bytes: Span<UInt8>, from position: inout Int, into sink: some FormSink
    ) throws(ServiceError) {
        let isContent = if case .content = self.state { true } else { false }
        let start = position
        // Those of the matched bytes that lie in earlier pieces.
        var carried = self.matched
        while position < bytes.count, self.matched < self.delimiter.count {
            if bytes[position] == self.delimiter[self.matched] {
                self.matched += 1
                position += 1
            } else if self.matched > 0 {
                // It was content. The same byte is looked at again: a delimiter may begin with it.
                if isContent, carried > 0 { try sink.take(self.delimiter.span.extracting(0..<carried)) }
                carried = 0
                self.matched = 0
            } else {
                position += 1
            }
        }
        let end = position - (self.matched - carried)
        if isContent, end > start { try sink.take(bytes.extracting(start..<end)) }
        guard self.matched == self.delimiter.count else { return }
        if isContent { try sink.end() }
        self.state = .boundaryLine
        self.held = []
    }

    private mutating func readBoundaryLine(_ byte: UInt8) throws(ServiceError) {
        self.held.append(byte)
        if self.held.elementsEqual("--".utf8) {
            self.state = .epilogue
        } else if byte == UInt8(ascii: "\n") {
            let padding = self.held.dropLast(2)
            guard self.held.suffix(2).elementsEqual("\r\n".utf8),
                padding.allSatisfy({ $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") })
            else { throw ServiceError.malformedForm }
            self.state = .head
            self.held = []
        } else if self.held.count > Self.maximumPadding {
            throw ServiceError.malformedForm
        }
    }

    private mutating func readHead(_ byte: UInt8, into sink: some FormSink) throws(ServiceError) {
        self.held.append(byte)
        guard self.held.count <= Self.maximumHead else { throw ServiceError.malformedForm }
        guard byte == UInt8(ascii: "\n"),
            self.held.suffix(4).elementsEqual("\r\n\r\n".utf8) || self.held.elementsEqual("\r\n".utf8)
        else { return }
        let part = try Self.part(self.held)
        self.held = []
        self.state = .content
        self.matched = 0
        try sink.begin(part)
    }

    private static func part(_ head: [UInt8]) throws(ServiceError) -> FormPart {
        var disposition: HeaderValue?
        var contentType: String?
        for line in head.split(separator: UInt8(ascii: "\n")) {
            guard let text = String(validating: line.last == UInt8(ascii: "\r") ? line.dropLast() : line, as: UTF8.self)
            else { throw ServiceError.malformedForm }
            let halves = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard halves.count == 2 else { continue }
            if halves[0].equalsIgnoringASCIICase("Content-Disposition") { disposition = HeaderValue(halves[1]) }
            if halves[0].equalsIgnoringASCIICase("Content-Type") { contentType = halves[1].trimmedBlanks }
        }
        guard let disposition, disposition.token == "form-data", let name = disposition.parameters["name"] else {
            throw ServiceError.malformedForm
        }
        let fileName = disposition.parameters["filename"] ?? disposition.extended("filename")
        return FormPart(name: name, fileName: fileName.map(Self.lastComponent), contentType: contentType)
    }

    /// A file's name without the folders that some browsers send with it.
    private static func lastComponent(of path: String) -> String {
        let isSeparator: (UInt8) -> Bool = { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }
        let start = path.utf8.lastIndex(where: isSeparator).map { path.utf8.index(after: $0) } ?? path.startIndex
        return String(decoding: path.utf8[start...], as: UTF8.self)
    }
}

/// A header field's value of the form `token; name=value; name="value"`.
struct HeaderValue {
    /// What stands before the parameters, in lower case.
    let token: String
    /// The parameters, names in lower case; of two with one name the first counts.
    let parameters: [String: String]

    /// Reads a value; nil where a parameter is none.
    init?(_ text: some StringProtocol) {
        var rest = Array(text.utf8)[...]
        func next(until isEnd: (UInt8) -> Bool) -> String {
            let word = rest.prefix { !isEnd($0) }
            rest = rest.dropFirst(word.count)
            return String(decoding: word, as: UTF8.self).trimmedBlanks
        }
        self.token = next { $0 == UInt8(ascii: ";") }.loweredASCII
        var parameters: [String: String] = [:]
        while rest.popFirst() != nil {
            let name = next { $0 == UInt8(ascii: "=") || $0 == UInt8(ascii: ";") }.loweredASCII
            guard rest.first == UInt8(ascii: "=") else {
                // A stray semicolon is no harm.
                if name.isEmpty { continue }
                return nil
            }
            rest = rest.dropFirst()
            var value: String
            if rest.first == UInt8(ascii: "\"") {
                rest = rest.dropFirst()
                guard let quoted = Self.quoted(&rest) else { return nil }
                value = quoted
                guard next(until: { $0 == UInt8(ascii: ";") }).isEmpty else { return nil }
            } else {
                value = next { $0 == UInt8(ascii: ";") }
            }
            parameters[name] = parameters[name] ?? value
        }
        self.parameters = parameters
    }

    /// The value of a parameter as RFC 5987 writes it, `name*=UTF-8''value`; nil where it is missing or malformed.
    func extended(_ name: String) -> String? {
        guard let value = self.parameters[name + "*"] else { return nil }
        let pieces = value.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
        guard pieces.count == 3, pieces[0].equalsIgnoringASCIICase("UTF-8") else { return nil }
        return PercentEncoding.decode(pieces[2])
    }

    /// Reads up to the closing quote; nil where there is none.
    ///
    /// A backslash takes the meaning from a quote and from a backslash, and else stands for itself: some browsers send paths.
    private static func quoted(_ rest: inout ArraySlice<UInt8>) -> String? {
        var bytes: [UInt8] = []
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: bytes, as: UTF8.self)
            case UInt8(ascii: "\\") where rest.first == UInt8(ascii: "\"") || rest.first == UInt8(ascii: "\\"):
                if let escaped = rest.popFirst() { bytes.append(escaped) }
            default: bytes.append(byte)
            }
        }
        return nil
    }
}

extension ServiceError {
    /// The body is no form.
    static var malformedForm: Self {
        Self(
            400, "MalformedPOSTRequest",
            "The body of your POST request is not well-formed multipart/form-data.")
    }
}
