// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

/// The header fields of one request or reply, in order; names are compared without regard to case.
package struct HTTPFields: Sendable, Equatable {
    /// One header field: the name as written, the value without surrounding blanks.
    package struct Field: Sendable, Equatable {
        package var name: String
        package var value: String
    }

    /// The fields in the order they were added.
    package private(set) var all: [Field] = []

    /// Makes an empty collection.
    package init() {}

    /// The value of the first field of that name; setting replaces all fields of that name, nil removes them.
    package subscript(name: String) -> String? {
        get {
            for index in self.all.indices where self.all[index].name.equalsIgnoringASCIICase(name) {
                return self.all[index].value
            }
            return nil
        }
        set {
            guard let newValue else {
                self.all.removeAll { $0.name.equalsIgnoringASCIICase(name) }
                return
            }
            if let index = self.all.firstIndex(where: { $0.name.equalsIgnoringASCIICase(name) }) {
                self.all[index].value = newValue
                var next = index + 1
                while next < self.all.count {
                    if self.all[next].name.equalsIgnoringASCIICase(name) {
                        self.all.remove(at: next)
                    } else {
                        next += 1
                    }
                }
            } else {
                self.append(name: name, value: newValue)
            }
        }
    }

    /// Adds a field behind the others, even where one of that name is there.
    package mutating func append(name: String, value: String) {
        // As many as most requests and replies have: to grow one by one would be to move them several times.
        if self.all.isEmpty { self.all.reserveCapacity(8) }
        self.all.append(Field(name: name, value: value))
    }
}

extension HTTPFields: ExpressibleByDictionaryLiteral {
    package init(dictionaryLiteral elements: (String, String)...) {
        for (name, value) in elements { self.append(name: name, value: value) }
    }
}

extension StringProtocol {
    /// Whether two ASCII texts are equal when the letters' case is left out of account.
    @inlinable package func equalsIgnoringASCIICase(_ other: some StringProtocol) -> Bool {
        // Most texts that are compared differ in that already.
        guard self.utf8.count == other.utf8.count else { return false }
        return self.withUTF8Bytes { ours in other.withUTF8Bytes { theirs in ours.equalsIgnoringASCIICase(theirs) } }
    }

    /// Whether two texts are the same bytes: to Swift's own `==` those are equal that look the same, "é" in one letter and in two.
    package func hasSameBytes(as other: some StringProtocol) -> Bool { self.utf8.elementsEqual(other.utf8) }

    /// The pieces between bytes that are one ASCII character, be they empty.
    ///
    /// Swift's own `split` sees characters, of which a slash with an accent behind it is one.
    package func split(atEach separator: Unicode.Scalar, most: Int = .max) -> [Substring] {
        self.utf8.split(separator: UInt8(ascii: separator), maxSplits: most - 1, omittingEmptySubsequences: false)
            .map { Substring(decoding: $0, as: UTF8.self) }
    }

    /// The text with A to Z lowered and nothing else changed.
    @inlinable package var loweredASCII: String {
        self.withUTF8Bytes { bytes in
            for index in bytes.indices where bytes[index] != bytes[index].loweredASCII {
                return String(utf8Count: bytes.count) { bytes[$0].loweredASCII }
            }
            return String(self)
        }
    }

    /// The text without blanks and tabs at its ends.
    @inlinable package var trimmedBlanks: String {
        self.withUTF8Bytes { bytes in
            var start = 0, end = bytes.count
            while start < end, bytes[start].isBlank { start += 1 }
            while end > start, bytes[end - 1].isBlank { end -= 1 }
            return end - start == bytes.count ? String(self) : String(utf8: bytes.extracting(start..<end))
        }
    }

    /// Lends the text's UTF-8, in place wherever it can be had so.
    ///
    /// Header fields are looked at byte by byte several times a request: going by Swift's characters, or by its collections of
    /// code units without their types known, would take most of a small request's time.
    @inlinable package func withUTF8Bytes<Result>(_ body: (Span<UInt8>) -> Result) -> Result {
        let inPlace = self.utf8.withContiguousStorageIfAvailable { buffer in
            // SAFETY: the buffer is the text's, for the length of the closure.
            unsafe body(Span(_unsafeElements: buffer))
        }
        return inPlace ?? body(Array(self.utf8).span)
    }
}

extension [UInt8] {
    /// Puts a text's UTF-8 behind the others.
    ///
    /// The standard library's `append(contentsOf:)` goes through the text's collection of code units, at several times the cost
    /// for a short text.
    @inlinable package mutating func append(utf8 text: String) {
        let isDone: Void? = unsafe text.utf8.withContiguousStorageIfAvailable { buffer in
            // SAFETY: the buffer is the text's, for the length of the closure.
            unsafe self.append(contentsOf: buffer)
        }
        if isDone == nil { self.append(contentsOf: text.utf8) }
    }
}

extension String {
    /// Makes a text of its UTF-8; what is none is replaced.
    @inlinable package init(utf8 bytes: Span<UInt8>) {
        // SAFETY: the buffer is used within the closure.
        self = unsafe bytes.withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
    }

    /// Makes a text of so many bytes, each told by its place; what is not UTF-8 is replaced.
    @inlinable package init(utf8Count count: Int, _ byte: (Int) -> UInt8) {
        self = unsafe String(unsafeUninitializedCapacity: count) { buffer in
            // SAFETY: the buffer holds `count` bytes.
            for index in 0..<count { unsafe buffer[index] = byte(index) }
            return count
        }
    }
}

extension Span<UInt8> {
    /// Whether two ASCII texts are equal when the letters' case is left out of account.
    @inlinable package func equalsIgnoringASCIICase(_ other: Span<UInt8>) -> Bool {
        guard self.count == other.count else { return false }
        for index in self.indices where self[index] != other[index] {
            guard self[index].loweredASCII == other[index].loweredASCII else { return false }
        }
        return true
    }
}

extension UInt8 {
    /// The byte, with A to Z lowered.
    @inlinable package var loweredASCII: UInt8 {
        self &- UInt8(ascii: "A") < 26 ? self | 0x20 : self
    }

    /// Whether it is a blank or a tab.
    @inlinable package var isBlank: Bool { self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") }
}
