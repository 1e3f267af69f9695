// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import CGetopt
import Glibc
import OSSMultipart

/// The command line, read with `getopt_long`.
struct Options {
    enum Command: String, CaseIterable {
        case cp
        case listParts = "ls-parts"
        case listUploads = "ls-uploads"
        case abort
    }

    enum Action {
        case command(Command)
        case help(Command?)
        case version
    }

    /// An option: its name, whether it takes an argument, and the commands that know it (nil: all).
    struct Option: Sendable {
        let name: String
        var argument: String?
        let help: String
        var commands: Set<Command>?
    }

    let action: Action
    /// What is neither command nor option.
    private(set) var operands: [String] = []
    private var values: [String: [String]] = [:]

    /// Every option of the tool, in the order of the help text.
    static let all: [Option] = [
        Option(name: "endpoint", argument: "URL", help: "the service (default: OSS_ENDPOINT)"),
        Option(
            name: "region", argument: "REGION", help: "the region (default: OSS_REGION, or as the endpoint names it)"),
        Option(name: "addressing", argument: "STYLE", help: "auto, path, virtual or cname (default: auto)"),
        Option(name: "sign-version", argument: "V", help: "v4 or v1 (default: v4)"),
        Option(name: "recursive", help: "a folder's files, each under its path from there (-r)", commands: [.cp]),
        Option(
            name: "include", argument: "PATTERN", help: "with -r: only files that match; may be given again",
            commands: [.cp]),
        Option(
            name: "exclude", argument: "PATTERN", help: "with -r: no files or folders that match; may be given again",
            commands: [.cp]),
        Option(name: "symlinks", argument: "POLICY", help: "with -r: skip or follow (default: skip)", commands: [.cp]),
        Option(
            name: "delete-source", help: "with -r: delete each file that is stored, with the proof crc64",
            commands: [.cp]),
        Option(
            name: "part-size", argument: "SIZE", help: "bytes of a part, for example 8MiB (default: by size)",
            commands: [.cp]),
        Option(
            name: "parallel", argument: "N", help: "parts in flight (default: 4 to 16, as the network gives)",
            commands: [.cp]),
        Option(
            name: "checkpoint-dir", argument: "DIR",
            help: "folder of checkpoints (default: $XDG_STATE_HOME/ossmp, ~/.local/state/ossmp)", commands: [.cp]),
        Option(name: "no-checkpoint", help: "keep none; a failed upload is aborted", commands: [.cp]),
        Option(name: "restart", help: "abort what the checkpoint names and begin anew", commands: [.cp]),
        Option(
            name: "adopt", argument: "latest|ID", help: "take over an open upload that no checkpoint names",
            commands: [.cp]),
        Option(name: "verify", argument: "MODE", help: "auto, content or record (default: auto)", commands: [.cp]),
        Option(
            name: "integrity", argument: "MODE", help: "md5+crc64, md5, crc64, etag or none (default: md5+crc64)",
            commands: [.cp]),
        Option(name: "content-type", argument: "TYPE", help: "stored with the object", commands: [.cp]),
        Option(name: "meta", argument: "NAME=VALUE", help: "metadata of yours; may be given again", commands: [.cp]),
        Option(
            name: "acl", argument: "ACL", help: "private, public-read, public-read-write or default", commands: [.cp]),
        Option(
            name: "storage-class", argument: "CLASS", help: "Standard, IA, Archive, ColdArchive, ...", commands: [.cp]),
        Option(name: "tagging", argument: "TAGS", help: "name=value&..., URL-encoded", commands: [.cp]),
        Option(
            name: "callback", argument: "JSON", help: "what the service posts when the object is stored",
            commands: [.cp]),
        Option(
            name: "callback-var", argument: "x:NAME=VALUE", help: "a variable of the callback; may be given again",
            commands: [.cp]),
        Option(name: "forbid-overwrite", help: "fail where the object exists", commands: [.cp]),
        Option(name: "upload-id", argument: "ID", help: "the upload", commands: [.listParts, .abort]),
        Option(name: "all", help: "every open upload of that key", commands: [.abort]),
        Option(name: "proxy", argument: "URL", help: "proxy; empty for none (default: as the environment says)"),
        Option(name: "ca-file", argument: "FILE", help: "CA certificates in PEM"),
        Option(name: "insecure", help: "take every certificate; others can then read and change what is sent"),
        Option(name: "retries", argument: "N", help: "how often a request is sent again (default: 7)"),
        Option(name: "json", help: "one JSON object on standard output"),
        Option(name: "quiet", help: "only errors and warnings"),
        Option(name: "verbose", help: "also every part (-v)"),
        Option(name: "help", help: "this text (-h)"),
        Option(name: "version", help: "the version"),
    ]

