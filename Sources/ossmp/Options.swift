// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

/// The command line, read.
struct Options {
    enum Action {
        case command(Command)
        case help(Command?)
        case manual
        case version
    }

    let action: Action
    /// What is neither command nor option.
    let operands: [String]
    private let values: [String: [String]]

    /// - Parameter arguments: the command line, the program's name first.
    init(_ arguments: [String]) throws {
        var arguments = arguments
        // What is not UTF-8 was replaced: taken as it is, it would name another file and another key.
        guard !arguments.contains(where: { $0.unicodeScalars.contains("\u{FFFD}") }) else {
            throw UsageError(
                "the command line holds bytes that are not UTF-8 (or U+FFFD, which stands for such); rename the file")
        }
        var command: Command?
        if arguments.count > 1, !arguments[1].hasPrefix("-") {
            command = try Self.command(arguments[1])
            arguments.remove(at: 1)
        }
        let (values, operands) = try CommandLineReader.read(arguments, command)
        self.values = values
        self.operands = operands
        if values["version"] != nil {
            self.action = .version
        } else if values["help"] != nil {
            self.action = .help(command)
        } else if command == .help {
            self.action = try Self.help(operands, wantsManual: values["man"] != nil)
        } else if let command {
            self.action = .command(command)
        } else {
            throw UsageError("which command? ossmp cp FILE oss://BUCKET/KEY uploads a file; ossmp --help lists all")
        }
    }

    private static func command(_ name: String) throws -> Command {
        if let command = Command(rawValue: name) { return command }
        let names = Command.allCases.map(\.rawValue)
        let advice =
            Likeness.nearest(to: name, among: names).map { "do you mean ossmp \($0)?" }
            ?? "there are \(names.joined(separator: ", "))"
        throw UsageError("\(name): no such command; \(advice)")
    }

    private static func help(_ operands: [String], wantsManual: Bool) throws -> Action {
        if wantsManual {
            guard operands.isEmpty else {
                throw UsageError("help --man takes no command: the page is about all of them")
            }
            return .manual
        }
        guard operands.count < 2 else { throw UsageError("help takes one command: ossmp help [COMMAND]") }
        return .help(try operands.first.map { try Self.command($0) })
    }

    /// Whether an option was given.
    func has(_ name: String) -> Bool { self.values[name] != nil }

    /// The argument of an option, the last one where it was given more than once.
    func value(_ name: String) -> String? { self.values[name]?.last }

    /// All arguments of an option.
    func values(_ name: String) -> [String] { self.values[name] ?? [] }

    /// One of a list of modes, by its name.
    func choice<Mode: CustomStringConvertible>(_ name: String, _ modes: [Mode]) throws -> Mode? {
        guard let text = self.value(name) else { return nil }
        guard let mode = modes.first(where: { $0.description == text }) else {
            let names = modes.map(\.description).joined(separator: ", ")
            throw UsageError("--\(name) \(text): there are \(names)")
        }
        return mode
    }

    /// A whole number in a range.
    func number(_ name: String, in range: ClosedRange<Int>) throws -> Int? {
        guard let text = self.value(name) else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw UsageError("--\(name) \(text): give a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// A length of time, at least one second.
    func time(_ name: String) throws -> Duration? {
        try self.value(name).map { try TimeSpan.parse($0, option: "--\(name)") }
    }

    /// Refuses two options that contradict each other.
    func exclude(_ first: String, _ second: String) throws {
        guard !(self.has(first) && self.has(second)) else {
            throw UsageError("--\(first) and --\(second) exclude each other; leave one out")
        }
    }

    /// The one object that a command takes.
    func object(of command: Command) throws -> ObjectAddress {
        guard self.operands.count == 1 else {
            throw UsageError("\(command.rawValue) takes one object: \(command.description.synopses[0])")
        }
        return try ObjectAddress(object: self.operands[0])
    }

    /// The bucket, with or without a prefix, that a command takes.
    func prefix(of command: Command) throws -> ObjectAddress {
        guard self.operands.count == 1 else {
            throw UsageError("\(command.rawValue) takes one bucket: \(command.description.synopses[0])")
        }
        return try ObjectAddress(self.operands[0])
    }
}
