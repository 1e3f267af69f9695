// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import CISAL

/// The CRC-64 of OSS: CRC-64/XZ (ECMA-182, reflected), as `x-oss-hash-crc64ecma` carries it in decimal.
///
/// The corresponding C function is ISA-L's `crc64_ecma_refl`. OSS document: Data verification by CRC-64.
package struct CRC64: Sendable, Hashable {
    /// The checksum of the bytes taken in so far; 0 for none.
    package private(set) var value: UInt64

    /// Begins at the checksum of bytes that came before; 0 where none did.
    package init(_ value: UInt64 = 0) { self.value = value }

    /// Takes in the next bytes.
    package mutating func update(_ bytes: Span<UInt8>) {
        // SAFETY: the pointer is used within the closure.
        self.value = unsafe bytes.withUnsafeBufferPointer {
            unsafe crc64_ecma_refl(self.value, $0.baseAddress, UInt64($0.count))
        }
    }

    /// The checksum of bytes that are all there.
    package static func of(_ bytes: [UInt8]) -> UInt64 {
        var crc = CRC64()
        crc.update(bytes.span)
        return crc.value
    }

    /// The checksum of A followed by B, from the checksums of both and the length of B in bytes.
    ///
    /// A's checksum moves on by as many zero bytes as B is long: that is multiplication by x^(8·length) modulo the
    /// polynomial. The inversions at both ends cancel, as they do for zlib's `crc32_combine`.
    package static func combine(_ first: UInt64, _ second: UInt64, lengthOfSecond length: Int64) -> UInt64 {
        guard length > 0 else { return first }
        var shifted = first
        var remaining = UInt64(length)
        var power = 0
        while remaining != 0 {
            if remaining & 1 == 1 { shifted = Self.multiply(shifted, Self.powers[power]) }
            remaining >>= 1
            power += 1
        }
        return shifted ^ second
    }

    /// The polynomial, bit-reversed: bit 63 is x^0.
    ///
    /// *Source:* ECMA-182. *Applies to:* OSS checksums.
    private static let polynomial: UInt64 = 0xC96C_5795_D787_0F42

    /// x^(8·2^n) modulo the polynomial for each n: one factor for each bit of a length.
    private static let powers: [UInt64] = {
        // x^8, bit-reversed.
        var power: UInt64 = 1 << 55
        return (0..<64).map { _ in
            defer { power = Self.multiply(power, power) }
            return power
        }
    }()

    /// The product of two bit-reversed polynomials modulo the polynomial.
    private static func multiply(_ left: UInt64, _ right: UInt64) -> UInt64 {
        var product: UInt64 = 0
        var factor = right
        var bit: UInt64 = 1 << 63
        while bit != 0 {
            if left & bit != 0 { product ^= factor }
            factor = factor & 1 == 1 ? factor >> 1 ^ Self.polynomial : factor >> 1
            bit >>= 1
        }
        return product
    }
}