    init(_ arguments: [String]) throws {
        var arguments = arguments
        // What is not UTF-8 was replaced: taken as it is, it would name another file and another key.
        guard !arguments.contains(where: { $0.unicodeScalars.contains("\u{FFFD}") }) else {
            throw UsageError(
                "the command line holds bytes that are not UTF-8 (or U+FFFD, which stands for such); rename the file")
        }
        var command: Command?
        if arguments.count > 1, !arguments[1].hasPrefix("-") {
            guard let named = Command(rawValue: arguments[1]) else {
                throw UsageError(
                    "\(arguments[1]): no such command; there are \(Command.allCases.map(\.rawValue).joined(separator: ", "))"
                )
            }
            command = named
            arguments.remove(at: 1)
        }
        let known = Self.all.filter { option in
            guard let command, let commands = option.commands else { return option.commands == nil }
            return commands.contains(command)
        }
        let (values, operands) = try CommandLineReader.read(arguments, known)
        self.values = values
        self.operands = operands
        if values["help"] != nil {
            self.action = .help(command)
        } else if values["version"] != nil {
            self.action = .version
        } else if let command {
            self.action = .command(command)
        } else {
            throw UsageError("which command? ossmp cp FILE oss://BUCKET/KEY uploads a file")
        }
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

    /// The client that the options and the environment describe.
    func client() throws -> OSSClient {
        guard let endpoint = self.value("endpoint") ?? Self.environment("OSS_ENDPOINT") else {
            throw UsageError(
                "which service? give --endpoint https://oss-cn-hangzhou.aliyuncs.com, or set OSS_ENDPOINT"
            )
        }
        var configuration = OSSClient.Configuration()
        if let addressing = try self.choice("addressing", OSSClient.Addressing.all) {
            configuration.addressing = addressing
        }
        if let version = try self.choice("sign-version", OSSClient.SignatureVersion.all) {
            configuration.signatureVersion = version
        }
        if let retries = try self.number("retries", in: 0...100) {
            configuration.retryPolicy.maximumAttempts = retries + 1
        }
        configuration.proxy = self.value("proxy")
        configuration.caFile = self.value("ca-file")
        configuration.acceptsAnyCertificate = self.has("insecure")
        if self.has("insecure") {
            Console.note("--insecure: certificates are not checked; others can read and change what is sent")
        }
        return try OSSClient(
            endpoint: endpoint, region: self.value("region") ?? Self.environment("OSS_REGION"),
            credentials: .environment,
            configuration: configuration
        )
    }

    /// A variable of the environment; an empty one counts as not set.
    private static func environment(_ name: String) -> String? {
        // SAFETY: the text is copied at once, and nothing in this process sets variables.
        guard let value = unsafe getenv(name) else { return nil }
        let text = unsafe String(cString: value)
        return text.isEmpty ? nil : text
    }
}

/// Reads options and operands with the C library's `getopt_long`.
enum CommandLineReader {
    /// Long options have no letter: their values lie beyond every letter's.
    private static let firstLongValue: Int32 = 256
    private static let letters: [(letter: Character, name: String)] = [
        ("v", "verbose"), ("h", "help"), ("r", "recursive"),
    ]

    static func read(_ arguments: [String], _ options: [Options.Option]) throws -> ([String: [String]], [String]) {
        // SAFETY: the C library keeps pointers into the texts while it reads, and reorders the array; both are made here and
        // freed when all that it found has been copied. It is called in no other place.
        // getopt puts the first word before its own messages: the tool's name, not its path.
        var texts = unsafe (["ossmp"] + arguments.dropFirst()).map { unsafe strdup($0) } + [nil]
        var table = unsafe options.enumerated().map { index, option in
            unsafe CGetopt.option(
                name: strdup(option.name), has_arg: option.argument == nil ? no_argument : required_argument, flag: nil,
                val: self.firstLongValue + Int32(index)
            )
        }
        defer {
            unsafe texts.forEach { unsafe free($0) }
            unsafe table.forEach { unsafe free(UnsafeMutablePointer(mutating: $0.name)) }
        }
        unsafe table.append(CGetopt.option(name: nil, has_arg: 0, flag: nil, val: 0))
        var values: [String: [String]] = [:]
        let count = Int32(arguments.count)
        let shorts = String(self.letters.map(\.letter))
        while true {
            let value = unsafe cgetopt_next(count, &texts, shorts, table)
            if value == -1 { break }
            let name: String
            if value >= self.firstLongValue {
                name = options[Int(value - self.firstLongValue)].name
            } else if let letter = self.letters.first(where: { Int32($0.letter.asciiValue ?? 0) == value }) {
                name = letter.name
            } else {
                // The C library has said which option is wrong.
                throw UsageError("the command line cannot be understood")
            }
            let argument = unsafe cgetopt_argument().map { unsafe String(cString: $0) } ?? ""
            values[name, default: []].append(argument)
        }
        let operands = unsafe texts[Int(cgetopt_operands())..<Int(count)].compactMap { text in
            unsafe text.map { unsafe String(cString: $0) }
        }
        return (values, operands)
    }
}
