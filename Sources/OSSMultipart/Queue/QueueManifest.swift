// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import SystemIO

/// The record of what a queue has stored, so that a later run does not send it again.
///
/// An actor because files end at any time, and their lines must not mix.
///
/// It has the form of a journal: one line a file, each with a checksum. A line that cannot be read says nothing, and its file is
/// uploaded again.
actor QueueManifest {
    /// How often lines are made durable; a killed process loses none.
    ///
    /// *Source:* our own choice. *Applies to:* power failures.
    private static let synchronizationInterval: Duration = .seconds(1)

    private let record: any CheckpointRecord
    private let executor: BlockingExecutor
    /// Where an object is stored, as bytes: names that look the same need not be.
    struct Place: Hashable {
        private let bucket: [UInt8]
        private let key: [UInt8]

        init(bucket: String, key: String) {
            self.bucket = Array(bucket.utf8)
            self.key = Array(key.utf8)
        }
    }

    /// What is stored.
    private var stored: [Place: SourceIdentity]
    private var lastSynchronization = ContinuousClock.now
    private var hasFailed = false
    private let endpoint: String

    /// What the names of manifests end with.
    private static let suffix = ".manifest"

    /// Whether a record of that name is a manifest, and not the record of an upload.
    static func isName(_ name: String) -> Bool { name.hasSuffix(Self.suffix) }

    /// Opens the manifest of a name and takes its lock; nil where none is wanted, or there is nowhere to keep it.
    ///
    /// - Parameter warn: told what the user should know.
    static func open(
        _ name: String?, _ uploader: OSSUploader, warn: (String) -> Void
    ) async throws -> QueueManifest? {
        guard let name else { return nil }
        guard let store = uploader.checkpoints.store else {
            if let warning = uploader.checkpoints.warning { warn(warning) }
            return nil
        }
        let executor = uploader.client.blocking
        var destination = OSSUploader.Destination(bucket: "", key: "")
        destination.recordName = name
        let recordName = try OSSCheckpoints.recordName(of: destination, at: "") + Self.suffix
        do {
            let manifest = try await executor.run { () throws(any Error) -> QueueManifest? in
                guard let record = try store.open(recordName, creating: true) else { return nil }
                return try QueueManifest(record, executor, endpoint: uploader.client.endpoint)
            }
            if let count = await manifest?.stored.count, count > 0 {
                warn("an earlier run had stored \(count) files; they are passed over unless they changed")
            }
            return manifest
        } catch let error as OSSError where error.code == .checkpointUnusable && !uploader.checkpoints.isRequired {
            warn("\(error.message); the queue goes on without a manifest, and a later run will send every file again")
            return nil
        }
    }

    private init(_ record: any CheckpointRecord, _ executor: BlockingExecutor, endpoint: String) throws {
        self.record = record
        self.executor = executor
        let bytes = try record.read()
        var stored: [Place: SourceIdentity] = [:]
        var length = 0
        let lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false).dropLast()
        for line in lines {
            length += line.count + 1
            // A file at another service of the same name is another file.
            guard let line = JournalLine(line), line.kind == "stored", line["endpoint"] == endpoint,
                let bucket = line["bucket"], let key = line["key"], let source = SourceIdentity(line)
            else { continue }
            stored[Place(bucket: bucket, key: key)] = source
        }
        // What lies behind the last line feed is torn.
        if length < bytes.count { try record.truncate(to: length) }
        self.stored = stored
        self.endpoint = endpoint
    }

    /// Whether an earlier run has stored this source as it is now.
    func hasStored(_ item: OSSUploadQueue.Item, _ uploader: OSSUploader) async throws -> Bool {
        let place = Place(bucket: item.destination.bucket, key: item.destination.key)
        guard let earlier = self.stored[place] else { return false }
        return try await item.source.open(on: uploader.client.blocking).identity.isSurely(earlier)
    }

    /// Notes a file that is stored; returns what to tell the user, the first time that something goes wrong.
    func add(_ result: OSSUploadResult, _ identity: SourceIdentity) async -> String? {
        var line = JournalLine("stored")
        line["endpoint"] = self.endpoint
        line["bucket"] = result.bucket
        line["key"] = result.key
        identity.write(to: &line)
        line["etag"] = result.eTag
        line["crc64"] = result.crc64.map { String($0) }
        // Behind a line that could not be written to its end, what was written of it would spoil this one.
        let (record, bytes) = (self.record, self.hasFailed ? [0x0A] + line.bytes : line.bytes)
        let isDue = self.lastSynchronization.duration(to: .now) >= Self.synchronizationInterval
        if isDue { self.lastSynchronization = .now }
        do {
            try await self.executor.run { () throws(any Error) in
                try record.append(bytes)
                if isDue { try record.synchronize(name: true) }
            }
        } catch {
            defer { self.hasFailed = true }
            return self.hasFailed ? nil : "\(error); what is stored now will be sent again by a later run"
        }
        return nil
    }

    /// Keeps the manifest for a later run, and gives up its lock.
    func close() async {
        let record = self.record
        // It is as durable as it can be made; an error leaves what a killed process would.
        try? await self.executor.run { () throws(any Error) in try record.synchronize(name: true) }
        record.close()
    }

    /// Removes the manifest: everything is stored.
    func remove() async {
        let record = self.record
        // One that cannot be removed names files that are stored, which is true.
        try? await self.executor.run { () throws(any Error) in try record.remove() }
    }
}
