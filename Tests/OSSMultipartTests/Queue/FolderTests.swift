// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import FoundationEssentials
import Glibc
import SystemIO
import Testing

@testable import OSSMultipart

/// Walks through folders.
@Suite struct FolderTests {
    private static let tree = [
        "a.txt", "b.bin", "sub/a.txt", "sub/deep/c.txt", "sub/deep/d e%.bin", "文件/😀.bin", ".hidden",
    ]

    /// Makes a tree of files, each of one byte.
    private func withTree(_ body: (String) async throws -> Void) async throws {
        try await withTemporaryFolder { folder in
            for name in Self.tree {
                let path = folder + "/tree/" + name
                try Directory.create(try #require(Directory.parent(of: path)))
                try Data([1]).write(to: URL(filePath: path))
            }
            try await body(folder + "/tree")
        }
    }

    private func link(_ target: String, _ path: String) throws {
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
    }

    @Test func `Every file is found, in the order of its bytes`() async throws {
        try await self.withTree { path in
            // Before what is in the folder of that name, as bytes go.
            _ = try TestFile(path + "/sub.txt", [1])
            let folder = OSSFolder(URL(filePath: path + "//"))
            #expect(folder.path == path)
            let listing = try await folder.listing()
            let all = Self.tree + ["sub.txt"]
            #expect(listing.files == all.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) })
            #expect(listing.passedOver.isEmpty)
        }
    }

    @Test(
        arguments: [
            (["*.txt"], [], ["a.txt", "sub/a.txt", "sub/deep/c.txt"]),
            ([], ["*.txt", ".*", "文件"], ["b.bin", "sub/deep/d e%.bin"]),
            (["sub/*"], ["deep"], ["sub/a.txt"]),
            (["*.txt", "*.bin"], ["sub/*"], ["a.txt", "b.bin", "文件/😀.bin"]),
            (["[ab].???"], [], ["a.txt", "b.bin", "sub/a.txt"]),
            (["none"], [], []),
        ] as [([String], [String], [String])])
    func `Patterns choose files`(include: [String], exclude: [String], found: [String]) async throws {
        try await self.withTree { path in
            var folder = OSSFolder(URL(filePath: path))
            folder.include = include
            folder.exclude = exclude
            let files = try await folder.listing().files
            #expect(files == found)
        }
    }

    @Test func `A pattern with a slash is one of paths, whatever stands behind the slash`() async throws {
        try await self.withTree { path in
            let accent = "\u{301}film"
            _ = try TestFile(path + "/sub/" + accent, [1])
            var folder = OSSFolder(URL(filePath: path))
            folder.include = ["sub/\u{301}*"]
            let files = try await folder.listing().files
            #expect(files == ["sub/" + accent])
        }
    }

    @Test func `Symbolic links are passed over and told, or followed without end`() async throws {
        try await self.withTree { path in
            try self.link("a.txt", path + "/link.txt")
            try self.link("sub", path + "/linked")
            try self.link("..", path + "/sub/up")
            try self.link("nowhere", path + "/dangling")
            var folder = OSSFolder(URL(filePath: path))
            folder.include = ["*.txt"]
            let skipped = try await folder.listing()
            #expect(skipped.files == ["a.txt", "sub/a.txt", "sub/deep/c.txt"])
            #expect(skipped.passedOver.count == 4)
            folder.symbolicLinks = .follow
            let followed = try await folder.listing()
            #expect(
                followed.files == [
                    "a.txt", "link.txt", "linked/a.txt", "linked/deep/c.txt", "sub/a.txt", "sub/deep/c.txt",
                ])
            #expect(followed.passedOver.map { $0.split(separator: ":")[0] } == ["dangling", "linked/up", "sub/up"])
        }
    }

    @Test func `Pipes and sockets are passed over and told`() async throws {
        try await self.withTree { path in
            #expect(unsafe mkfifo(path + "/pipe", 0o600) == 0)
            let listing = try await OSSFolder(URL(filePath: path)).listing()
            #expect(listing.passedOver.map { $0.split(separator: ":")[0] } == ["pipe"])
        }
    }

    @Test func `A name that is not UTF-8 is passed over and told`() async throws {
        try await self.withTree { path in
            // é in Latin-1, which no key can hold as it is.
            let made = try await BlockingExecutor(threads: 1).run { () throws(any Error) in
                try ChildProcess.run(
                    ["sh", "-c", #"touch "$0/$(printf 'caf\351')""#, path], outputLimit: 1000, timeLimit: .seconds(240))
            }
            #expect(made.exitStatus == 0)
            let listing = try await OSSFolder(URL(filePath: path)).listing()
            #expect(listing.files.count == Self.tree.count)
            #expect(listing.passedOver.count == 1)
            #expect(listing.passedOver.first?.hasSuffix("its name is not UTF-8") == true)
        }
    }

    @Test func `Whoever is cancelled does not walk`() async throws {
        try await self.withTree { path in
            let walk = Task {
                unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
                return try await OSSFolder(URL(filePath: path)).listing()
            }
            await #expect(throws: CancellationError.self) { try await walk.value }
        }
    }

    @Test func `A folder that cannot be walked is an error`() async throws {
        try await self.withTree { path in
            for (wrong, reason) in [("a.txt", "is no folder"), ("none", "No such file")] {
                let error = try await failure { _ = try await OSSFolder(URL(filePath: path + "/" + wrong)).listing() }
                #expect(error.code == .sourceUnreadable)
                #expect(error.message.contains(reason), "\(error.message)")
            }
        }
    }

    @Test func `A file's key is the prefix and its path from the folder`() async throws {
        try await self.withTree { path in
            var headers = OSSObjectHeaders()
            headers.contentType = "text/x"
            var folder = OSSFolder(URL(filePath: path))
            folder.include = ["c.txt"]
            let items = try await folder.items(bucket: "media", prefix: "p/", headers: headers)
            #expect(items.map(\.destination.key) == ["p/sub/deep/c.txt"])
            #expect(items.map(\.source.description) == [path + "/sub/deep/c.txt"])
            #expect(items[0].destination.headers.contentType == "text/x")
        }
    }
}
