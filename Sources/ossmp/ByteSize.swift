// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

/// Sizes as people write them.
enum ByteSize {
    private static let units: [(suffix: String, bytes: Int64)] = [
        ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("", 1),
    ]

    /// Reads plain bytes, KiB, MiB or GiB.
    static func parse(_ text: String, option: String) throws -> Int64 {
        for (suffix, bytes) in self.units where text.hasSuffix(suffix) {
            let digits = text.dropLast(suffix.count)
            guard !digits.isEmpty, digits.allSatisfy({ $0.isASCII && $0.isNumber }), let number = Int64(digits) else {
                break
            }
            let (size, overflows) = number.multipliedReportingOverflow(by: bytes)
            if !overflows { return size }
        }
        throw UsageError("\(option) \(text): give bytes, or a whole number of KiB, MiB or GiB, for example 8MiB")
    }

    /// A size for people: one decimal, binary units.
    static func text(_ bytes: Int64) -> String { self.text(Double(bytes), exact: bytes) }

    /// A rate for people.
    static func rate(_ bytesPerSecond: Double) -> String { "\(self.text(bytesPerSecond, exact: nil))/s" }

    private static func text(_ bytes: Double, exact: Int64?) -> String {
        for (suffix, size) in self.units where !suffix.isEmpty && bytes >= Double(size) {
            let tenths = Int64((bytes / Double(size) * 10).rounded())
            return "\(tenths / 10).\(tenths % 10) \(suffix)"
        }
        return "\(exact ?? Int64(bytes)) bytes"
    }
}
