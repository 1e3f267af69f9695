// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import Synchronization
internal import SystemIO

/// Records in memory: an upload resumes within the same process.
final class MemoryCheckpointStore: CheckpointStore {
    fileprivate struct Entry {
        var bytes: [UInt8] = []
        var isLocked = false
    }

    fileprivate let entries = Lock<[String: Entry]>([:])

    func location(of name: String) -> String { "\(name) in memory" }

    func names() throws -> [String]? { self.entries.withLock { Array($0.keys) } }

    func peek(_ name: String, limit: Int) throws -> [UInt8]? {
        self.entries.withLock { entries in entries[name].map { Array($0.bytes.prefix(limit)) } }
    }

    func open(_ name: String, creating: Bool) throws -> (any CheckpointRecord)? {
        let isOpen = try self.entries.withLock { entries throws(OSSError) in
            guard var entry = entries[name] ?? (creating ? Entry() : nil) else { return false }
            guard !entry.isLocked else {
                throw OSSError(
                    .checkpointInUse,
                    "another upload of this process is uploading to the same bucket and key; wait until it "
                        + "has ended"
                )
            }
            entry.isLocked = true
            entries[name] = entry
            return true
        }
        return isOpen ? MemoryCheckpointRecord(store: self, name: name) : nil
    }
}

private final class MemoryCheckpointRecord: CheckpointRecord {
    private let store: MemoryCheckpointStore
    private let name: String

    init(store: MemoryCheckpointStore, name: String) {
        self.store = store
        self.name = name
    }

    // Whether the lock is this record's still: after `close` another may have it.
    private let isOpen = Atomic(true)

    deinit { self.close() }

    func close() {
        guard self.isOpen.exchange(false, ordering: .relaxed) else { return }
        self.store.entries.withLock { $0[self.name]?.isLocked = false }
    }

    func read() throws -> [UInt8] { self.store.entries.withLock { $0[self.name]?.bytes ?? [] } }

    func append(_ bytes: [UInt8]) throws { self.store.entries.withLock { $0[self.name]?.bytes += bytes } }

    func truncate(to length: Int) throws {
        self.store.entries.withLock { entries in
            guard let bytes = entries[self.name]?.bytes else { return }
            entries[self.name]?.bytes = Array(bytes.prefix(length))
        }
    }

    func synchronize(name: Bool) throws {}

    func setAside() throws -> String {
        try self.truncate(to: 0)
        return "nowhere"
    }

    func remove() throws {
        guard self.isOpen.exchange(false, ordering: .relaxed) else { return }
        self.store.entries.withLock { $0[self.name] = nil }
    }
}
