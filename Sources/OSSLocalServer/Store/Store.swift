// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire
internal import Synchronization
internal import SystemIO

/// Buckets, objects and uploads in a folder.
///
/// What is acknowledged is on the disk before the call returns, and each change becomes visible by one rename:
///
///     <folder>/format, lock
///     <folder>/buckets/<bucket>/bucket            when it was made
///     <folder>/buckets/<bucket>/objects/<SHA-256 of the key>   an object's document, naming its folder and parts
///     <folder>/buckets/<bucket>/data/<ID>/        parts; with a file `upload` in it: an open upload
///     <folder>/buckets/<bucket>/temporary/        documents being written
///
/// All state is kept in memory too; files are read at the start and for the bytes of objects. Every call may block.
final class Store: Sendable {
    /// One bucket.
    struct Bucket: Sendable {
        var name: String
        var path: String
        var created: Timestamp

        var objectsPath: String { self.path + "/objects" }
        var dataPath: String { self.path + "/data" }
        var temporaryPath: String { self.path + "/temporary" }
    }

    /// What the lock protects.
    struct State {
        var buckets: [String: Bucket] = [:]
        /// By bucket and key.
        var objects: [String: [ObjectKey: StoredObject]] = [:]
        /// By ID.
        var uploads: [String: StoredUpload] = [:]
        /// By the upload's ID; apart from the uploads, for whoever holds an upload must not make the table be copied.
        var parts: [String: PartTable] = [:]
        var sequence: UInt64 = 1
    }

    /// The folder.
    let path: String
    /// Whether content is synced before it is acknowledged.
    let isDurable: Bool
    let state: Mutex<State>
    // Holds the folder's lock.
    private let lockFile: PosixFile

    static let format = "oss-local-server store 1"

    /// Opens a folder, making it where it is missing, and reads what is there.
    ///
    /// - Throws: `OSSServer.Error` where the folder is somebody else's or in use; `SystemError`.
    init(path: String, isDurable: Bool) throws {
        self.path = path
        self.isDurable = isDurable
        try Directory.create(path)
        let isOurs = try Self.isMarked(path)
        guard try isOurs || Directory.names(in: path).isEmpty else {
            throw OSSServer.Error("\(path) holds files that are not this server's; name an empty folder or a new one")
        }
        self.lockFile = try PosixFile(path: path + "/lock", [.readWrite, .create])
        guard try self.lockFile.lock() else {
            throw OSSServer.Error("\(path) is in use by another server; stop it or name another folder")
        }
        try Directory.create(path + "/buckets")
        if !isOurs {
            try StoreDocument(kind: Self.format).write(temporary: path + "/format.new", isDurable: isDurable)
            try Directory.rename(path + "/format.new", to: path + "/format")
            if isDurable { try Directory.synchronize(path) }
        }
        self.state = Mutex(try StoreLoader(path: path).load())
    }

    /// Removes the folder and all that is in it.
    func removeAll() throws(SystemError) { try DataFolder.removeTree(self.path) }

    private static func isMarked(_ path: String) throws(SystemError) -> Bool {
        do throws(SystemError) {
            return try StoreDocument.read(path + "/format", kind: self.format) != nil
        } catch  where error.isMissingFile {
            return false
        }
    }

    // MARK: Buckets

    /// The buckets by name.
    func buckets() -> [Bucket] {
        self.state.withLock { Array($0.buckets.values) }.sorted { $0.name < $1.name }
    }

    /// Makes a bucket; false where it is there.
    func createBucket(_ name: String, now: Timestamp) throws(ServiceError) -> Bool {
        if self.state.withLock({ $0.buckets[name] != nil }) { return false }
        let bucket = Bucket(name: name, path: self.path + "/buckets/" + name, created: now)
        let new = self.path + "/new-" + Identifier.random()
        try ServiceError.wrapping { () throws(SystemError) in
            for folder in ["objects", "data", "temporary"] { try Directory.create(new + "/" + folder) }
            var document = StoreDocument(kind: StoreLoader.bucketKind)
            document.add("created", String(now.milliseconds))
            try document.write(temporary: new + "/bucket", isDurable: self.isDurable)
        }
        return try self.locked { state throws(ServiceError) in
            guard state.buckets[name] == nil else { return false }
            try ServiceError.wrapping { () throws(SystemError) in
                try Directory.rename(new, to: bucket.path)
                if self.isDurable { try Directory.synchronize(self.path + "/buckets") }
            }
            state.buckets[name] = bucket
            return true
        }
    }

    /// Removes an empty bucket.
    func deleteBucket(_ name: String) throws(ServiceError) {
        let removed = self.path + "/removed-" + Identifier.random()
        try self.locked { state throws(ServiceError) in
            guard let bucket = state.buckets[name] else { throw ServiceError.noSuchBucket(name) }
            guard state.objects[name]?.isEmpty ?? true, !state.uploads.values.contains(where: { $0.bucket == name })
            else {
                throw ServiceError(
                    409, "BucketNotEmpty",
                    "The bucket has objects or open uploads. Please delete them first.",
                    details: [("BucketName", name)])
            }
            try ServiceError.wrapping { () throws(SystemError) in
                try Directory.rename(bucket.path, to: removed)
                if self.isDurable { try Directory.synchronize(self.path + "/buckets") }
            }
            state.buckets[name] = nil
            state.objects[name] = nil
        }
        // What is left is removed at the next start.
        try? DataFolder.removeTree(removed)
    }

    /// A bucket that is there.
    func bucket(_ name: String) throws(ServiceError) -> Bucket {
        guard let bucket = self.state.withLock({ $0.buckets[name] }) else { throw ServiceError.noSuchBucket(name) }
        return bucket
    }

    // MARK: Within the room

    /// Runs work under the lock; its errors keep their type.
    func locked<Value>(
        _ body: (inout State) throws(ServiceError) -> Value
    ) throws(ServiceError) -> Value {
        var failure: ServiceError?
        var value: Value?
        self.state.withLock { state in
            do throws(ServiceError) { value = try body(&state) } catch { failure = error }
        }
        guard let value else { throw failure ?? ServiceError.internalError("no result") }
        return value
    }

    /// Syncs a folder's entries where content has to be durable.
    func synchronize(_ folder: String) throws(ServiceError) {
        guard self.isDurable else { return }
        try ServiceError.wrapping { () throws(SystemError) in try Directory.synchronize(folder) }
    }
}
