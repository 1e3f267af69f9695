// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

/// A moment, and the four ways the wire writes it.
///
/// All are UTC.
package struct Timestamp: Sendable, Hashable, Comparable {
    /// Milliseconds since 1970-01-01T00:00:00Z.
    package var milliseconds: Int64

    /// Seconds since 1970-01-01T00:00:00Z, rounded down.
    package var seconds: Int64 { self.milliseconds.quotientAndRemainderRoundingDown(dividingBy: 1000).quotient }

    /// Days since 1970-01-01, rounded down.
    package var day: Int64 { self.seconds.quotientAndRemainderRoundingDown(dividingBy: 86_400).quotient }

    /// Makes a moment from milliseconds since 1970.
    package init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// Makes a moment from seconds since 1970.
    package init(seconds: Int64) { self.milliseconds = seconds * 1000 }

    package static func < (left: Self, right: Self) -> Bool { left.milliseconds < right.milliseconds }

    /// `Fri, 24 Feb 2012 06:38:30 GMT`: the form of `Date`, `Last-Modified` and `Expires` (RFC 9110, section 5.6.7).
    package var httpDate: String {
        let calendar = Calendar(self)
        let day = Self.weekdays[calendar.weekday], month = Self.months[calendar.month - 1]
        return "\(day), \(pad(calendar.day)) \(month) \(pad(calendar.year, 4)) \(calendar.clock(":")) GMT"
    }

    /// `2012-02-24T06:38:30.000Z`: the form of OSS documents.
    package var iso8601: String {
        let calendar = Calendar(self)
        return "\(calendar.date("-"))T\(calendar.clock(":")).\(pad(Int(self.milliseconds - self.seconds * 1000), 3))Z"
    }

    /// `20120224T063830Z`: the form of `x-oss-date` in signature V4.
    package var compact: String {
        let calendar = Calendar(self)
        let time = (calendar.hour * 100 + calendar.minute) * 100 + calendar.second
        return "\(calendar.compactDay)T\(pad(time, 6))Z"
    }

    /// `20120224`: the form of the date in the scope of signature V4.
    package var compactDay: String { Calendar(self).compactDay }

    /// Reads the form of `httpDate`; nil where the text is anything else.
    package init?(httpDate text: some StringProtocol) {
        let words = text.split(separator: " ")
        guard words.count == 6, words[5] == "GMT", let month = Self.months.firstIndex(of: String(words[2])) else {
            return nil
        }
        let clock = words[4].split(separator: ":", omittingEmptySubsequences: false)
        guard clock.count == 3 else { return nil }
        guard let year = Self.number(words[3]), let day = Self.number(words[1]), let hour = Self.number(clock[0]),
            let minute = Self.number(clock[1]), let second = Self.number(clock[2])
        else { return nil }
        self.init(year: year, month: month + 1, day: day, hour: hour, minute: minute, second: second, milliseconds: 0)
    }

    /// Reads the form of `iso8601`, with or without a fraction; nil where the text is anything else.
    ///
    /// Digits of the fraction behind the third are passed over.
    package init?(iso8601 text: String) {
        // Byte by byte: a listing has one for each part.
        var reader = DigitReader(text)
        guard let year = reader.number(before: "-"), let month = reader.number(before: "-"),
            let day = reader.number(before: "T"), let hour = reader.number(before: ":"),
            let minute = reader.number(before: ":"), (1...12).contains(month)
        else { return nil }
        var milliseconds: Int64 = 0
        let second: Int
        if let number = reader.number(before: ".") {
            guard let fraction = reader.milliseconds(before: "Z") else { return nil }
            (second, milliseconds) = (number, fraction)
        } else {
            guard let number = reader.number(before: "Z") else { return nil }
            second = number
        }
        guard reader.isAtEnd else { return nil }
        self.init(
            year: year, month: month, day: day, hour: hour, minute: minute, second: second, milliseconds: milliseconds)
    }

    /// Reads the form of `compact`; nil where the text is anything else.
    package init?(compact text: some StringProtocol) {
        let bytes = Array(text.utf8)
        guard bytes.count == 16, bytes[8] == UInt8(ascii: "T"), bytes[15] == UInt8(ascii: "Z") else { return nil }
        func number(_ range: Range<Int>) -> Int? { Self.number(String(decoding: bytes[range], as: UTF8.self)) }
        guard let year = number(0..<4), let month = number(4..<6), let day = number(6..<8), let hour = number(9..<11),
            let minute = number(11..<13), let second = number(13..<15), (1...12).contains(month)
        else { return nil }
        self.init(year: year, month: month, day: day, hour: hour, minute: minute, second: second, milliseconds: 0)
    }

    private init?(year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int, milliseconds: Int64) {
        guard (1900...9999).contains(year), (1...31).contains(day), hour < 24, minute < 60, second < 61 else {
            return nil
        }
        let days = Calendar.daysSince1970(year: year, month: month, day: day)
        self.milliseconds = ((Int64(days) * 24 + Int64(hour)) * 60 + Int64(minute)) * 60_000 + Int64(second) * 1000
        self.milliseconds += milliseconds
    }

    private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Digits only: Int's own reader would take a sign.
    private static func number(_ text: some StringProtocol) -> Int? {
        guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
        return Int(text)
    }
}

