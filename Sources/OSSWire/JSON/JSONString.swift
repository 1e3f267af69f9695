// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

/// Texts as JSON documents write them.
package enum JSONString {
    /// The text in quotes.
    ///
    /// - Parameter isForTerminals: whether what moves a terminal's cursor or breaks a line there is escaped as well, which JSON
    ///   does not ask for. Default: false.
    package static func quoted(_ text: String, isForTerminals: Bool = false) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\u{0}"..."\u{1F}": quoted += Self.escaped(scalar)
            case "\u{7F}"..."\u{9F}", "\u{2028}", "\u{2029}":
                if isForTerminals { quoted += Self.escaped(scalar) } else { quoted.unicodeScalars.append(scalar) }
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }

    /// A character of up to 16 bits as `\u` and four digits.
    private static func escaped(_ scalar: Unicode.Scalar) -> String {
        let digits = String(scalar.value, radix: 16)
        return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    }
}
