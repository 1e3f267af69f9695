// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import CLinux
import Glibc

/// A program that is run to its end for what it prints.
package enum ChildProcess {
    /// How a program ended, and what it printed.
    package struct Outcome: Sendable {
        /// Its exit status; nil where a signal ended it.
        package let exitStatus: Int32?
        /// What it printed on standard output.
        package let output: [UInt8]
    }

    /// Runs a program and waits for its end; its standard input is empty, its standard error is ours, and no signal is blocked or
    /// ignored.
    ///
    /// Blocks. A program without a slash in its name is looked for in `PATH`.
    ///
    /// - Parameters:
    ///   - arguments: the program and its arguments.
    ///   - outputLimit: the most bytes that it may print.
    ///   - timeLimit: how long it may take; then it is killed.
    /// - Throws: `SystemError`, with `ENOENT` where there is no such program, `EFBIG` where it prints more than the limit,
    ///   `ETIMEDOUT` where the time is over.
    ///
    /// The corresponding C functions are `posix_spawnp` and `waitpid`.
    package static func run(
        _ arguments: [String], outputLimit: Int, timeLimit: Duration
    ) throws(SystemError) -> Outcome {
        let program = arguments.first ?? ""
        var ends: [Int32] = [-1, -1]
        // SAFETY: the array holds the two numbers that the function writes.
        guard unsafe clinux_pipe(&ends, O_CLOEXEC) == 0 else { throw SystemError(call: "pipe2", path: program) }
        let input = PosixFile(adopting: ends[0], path: program)
        var output: PosixFile? = PosixFile(adopting: ends[1], path: program)
        let process = try self.spawn(arguments, output: ends[1])
        // Only the program writes: the pipe ends with it.
        output = nil
        _ = output
        let result: Result<[UInt8], SystemError>
        do throws(SystemError) {
            result = .success(try self.read(input, limit: outputLimit, until: .now + timeLimit))
        } catch {
            result = .failure(error)
            _ = kill(process, SIGKILL)
        }
        var status: Int32 = 0
        // SAFETY: the number is ours for the length of the call.
        _ = try retryingOnInterrupt("waitpid", program) { unsafe waitpid(process, &status, 0) }
        let bytes = try result.get()
        return Outcome(exitStatus: status & 0x7F == 0 ? status >> 8 & 0xFF : nil, output: bytes)
    }

    private static func spawn(_ arguments: [String], output: Int32) throws(SystemError) -> pid_t {
        let program = arguments.first ?? ""
        var actions = unsafe posix_spawn_file_actions_t()
        // SAFETY: the actions are ours until they are destroyed; the texts are copies that are freed below.
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        unsafe posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
        // Signals as a shell would give them: what is blocked on this thread or ignored here would be so there too, and whoever
        // wants to end the program could not.
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        var none = sigset_t(), all = sigset_t()
        unsafe sigemptyset(&none)
        unsafe sigfillset(&all)
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        unsafe posix_spawnattr_setsigdefault(&attributes, &all)
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        var vector: [UnsafeMutablePointer<CChar>?] = unsafe arguments.map { unsafe strdup($0) } + [nil]
        defer { unsafe vector.forEach { unsafe free($0) } }
        var process = pid_t()
        let result = unsafe posix_spawnp(&process, program, &actions, &attributes, &vector, environ)
        guard result == 0 else { throw SystemError(call: "posix_spawnp", path: program, number: result) }
        return process
    }

    private static func read(
        _ file: PosixFile, limit: Int, until end: ContinuousClock.Instant
    ) throws(SystemError) -> [UInt8] {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 4096)
        while true {
            let left = end - .now
            guard left > .zero else { throw SystemError(call: "poll", path: file.path, number: ETIMEDOUT) }
            var entry = pollfd(fd: file.descriptor, events: Int16(POLLIN), revents: 0)
            let milliseconds = Int32(clamping: Int64((left / .milliseconds(1)).rounded(.up)))
            // SAFETY: one structure, ours for the length of the call.
            let count = try retryingOnInterrupt("poll", file.path) { unsafe poll(&entry, 1, milliseconds) }
            guard count > 0 else { continue }
            let read = try file.readNext(into: &piece)
            guard read > 0 else { return bytes }
            bytes += piece[..<read]
            guard bytes.count <= limit else { throw SystemError(call: "read", path: file.path, number: EFBIG) }
        }
    }
}
