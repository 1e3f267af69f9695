// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import Glibc
import OSSWire
import SystemIO
import Testing

/// The built `oss-local-server`, run on a folder.
final class ServerProcess: Sendable {
    /// The port that it listens on.
    let port: UInt16
    private let process: pid_t

    /// Starts the program and waits until it listens.
    ///
    /// - Throws: `SystemError` where it cannot be started, `ConnectionClosed` where it ends at once.
    init(_ arguments: [String]) throws {
        let (readEnd, writeEnd) = try Self.pipe()
        let words = [try Self.path(), "--no-sync", "--bucket", "bucket"] + arguments
        self.process = try Self.spawn(words, output: writeEnd)
        // Only the program writes.
        _ = consume writeEnd
        var output: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 256)
        while !output.contains(UInt8(ascii: "\n")) {
            let count = try readEnd.readNext(into: &piece)
            guard count > 0 else { throw ConnectionClosed() }
            output += piece[..<count]
        }
        let line = String(decoding: output, as: UTF8.self).split(separator: "\n")[0]
        self.port = try #require(line.split(separator: ":").last.flatMap { UInt16($0) })
    }

    /// Runs the program to its end and returns its exit status.
    static func run(_ arguments: [String]) throws -> Int32 {
        let (readEnd, writeEnd) = try self.pipe()
        let process = try self.spawn([try self.path()] + arguments, output: writeEnd)
        var status: Int32 = 0
        // SAFETY: the number is ours for the length of the call.
        while unsafe waitpid(process, &status, 0) < 0, errno == EINTR {}
        _ = consume readEnd
        return status >> 8
    }

    /// Whether the thread sanitizer is in the program: then memory and exit status are its own.
    static var isInstrumented: Bool {
        unsafe dlsym(nil, "__tsan_init") != nil || dlsym(nil, "__asan_init") != nil
    }

    /// Ends it as `kill -9` does; later calls do nothing that matters.
    func kill() { _ = Glibc.kill(self.process, SIGKILL) }

    /// Ends it as `kill` does.
    private func terminate() { _ = Glibc.kill(self.process, SIGTERM) }

    /// Ends it as `kill` does, waits, and tells whether it went as it should.
    func stopsCleanly() -> Bool {
        self.terminate()
        return self.wait() == 0 || Self.isInstrumented
    }

    /// Whether it never had more memory than that.
    func peakMemory(isBelow bytes: Int) throws -> Bool { try self.peakMemory() < bytes || Self.isInstrumented }

    /// Waits for its end; returns what `waitpid` tells.
    @discardableResult
    func wait() -> Int32 {
        var status: Int32 = 0
        // SAFETY: the number is ours for the length of the call.
        while unsafe waitpid(self.process, &status, 0) < 0, errno == EINTR {}
        return status
    }

    /// Bytes of memory that it has had at most.
    private func peakMemory() throws -> Int {
        let file = try PosixFile(path: "/proc/\(self.process)/status", .read)
        var bytes = [UInt8](repeating: 0, count: 8192)
        let count = try file.readNext(into: &bytes)
        let lines = String(decoding: bytes[..<count], as: UTF8.self).split(separator: "\n")
        let words = try #require(lines.first { $0.hasPrefix("VmHWM:") }).split(whereSeparator: {
            $0 == " " || $0 == "\t"
        })
        return try #require(Int(words[1])) * 1024
    }

    /// The program stands beside the tests.
    private static func path() throws -> String {
        var buffer = [CChar](repeating: 0, count: 4096)
        // SAFETY: the buffer is ours and its length is passed.
        let count = unsafe readlink("/proc/self/exe", &buffer, buffer.count - 1)
        guard count > 0 else { throw SystemError(call: "readlink", path: "/proc/self/exe") }
        let tests = String(decoding: buffer[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
        return try #require(Directory.parent(of: tests)) + "/oss-local-server"
    }

    private static func pipe() throws -> (PosixFile, PosixFile) {
        var ends: [Int32] = [-1, -1]
        // SAFETY: the array holds the two numbers that the function writes.
        guard unsafe Glibc.pipe(&ends) == 0 else { throw SystemError(call: "pipe") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (PosixFile(adopting: ends[0], path: "pipe"), PosixFile(adopting: ends[1], path: "pipe"))
    }

    private static func spawn(_ words: [String], output: PosixFile) throws -> pid_t {
        var actions = unsafe posix_spawn_file_actions_t()
        // SAFETY: the actions are ours until they are destroyed; the texts are copies that are freed below.
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_adddup2(&actions, output.descriptor, STDOUT_FILENO)
        var vector: [UnsafeMutablePointer<CChar>?] = unsafe words.map { unsafe strdup($0) } + [nil]
        defer { unsafe vector.forEach { unsafe free($0) } }
        var process = pid_t()
        let result = unsafe posix_spawn(&process, words[0], &actions, nil, &vector, environ)
        guard result == 0 else { throw SystemError(call: "posix_spawn", path: words[0], number: result) }
        return process
    }
}
