// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import FoundationEssentials
import Glibc
import OSSLocalServer
import SystemIO
import Testing

/// What a person sees of an upload.
@Suite(.timeLimit(.minutes(5))) struct ProgressBarTests {
    /// Runs an upload in a terminal until some parts are stored and the bar shows it, then stops it; then to its end.
    ///
    /// - Returns: the screen of the run that was stopped, and that of the other.
    private func show(
        _ fixture: ToolFixture, name: String, columns: Int, variables: [String: String] = ["TERM": "xterm"]
    ) async throws -> [Screen] {
        let file = try fixture.file(name, parts: 8)
        let environment = fixture.environment.merging(variables) { $1 }
        let isDumb = variables["TERM"] == "dumb"
        var screens: [Screen] = []
        fixture.hold(4...9)
        for isStopped in [true, false] {
            let terminal = try PseudoTerminal(columns: columns)
            let process = try ToolProcess(
                fixture.copy(file.path, "k"), environment: environment, in: fixture.folder, terminal: terminal)
            if isStopped {
                try await fixture.wait {
                    fixture.storedParts("k") >= 3 && terminal.text.contains(isDumb ? " % (" : "%")
                }
                process.send(SIGINT)
            }
            let outcome = try await process.outcome()
            #expect(outcome.code == (isStopped ? 130 : 0))
            fixture.server.faults.removeAll()
            var screen = Screen(columns: columns)
            screen.feed(await terminal.end())
            screens.append(screen)
        }
        return screens
    }

    @Test(arguments: [80, 40, 20, 12, 5], ["film.bin", "电影🎬资料片第一集完整版没有剪辑过的版本.bin", "e\u{301}\u{301}t\u{301}.bin"])
    func `The bar fits the terminal, and is gone when there is something to say`(columns: Int, name: String)
        async throws
    {
        try await withToolFixture { fixture in
            for screen in try await self.show(fixture, name: name, columns: columns) {
                #expect(screen.unknown.isEmpty)
                let bars = screen.drawn.filter { $0.contains("%") && !$0.hasPrefix("ossmp:") }
                #expect(!bars.isEmpty)
                for bar in bars {
                    #expect(bar.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control })
                    #expect(!bar.contains("%%"))
                }
                // Messages may be longer than the terminal is wide and then go on in the next line; bars never do.
                let text = screen.lines.joined()
                #expect(text.hasPrefix("ossmp: "))
                #expect(!text.contains("["), "no bar is left behind: \(screen.lines)")
                #expect(!text.contains("%"), "no bar is left behind: \(screen.lines)")
                let last = try #require(bars.last)
                if columns == 80 { #expect(last.contains("[") && last.contains("]")) }
                if columns == 80 {
                    #expect(last.contains(" of ") && last.contains("KiB"))
                    #expect(last.first == name.first, "the name is there: \(last)")
                }
            }
        }
    }

    @Test func `A bar that is drawn again and again never goes on in the next line`() async throws {
        try await withToolFixture { fixture in
            for (columns, name) in [
                (80, String(repeating: "界", count: 60)), (20, String(repeating: "x", count: 200)), (3, "a"),
            ] {
                fixture.server.faults.add(.init(.slow(bytesPerSecond: 150_000), operation: "UploadPart"))
                let file = try fixture.file(name, parts: 3)
                let terminal = try PseudoTerminal(columns: columns)
                // Nothing is said but the bar while it runs: the first message comes at the end.
                let process = try ToolProcess(
                    fixture.copy(file.path, "k\(columns)"),
                    environment: fixture.environment.merging(["TERM": "xterm"]) { $1 }, in: fixture.folder,
                    terminal: terminal)
                #expect(try await process.outcome().code == 0)
                fixture.server.faults.removeAll()
                let text = await terminal.end()
                let end = try #require(text.firstRange(of: "ossmp: "))
                var screen = Screen(columns: columns)
                screen.feed(String(text[..<end.lowerBound]))
                #expect(screen.wraps == 0)
                #expect(screen.drawn.count > 2, "it was drawn more than once: \(screen.drawn)")
                #expect(screen.lines == [""])
            }
        }
    }

    @Test func `At 80 columns there are name, percent, bar, bytes; at 20 what matters most`() async throws {
        try await withToolFixture { fixture in
            let wide = try await self.show(fixture, name: "film.bin", columns: 80)
            let bar = try #require(wide[0].drawn.last { $0.contains("%") })
            #expect(bar.hasPrefix("fil"), "the file's name is there: \(bar)")
            #expect(bar.contains("[==="))
            #expect(bar.contains(" of 800.0 KiB"))
            let narrow = try await self.show(fixture, name: "film.bin", columns: 20)
            let line = try #require(narrow[0].drawn.last { $0.contains("%") })
            #expect(line.drop { $0 == " " || $0.isNumber }.hasPrefix("% "))
            #expect(line.hasSuffix("KiB"))
            #expect(line.count < 20)
        }
    }

    @Test func `A terminal that is dumb, or says nothing of itself, gets lines without escapes`() async throws {
        try await withToolFixture { fixture in
            for screen in try await self.show(
                fixture, name: "film.bin", columns: 200, variables: ["TERM": "dumb"])
            {
                #expect(screen.unknown.isEmpty)
                #expect(screen.lines.dropLast().allSatisfy { $0.hasPrefix("ossmp: ") }, "\(screen.lines)")
                #expect(screen.lines.contains { $0.contains(" % (") })
            }
            let terminal = try PseudoTerminal(columns: 80)
            let file = try fixture.file("film.bin", parts: 3)
            let process = try ToolProcess(
                fixture.copy(file.path, "k"), environment: fixture.environment, in: fixture.folder, terminal: terminal)
            #expect(try await process.outcome().code == 0)
            #expect(await !terminal.end().contains("\u{1B}"))
        }
    }

    @Test func `With NO_COLOR, and without it, nothing is coloured`() async throws {
        try await withToolFixture { fixture in
            for variables in [["TERM": "xterm", "NO_COLOR": "1"], ["TERM": "xterm-256color"]] {
                for screen in try await self.show(fixture, name: "film.bin", columns: 80, variables: variables) {
                    #expect(screen.unknown.isEmpty)
                }
            }
        }
    }

    @Test func `In a pipe there are plain lines`() async throws {
        try await withToolFixture { fixture in
            let file = try fixture.file("film.bin", parts: 8)
            let outcome = try await fixture.run(
                fixture.copy(file.path, "k"), environment: fixture.environment.merging(["TERM": "xterm"]) { $1 })
            #expect(outcome.code == 0)
            #expect(
                outcome.errors.unicodeScalars.allSatisfy { $0 == "\n" || $0.properties.generalCategory != .control })
            #expect(outcome.errors.split(separator: "\n").allSatisfy { $0.hasPrefix("ossmp: ") })
            #expect(outcome.errors.contains("100 % (819217 of 819217 bytes)"))
        }
    }

    @Test func `The percents of plain lines are whole ones, rounded down, and 100 is the end`() async throws {
        try await withToolFixture { fixture in
            let file = try fixture.file("film.bin", parts: 8)
            // All but the last 17 bytes are stored, and those are on their way.
            fixture.hold(9...9)
            let terminal = try PseudoTerminal(columns: 200)
            let process = try ToolProcess(
                fixture.copy(file.path, "k"), environment: fixture.environment, in: fixture.folder, terminal: terminal)
            try await fixture.wait { fixture.storedParts("k") == 8 && terminal.text.contains(" % (") }
            process.send(SIGINT)
            #expect(try await process.outcome().code == 130)
            let lines = await terminal.end().split(whereSeparator: \.isNewline).compactMap { line -> [Int]? in
                guard line.contains(" % (") else { return nil }
                return line.split(whereSeparator: { !$0.isNumber }).prefix(3).compactMap { Int($0) }
            }
            #expect((1...10).contains(lines.count))
            for line in lines {
                #expect(line.count == 3 && line[2] == file.bytes.count)
                #expect(line[0] == line[1] * 100 / line[2], "\(line)")
                #expect(line[0] < 100)
            }
            // No two of one tenth.
            #expect(Set(lines.map { $0[0] / 10 }).count == lines.count)
        }
    }

    @Test func `Control characters in names and keys are shown, not sent to the terminal`() async throws {
        try await withToolFixture { fixture in
            let name = "a\u{1B}[2Jb\nc\u{202E}d.bin"
            let file = try fixture.file(name, parts: 2)
            let terminal = try PseudoTerminal(columns: 100)
            let process = try ToolProcess(
                fixture.copy(file.path, "k\u{1B}]0;x\u{7}\n"),
                environment: fixture.environment.merging(["TERM": "xterm"]) { $1 }, in: fixture.folder,
                terminal: terminal)
            #expect(try await process.outcome().code == 0)
            var screen = Screen(columns: 100)
            screen.feed(await terminal.end())
            #expect(screen.unknown.isEmpty)
            let text = screen.lines.joined()
            #expect(text.contains(#"oss://media/k\x1B]0;x\x07\n"#))
            #expect(!screen.drawn.joined().unicodeScalars.contains("\u{202E}"))
            #expect(try await fixture.object("k\u{1B}]0;x\u{7}\n") == file.bytes)
        }
    }
}
