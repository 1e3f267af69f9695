// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import Glibc
import SystemIO

/// A program that runs beside a test, and is talked to over its standard input and output.
final class RunningProcess: Sendable {
    let process: pid_t
    private let output: PosixFile
    private let input: PosixFile?

    /// - Parameter hasInput: whether ``write(_:)`` is its standard input; else that never ends and means nothing.
    init(_ arguments: [String], folder: String, hasInput: Bool = false) throws {
        var ends: [Int32] = [-1, -1]
        // SAFETY: the array holds the two numbers that the function writes.
        guard unsafe pipe(&ends) == 0 else { throw SystemError(call: "pipe") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        self.output = PosixFile(adopting: ends[0], path: "pipe")
        let writeEnd = PosixFile(adopting: ends[1], path: "pipe")
        var actions = unsafe posix_spawn_file_actions_t()
        // SAFETY: the actions are ours until they are destroyed; the texts are copies that are freed below.
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_adddup2(&actions, writeEnd.descriptor, STDOUT_FILENO)
        unsafe posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
        var readEnd: PosixFile?
        if hasInput {
            var inputs: [Int32] = [-1, -1]
            // SAFETY: as above.
            guard unsafe pipe(&inputs) == 0 else { throw SystemError(call: "pipe") }
            for end in inputs { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
            self.input = PosixFile(adopting: inputs[1], path: "pipe")
            readEnd = PosixFile(adopting: inputs[0], path: "pipe")
            unsafe posix_spawn_file_actions_adddup2(&actions, inputs[0], STDIN_FILENO)
        } else {
            self.input = nil
            unsafe posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/zero", O_RDONLY, 0)
        }
        let words = ["sh", "-c", "cd \"$0\" && exec \"$@\"", folder] + arguments
        var vector: [UnsafeMutablePointer<CChar>?] = unsafe words.map { unsafe strdup($0) } + [nil]
        defer { unsafe vector.forEach { unsafe free($0) } }
        var process = pid_t()
        let result = unsafe posix_spawnp(&process, "sh", &actions, nil, &vector, environ)
        guard result == 0 else { throw SystemError(call: "posix_spawnp", path: "sh", number: result) }
        self.process = process
        // Until here they had to be open.
        withExtendedLifetime((writeEnd, readEnd)) {}
    }

    /// Writes to its standard input; false where it reads no more.
    @discardableResult
    func write(_ bytes: [UInt8]) -> Bool {
        guard let input else { return false }
        var done = 0
        while done < bytes.count {
            // SAFETY: the pointer is used within the call; `done` lies within the array.
            let count = unsafe bytes.withUnsafeBytes {
                unsafe Glibc.write(input.descriptor, $0.baseAddress?.advanced(by: done), $0.count - done)
            }
            guard count > 0 else { return false }
            done += count
        }
        return true
    }

    /// Waits for bytes of its standard output; none at the end.
    func read() -> [UInt8] {
        var piece = [UInt8](repeating: 0, count: 64 * 1024)
        // A broken pipe is an end too.
        let count = (try? self.output.readNext(into: &piece)) ?? 0
        return Array(piece[..<count])
    }

    /// The port at the end of the first line that begins with a word.
    func port(after word: String) throws -> UInt16 {
        var text = "", piece = [UInt8](repeating: 0, count: 1024)
        while true {
            for line in text.split(separator: "\n").dropLast(text.hasSuffix("\n") ? 0 : 1) where line.hasPrefix(word) {
                if let port = line.split(separator: ":").last.flatMap({ UInt16($0) }) { return port }
            }
            let count = try self.output.readNext(into: &piece)
            guard count > 0 else { throw Unexpected("the program ended without a port: \(text)") }
            text += String(decoding: piece[..<count], as: UTF8.self)
        }
    }

    /// Ends it as `kill -9` does, and waits for that.
    func kill() {
        _ = Glibc.kill(self.process, SIGKILL)
        var status: Int32 = 0
        // SAFETY: the number is ours for the length of the call.
        while unsafe waitpid(self.process, &status, 0) < 0, errno == EINTR {}
    }
}
