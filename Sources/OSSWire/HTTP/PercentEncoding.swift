// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

/// Percent-encoding as RFC 3986 and OSS want it: everything but `A-Z a-z 0-9 - _ . ~` is escaped, upper-case digits.
package enum PercentEncoding {
    /// Escapes `text`'s UTF-8; with `keepingSlash` a slash stays (paths), else it is escaped (queries).
    package static func encode(_ text: String, keepingSlash: Bool = false) -> String {
        // Most texts hold nothing to escape.
        guard self.needsEscapes(text, keepingSlash) else { return text }
        var bytes: [UInt8] = []
        self.append(text, to: &bytes, keepingSlash: keepingSlash)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Puts a text behind others, escaped; see ``encode(_:keepingSlash:)``.
    package static func append(_ text: String, to bytes: inout [UInt8], keepingSlash: Bool = false) {
        guard self.needsEscapes(text, keepingSlash) else { return bytes.append(utf8: text) }
        for byte in text.utf8 {
            guard !self.stays(byte, keepingSlash) else {
                bytes.append(byte)
                continue
            }
            bytes.append(UInt8(ascii: "%"))
            bytes.append(Hex.upperDigit(byte >> 4))
            bytes.append(Hex.upperDigit(byte & 15))
        }
    }

    private static func needsEscapes(_ text: String, _ keepingSlash: Bool) -> Bool {
        text.withUTF8Bytes { bytes in
            for index in bytes.indices where !self.stays(bytes[index], keepingSlash) { return true }
            return false
        }
    }

    private static func stays(_ byte: UInt8, _ keepingSlash: Bool) -> Bool {
        self.isUnreserved(byte) || keepingSlash && byte == UInt8(ascii: "/")
    }

    /// Resolves the escapes of `text` once; nil where an escape is malformed or the result is not UTF-8.
    ///
    /// A `+` stays a plus; `plusIsBlank` is for form data.
    package static func decode(_ text: some StringProtocol, plusIsBlank: Bool = false) -> String? {
        self.decode(Array(text.utf8)[...], plusIsBlank: plusIsBlank)
    }

    /// Resolves the escapes of a text's UTF-8 once; see ``decode(_:plusIsBlank:)``.
    package static func decode(_ text: ArraySlice<UInt8>, plusIsBlank: Bool = false) -> String? {
        // Most texts hold nothing to resolve.
        if !text.contains(where: { $0 == UInt8(ascii: "%") || $0 == UInt8(ascii: "+") }) {
            return String(validating: text, as: UTF8.self)
        }
        guard let bytes = self.decodeBytes(text, plusIsBlank: plusIsBlank) else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }

    /// Resolves the escapes of `text` once into bytes; nil where an escape is malformed.
    package static func decodeBytes(_ text: some StringProtocol, plusIsBlank: Bool = false) -> [UInt8]? {
        self.decodeBytes(Array(text.utf8)[...], plusIsBlank: plusIsBlank)
    }

    private static func decodeBytes(_ text: ArraySlice<UInt8>, plusIsBlank: Bool) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var rest = text.makeIterator()
        while let byte = rest.next() {
            switch byte {
            case UInt8(ascii: "%"):
                guard let high = rest.next().flatMap(Hex.value(ofDigit:)),
                    let low = rest.next().flatMap(Hex.value(ofDigit:))
                else { return nil }
                bytes.append(high << 4 | low)
            case UInt8(ascii: "+") where plusIsBlank:
                bytes.append(UInt8(ascii: " "))
            default:
                bytes.append(byte)
            }
        }
        return bytes
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }
}
