// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import OSSMultipart

/// The manual page in the form that man reads, made of the tables of commands and options.
enum ManualPage {
    static var text: String {
        var page = Roff()
        page.request("TH", ["OSSMP", "1", "", "ossmp \(OSSMultipartVersion.current)", "User Commands"])
        // Options are not to be broken at their hyphens.
        page.request("nh")
        page.request("ad l")
        page.request("SH", ["NAME"])
        page.text("ossmp - upload files to Alibaba Cloud OSS in parts, and go on where a broken upload broke")
        page.request("SH", ["SYNOPSIS"])
        page.lines(Command.allCases.flatMap(\.description.synopses))
        page.request("SH", ["DESCRIPTION"])
        page.text(
            "ossmp uploads files, streams and folders of any size to Alibaba Cloud OSS, or to a store that speaks its API. A "
                + "run that breaks is gone on with by the same command. It also downloads, lists and deletes objects.")
        page.request("SH", ["COMMANDS"])
        for command in Command.allCases { self.describe(command, on: &page) }
        page.request("SH", ["OPTIONS"])
        for option in Option.all {
            let commands = Command.allCases.filter { option.commands.contains($0) }.map(\.rawValue)
            page.item(Help.name(option))
            page.text(Help.help(option) + ".")
            let isGeneral = option.commands.isSuperset(of: Command.ofService)
            page.text(isGeneral ? "All commands that know the service." : "Of \(commands.joined(separator: ", ")).")
        }
        self.describeSurroundings(on: &page)
        return page.source
    }

    private static func describe(_ command: Command, on page: inout Roff) {
        let description = command.description
        page.request("SS", [command.rawValue])
        page.lines(description.synopses)
        for paragraph in description.text {
            page.request("PP")
            page.text(paragraph)
        }
        let options = Option.known(to: command).filter { !$0.commands.isSuperset(of: Command.ofService) }
        if !options.isEmpty {
            page.request("PP")
            page.text("Options: " + options.map { "--" + $0.name }.joined(separator: ", ") + ".")
        }
        for example in description.examples {
            page.item(example.line)
            page.text(example.purpose)
        }
    }

    private static func describeSurroundings(on page: inout Roff) {
        page.request("SH", ["EXIT STATUS"])
        for code in ExitCode.allCases {
            page.item("\(code.rawValue)")
            page.text(code.meaning)
        }
        page.item("130, 143")
        page.text("SIGINT or SIGTERM ended it; what is stored is kept, and the same command goes on")
        page.request("SH", ["ENVIRONMENT"])
        for (name, help) in self.variables {
            page.item(name)
            page.text(help)
        }
        page.request("SH", ["FILES"])
        for (name, help) in self.files {
            page.item(name)
            page.text(help)
        }
    }

    private static let variables = [
        ("OSS_ENDPOINT", "the service, where --endpoint is not given"),
        ("OSS_REGION", "the region, where --region is not given"),
        ("OSS_ACCESS_KEY_ID, OSS_ACCESS_KEY_SECRET", "the access key"),
        ("OSS_SESSION_TOKEN", "the token of temporary credentials"),
        ("http_proxy, https_proxy, all_proxy, no_proxy", "the proxy, where --proxy is not given"),
        ("XDG_STATE_HOME", "where the folder of checkpoints is"),
        ("TERM", "with the value dumb there is no progress bar, but a line for each tenth"),
    ]

    private static let files = [
        ("~/.local/state/ossmp", "checkpoints: which parts of which upload are stored; no secret is in them"),
        ("~/.ossutilconfig", "the access key, where the environment has none"),
        ("~/.aliyun/config.json", "the access key, with --credentials aliyun"),
    ]
}

/// Text with the requests of man's macros.
private struct Roff {
    private(set) var source = ""

    /// A macro with its arguments.
    mutating func request(_ name: String, _ arguments: [String] = []) {
        let quoted = arguments.map { " \"\(Self.escaped($0))\"" }.joined()
        self.source += ".\(name)\(quoted)\n"
    }

    /// Running text.
    mutating func text(_ text: String) {
        let escaped = Self.escaped(text)
        // A line that begins with one of these would be a request.
        self.source += (escaped.hasPrefix(".") || escaped.hasPrefix("'") ? "\\&" : "") + escaped + "\n"
    }

    /// Lines as they stand.
    mutating func lines(_ lines: [String]) {
        self.request("nf")
        for line in lines { self.text(line) }
        self.request("fi")
    }

    /// The head of an entry whose text follows.
    mutating func item(_ head: String) {
        self.request("TP")
        self.source += "\\fB\(Self.escaped(head))\\fR\n"
    }

    private static func escaped(_ text: String) -> String {
        var escaped = ""
        for character in text {
            switch character {
            case "\\": escaped += "\\e"
            // As they are typed, not as typesetters like them.
            case "-": escaped += "\\-"
            case "'": escaped += "\\(aq"
            case "`": escaped += "\\(ga"
            case "~": escaped += "\\(ti"
            case "^": escaped += "\\(ha"
            case "\"": escaped += "\\(dq"
            default: escaped.append(character)
            }
        }
        return escaped
    }
}
