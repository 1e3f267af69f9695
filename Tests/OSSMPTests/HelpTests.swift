// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import FoundationEssentials
import OSSLocalServer
import SystemIO
import Testing

/// Help texts, the manual page and completions, which all come of one table; and what is said of a wrong command line.
@Suite(.timeLimit(.minutes(5))) struct HelpTests {
    private static let commands = [
        "cp", "get", "stat", "ls", "rm", "sign", "plan", "ls-uploads", "ls-parts", "abort", "completion", "help",
    ]

    /// The long options that a command's help text lists.
    private func options(
        _ fixture: ToolFixture, _ command: String
    ) async throws -> [(name: String, takesArgument: Bool)] {
        let text = try await fixture.run([command, "--help"], environment: [:]).output
        let section = text.split(separator: "\n", omittingEmptySubsequences: false).drop { $0 != "Options:" }
            .dropFirst()
            .prefix { !$0.isEmpty }
        return section.compactMap { line in
            guard let start = line.firstRange(of: "--"), line.hasPrefix("  -") else { return nil }
            let name = line[start.lowerBound...].prefix { $0 != " " }
            // One blank stands before an argument, two at least before the text.
            let rest = line[name.endIndex...].dropFirst()
            return (String(name), rest.first.map { $0 != " " } ?? false)
        }
    }

    // MARK: Help

    @Test func `Every command has a help text with a use, examples, options and exit codes`() async throws {
        try await withToolFixture { fixture in
            let overview = try await fixture.run(["--help"], environment: [:]).output
            for command in Self.commands {
                #expect(overview.contains("\n  ossmp \(command) "))
                let outcome = try await fixture.run([command, "--help"], environment: [:])
                #expect(outcome.code == 0)
                #expect(outcome.errors == "")
                #expect(outcome.output.hasPrefix("ossmp \(command)"))
                for part in ["\nExamples:\n  ", "\nOptions:\n", "\nExit codes: 0 done, 1 failed, 2 "] {
                    #expect(outcome.output.contains(part), "\(command) \(part)")
                }
                #expect(outcome.output.split(separator: "\n").allSatisfy { $0.count <= 120 && $0.last != " " })
                let same = try await fixture.run(["help", command], environment: [:])
                #expect(same.output == outcome.output)
            }
            #expect(try await fixture.run(["help"], environment: [:]).output == overview)
            #expect(try await fixture.run(["help", "nonsense"], environment: [:]).code == 2)
        }
    }

    @Test func `Every option that a help text lists is understood, and those of other commands are not`() async throws {
        try await withToolFixture { fixture in
            var known: [String: [(name: String, takesArgument: Bool)]] = [:]
            for command in Self.commands { known[command] = try await self.options(fixture, command) }
            let all = Set(known.values.joined().map(\.name)).sorted()
            #expect(all.count > 50)
            for (number, command) in Self.commands.enumerated() {
                let own = try #require(known[command])
                #expect(own.contains { $0.name == "--help" } && own.contains { $0.name == "--version" })
                // With --help nothing else is looked at but whether the options are there.
                let words = own.filter { $0.name != "--version" }.map { $0.name + ($0.takesArgument ? "=1" : "") }
                let outcome = try await fixture.run([command] + words, environment: [:])
                #expect(outcome.code == 0, "\(outcome.errors)")
                #expect(outcome.output.hasPrefix("ossmp \(command)"))
                // All of them would be many runs; each command has others of its turn.
                let others = all.filter { name in !own.contains { $0.name == name } }
                for option in stride(from: number % 5, to: others.count, by: 5).map({ others[$0] }) {
                    let outcome = try await fixture.run([command, "--help", option], environment: [:])
                    #expect(outcome.code == 2, "\(command) \(option)")
                    #expect(outcome.errors.contains("\(option): no option of \(command), but of "))
                }
            }
        }
    }

    // MARK: The manual page

    @Test func `The manual page names every command and option, and man has nothing to complain of`() async throws {
        try await withToolFixture { fixture in
            let page = try await fixture.run(["help", "--man"], environment: [:])
            #expect(page.code == 0)
            try Data(page.output.utf8).write(to: URL(filePath: fixture.folder + "/ossmp.1"))
            guard FileManager.default.fileExists(atPath: "/usr/bin/man") else { return }
            let shown = try await fixture.run(
                program: ["man", "--warnings", "-l", "ossmp.1"],
                environment: ["MANWIDTH": "100", "MANPAGER": "cat", "TERM": "dumb", "GROFF_NO_SGR": "1"])
            #expect(shown.code == 0)
            #expect(shown.errors == "")
            // Bold is struck twice.
            var text = shown.output
            while let struck = text.firstRange(of: "\u{8}") {
                text.removeSubrange(text.index(before: struck.lowerBound)..<struck.upperBound)
            }
            for section in ["NAME", "SYNOPSIS", "COMMANDS", "OPTIONS", "EXIT STATUS", "ENVIRONMENT", "FILES"] {
                #expect(text.contains("\n\(section)\n"))
            }
            for command in Self.commands {
                #expect(text.contains("ossmp \(command)"))
                for option in try await self.options(fixture, command) {
                    #expect(text.contains(option.name), "\(option.name)")
                }
            }
            #expect(text.contains("tar c films | ossmp cp - oss://media/films.tar"))
            #expect(text.contains("--exclude '.*'"))
        }
    }

    // MARK: Completion

    /// What bash completes the last of these words to.
    private func complete(_ fixture: ToolFixture, _ words: [String]) async throws -> Set<String> {
        let script = """
            source <("$0" completion bash)
            COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 ))
            _ossmp
            printf '%s\\n' "${COMPREPLY[@]}"
            """
        let outcome = try await fixture.run(
            program: ["bash", "-u", "-c", script, ToolProcess.programs + "/ossmp"] + words)
        #expect(outcome.errors == "")
        return Set(outcome.output.split(separator: "\n").map { String($0) })
    }

    @Test func `bash completes commands, options, their values, files and folders`() async throws {
        try await withToolFixture { fixture in
            try Data().write(to: URL(filePath: fixture.folder + "/film one.bin"))
            try Directory.create(fixture.folder + "/films")
            #expect(try await self.complete(fixture, ["ossmp", ""]) == Set(Self.commands))
            #expect(try await self.complete(fixture, ["ossmp", "ls"]) == ["ls", "ls-uploads", "ls-parts"])
            #expect(try await self.complete(fixture, ["ossmp", "help", "st"]) == ["stat"])
            #expect(try await self.complete(fixture, ["ossmp", "completion", ""]) == ["bash", "zsh"])
            #expect(
                try await self.complete(fixture, ["ossmp", "cp", "--in"]) == ["--include", "--integrity", "--insecure"])
            #expect(
                try await self.complete(fixture, ["ossmp", "cp", "--verify", ""]) == ["auto", "content", "record"])
            #expect(try await self.complete(fixture, ["ossmp", "cp", "--verify", "=", "c"]) == ["content"])
            #expect(try await self.complete(fixture, ["ossmp", "sign", "--method", "P"]) == ["PUT", "POST"])
            #expect(try await self.complete(fixture, ["ossmp", "cp", "film"]) == ["film one.bin", "films"])
            #expect(try await self.complete(fixture, ["ossmp", "cp", "--checkpoint-dir", "film"]) == ["films"])
            #expect(try await self.complete(fixture, ["ossmp", "cp", "--meta", "film"]).isEmpty)
            #expect(try await self.complete(fixture, ["ossmp", "stat", "film"]).isEmpty)
            #expect(try await self.complete(fixture, ["ossmp", "--"]) == ["--help", "--version"])
        }
    }

    @Test func `The completion knows the very options that the help text lists`() async throws {
        try await withToolFixture { fixture in
            for command in Self.commands {
                let options = Set(try await self.options(fixture, command).map(\.name))
                #expect(try await self.complete(fixture, ["ossmp", command, "--"]) == options)
            }
        }
    }

    @Test(.enabled(if: FileManager.default.fileExists(atPath: "/usr/bin/zsh")))
    func `zsh accepts its completion`() async throws {
        try await withToolFixture { fixture in
            let script =
                "autoload -U compinit && compinit -u -D && source <(\"$0\" completion zsh) && print $_comps[ossmp]"
            let outcome = try await fixture.run(
                program: ["zsh", "-f", "-c", script, ToolProcess.programs + "/ossmp"])
            #expect(outcome.text == "_ossmp\n")
        }
    }

    @Test func `A shell without a completion is a usage error`() async throws {
        try await withToolFixture { fixture in
            for arguments in [[], ["fish"], ["bash", "zsh"]] {
                let outcome = try await fixture.run(["completion"] + arguments)
                #expect(outcome.code == 2)
                #expect(outcome.errors.contains("bash or zsh"))
            }
        }
    }

    // MARK: Wrong command lines

    @Test(arguments: [
        (["upload", "a", "oss://media/k"], "upload: no such command; there are cp, get,"),
        (["stats", "oss://media/k"], "stats: no such command; do you mean ossmp stat?"),
        (["pc", "a", "oss://media/k"], "pc: no such command; do you mean ossmp cp?"),
        (["ls-upload", "oss://media"], "do you mean ossmp ls-uploads?"),
        (
            ["cp", "a", "oss://media/k", "--partsize", "1"],
            "--partsize: no such option of cp; do you mean --part-size?"
        ),
        (
            ["cp", "a", "oss://media/k", "--part-size"],
            "--part-size needs its argument: --part-size SIZE, bytes of a part"
        ),
        (["cp", "a", "oss://media/k", "--part"], "--part-size needs its argument"),
        (["cp", "a", "oss://media/k", "--in", "x"], "--in could be --include, --integrity, --insecure"),
        (["cp", "a", "oss://media/k", "--json=yes"], "--json takes no argument"),
        (["stat", "oss://media/k", "--meta", "a=b"], "--meta: no option of stat, but of cp"),
        (["cp", "a", "oss://media/k", "--json", "-xv"], "-x: no such option of cp"),
        (["cp", "a", "oss://media/k", "--verify", "maybe"], "--verify maybe: there are auto, content, record"),
        (["cp", "a", "oss://media/k", "--integrity", "sha1"], "there are md5+crc64, md5, crc64, etag, none"),
        (["cp", "a", "oss://media/k", "--addressing", "x"], "there are auto, path, virtual, cname"),
        (["cp", "a", "oss://media/k", "--sign-version", "v2"], "there are v4, v1"),
        (["cp", "a", "oss://media/k", "--parallel", "101"], "--parallel 101: give a whole number from 1 to 100"),
        (["cp", "a", "oss://media/k", "--retries", "-1"], "--retries -1: give a whole number from 0 to 100"),
        (
            ["cp", "a", "oss://media/k", "--limit-rate", "fast"],
            "--limit-rate fast: give bytes, or a whole number of KiB"
        ),
        (["cp", "a", "oss://media/k", "--limit-rate", "0"], "--limit-rate 0: give at least one byte a second"),
        (["cp", "a", "oss://media/k", "--acl", "open"], "--acl open: there are"),
        (
            ["cp", "a", "oss://media/k", "--sequential", "--adopt", "latest"],
            "--sequential and --adopt exclude each other"
        ),
        (["cp", "a", "oss://media/k", "--sequential", "--parallel", "2"], "leave --parallel out"),
        (["cp", "a", "oss://media/k", "--credentials", "me:secretkey"], "--credentials: there are env, ossutil"),
        (["cp", "a", "oss://media/k", "--profile", "x"], "say of which file, with --credentials ossutil or aliyun"),
        (["cp", "a", "media/k"], "media/k: an object is written oss://BUCKET/KEY"),
        (["rm"], "rm takes objects: ossmp rm oss://BUCKET/KEY..."),
        (["rm", "-r", "oss://media/a"], "add --yes to do it, or --dry-run"),
        (["ls", "-r", "oss://media", "--delimiter", "/"], "--recursive and --delimiter exclude each other"),
        (["abort", "oss://media/k"], "abort needs one of --upload-id ID, --all and --older-than AGE"),
        (["ls-parts", "oss://media/k"], "ls-parts needs --upload-id"),
        (["get", "oss://media"], "the key is missing"),
        (["--json"], "--json: no option, but of cp"),
        ([], "which command?"),
    ])
    func `A wrong command line gives code 2 and says what would be right`(arguments: [String], message: String)
        async throws
    {
        try await withToolFixture { fixture in
            let outcome = try await fixture.run(arguments)
            #expect(outcome.code == 2)
            #expect(outcome.errors.contains(message), "\(outcome.errors)")
            let command = arguments.first.map { Self.commands.contains($0) ? "\($0) " : "" } ?? ""
            #expect(outcome.errors.hasSuffix("ossmp: see ossmp \(command)--help\n"))
            #expect(!outcome.text.contains("secretkey"))
            #expect(fixture.server.requests.isEmpty)
        }
    }

    @Test func `With --json every command's errors are JSON too`() async throws {
        struct Failure: Decodable {
            struct Details: Decodable { let code: String, message: String }
            let error: Details
        }
        try await withToolFixture { fixture in
            fixture.server.faults.add(.init(.respond(status: 403, code: "AccessDenied")))
            let file = try fixture.file("film.bin", parts: 2)
            let commands = [
                ["cp", file.path, "oss://media/k", "--no-checkpoint"], ["cp", "-r", fixture.folder, "oss://media/k/"],
                ["get", "oss://media/k"], ["stat", "oss://media/k"], ["ls", "oss://media"], ["rm", "oss://media/k"],
                ["ls-uploads", "oss://media"], ["ls-parts", "oss://media/k", "--upload-id", "X"],
                ["abort", "oss://media/k", "--upload-id", "X"], ["abort", "oss://media/k", "--all"],
                ["abort", "oss://media", "--older-than", "1d"],
            ]
            for command in commands {
                let outcome = try await fixture.run(command + ["--json"])
                #expect(outcome.code == 1, "\(command) \(outcome.text)")
                #expect(outcome.output.contains("\"code\":\"AccessDenied\""), "\(command) \(outcome.output)")
            }
            for command in [
                ["plan", "/no", "oss://media/k"], ["sign", "oss://media/k", "--method", "X"], ["nonsense"],
            ] {
                let outcome = try await fixture.run(command + ["--json"])
                let failure = try JSONDecoder().decode(Failure.self, from: Data(outcome.output.utf8))
                #expect(failure.error.code == (command[0] == "plan" ? "sourceUnreadable" : "usage"))
                #expect(!failure.error.message.isEmpty)
            }
        }
    }
}
