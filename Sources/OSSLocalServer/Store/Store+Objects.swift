// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire
internal import SystemIO

extension Store {
    /// An upload that ends with its object's publication, as its parts were when they were chosen.
    struct UploadEnd: Sendable {
        let id: String
        let generation: Int
    }

    /// An object; nil where there is none.
    func object(bucket name: String, key: ObjectKey) throws(ServiceError) -> StoredObject? {
        try self.locked { state throws(ServiceError) in
            guard state.buckets[name] != nil else { throw ServiceError.noSuchBucket(name) }
            return state.objects[name]?[key]
        }
    }

    /// The objects whose keys begin with `prefix`, by key.
    func objects(bucket name: String, prefix: ObjectKey) throws(ServiceError) -> [StoredObject] {
        try self.locked { state throws(ServiceError) in
            guard state.buckets[name] != nil else { throw ServiceError.noSuchBucket(name) }
            return state.objects[name]?.values.filter { $0.key.hasPrefix(prefix) } ?? []
        }.sorted { $0.key < $1.key }
    }

    /// Begins to receive an object that comes in one piece.
    func receiveObject(bucket name: String) throws(ServiceError) -> IncomingFile {
        let bucket = try self.bucket(name)
        return try IncomingFile(
            folder: try self.makeFolder(named: Identifier.random(), in: bucket), name: "incoming",
            isDurable: self.isDurable, room: self.room())
    }

    /// Makes a data folder that goes again with the last one who uses it, unless an object or an upload keeps it.
    func makeFolder(named name: String, in bucket: Bucket) throws(ServiceError) -> DataFolder {
        let folder = DataFolder(name: name, in: bucket.dataPath)
        // Under the lock: a bucket that is being removed must not come back as a folder without a document.
        try self.locked { state throws(ServiceError) in
            guard state.buckets[bucket.name] != nil else { throw ServiceError.noSuchBucket(bucket.name) }
            try ServiceError.wrapping { () throws(SystemError) in try Directory.create(folder.path) }
        }
        folder.removeWhenUnused()
        return folder
    }

    /// Begins to receive a part.
    func receivePart(of upload: StoredUpload) throws(ServiceError) -> IncomingFile {
        try IncomingFile(
            folder: upload.folder, name: "incoming-" + Identifier.random(), isDurable: self.isDurable,
            room: self.room())
    }

    /// Makes an object of what was received.
    func storeObject(
        bucket name: String, key: ObjectKey, file: IncomingFile, headers: HTTPFields, forbidsOverwrite: Bool,
        now: Timestamp
    ) throws(ServiceError) -> StoredObject {
        let bucket = try self.bucket(name)
        let summary = try file.finish()
        let part = StoredPart(
            number: 1, size: summary.size, eTag: Hex.upper(summary.md5), crc64: summary.crc64, modified: now,
            sequence: 1
        )
        try file.keep(as: part.fileName)
        try self.synchronize(file.folder.path)
        try self.synchronize(bucket.dataPath)
        let object = StoredObject(
            key: key, kind: .normal, eTag: part.eTag, modified: now, headers: headers, folder: file.folder,
            parts: [part]
        )
        _ = try self.publish(object, in: bucket) { current throws(ServiceError) in
            if forbidsOverwrite, current != nil { throw ServiceError.fileAlreadyExists(ec: "0026-00000002") }
            return true
        }
        return object
    }

    /// Gives an object its place under its key, by one rename, and from then on keeps its folder.
    ///
    /// - Parameters:
    ///   - end: the upload that the object comes of.
    ///   - check: looks at the object that is there, under the lock: refuses, or says with false that all has to be thought
    ///     over.
    /// - Returns: false where `check` said so or the upload's parts have changed meanwhile; then nothing has happened.
    func publish(
        _ object: StoredObject, in bucket: Bucket, ending end: UploadEnd? = nil,
        check: (StoredObject?) throws(ServiceError) -> Bool
    ) throws(ServiceError) -> Bool {
        let temporary = bucket.temporaryPath + "/" + Identifier.random()
        let name: String
        do throws(DigestError) { name = try object.key.documentName() } catch {
            throw ServiceError.internalError(error)
        }
        try self.write(object.document, temporary: temporary, of: bucket)
        var replaced: StoredObject?
        var isDone = false
        do throws(ServiceError) {
            isDone = try self.locked { state throws(ServiceError) in
                guard state.buckets[bucket.name] != nil else { throw ServiceError.noSuchBucket(bucket.name) }
                replaced = state.objects[bucket.name]?[object.key]
                guard try check(replaced) else { return false }
                // An upload's parts are counted already.
                let added = end == nil ? object.size : 0
                try self.checkCapacity(state, adding: added, replacing: replaced?.size ?? 0)
                if let end {
                    guard let table = state.parts[end.id] else { throw ServiceError.noSuchUpload(end.id) }
                    guard table.generation == end.generation else { return false }
                }
                try ServiceError.wrapping { () throws(SystemError) in
                    try Directory.rename(temporary, to: bucket.objectsPath + "/" + name)
                }
                object.folder.keep()
                state.objects[bucket.name, default: [:]][object.key] = object
                if let end {
                    state.uploads[end.id] = nil
                    state.parts[end.id] = nil
                }
                return true
            }
        } catch {
            // A document left behind is removed at the next start.
            try? Directory.removeFile(temporary)
            throw error
        }
        guard isDone else {
            // As above.
            try? Directory.removeFile(temporary)
            return false
        }
        try self.synchronize(bucket.objectsPath)
        // A changed object keeps its files.
        if let replaced, replaced.folder !== object.folder { replaced.folder.removeWhenUnused() }
        return true
    }

    /// Writes a document that belongs to a bucket, to a file of its own.
    ///
    /// - Throws: `NoSuchBucket` where the bucket has gone meanwhile, with the folder that the file was to be in.
    func write(
        _ document: StoreDocument, temporary path: String, of bucket: Bucket
    ) throws(ServiceError) {
        do throws(SystemError) { try document.write(temporary: path, isDurable: self.isDurable) } catch {
            if error.isMissingFile { throw ServiceError.noSuchBucket(bucket.name) }
            throw ServiceError.internalError(error)
        }
    }

    /// Removes an object; none being there is no error.
    func deleteObject(bucket name: String, key: ObjectKey) throws(ServiceError) {
        let documentName: String
        do throws(DigestError) { documentName = try key.documentName() } catch {
            throw ServiceError.internalError(error)
        }
        let (bucket, removed) = try self.locked { state throws(ServiceError) -> (Bucket, StoredObject?) in
            guard let bucket = state.buckets[name] else { throw ServiceError.noSuchBucket(name) }
            guard let object = state.objects[name]?[key] else { return (bucket, nil) }
            try ServiceError.wrapping { () throws(SystemError) in
                try Directory.removeFile(bucket.objectsPath + "/" + documentName)
            }
            state.objects[name]?[key] = nil
            return (bucket, object)
        }
        guard let removed else { return }
        try self.synchronize(bucket.objectsPath)
        removed.folder.removeWhenUnused()
    }
}
