// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import OSSMultipart

/// The help texts, made of the tables of commands and options.
enum Help {
    /// How wide a help text is, in columns.
    private static let columns = 100

    static func text(_ command: Command?) -> String {
        guard let command else { return self.overview }
        let description = command.description
        var lines = description.synopses
        lines += description.text.flatMap { [""] + DisplayText.wrapped($0, columns: self.columns) }
        lines += ["", "Examples:"] + self.rows(description.examples.map { ($0.line, $0.purpose) })
        lines += ["", "Options:"] + self.rows(Option.known(to: command).map { (self.name($0), self.help($0)) })
        let codes = description.codes.map { "\($0.rawValue) \($0.meaning)" }.joined(separator: ", ")
        lines += [""] + DisplayText.wrapped("Exit codes: \(codes); 130 SIGINT, 143 SIGTERM.", columns: self.columns)
        return lines.joined(separator: "\n")
    }

    private static var overview: String {
        let commands = Command.allCases.map { ("ossmp \($0.rawValue)", $0.description.summary) }
        return """
            ossmp uploads files to Alibaba Cloud OSS in parts, and goes on where a broken upload broke.

            \(self.rows(commands).joined(separator: "\n"))

            Where the service is: OSS_ENDPOINT and OSS_REGION, or --endpoint and --region.
            Credentials: OSS_ACCESS_KEY_ID, OSS_ACCESS_KEY_SECRET and OSS_SESSION_TOKEN, else ~/.ossutilconfig.
            ossmp COMMAND --help describes a command; ossmp help --man prints the manual page.
            """
    }

    /// An option's names and its argument.
    static func name(_ option: Option) -> String { (option.letter.map { "-\($0), " } ?? "") + option.usage }

    /// What an option does.
    static func help(_ option: Option) -> String { option.help + (option.isRepeatable ? "; may be given again" : "") }

    /// Two columns; what does not fit into the second one goes on below.
    private static func rows(_ rows: [(String, String)]) -> [String] {
        let width = min(36, (rows.map(\.0.count).max() ?? 0) + 2)
        return rows.flatMap { name, text in
            let lines = DisplayText.wrapped(text, columns: self.columns - width - 2)
            let blanks = String(repeating: " ", count: width + 2)
            let isLong = name.count + 2 > width
            let first = isLong ? ["  " + name] : []
            let rest = lines.enumerated().map { index, line in
                index == 0 && !isLong
                    ? "  " + name + String(repeating: " ", count: width - name.count) + line : blanks + line
            }
            return first + rest
        }
    }
}
