// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import FoundationEssentials
import Glibc
import SystemIO

/// A run of the built `ossmp`, or of another program, its output in files.
struct ToolProcess: Sendable {
    /// What came of a run.
    struct Outcome: Sendable {
        /// The exit code; nil where a signal ended it.
        let code: Int32?
        /// The signal that ended it; nil where it ended by itself.
        let signal: Int32?
        let output: String
        let errors: String
        /// Everything that was printed.
        var text: String { self.output + self.errors }
    }

    struct CannotRun: Error { let reason: String }

    let identifier: pid_t
    private let folder: String
    private static let waiting = BlockingExecutor(threads: 16)

    /// Whether the build is a sanitizer's, which takes memory of its own.
    static var isInstrumented: Bool {
        unsafe dlsym(nil, "__tsan_init") != nil || dlsym(nil, "__asan_init") != nil
    }

    /// The folder of the built programs: the one that holds the test program itself.
    static let programs: String = {
        var path = [CChar](repeating: 0, count: 4096)
        let size = path.count
        let count = unsafe readlink("/proc/self/exe", &path, size)
        let text = String(decoding: path.prefix(max(0, count)).map(UInt8.init(bitPattern:)), as: UTF8.self)
        return Directory.parent(of: text) ?? "."
    }()

    /// Starts the tool with exactly this environment.
    ///
    /// - Parameters:
    ///   - input: the file that it reads as its standard input.
    ///   - launcher: a program that starts it, with its arguments.
    ///   - terminal: what its standard error is in the place of a file.
    init(
        _ arguments: [String], environment: [String: String], in folder: String, input: String = "/dev/null",
        launcher: [String] = [], terminal: PseudoTerminal? = nil
    ) throws {
        try self.init(
            command: launcher + [Self.programs + "/ossmp"] + arguments, environment: environment, in: folder,
            input: input, terminal: terminal)
    }

    /// Starts any program, by its path, with exactly this environment.
    init(
        command: [String], environment: [String: String], in folder: String, input: String = "/dev/null",
        terminal: PseudoTerminal? = nil
    ) throws {
        self.folder = folder + "/run-\(UUID().uuidString)"
        try Directory.create(self.folder)
        let program = command[0]
        // SAFETY: the C texts live until the process has been started; then they are freed.
        let texts = unsafe command.map { unsafe strdup($0) }
        let variables = unsafe environment.map { unsafe strdup("\($0.key)=\($0.value)") }
        defer { unsafe (texts + variables).forEach { unsafe free($0) } }
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_addopen(&actions, 0, input, O_RDONLY, 0)
        for (descriptor, name) in [(1 as Int32, "out"), (2, "err")] {
            unsafe posix_spawn_file_actions_addopen(
                &actions, descriptor, self.folder + "/" + name, O_WRONLY | O_CREAT | O_TRUNC, 0o600
            )
        }
        if let terminal {
            unsafe posix_spawn_file_actions_addopen(&actions, 2, terminal.path, O_RDWR | O_NOCTTY, 0)
        }
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        // The tool has to find the signals as a shell would give them, whatever the test's own threads block.
        var none = sigset_t(), all = sigset_t()
        unsafe sigemptyset(&none)
        unsafe sigfillset(&all)
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        unsafe posix_spawnattr_setsigdefault(&attributes, &all)
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        var identifier: pid_t = 0
        let result = unsafe posix_spawn(&identifier, program, &actions, &attributes, texts + [nil], variables + [nil])
        guard result == 0 else { throw CannotRun(reason: "posix_spawn \(program): \(result)") }
        self.identifier = identifier
    }

    func send(_ signal: Int32) { _ = kill(self.identifier, signal) }

    /// Most memory that it had in use at a time so far, in KiB.
    ///
    /// Not from `wait4`: what that tells of a spawned process begins with the memory of the one that spawned it.
    func peakMemory() throws -> Int {
        // A file of /proc has no size that could be asked for first.
        let file = try PosixFile(path: "/proc/\(self.identifier)/status", .read)
        var buffer = [UInt8](repeating: 0, count: 16_384)
        let count = try file.readNext(into: &buffer)
        let status = String(decoding: buffer.prefix(count), as: UTF8.self)
        guard let line = status.split(separator: "\n").first(where: { $0.hasPrefix("VmHWM:") }),
            let number = line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first.flatMap({ Int($0) })
        else { throw CannotRun(reason: "no VmHWM of process \(self.identifier)") }
        return number
    }

    /// What it has printed on standard output so far.
    func outputSoFar() throws -> String {
        String(decoding: try Data(contentsOf: URL(filePath: self.folder + "/out")), as: UTF8.self)
    }

    /// Waits for its end.
    func outcome() async throws -> Outcome {
        let identifier = self.identifier
        let status = await Self.waiting.run {
            var status: Int32 = 0
            while unsafe waitpid(identifier, &status, 0) == -1, errno == EINTR {}
            return status
        }
        func text(_ name: String) throws -> String {
            String(decoding: try Data(contentsOf: URL(filePath: self.folder + "/" + name)), as: UTF8.self)
        }
        let signal = status & 0x7F
        return Outcome(
            code: signal == 0 ? status >> 8 & 0xFF : nil, signal: signal == 0 ? nil : signal, output: try text("out"),
            errors: try text("err")
        )
    }
}