/// Reads numbers, and what has to stand behind each.
private struct DigitReader {
    private let bytes: [UInt8]
    private var place = 0

    init(_ text: String) { self.bytes = Array(text.utf8) }

    var isAtEnd: Bool { self.place == self.bytes.count }

    /// Reads digits and the sign behind them; nil, and nothing is read, where there is anything else, or where they are more
    /// than nine.
    mutating func number(before sign: Unicode.Scalar) -> Int? {
        guard let digits = self.digits(before: sign), digits.count <= 9 else { return nil }
        self.place = digits.endIndex + 1
        return digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }

    /// Reads the digits of a fraction of a second, and the sign behind them.
    mutating func milliseconds(before sign: Unicode.Scalar) -> Int64? {
        guard let digits = self.digits(before: sign) else { return nil }
        self.place = digits.endIndex + 1
        let thousandths = digits.prefix(3).reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
        return digits.count == 1 ? thousandths * 100 : digits.count == 2 ? thousandths * 10 : thousandths
    }

    private func digits(before sign: Unicode.Scalar) -> ArraySlice<UInt8>? {
        let digits = self.bytes[self.place...].prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard !digits.isEmpty, digits.endIndex < self.bytes.count, self.bytes[digits.endIndex] == UInt8(ascii: sign)
        else { return nil }
        return digits
    }
}

/// A moment in the proleptic Gregorian calendar, UTC.
///
/// Years are counted from 1 March here, so that the leap day is the last one of its year, and in eras of 400 years,
/// which all have 146,097 days.
private struct Calendar {
    var year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int
    /// 0 is Sunday.
    var weekday: Int

    private static let daysOfEra = 146_097
    /// From 1 March of the year 0 to 1 January 1970.
    private static let daysBefore1970 = 719_468

    init(_ moment: Timestamp) {
        let (days, time) = Int(moment.seconds).quotientAndRemainderRoundingDown(dividingBy: 86_400)
        (self.hour, self.minute, self.second) = (time / 3600, time / 60 % 60, time % 60)
        // 1 January 1970 was a Thursday.
        self.weekday = (days + 4).quotientAndRemainderRoundingDown(dividingBy: 7).remainder

        let (era, dayOfEra) = (days + Self.daysBefore1970).quotientAndRemainderRoundingDown(dividingBy: Self.daysOfEra)
        let leapDays = dayOfEra / 1460 - dayOfEra / 36_524 + dayOfEra / (Self.daysOfEra - 1)
        let yearOfEra = (dayOfEra - leapDays) / 365
        let dayOfYear = dayOfEra - Self.daysBefore(yearOfEra: yearOfEra)
        // 153 days in every five months from March on.
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        self.day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        self.month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        self.year = era * 400 + yearOfEra + (self.month <= 2 ? 1 : 0)
    }

    static func daysSince1970(year: Int, month: Int, day: Int) -> Int {
        let (era, yearOfEra) = (month <= 2 ? year - 1 : year).quotientAndRemainderRoundingDown(dividingBy: 400)
        let monthFromMarch = month <= 2 ? month + 9 : month - 3
        let dayOfYear = (153 * monthFromMarch + 2) / 5 + day - 1
        return era * Self.daysOfEra + Self.daysBefore(yearOfEra: yearOfEra) + dayOfYear - Self.daysBefore1970
    }

    private static func daysBefore(yearOfEra year: Int) -> Int { year * 365 + year / 4 - year / 100 }

    var compactDay: String { pad((self.year * 100 + self.month) * 100 + self.day, 8) }

    func date(_ separator: String) -> String {
        "\(pad(self.year, 4))\(separator)\(pad(self.month))\(separator)\(pad(self.day))"
    }

    func clock(_ separator: String) -> String {
        "\(pad(self.hour))\(separator)\(pad(self.minute))\(separator)\(pad(self.second))"
    }
}

/// The decimal digits of a number, with zeros before them up to the width.
private func pad(_ number: Int, _ width: Int = 2) -> String {
    var count = 1, place = 1
    while count < width || number / place >= 10 {
        count += 1
        place *= 10
    }
    return String(utf8Count: count) { _ in
        defer { place /= 10 }
        return UInt8(ascii: "0") + UInt8(number / place % 10)
    }
}

extension FixedWidthInteger {
    fileprivate func quotientAndRemainderRoundingDown(dividingBy divisor: Self) -> (quotient: Self, remainder: Self) {
        let (quotient, remainder) = self.quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}
