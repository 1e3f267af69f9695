// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// Identifiers that are given to uploads, requests and files.
enum Identifier {
    /// 32 upper-case digits that nobody guesses.
    static func random() -> String {
        var generator = SystemRandomNumberGenerator()
        return Self.digits(generator.next() as UInt64) + Self.digits(generator.next() as UInt64)
    }

    /// 32 upper-case digits, the later ones greater.
    static func upload(at moment: Timestamp) -> String {
        var generator = SystemRandomNumberGenerator()
        let tail = Self.digits(generator.next() as UInt64).suffix(4)
        return Self.digits(UInt64(clamping: moment.milliseconds)).suffix(12) + tail
            + Self.digits(generator.next() as UInt64)
    }

    /// 24 upper-case digits.
    static func request() -> String { String(Self.random().prefix(24)) }

    private static func digits(_ number: UInt64) -> String {
        Hex.upper((0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) })
    }
}
