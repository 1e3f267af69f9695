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

    init(_ kind: String) {
        self.kind = kind
        // As many as most kinds have.
        self.values.reserveCapacity(6)
    }

    static func == (left: Self, right: Self) -> Bool { left.bytes == right.bytes }

    /// Sets or reads a value; a nil value leaves the name out.
    subscript(name: String) -> String? {
        get { self.values.first { $0.name == name }?.value }
        set {
            if self[name] != nil { self.values.removeAll { $0.name == name } }
            if let newValue { self.values.append((name, newValue)) }
        }
    }

    /// Reads a number.
    func integer<Number: FixedWidthInteger>(_ name: String, as type: Number.Type = Number.self) -> Number? {
        self[name].flatMap { Number($0) }
    }

    /// How many bytes the checksum and the blank behind it take.
    private static let checksumLength = 17

    /// The line as it is written, with its checksum and line feed.
    var bytes: [UInt8] {
        Self.guarded(length: 192) { line in
            line.append(utf8: self.kind)
            for (name, value) in self.values {
                line.append(0x20)
                line.append(utf8: name)
                line.append(UInt8(ascii: "="))
                PercentEncoding.append(value, to: &line)
            }
        }
    }

    /// A line from what stands behind its checksum.
    static func guarded(_ rest: [UInt8]) -> [UInt8] { Self.guarded(length: rest.count) { $0 += rest } }

    private static func guarded(length: Int, _ appendRest: (inout [UInt8]) -> Void) -> [UInt8] {
        var line: [UInt8] = []
        line.reserveCapacity(length + Self.checksumLength + 1)
        // Room for the checksum, which is known last.
        line.append(contentsOf: repeatElement(0x20, count: Self.checksumLength))
        appendRest(&line)
        var checksum = CRC64()
        checksum.update(line.span.extracting(droppingFirst: Self.checksumLength))
        for place in 0..<16 {
            line[place] = Hex.lowerDigit(UInt8(truncatingIfNeeded: checksum.value >> (60 - 4 * UInt64(place)) & 15))
        }
        line.append(0x0A)
        return line
    }

    /// Reads a line without its line feed; nil where the checksum or the form is wrong.
    init?(_ line: ArraySlice<UInt8>) {
        // Byte by byte: a record may have ten thousand of these.
        guard line.count > Self.checksumLength, line[line.startIndex + 16] == 0x20,
            let checksum = Hex.number(line.prefix(16))
        else { return nil }
        let rest = Array(line.dropFirst(Self.checksumLength))
        guard checksum == CRC64.of(rest) else { return nil }
        var words = rest.split(separator: 0x20, omittingEmptySubsequences: false).makeIterator()
        guard let first = words.next(), !first.isEmpty, let kind = String(validating: first, as: UTF8.self) else {
            return nil
        }
        self.kind = kind
        while let word = words.next() {
            guard let sign = word.firstIndex(of: UInt8(ascii: "=")),
                let name = String(validating: word[..<sign], as: UTF8.self),
                let value = PercentEncoding.decode(word[(sign + 1)...])
            else { return nil }
            self.values.append((name, value))
        }
    }
}
