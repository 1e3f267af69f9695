// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire
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

        /// Bytes of all objects and parts.
        var storedBytes: Int64 {
            self.objects.values.reduce(0) { $0 + $1.values.reduce(0) { $0 + $1.size } }
                + self.parts.values.reduce(0) { $0 + $1.parts.values.reduce(0) { $0 + $1.size } }
        }
    }

    /// The folder.
    let path: String
    /// Whether content is synced before it is acknowledged.
    let isDurable: Bool
    /// Most bytes that all objects and parts may have together; nil: no limit.
    let capacity: Int64?
    let state: Lock<State>
    // Holds the folder's lock.
    private let lockFile: PosixFile

    static let format = "oss-local-server store 1"

    /// Opens a folder, making it where it is missing, and reads what is there.
    ///
    /// - Throws: `OSSServer.Error` where the folder is somebody else's or in use; `SystemError`.
    init(path: String, isDurable: Bool, capacity: Int64? = nil) throws {
        self.path = path
        self.capacity = capacity
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
        self.state = Lock(try StoreLoader(path: path).load())
    }

    /// Removes the folder and all that is in it.
    func removeAll() throws(SystemError) { try DataFolder.removeTree(self.path) }

    /// Lets another server have the folder; nothing may be done with it afterwards.
    func release() { self.lockFile.unlock() }

    private static func isMarked(_ path: String) throws(SystemError) -> Bool {
        do throws(SystemError) {
            return try StoreDocument.read(path + "/format", kind: self.format) != nil
        } catch  where error.isMissingFile {
            return false
        }
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

    /// Refuses more bytes than there is room for.
    ///
    /// - Parameter replacing: bytes that go in exchange.
    func checkCapacity(_ state: State, adding bytes: Int64, replacing: Int64) throws(ServiceError) {
        guard let capacity = self.capacity, state.storedBytes - replacing + bytes > capacity else { return }
        throw ServiceError.insufficientStorage
    }

    /// Most bytes that a file may come to that begins to be received now; nil: no limit.
    func room() -> Int64? {
        self.capacity.map { capacity in max(0, capacity - self.state.withLock { $0.storedBytes }) }
    }

    /// Syncs a folder's entries where content has to be durable.
    func synchronize(_ folder: String) throws(ServiceError) {
        guard self.isDurable else { return }
        try ServiceError.wrapping { () throws(SystemError) in try Directory.synchronize(folder) }
    }
}
