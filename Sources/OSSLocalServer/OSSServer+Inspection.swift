// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire
internal import SystemIO

extension OSSServer {
    /// An upload that is neither completed nor aborted.
    public struct UploadInfo: Sendable, Hashable {
        /// Its ID.
        public let uploadID: String
        /// The key of the object to be.
        public let key: String
        /// When it was begun, in milliseconds since 1970 by the server's clock.
        public let initiated: Int64
    }

    /// A part of an open upload.
    public struct PartInfo: Sendable, Hashable {
        /// 1 to 10,000.
        public let partNumber: Int
        /// Size in bytes.
        public let size: Int64
        /// Without quotes.
        public let eTag: String
        /// CRC-64 of its bytes.
        public let crc64: UInt64
    }

    /// An object.
    public struct ObjectInfo: Sendable, Hashable {
        /// Its key.
        public let key: String
        /// Size in bytes.
        public let size: Int64
        /// Without quotes.
        public let eTag: String
        /// CRC-64 of its bytes.
        public let crc64: UInt64
        /// `Normal`, `Multipart` or `Appendable`.
        public let type: String
        /// The header fields that were given with it, names as they were written.
        public let headers: [String: String]
    }

    // MARK: Looking

    /// What is known of an object; nil where there is none, or no such bucket.
    public func objectInfo(bucket: String, key: String) -> ObjectInfo? {
        guard let object = self.object(bucket, key) else { return nil }
        return ObjectInfo(
            key: key, size: object.size, eTag: object.eTag, crc64: object.crc64, type: object.kind.rawValue,
            headers: Dictionary(object.headers.all.map { ($0.name, $0.value) }) { first, _ in first })
    }

    /// All bytes of an object; nil where there is none, or no such bucket.
    ///
    /// - Throws: `OSSServer.Error` where they cannot be read.
    public func objectData(bucket: String, key: String) async throws -> [UInt8]? {
        guard let object = self.object(bucket, key) else { return nil }
        return try await self.executor.run { () throws(OSSServer.Error) in
            do throws(SystemError) { return try ObjectReader.bytes(of: object) } catch {
                throw OSSServer.Error("the object cannot be read: \(error)")
            }
        }
    }

    /// The keys of a bucket's objects, in order of their bytes; none where there is no such bucket.
    public func keys(bucket: String) -> [String] {
        // No such bucket has no keys.
        (try? self.service.store.objects(bucket: bucket, prefix: ObjectKey("")))?.map(\.key.text) ?? []
    }

    /// The open uploads of a bucket, by key and then by ID; none where there is no such bucket.
    public func openUploads(bucket: String) -> [UploadInfo] {
        // No such bucket has no uploads.
        ((try? self.service.store.uploads(bucket: bucket)) ?? []).map {
            UploadInfo(uploadID: $0.id, key: $0.key.text, initiated: $0.initiated.milliseconds)
        }
    }

    /// The parts of an open upload by number; none where there is no such upload.
    public func parts(ofUpload uploadID: String) -> [PartInfo] {
        let table = self.service.store.state.withLock { $0.parts[uploadID] }
        return (table?.sorted ?? []).map {
            PartInfo(partNumber: $0.number, size: $0.size, eTag: $0.eTag, crc64: $0.crc64)
        }
    }

    // MARK: Meddling

    /// Ends an upload as a lifecycle rule would; false where there is none.
    ///
    /// - Throws: `OSSServer.Error` where its folder cannot be changed.
    @discardableResult
    public func removeUpload(_ uploadID: String) async throws -> Bool {
        try await self.meddle { store throws(ServiceError) in try store.expireUpload(uploadID) }
    }

    /// Loses parts of an upload; numbers that it has not are passed over.
    ///
    /// - Throws: `OSSServer.Error` where there is no such upload.
    public func removeParts(_ partNumbers: [Int], ofUpload uploadID: String) async throws {
        try await self.meddle { store throws(ServiceError) in try store.dropParts(partNumbers, ofUpload: uploadID) }
    }

    /// Changes a byte of a stored part, and with it the part's ETag and CRC-64, not its size.
    ///
    /// - Throws: `OSSServer.Error` where there is no such part.
    public func corruptPart(_ partNumber: Int, ofUpload uploadID: String) async throws {
        try await self.meddle { store throws(ServiceError) in try store.corruptPart(partNumber, ofUpload: uploadID) }
    }

    /// Makes a bucket; one that is there stays as it is.
    ///
    /// - Throws: `OSSServer.Error` where the name cannot be a bucket's.
    public func createBucket(_ bucket: String) async throws {
        if let problem = Limits.problem(withBucketName: bucket) {
            throw Error("\(bucket) cannot be a bucket: \(problem)")
        }
        let now = self.service.now()
        _ = try await self.meddle { store throws(ServiceError) in try store.createBucket(bucket, now: now) }
    }

    /// Stores an object, as PutObject does.
    ///
    /// - Throws: `OSSServer.Error` where there is no such bucket.
    public func putObject(bucket: String, key: String, data: [UInt8]) async throws {
        let now = self.service.now()
        try await self.meddle { store throws(ServiceError) in
            let file = try store.receiveObject(bucket: bucket)
            try file.write(data.span)
            _ = try store.storeObject(
                bucket: bucket, key: ObjectKey(key), file: file, headers: [:], forbidsOverwrite: false, now: now)
        }
    }

    /// Removes an object; none being there is no error.
    ///
    /// - Throws: `OSSServer.Error` where there is no such bucket.
    public func removeObject(bucket: String, key: String) async throws {
        try await self.meddle { store throws(ServiceError) in
            try store.deleteObject(bucket: bucket, key: ObjectKey(key))
        }
    }

    /// Puts other accounts in the place of the present ones.
    public func replaceAccounts(_ accounts: [Account]) { self.service.authenticator.replaceAccounts(accounts) }

    /// Changes when an account's token expires, in seconds since 1970; false where there is no such account.
    @discardableResult
    public func setExpiration(_ expiration: Int64?, ofAccessKeyID accessKeyID: String) -> Bool {
        self.service.authenticator.setExpiration(expiration, ofAccessKeyID: accessKeyID)
    }

    private func object(_ bucket: String, _ key: String) -> StoredObject? {
        // No such bucket has no objects.
        (try? self.service.store.object(bucket: bucket, key: ObjectKey(key))) ?? nil
    }

    private func meddle<Value: Sendable>(
        _ body: @escaping @Sendable (Store) throws(ServiceError) -> Value
    ) async throws -> Value {
        let store = self.service.store
        return try await self.executor.run { () throws(OSSServer.Error) in
            do throws(ServiceError) { return try body(store) } catch {
                throw OSSServer.Error("\(error.code): \(error.message)")
            }
        }
    }
}
