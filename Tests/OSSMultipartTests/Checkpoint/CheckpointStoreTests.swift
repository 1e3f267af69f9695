// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import FoundationEssentials
import Testing

@testable import OSSMultipart

@Suite struct CheckpointStoreTests {
    /// Both stores; a folder that is not there yet for the one.
    private func withStores(_ body: (any CheckpointStore) throws -> Void) throws {
        try body(MemoryCheckpointStore())
        try withTemporaryFolder { folder in
            try body(DirectoryCheckpointStore(path: folder + "/three/levels/文 deep"))
        }
    }

    private func opened(_ store: any CheckpointStore, _ name: String = "record") throws -> any CheckpointRecord {
        try #require(try store.open(name, creating: true))
    }

    @Test func `What is appended is there when it is opened again`() throws {
        try self.withStores { store in
            do {
                let record = try self.opened(store)
                #expect(try record.read() == [])
                try record.append(Array("one".utf8))
                try record.synchronize(name: true)
                try record.append(Array("two".utf8))
                try record.synchronize(name: false)
            }
            #expect(try self.opened(store).read() == Array("onetwo".utf8))
        }
    }

    @Test func `A record is cut and appended to behind the cut`() throws {
        try self.withStores { store in
            let record = try self.opened(store)
            try record.append(Array("abcdef".utf8))
            try record.truncate(to: 2)
            try record.append(Array("XY".utf8))
            #expect(try record.read() == Array("abXY".utf8))
        }
    }

    @Test func `A record that is open is in use, and free when it is let go`() throws {
        try self.withStores { store in
            do {
                let record = try self.opened(store)
                #expect { try store.open("record", creating: true) } throws: {
                    ($0 as? OSSError)?.code == .checkpointInUse
                }
                #expect { try store.open("record", creating: false) } throws: {
                    ($0 as? OSSError)?.code == .checkpointInUse
                }
                _ = try self.opened(store, "another")
                try record.append([1])
            }
            #expect(try self.opened(store).read() == [1])
        }
    }

    @Test func `A closed record is free although it is still referenced, and letting it go later takes nothing away`()
        throws
    {
        try self.withStores { store in
            do {
                var first: (any CheckpointRecord)? = try self.opened(store)
                try first?.append([1])
                first?.close()
                let second = try self.opened(store)
                #expect(try second.read() == [1])
                #expect(first != nil)
                first = nil
                #expect(throws: OSSError.self) { try store.open("record", creating: true) }
                withExtendedLifetime(second) {}
            }
            #expect(try self.opened(store).read() == [1])
        }
    }

    @Test func `A record that is missing is only made where that is asked for`() throws {
        try self.withStores { store in
            #expect(try store.open("record", creating: false) == nil)
            try self.opened(store).append([1])
            #expect(try store.open("record", creating: false)?.read() == [1])
        }
    }

    @Test func `A removed record is gone, and its name can be used at once`() throws {
        try self.withStores { store in
            let record = try self.opened(store)
            try record.append([1])
            try record.remove()
            #expect(try self.opened(store).read() == [])
        }
    }

    @Test func `A record that is set aside is empty, still locked, and its copy goes with it in the end`() throws {
        try withTemporaryFolder { folder in
            let store = DirectoryCheckpointStore(path: folder)
            let record = try self.opened(store)
            try record.append([1, 2, 3])
            let copy = try record.setAside()
            #expect(FileManager.default.contents(atPath: copy) == Data([1, 2, 3]))
            #expect(try record.read() == [])
            #expect(throws: OSSError.self) { try store.open("record", creating: true) }
            try record.remove()
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])
        }
    }

    @Test func `A folder or a link in the record's place is set aside and followed nowhere`() throws {
        try withTemporaryFolder { folder in
            let store = DirectoryCheckpointStore(path: folder)
            let place = store.location(of: "record")
            try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: false)
            try self.opened(store).append([1])

            let elsewhere = folder + "/elsewhere"
            try Data("keep".utf8).write(to: URL(filePath: elsewhere))
            try FileManager.default.removeItem(atPath: place)
            try FileManager.default.removeItem(atPath: place + ".damaged")
            try FileManager.default.createSymbolicLink(atPath: place, withDestinationPath: elsewhere)
            try self.opened(store).append([2])
            #expect(FileManager.default.contents(atPath: elsewhere) == Data("keep".utf8))
            #expect(FileManager.default.contents(atPath: place) == Data([2]))

            try FileManager.default.removeItem(atPath: place)
            try FileManager.default.createSymbolicLink(atPath: place, withDestinationPath: folder + "/nowhere")
            try self.opened(store).append([3])
            #expect(FileManager.default.contents(atPath: place) == Data([3]))
            #expect(!FileManager.default.fileExists(atPath: folder + "/nowhere"))
        }
    }

    @Test func `Files and folders are their owner's alone`() throws {
        try withTemporaryFolder { folder in
            let store = DirectoryCheckpointStore(path: folder + "/made")
            let record = try self.opened(store)
            try record.append([1])
            func permissions(_ path: String) throws -> Int {
                try #require(FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
            }
            #expect(try permissions(folder + "/made") == 0o700)
            #expect(try permissions(store.location(of: "record")) == 0o600)
        }
    }

    @Test func `A file in the folder's place is an error and stays as it is`() throws {
        try withTemporaryFolder { folder in
            let file = folder + "/file"
            try Data("keep".utf8).write(to: URL(filePath: file))
            #expect {
                try DirectoryCheckpointStore(path: file).open("record", creating: true)
            } throws: { ($0 as? OSSError)?.code == .checkpointUnusable && "\($0)".contains(file) }
            #expect(FileManager.default.contents(atPath: file) == Data("keep".utf8))
        }
    }

    // Cases 47 and 48: https://github.com/aliyun/aliyun-oss-csharp-sdk/pull/25
    @Test func `Keys that look alike have records of their own, and no key leaves the folder`() throws {
        let keys = [
            "a/b", "a%2Fb", "a:b", "a_b", "A/B", "../../evil", "..\\..\\evil", String(repeating: "k", count: 1023),
        ]
        let names = try keys.map { try OSSCheckpoints.recordName(endpoint: "https://e", bucket: "bucket", key: $0) }
        #expect(Set(names).count == keys.count)
        #expect(names.allSatisfy { $0.utf8.count == 64 && $0.allSatisfy(\.isHexDigit) })
        // Bucket and key cannot be mixed up either.
        #expect(
            try OSSCheckpoints.recordName(endpoint: "https://e", bucket: "a", key: "b/c")
                != OSSCheckpoints.recordName(endpoint: "https://e", bucket: "a/b", key: "c")
        )
    }
}
