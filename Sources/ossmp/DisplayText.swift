// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

/// Texts for a terminal: on one line, in so many columns.
enum DisplayText {
    /// The text with what would move a cursor, end a line or turn the direction of writing shown as an escape: `\n`, `\t`,
    /// `\x1B`, `\u{202E}`.
    static func escaped(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: self.isUnsafe) else { return text }
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\n": escaped += "\\n"
            case "\r": escaped += "\\r"
            case "\t": escaped += "\\t"
            case _ where !self.isUnsafe(scalar): escaped.unicodeScalars.append(scalar)
            default:
                let digits = String(scalar.value, radix: 16, uppercase: true)
                escaped += scalar.value < 0x100 ? "\\x\(digits.count < 2 ? "0" : "")\(digits)" : "\\u{\(digits)}"
            }
        }
        return escaped
    }

    private static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .surrogate: true
        // Those that only join or separate letters and emoji are part of what people write.
        case .format: !(0x200B...0x200D).contains(scalar.value) && scalar.value < 0xE0000
        default: false
        }
    }

    /// The beginning of a text that fits into so many columns, with a `…` where something is left out.
    static func cut(_ text: String, columns: Int) -> String {
        guard self.columns(of: text) > columns else { return text }
        guard columns > 0 else { return "" }
        var (cut, used) = ("", 0)
        for character in text {
            let width = self.columns(of: character)
            guard used + width <= columns - 1 else { break }
            cut.append(character)
            used += width
        }
        return cut + "…"
    }

    /// How many columns a text takes.
    static func columns(of text: String) -> Int { text.reduce(0) { $0 + self.columns(of: $1) } }

    /// How many columns a character takes at most: terminals differ about those that are made of several, and a line that is
    /// thought too long is cut, while one that is thought too short would wrap.
    private static func columns(of character: Character) -> Int {
        character.unicodeScalars.reduce(0) { $0 + self.columns(of: $1) }
    }

    private static func columns(of scalar: Unicode.Scalar) -> Int {
        // The selector that makes an emoji of a sign may make it wide.
        if scalar.value == 0xFE0F { return 1 }
        switch scalar.properties.generalCategory {
        case .control, .format, .nonspacingMark, .enclosingMark: return 0
        default: break
        }
        if scalar.properties.isEmojiPresentation { return 2 }
        return self.wide.contains { $0.contains(scalar.value) } ? 2 : 1
    }

    /// What takes two columns beside emoji.
    ///
    /// *Source:* Unicode, EastAsianWidth.txt, the classes W and F, in blocks.
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2329...0x232A, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0x9FFF,
        0xA000...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6F,
        0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x16FE0...0x18DFF, 0x1AFF0...0x1B2FF, 0x1F200...0x1F2FF, 0x1F300...0x1F64F,
        0x1F680...0x1F6FF, 0x1F900...0x1FAFF, 0x20000...0x2FFFD, 0x30000...0x3FFFD,
    ]

    /// The text in lines of at most so many columns, broken at blanks.
    static func wrapped(_ text: String, columns: Int) -> [String] {
        var lines: [String] = []
        for word in text.split(separator: " ") {
            if let last = lines.last, self.columns(of: last) + 1 + self.columns(of: String(word)) <= columns {
                lines[lines.count - 1] = last + " " + word
            } else {
                lines.append(String(word))
            }
        }
        return lines
    }
}
