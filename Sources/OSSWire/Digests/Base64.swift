// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import COpenSSL

/// Base64 with padding (RFC 4648, section 4), through OpenSSL.
package enum Base64 {
    /// The text of `bytes`.
    ///
    /// The corresponding C function is `EVP_EncodeBlock`.
    package static func encode(_ bytes: [UInt8]) -> String {
        guard !bytes.isEmpty else { return "" }
        // EVP_EncodeBlock writes four characters for each three bytes, and a closing zero.
        let capacity = (bytes.count + 2) / 3 * 4 + 1
        let text = unsafe [UInt8](unsafeUninitializedCapacity: capacity) { buffer, count in
            // SAFETY: the buffer holds `capacity` bytes, which is all that the function writes for this input.
            count = unsafe Int(EVP_EncodeBlock(buffer.baseAddress, bytes, Int32(bytes.count)))
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// The bytes of `text`; nil where it is not Base64 with padding.
    ///
    /// The corresponding C function is `EVP_DecodeBlock`, which counts padding as bytes; they are taken off here.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        let input = Array(text.utf8)
        guard !input.isEmpty else { return [] }
        guard input.count.isMultiple(of: 4) else { return nil }
        let padding = input.reversed().prefix { $0 == UInt8(ascii: "=") }.count
        // The C function forgives white space and stray padding; a signature or digest that holds any is malformed.
        guard padding <= 2, input.dropLast(padding).allSatisfy(Self.isDigit) else { return nil }
        var decoded: Int32 = -1
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: input.count / 4 * 3) { buffer, count in
            // SAFETY: three bytes come of each four characters, and the buffer holds that many.
            decoded = unsafe EVP_DecodeBlock(buffer.baseAddress, input, Int32(input.count))
            count = max(0, Int(decoded))
        }
        return decoded < 0 ? nil : Array(bytes.dropLast(padding))
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"):
            true
        default: false
        }
    }
}
