// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire
internal import SystemIO

extension Store {
    /// Makes an object of another one's bytes, without moving them where the file system can.
    ///
    /// A copy has its source's ETag; that of an object that was appended to becomes one that was put.
    func copyObject(
        _ source: StoredObject, bucket name: String, key: ObjectKey, headers: HTTPFields, forbidsOverwrite: Bool,
        now: Timestamp
    ) throws(ServiceError) -> StoredObject {
        if source.kind == .appendable {
            let file = try self.receiveObject(bucket: name)
            try ObjectReader.read(source, range: 0..<source.size) { bytes throws(ServiceError) in
                try file.write(bytes)
            }
            return try self.storeObject(
                bucket: name, key: key, file: file, headers: headers, forbidsOverwrite: forbidsOverwrite, now: now)
        }
        let bucket = try self.bucket(name)
        let folder = try self.makeFolder(named: Identifier.random(), in: bucket)
        for part in source.parts {
            try self.copyFile(source.folder.path(of: part.fileName), to: folder.path(of: part.fileName))
        }
        try self.synchronize(folder.path)
        try self.synchronize(bucket.dataPath)
        let object = StoredObject(
            key: key, kind: source.kind, eTag: source.eTag, modified: now, headers: headers, folder: folder,
            parts: source.parts, md5: source.md5
        )
        _ = try self.publish(object, in: bucket) { current throws(ServiceError) in
            if forbidsOverwrite, current != nil { throw ServiceError.fileAlreadyExists() }
            return true
        }
        return object
    }

    private func copyFile(_ path: String, to newPath: String) throws(ServiceError) {
        try ServiceError.wrapping { () throws(SystemError) in
            // Parts of objects never change, so two objects may share a file. Where the file system has no second names, or
            // no more of them, the bytes are copied.
            do throws(SystemError) {
                try Directory.link(path, to: newPath)
                return
            } catch {
                if error.isMissingFile || error.isFullDisk { throw error }
            }
            let source = try PosixFile(path: path, .read)
            let copy = try PosixFile(path: newPath, [.write, .create, .exclusive])
            var piece = [UInt8](repeating: 0, count: 256 * 1024)
            var position: Int64 = 0
            while true {
                let count = try source.read(at: position, into: &piece)
                if count == 0 { break }
                try copy.write(piece.span.extracting(0..<count), at: position)
                position += Int64(count)
            }
            if self.isDurable { try copy.synchronizeContent() }
        }
    }

    /// Changes the header fields of an object and nothing else.
    ///
    /// - Returns: the object as it is now.
    func changeHeaders(
        ofObject key: ObjectKey, bucket name: String, _ change: (inout HTTPFields) -> Void
    ) throws(ServiceError) -> StoredObject {
        let bucket = try self.bucket(name)
        while true {
            guard let old = try self.object(bucket: name, key: key) else { throw ServiceError.noSuchKey(key.text) }
            var object = old
            change(&object.headers)
            if try self.publish(object, in: bucket, check: { old.isSame(as: $0) }) { return object }
        }
    }

    // MARK: Appending

    /// Begins to receive what is appended to an object, or what begins one.
    func receiveAppendix(bucket name: String, key: ObjectKey) throws(ServiceError) -> IncomingFile {
        guard let object = try self.object(bucket: name, key: key), object.kind == .appendable else {
            return try self.receiveObject(bucket: name)
        }
        return try IncomingFile(
            folder: object.folder, name: "incoming-" + Identifier.random(), isDurable: self.isDurable,
            room: self.room())
    }

    /// Appends what was received.
    ///
    /// - Parameter check: looks at the object that is there and refuses where this cannot be appended to it.
    /// - Returns: the object as it is now.
    func appendObject(
        bucket name: String, key: ObjectKey, file: IncomingFile, headers: HTTPFields, now: Timestamp,
        check: (StoredObject?) throws(ServiceError) -> Void
    ) throws(ServiceError) -> StoredObject {
        let bucket = try self.bucket(name)
        let old = try self.object(bucket: name, key: key)
        try check(old)
        let summary = try file.finish()
        let part = StoredPart(
            number: (old?.parts.count ?? 0) + 1, size: summary.size, eTag: Hex.upper(summary.md5),
            crc64: summary.crc64, modified: now, sequence: self.nextSequence()
        )
        // The object has been replaced or removed since the body began.
        if let old, old.folder !== file.folder { throw ServiceError.positionNotEqualToLength(old.size) }
        try file.keep(as: part.fileName)
        try self.synchronize(file.folder.path)
        if old == nil { try self.synchronize(bucket.dataPath) }
        let parts = (old?.parts ?? []) + [part]
        let eTag: String
        do throws(DigestError) {
            // The service promises no rule for this ETag.
            eTag = Hex.upper(try MessageDigest.of(Array(parts.map(\.eTag).joined().utf8), .md5))
        } catch {
            throw ServiceError.internalError(error)
        }
        let object = StoredObject(
            key: key, kind: .appendable, eTag: eTag, modified: now, headers: old?.headers ?? headers,
            folder: file.folder, parts: parts)
        var isInPlace = false
        do throws(ServiceError) {
            _ = try self.publish(object, in: bucket) { current throws(ServiceError) in
                try check(current)
                guard current.map({ $0.folder === object.folder }) ?? (old == nil) else {
                    throw ServiceError.positionNotEqualToLength(current?.size ?? 0)
                }
                isInPlace = true
                return true
            }
        } catch {
            // What cannot be removed now is found unreferenced, and removed, at the next start.
            if !isInPlace { try? Directory.removeFile(file.folder.path(of: part.fileName)) }
            throw error
        }
        return object
    }

    private func nextSequence() -> UInt64 {
        self.state.withLock { state in
            defer { state.sequence += 1 }
            return state.sequence
        }
    }
}

extension ServiceError {
    /// Something was to be appended elsewhere than at the end.
    static func positionNotEqualToLength(_ length: Int64) -> Self {
        var error = Self(
            409, "PositionNotEqualToLength", "Position is not equal to file length.", ec: "0026-00000016")
        error.headers["x-oss-next-append-position"] = String(length)
        return error
    }
}
