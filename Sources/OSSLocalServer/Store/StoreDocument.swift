// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire
internal import SystemIO

/// A small file of named values, one a line, guarded by a checksum; written whole or not at all.
struct StoreDocument: Sendable {
    /// The values in order; names repeat where there are many of a kind.
    private(set) var fields: [(name: String, value: String)] = []
    /// What the document is: its first line.
    let kind: String

    /// Begins a document.
    init(kind: String) { self.kind = kind }

    /// Adds a value.
    mutating func add(_ name: String, _ value: String) { self.fields.append((name, value)) }

    /// Adds header fields.
    mutating func add(_ headers: HTTPFields) {
        for field in headers.all { self.add("header", PercentEncoding.encode(field.name) + ":" + field.value) }
    }

    /// The first value of that name.
    subscript(name: String) -> String? { self.fields.first { $0.name == name }?.value }

    /// All values of that name.
    func all(_ name: String) -> [String] { self.fields.filter { $0.name == name }.map(\.value) }

    /// The header fields of the document.
    var headers: HTTPFields {
        var headers: HTTPFields = [:]
        for line in self.all("header") {
            let halves = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard halves.count == 2, let name = PercentEncoding.decode(halves[0]) else { continue }
            headers.append(name: name, value: String(halves[1]))
        }
        return headers
    }

    /// The document as it stands in a file.
    var bytes: [UInt8] {
        var text = self.kind + "\n"
        for field in self.fields { text += field.name + " " + PercentEncoding.encode(field.value) + "\n" }
        var bytes = Array(text.utf8)
        bytes += Array("end \(CRC64.of(bytes))\n".utf8)
        return bytes
    }

    /// Reads a document; nil where it is damaged or of another kind.
    init?(_ bytes: [UInt8], kind: String) {
        self.kind = kind
        var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        guard lines.count >= 3, lines.removeLast().isEmpty, let end = lines.popLast() else { return nil }
        guard String(decoding: end, as: UTF8.self) == "end \(CRC64.of(Array(bytes[..<end.startIndex])))",
            lines.removeFirst().elementsEqual(kind.utf8)
        else { return nil }
        for line in lines {
            let halves = line.split(separator: UInt8(ascii: " "), maxSplits: 1, omittingEmptySubsequences: false)
            guard halves.count == 2, let value = PercentEncoding.decode(String(decoding: halves[1], as: UTF8.self))
            else { return nil }
            self.fields.append((String(decoding: halves[0], as: UTF8.self), value))
        }
    }

    /// Reads a document from a file; nil where it is damaged or of another kind.
    static func read(_ path: String, kind: String) throws(SystemError) -> StoreDocument? {
        let file = try PosixFile(path: path, .read)
        var bytes = [UInt8](repeating: 0, count: Int(try file.status().size))
        let count = try file.read(at: 0, into: &bytes)
        return StoreDocument(Array(bytes[..<count]), kind: kind)
    }

    /// Writes the document to a file of its own, made durable where that is asked for; the caller gives it its name.
    func write(temporary path: String, isDurable: Bool) throws(SystemError) {
        let file = try PosixFile(path: path, [.write, .create, .truncate])
        try file.write(self.bytes)
        if isDurable { try file.synchronize() }
    }
}
