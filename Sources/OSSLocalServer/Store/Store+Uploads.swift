// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire
internal import SystemIO

extension Store {
    /// Begins an upload.
    func initiateUpload(
        bucket name: String, key: ObjectKey, headers: HTTPFields, isSequential: Bool, now: Timestamp
    ) throws(ServiceError) -> StoredUpload {
        let bucket = try self.bucket(name)
        let folder = try self.makeFolder(named: Identifier.upload(at: now), in: bucket)
        let upload = StoredUpload(
            id: folder.name, bucket: name, key: key, initiated: now, headers: headers, isSequential: isSequential,
            folder: folder
        )
        let new = folder.path(of: "upload.new")
        try self.write(upload.document, temporary: new, of: bucket)
        try self.synchronize(bucket.dataPath)
        try self.locked { state throws(ServiceError) in
            // The bucket may have gone and come back meanwhile: then the folder is not there.
            guard state.buckets[name] != nil else { throw ServiceError.noSuchBucket(name) }
            do throws(SystemError) {
                try Directory.rename(new, to: folder.path(of: StoredUpload.documentName))
            } catch {
                if error.isMissingFile { throw ServiceError.noSuchBucket(name) }
                throw ServiceError.internalError(error)
            }
            folder.keep()
            state.uploads[upload.id] = upload
            state.parts[upload.id] = PartTable()
        }
        try self.synchronize(folder.path)
        return upload
    }

    /// The parts of an open upload as they are now.
    func parts(of upload: StoredUpload) throws(ServiceError) -> PartTable {
        guard let table = self.state.withLock({ $0.parts[upload.id] }) else {
            throw ServiceError.noSuchUpload(upload.id)
        }
        return table
    }

    /// An open upload of that bucket and key.
    func upload(
        _ id: String, bucket: String, key: ObjectKey, ec: String? = nil
    ) throws(ServiceError) -> StoredUpload {
        try self.locked { state throws(ServiceError) in
            guard state.buckets[bucket] != nil else { throw ServiceError.noSuchBucket(bucket) }
            guard let upload = state.uploads[id], upload.bucket == bucket, upload.key == key else {
                throw ServiceError.noSuchUpload(id, ec: ec)
            }
            return upload
        }
    }

    /// The open uploads of a bucket by key and then by ID.
    func uploads(bucket name: String) throws(ServiceError) -> [StoredUpload] {
        try self.locked { state throws(ServiceError) in
            guard state.buckets[name] != nil else { throw ServiceError.noSuchBucket(name) }
            return state.uploads.values.filter { $0.bucket == name }
        }.sorted { ($0.key, $0.id) < ($1.key, $1.id) }
    }

    /// Stores what was received as a part; one of that number is replaced.
    func storePart(
        _ number: Int, upload: StoredUpload, file: IncomingFile, now: Timestamp
    ) throws(ServiceError) -> StoredPart {
        let summary = try file.finish()
        var replaced: StoredPart?
        let part = try self.locked { state throws(ServiceError) in
            guard state.uploads[upload.id] != nil else {
                throw ServiceError.noSuchUpload(upload.id, ec: "0017-00000244")
            }
            if upload.isSequential { try Self.checkSequence(number, state.parts[upload.id] ?? PartTable()) }
            try self.checkCapacity(
                state, adding: summary.size, replacing: state.parts[upload.id]?.parts[number]?.size ?? 0)
            let part = StoredPart(
                number: number, size: summary.size, eTag: Hex.upper(summary.md5), crc64: summary.crc64, modified: now,
                sequence: state.sequence
            )
            state.sequence += 1
            try file.keep(as: part.fileName)
            replaced = state.parts[upload.id]?.parts.updateValue(part, forKey: number)
            state.parts[upload.id]?.generation += 1
            return part
        }
        try self.synchronize(upload.folder.path)
        if let replaced {
            // The next start takes the later of two files of one number, and removes the other.
            try? Directory.removeFile(upload.folder.path(of: replaced.fileName))
        }
        return part
    }

    private static func checkSequence(_ number: Int, _ table: PartTable) throws(ServiceError) {
        if let there = table.parts[number] {
            throw ServiceError(
                409, "PartAlreadyExist", "For sequential multipart upload, you can't overwrite uploaded parts.",
                ec: "0042-00000108",
                details: [("PartEtag", "\"\(there.eTag)\""), ("PartNumber", String(number))]
            )
        }
        guard number == table.parts.count + 1 else {
            throw ServiceError.partNotSequential(number)
        }
    }

