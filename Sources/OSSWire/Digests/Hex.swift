// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

/// Bytes as hexadecimal digits.
package enum Hex {
    /// The bytes in lower-case digits, two a byte.
    package static func lower(_ bytes: [UInt8]) -> String { self.encode(bytes, ten: UInt8(ascii: "a")) }

    /// The bytes in upper-case digits, two a byte: the form of OSS ETags.
    package static func upper(_ bytes: [UInt8]) -> String { self.encode(bytes, ten: UInt8(ascii: "A")) }

    /// Puts the bytes' lower-case digits behind others.
    package static func appendLower(_ bytes: [UInt8], to digits: inout [UInt8]) {
        for byte in bytes {
            digits.append(self.lowerDigit(byte >> 4))
            digits.append(self.lowerDigit(byte & 15))
        }
    }

    /// The lower-case digit of a value below 16.
    package static func lowerDigit(_ value: UInt8) -> UInt8 { self.digit(value, ten: UInt8(ascii: "a")) }

    /// The upper-case digit of a value below 16.
    package static func upperDigit(_ value: UInt8) -> UInt8 { self.digit(value, ten: UInt8(ascii: "A")) }

    /// The digit of a value below 16.
    ///
    /// - Parameter ten: the digit of ten, `a` or `A`.
    static func digit(_ value: UInt8, ten: UInt8) -> UInt8 { value < 10 ? UInt8(ascii: "0") + value : ten + value - 10 }

    /// Whether a text is these bytes in upper-case digits.
    package static func isUpper(_ text: String, of bytes: [UInt8]) -> Bool {
        self.agree(text, bytes) { digit, value in digit == self.upperDigit(value) }
    }

    /// Whether a text is these bytes in hexadecimal digits of either case.
    package static func isEqual(_ text: String, _ bytes: [UInt8]) -> Bool {
        self.agree(text, bytes) { digit, value in self.value(ofDigit: digit) == value }
    }

    /// Whether a text has two digits for each byte, and each is one of its half's value.
    private static func agree(_ text: String, _ bytes: [UInt8], _ isDigit: (UInt8, _ value: UInt8) -> Bool) -> Bool {
        text.withUTF8Bytes { digits in
            guard digits.count == bytes.count * 2 else { return false }
            for (index, byte) in bytes.enumerated() {
                guard isDigit(digits[2 * index], byte >> 4), isDigit(digits[2 * index + 1], byte & 15) else {
                    return false
                }
            }
            return true
        }
    }

    /// Reads pairs of digits of either case; nil where the text is anything else.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count / 2)
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = self.value(ofDigit: digits[index]), let low = self.value(ofDigit: digits[index + 1]) else {
                return nil
            }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    /// Reads digits of either case as a number, the most significant first; nil where they are anything else, or more than 16.
    package static func number(_ digits: ArraySlice<UInt8>) -> UInt64? {
        guard (1...16).contains(digits.count) else { return nil }
        var number: UInt64 = 0
        for digit in digits {
            guard let value = self.value(ofDigit: digit) else { return nil }
            number = number << 4 | UInt64(value)
        }
        return number
    }

    static func value(ofDigit digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    private static func encode(_ bytes: [UInt8], ten: UInt8) -> String {
        unsafe String(unsafeUninitializedCapacity: 2 * bytes.count) { buffer in
            // SAFETY: the buffer holds two digits for each byte.
            for (index, byte) in bytes.enumerated() {
                unsafe buffer[2 * index] = self.digit(byte >> 4, ten: ten)
                unsafe buffer[2 * index + 1] = self.digit(byte & 15, ten: ten)
            }
            return 2 * bytes.count
        }
    }
}
