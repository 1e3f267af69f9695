// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// One line of a journal: a checksum, a kind, and named values.
///
/// `<CRC-64 of the rest, 16 digits> <kind> name=value name=value…`, values percent-encoded, one line feed at the end. A line
/// counts only with its checksum and its line feed, so a torn write is seen.
struct JournalLine: Sendable, Equatable {
    let kind: String
    private var values: [(name: String, value: String)] = []

    init(_ kind: String) { self.kind = kind }

    static func == (left: Self, right: Self) -> Bool { left.bytes == right.bytes }

    /// Sets or reads a value; a nil value leaves the name out.
    subscript(name: String) -> String? {
        get { self.values.first { $0.name == name }?.value }
        set {
            self.values.removeAll { $0.name == name }
            if let newValue { self.values.append((name, newValue)) }
        }
    }

    /// Reads a number.
    func integer<Number: FixedWidthInteger>(_ name: String, as type: Number.Type = Number.self) -> Number? {
        self[name].flatMap { Number($0) }
    }

    /// The line as it is written, with its checksum and line feed.
    var bytes: [UInt8] {
        var text = self.kind
        for (name, value) in self.values {
            text += " "
            text += name
            text += "="
            text += PercentEncoding.encode(value)
        }
        return Self.guarded(Array(text.utf8))
    }

    /// A line from what stands behind its checksum.
    static func guarded(_ rest: [UInt8]) -> [UInt8] {
        let checksum = CRC64.of(rest)
        var line: [UInt8] = []
        line.reserveCapacity(rest.count + 18)
        for shift in stride(from: 60, through: 0, by: -4) {
            line.append(Hex.lowerDigit(UInt8(truncatingIfNeeded: checksum >> shift & 15)))
        }
        line.append(0x20)
        line += rest
        line.append(0x0A)
        return line
    }

    /// Reads a line without its line feed; nil where the checksum or the form is wrong.
    init?(_ line: ArraySlice<UInt8>) {
        guard line.count > 17, line[line.startIndex + 16] == 0x20,
            let checksum = Hex.decode(String(decoding: line.prefix(16), as: UTF8.self))
        else { return nil }
        let rest = Array(line.dropFirst(17))
        guard checksum.reduce(0, { $0 << 8 | UInt64($1) }) == CRC64.of(rest),
            let text = String(validating: rest, as: UTF8.self)
        else { return nil }
        var words = text.split(separator: " ", omittingEmptySubsequences: false).makeIterator()
        guard let kind = words.next(), !kind.isEmpty else { return nil }
        self.kind = String(kind)
        while let word = words.next() {
            let halves = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard halves.count == 2, let value = PercentEncoding.decode(halves[1]) else { return nil }
            self.values.append((String(halves[0]), value))
        }
    }
}