    /// Makes an object of an upload's parts, at once for all to see.
    ///
    /// - Parameters:
    ///   - acl: who may use the object, where Complete says so.
    ///   - choose: picks the parts, or refuses.
    func completeUpload(
        _ upload: StoredUpload, forbidsOverwrite: Bool, acl: String?, now: Timestamp,
        choose: (PartTable) throws(ServiceError) -> [StoredPart]
    ) throws(ServiceError) -> StoredObject {
        let bucket = try self.bucket(upload.bucket)
        var headers = upload.headers
        if let acl { headers["x-oss-object-acl"] = acl }
        // The document is written without the lock; where a part changed meanwhile, it is written anew.
        while true {
            let table = try self.parts(of: upload)
            let parts = try choose(table)
            let eTag: String
            do throws(DigestError) { eTag = try MultipartETag.of(partETags: parts.map(\.eTag)) } catch {
                throw ServiceError.internalError(error)
            }
            var object = StoredObject(
                key: upload.key, kind: .multipart, eTag: eTag, modified: now, headers: headers, folder: upload.folder,
                parts: parts
            )
            // Parts that came in order are known to make a digest of the whole.
            if upload.isSequential { object.md5 = try ObjectReader.md5(of: object) }
            let end = UploadEnd(id: upload.id, generation: table.generation)
            let isDone = try self.publish(object, in: bucket, ending: end) { current throws(ServiceError) in
                if forbidsOverwrite, current != nil { throw ServiceError.fileAlreadyExists(ec: "0042-00000214") }
                return true
            }
            guard isDone else { continue }
            try self.clearAway(upload, table, keeping: object)
            return object
        }
    }

    /// Removes what a completed upload no longer needs; the next start would do it too.
    private func clearAway(
        _ upload: StoredUpload, _ table: PartTable, keeping object: StoredObject
    ) throws(ServiceError) {
        let kept = Set(object.parts.map(\.fileName))
        for part in table.parts.values where !kept.contains(part.fileName) {
            try? Directory.removeFile(upload.folder.path(of: part.fileName))
        }
        try? Directory.removeFile(upload.folder.path(of: StoredUpload.documentName))
        try self.synchronize(upload.folder.path)
    }

    /// Ends an upload and removes its parts.
    func abortUpload(_ id: String, bucket: String, key: ObjectKey) throws(ServiceError) {
        let upload = try self.upload(id, bucket: bucket, key: key)
        try self.endUpload(upload)
    }

    private func endUpload(_ upload: StoredUpload) throws(ServiceError) {
        try self.locked { state throws(ServiceError) in
            guard state.uploads[upload.id] != nil else { throw ServiceError.noSuchUpload(upload.id) }
            // From here on a start removes the folder.
            try ServiceError.wrapping { () throws(SystemError) in
                try Directory.removeFile(upload.folder.path(of: StoredUpload.documentName))
            }
            state.uploads[upload.id] = nil
            state.parts[upload.id] = nil
        }
        try self.synchronize(upload.folder.path)
        upload.folder.removeWhenUnused()
    }

    /// Ends the uploads that were begun before a moment, as a lifecycle rule does.
    func expireUploads(begunBefore limit: Timestamp) throws(ServiceError) {
        let stale = self.state.withLock { $0.uploads.values.filter { $0.initiated < limit }.map(\.id) }
        for id in stale {
            // Whoever was faster has done what was wanted.
            do throws(ServiceError) { _ = try self.expireUpload(id) } catch  where error.code == "NoSuchUpload" {}
        }
    }

    // MARK: For tests

    /// Ends an upload by its ID, as a lifecycle rule does; false where there is none.
    func expireUpload(_ id: String) throws(ServiceError) -> Bool {
        guard let upload = self.state.withLock({ $0.uploads[id] }) else { return false }
        try self.endUpload(upload)
        return true
    }

    /// Loses parts of an upload.
    func dropParts(_ numbers: some Sequence<Int>, ofUpload id: String) throws(ServiceError) {
        try self.locked { state throws(ServiceError) in
            guard let upload = state.uploads[id] else { throw ServiceError.noSuchUpload(id) }
            for number in numbers {
                guard let part = state.parts[id]?.parts.removeValue(forKey: number) else { continue }
                state.parts[id]?.generation += 1
                try ServiceError.wrapping { () throws(SystemError) in
                    try Directory.removeFile(upload.folder.path(of: part.fileName))
                }
            }
        }
    }

    /// Changes a part's bytes on the disk and in its checksums, not its size.
    func corruptPart(_ number: Int, ofUpload id: String) throws(ServiceError) {
        try self.locked { state throws(ServiceError) in
            guard let upload = state.uploads[id], var part = state.parts[id]?.parts[number] else {
                throw ServiceError.noSuchUpload(id)
            }
            let old = upload.folder.path(of: part.fileName)
            do {
                let file = try PosixFile(path: old, .readWrite)
                var bytes = [UInt8](repeating: 0, count: Int(part.size))
                _ = try file.read(at: 0, into: &bytes)
                guard !bytes.isEmpty else { return }
                bytes[bytes.count / 2] ^= 0xFF
                try file.write(bytes.span, at: 0)
                part.eTag = Hex.upper(try MessageDigest.of(bytes, .md5))
                part.crc64 = CRC64.of(bytes)
                try Directory.rename(old, to: upload.folder.path(of: part.fileName))
            } catch {
                throw ServiceError.internalError(error)
            }
            state.parts[id]?.parts[number] = part
            state.parts[id]?.generation += 1
        }
    }
}
