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
        get { self.all.first { $0.name.equalsIgnoringASCIICase(name) }?.value }
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
                self.all.append(Field(name: name, value: newValue))
            }
        }
    }

    /// Adds a field behind the others, even where one of that name is there.
    package mutating func append(name: String, value: String) {
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
    package func equalsIgnoringASCIICase(_ other: some StringProtocol) -> Bool {
        let ours = self.utf8, theirs = other.utf8
        guard ours.count == theirs.count else { return false }
        return zip(ours, theirs).allSatisfy { $0.loweredASCII == $1.loweredASCII }
    }

    /// The text with A to Z lowered and nothing else changed.
    package var loweredASCII: String {
        String(decoding: self.utf8.map(\.loweredASCII), as: UTF8.self)
    }

    /// The text without blanks and tabs at its ends.
    package var trimmedBlanks: String {
        let isBlank: (UInt8) -> Bool = { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        let rest = Array(self.utf8.drop(while: isBlank))
        guard let last = rest.lastIndex(where: { !isBlank($0) }) else { return "" }
        return String(decoding: rest[...last], as: UTF8.self)
    }
}

extension UInt8 {
    /// The byte, with A to Z lowered.
    package var loweredASCII: UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self
    }
}
