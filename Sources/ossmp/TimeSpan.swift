// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

/// Lengths of time as people write them.
enum TimeSpan {
    private static let units: [(suffix: Character, seconds: Int64)] = [("d", 86_400), ("h", 3600), ("m", 60), ("s", 1)]

    /// Reads whole days, hours, minutes or seconds, one of them; plain digits are seconds.
    static func parse(_ text: String, option: String) throws -> Duration {
        let unit = self.units.first { $0.suffix == text.last }
        let digits = unit == nil ? text[...] : text.dropLast()
        // A million days are more than anybody waits, and far from what a number can hold.
        guard !digits.isEmpty, digits.allSatisfy({ $0.isASCII && $0.isNumber }), let number = Int64(digits),
            (1...1_000_000).contains(number)
        else {
            throw UsageError(
                "\(option) \(text): give a whole number of days, hours, minutes or seconds, for example 7d, 12h, 15m or 90s"
            )
        }
        return .seconds(number * (unit?.seconds ?? 1))
    }
}
