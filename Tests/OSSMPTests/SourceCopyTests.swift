// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import FoundationEssentials
import Glibc
import OSSLocalServer
import SystemIO
import Testing

/// Files that cannot be read, or not to their end; those that change are in `ResumeCopyTests`.
@Suite(.timeLimit(.minutes(5))) struct SourceCopyTests {
    /// A library that makes reads beyond an offset fail, as of a broken disk; nil where there is no C compiler.
    private func brokenDisk(_ fixture: ToolFixture) async throws -> String? {
        let source = """
            #define _GNU_SOURCE
            #include <dlfcn.h>
            #include <errno.h>
            #include <stdlib.h>
            #include <sys/uio.h>
            #include <unistd.h>
            static long begin(void) { const char *text = getenv("FIRST_BAD_BYTE"); return text ? atol(text) : -1; }
            ssize_t pread(int file, void *buffer, size_t count, off_t offset) {
                static ssize_t (*next)(int, void *, size_t, off_t);
                if (!next) next = (ssize_t (*)(int, void *, size_t, off_t))dlsym(RTLD_NEXT, "pread");
                if (begin() >= 0 && offset + (long)count > begin()) { errno = EIO; return -1; }
                return next(file, buffer, count, offset);
            }
            ssize_t preadv64v2(int file, const struct iovec *vectors, int count, off64_t offset, int flags) {
                /* Nothing of it is in the system's memory: it has to be read. */
                errno = EAGAIN;
                return -1;
            }
            ssize_t pread64(int file, void *buffer, size_t count, off_t offset) {
                return pread(file, buffer, count, offset);
            }
            """
        return try await fixture.library("disk", source)
    }

    // The sanitizers want to be the first library that is loaded.
    @Test(.disabled(if: ToolProcess.isInstrumented), arguments: ["md5+crc64", "crc64"])
    func `A read error in mid-run gives code 4, publishes nothing, and the next run goes on`(integrity: String)
        async throws
    {
        try await withToolFixture { fixture in
            guard let library = try await self.brokenDisk(fixture) else { return }
            try await fixture.server.putObject(bucket: ToolFixture.bucket, key: "k", data: [1, 2, 3])
            let file = try fixture.file("film.bin", parts: 8)
            var environment = fixture.environment
            environment["LD_PRELOAD"] = library
            environment["FIRST_BAD_BYTE"] = "\(5 * ToolFixture.partSize + 70_000)"
            let command = fixture.copy(file.path, "k", ["--integrity", integrity, "--parallel", "1"])
            let broken = try await fixture.run(command + ["--json"], environment: environment)
            #expect(broken.code == 4, "\(broken.text)")
            #expect(broken.errors.contains("Input/output error"))
            #expect(broken.errors.contains("check the file and its disk") || broken.errors.contains("cannot be read"))
            #expect(broken.errors.contains("run the same command again to go on"))
            #expect(broken.output.contains(#""code":"sourceUnreadable""#))
            #expect(try await fixture.object("k") == [1, 2, 3])
            #expect(fixture.requests("CompleteMultipartUpload").isEmpty)
            #expect(fixture.storedParts("k") == 5)
            // The disk has been repaired.
            fixture.server.removeAllRequests()
            let again = try await fixture.run(command)
            #expect(again.code == 0, "\(again.text)")
            #expect(fixture.partsSent == [6, 7, 8, 9])
            #expect(try await fixture.object("k") == file.bytes)
            #expect(!fixture.hasLeftovers)
        }
    }

    /// Starts the tool as somebody who is not allowed everything: tests often run as root.
    private static let launcher =
        getuid() == 0 ? ["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] : []

    /// Lets that user into the folders that it needs.
    private func open(_ fixture: ToolFixture) throws {
        guard getuid() == 0 else { return }
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: fixture.folder)
        for folder in [fixture.checkpoints] {
            try Directory.create(folder)
            _ = unsafe chown(folder, 65534, 65534)
        }
    }

    private func setPermissions(_ permissions: Int, _ path: String) throws {
        try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: path)
    }

    /// Whether that user can run the program at all: its folder may be closed to others.
    private func canRun(_ fixture: ToolFixture) async throws -> Bool {
        try self.open(fixture)
        return try await fixture.run(["--version"], launcher: Self.launcher).code == 0
    }

    @Test func `A file that may not be read gives code 1 and no request, and a later run is right`() async throws {
        try await withToolFixture { fixture in
            guard try await self.canRun(fixture) else { return }
            let file = try fixture.file("film.bin", parts: 5)
            try self.setPermissions(0o644, file.path)
            // Between two runs.
            fixture.server.faults.add(
                .init(.respond(status: 403, code: "AccessDenied"), operation: "UploadPart", partNumber: 4))
            let first = try await fixture.run(
                fixture.copy(file.path, "k", ["--parallel", "1"]), launcher: Self.launcher)
            #expect(first.code == 1, "\(first.text)")
            fixture.server.faults.removeAll()
            fixture.server.removeAllRequests()
            try self.setPermissions(0, file.path)
            let refused = try await fixture.run(fixture.copy(file.path, "k"), launcher: Self.launcher)
            #expect(refused.code == 1)
            #expect(refused.errors.contains("Permission denied"))
            #expect(fixture.server.requests.isEmpty)
            #expect(fixture.storedParts("k") == 3)
            try self.setPermissions(0o644, file.path)
            let again = try await fixture.run(fixture.copy(file.path, "k"), launcher: Self.launcher)
            #expect(again.code == 0, "\(again.text)")
            #expect(fixture.partsSent == [4, 5, 6])
            #expect(try await fixture.object("k") == file.bytes)
            #expect(!fixture.hasLeftovers)
        }
    }

    @Test func `A file that becomes unreadable in mid-run is open already, and is stored as it is`() async throws {
        try await withToolFixture { fixture in
            guard try await self.canRun(fixture) else { return }
            let file = try fixture.file("film.bin", parts: 5)
            try self.setPermissions(0o644, file.path)
            fixture.server.faults.add(
                .init(
                    .respond(status: 503, code: "SlowDown", headers: ["Retry-After": "1"]), operation: "UploadPart",
                    partNumber: 6))
            let process = try ToolProcess(
                fixture.copy(file.path, "k", ["--retries", "100"]), environment: fixture.environment,
                in: fixture.folder,
                launcher: Self.launcher)
            try await fixture.wait { fixture.storedParts("k") == 5 }
            try self.setPermissions(0, file.path)
            fixture.server.faults.removeAll()
            #expect(try await process.outcome().code == 0)
            #expect(try await fixture.object("k") == file.bytes)
            #expect(!fixture.hasLeftovers)
        }
    }

    @Test func `A path leads where the system says: behind links, and whatever its name begins with`() async throws {
        try await withToolFixture { fixture in
            let inside = try fixture.file("inside", parts: 1, seed: 2), outside = try fixture.file("film", parts: 1)
            try Directory.create(fixture.folder + "/real/sub")
            try Directory.rename(inside.path, to: fixture.folder + "/real/film")
            try FileManager.default.createSymbolicLink(
                atPath: fixture.folder + "/link", withDestinationPath: "real/sub")
            try Data("tilde".utf8).write(to: URL(filePath: fixture.folder + "/~root"))
            func run(_ arguments: String...) async throws -> ToolProcess.Outcome {
                try await fixture.run(arguments, launcher: ["/usr/bin/env", "-C", fixture.folder])
            }
            // By the letters alone this would be the other film.
            #expect(try await run("cp", "link/../film", "oss://media/one").code == 0)
            #expect(try await fixture.object("one") == inside.bytes)
            #expect(try await run("cp", "-r", "link/..", "oss://media/all").code == 0)
            #expect(try await fixture.object("all/film") == inside.bytes)
            #expect(try await run("get", "oss://media/one", "link/../got").code == 0)
            #expect(try Array(Data(contentsOf: URL(filePath: fixture.folder + "/real/got"))) == inside.bytes)
            #expect(FileManager.default.contents(atPath: outside.path).map { Array($0) } == outside.bytes)
            // No shell puts a home folder here.
            #expect(try await run("cp", "~root", "oss://media/").code == 0)
            #expect(try await fixture.object("~root") == Array("tilde".utf8))
            #expect(try await run("get", "oss://media/one", "~").code == 0)
            #expect(try Array(Data(contentsOf: URL(filePath: fixture.folder + "/~"))) == inside.bytes)
        }
    }

    @Test func `A slash with an accent behind it ends a folder's name like any other`() async throws {
        try await withToolFixture { fixture in
            let name = "\u{301}film"
            try Directory.create(fixture.folder + "/work/a")
            try await fixture.server.putObject(bucket: ToolFixture.bucket, key: "a/" + name, data: [1, 2, 3])
            let work = fixture.folder + "/work"
            let got = try await fixture.run(["get", "oss://media/a/" + name], launcher: ["/usr/bin/env", "-C", work])
            #expect(got.code == 0)
            #expect(FileManager.default.contents(atPath: work + "/" + name).map { Array($0) } == [1, 2, 3])
            let put = try await fixture.run(["cp", work + "/" + name, "oss://media/b/"])
            #expect(put.code == 0)
            #expect(try await fixture.object("b/" + name) == [1, 2, 3])
        }
    }
}
