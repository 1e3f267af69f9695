// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import Glibc
import SystemIO
import Testing

@Suite struct PosixFileTests {
    private func withFolder(_ body: (String) throws -> Void) throws {
        let folder = try Directory.createTemporary(named: "system-io-tests")
        defer {
            for name in (try? Directory.names(in: folder)) ?? [] { try? Directory.removeFile(folder + "/" + name) }
            // A test that left a folder behind has failed for another reason.
            try? Directory.removeEmptyDirectory(folder)
        }
        try body(folder)
    }

    @Test func `What is written is read at its place, and a read past the end is short`() throws {
        try self.withFolder { folder in
            let file = try PosixFile(path: folder + "/a", [.readWrite, .create])
            try file.write(Array("hello world".utf8))
            var buffer = [UInt8](repeating: 0, count: 5)
            #expect(try file.read(at: 6, into: &buffer) == 5)
            #expect(buffer == Array("world".utf8))
            #expect(try file.read(at: 9, into: &buffer) == 2)
            #expect(try file.read(at: 99, into: &buffer) == 0)
            #expect(try file.read(at: 0, into: &buffer, count: 2) == 2)
            #expect(try file.status().size == 11)
            try file.truncate(to: 3)
            #expect(try file.status().size == 3)
        }
    }

    @Test func `What is in memory is read without a wait, up to the end, and what was fetched is`() throws {
        try self.withFolder { folder in
            let file = try PosixFile(path: folder + "/a", [.readWrite, .create])
            try file.write(Array("hello world".utf8))
            func cached(_ offset: Int64) -> (PosixFile.CachedBytes, [UInt8]) {
                var buffer = [UInt8](repeating: 0, count: 5)
                // SAFETY: the memory is used within the closure.
                let answer = unsafe buffer.withUnsafeMutableBytes { unsafe file.readCached(at: offset, into: $0) }
                return (answer, buffer)
            }
            #expect(cached(6) == (.bytes(5), Array("world".utf8)))
            #expect(cached(11).0 == .bytes(0))
            try file.synchronize()
            _ = posix_fadvise(file.descriptor, 0, 0, POSIX_FADV_DONTNEED)
            // A file system in memory has all of its bytes at hand.
            #expect([.none, .bytes(5)].contains(cached(0).0))
            file.fetch(at: 0, length: 11, next: 0)
            #expect(cached(0) == (.bytes(5), Array("hello".utf8)))
            // Nothing to read is no failure.
            file.fetch(at: 99, length: 11, next: 11)
        }
    }

    @Test func `Appended bytes go to the end`() throws {
        try self.withFolder { folder in
            try PosixFile(path: folder + "/a", [.write, .create]).write([1, 2])
            try PosixFile(path: folder + "/a", [.write, .append]).write([3])
            var buffer = [UInt8](repeating: 0, count: 9)
            #expect(try PosixFile(path: folder + "/a", .read).read(at: 0, into: &buffer) == 3)
            #expect(buffer.prefix(3) == [1, 2, 3])
        }
    }

    @Test func `A lock is one open file's, and free when that is closed`() throws {
        try self.withFolder { folder in
            let path = folder + "/a"
            do {
                let first = try PosixFile(path: path, [.readWrite, .create])
                #expect(try first.lock())
                let second = try PosixFile(path: path, .readWrite)
                #expect(try !second.lock())
                withExtendedLifetime(first) {}
            }
            #expect(try PosixFile(path: path, .readWrite).lock())
        }
    }

    @Test func `Errors name the call, the path and the reason`() throws {
        try self.withFolder { folder in
            #expect {
                _ = try PosixFile(path: folder + "/missing", .read)
            } throws: { error in
                (error as? SystemError)?.number == ENOENT && "\(error)".contains("open")
                    && "\(error)".contains(folder + "/missing") && "\(error)".contains("No such file")
            }
            let directory = try PosixFile(path: folder, .read)
            var buffer = [UInt8](repeating: 0, count: 1)
            #expect { _ = try directory.read(at: 0, into: &buffer) } throws: { ($0 as? SystemError)?.number == EISDIR }
        }
    }

    @Test func `Links are followed or not as asked`() throws {
        try self.withFolder { folder in
            try PosixFile(path: folder + "/a", [.write, .create]).write([1])
            #expect(unsafe symlink(folder + "/a", folder + "/link") == 0)
            #expect(try FileStatus.of(path: folder + "/link").kind == .regular)
            #expect(try FileStatus.ofLink(path: folder + "/link").kind == .symbolicLink)
            #expect { _ = try PosixFile(path: folder + "/link", [.read, .noFollow]) } throws: {
                ($0 as? SystemError)?.number == ELOOP
            }
        }
    }

    @Test func `Folders are made with those above them, and a file in their place is an error`() throws {
        try self.withFolder { folder in
            let deep = folder + "/one/two/three"
            try Directory.create(deep)
            try Directory.create(deep)
            #expect(try FileStatus.of(path: deep).kind == .directory)
            #expect(try FileStatus.of(path: deep).permissions == 0o700)
            try Directory.synchronize(deep)
            try PosixFile(path: deep + "/file", [.write, .create]).write([1])
            #expect { try Directory.create(deep + "/file") } throws: { ($0 as? SystemError)?.number == ENOTDIR }
            #expect(throws: SystemError.self) { try Directory.create(deep + "/file/below") }
            #expect(try Directory.names(in: deep) == ["file"])
            try Directory.rename(deep + "/file", to: deep + "/other")
            #expect(try Directory.names(in: deep) == ["other"])
            try Directory.removeFile(deep + "/other")
            for path in [deep, folder + "/one/two", folder + "/one"] { try Directory.removeEmptyDirectory(path) }
        }
    }

    @Test(arguments: [
        ("/a/b", "/a"), ("/a/b/", "/a"), ("/a", "/"), ("/", nil), ("a", nil), ("a/b", "a"), ("./a", "."), ("//", nil),
        // An accent behind a slash is one character with it.
        ("/a/\u{301}b", "/a"), ("/\u{301}", "/"), ("\u{301}", nil), ("/a/\u{301}/", "/a"),
    ])
    func `The folder above a path`(path: String, parent: String?) {
        #expect(Directory.parent(of: path) == parent)
    }

    @Test func `A sparse file takes less room than its size`() throws {
        try self.withFolder { folder in
            let file = try PosixFile(path: folder + "/sparse", [.write, .create])
            try file.truncate(to: 1 << 33)
            let status = try file.status()
            #expect(status.size == 1 << 33)
            #expect(status.allocatedSize < 1 << 20)
        }
    }
}
