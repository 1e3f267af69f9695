// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire
internal import SystemIO

extension Store {
    /// The buckets by name.
    func buckets() -> [Bucket] {
        self.state.withLock { Array($0.buckets.values) }.sorted { $0.name < $1.name }
    }

    /// Makes a bucket; false where it is there.
    func createBucket(
        _ name: String, acl: AccessControl = .private, storageClass: String = "Standard", now: Timestamp
    ) throws(ServiceError) -> Bool {
        if self.state.withLock({ $0.buckets[name] != nil }) { return false }
        let bucket = Bucket(
            name: name, path: self.path + "/buckets/" + name, created: now, acl: acl, storageClass: storageClass)
        let new = self.path + "/new-" + Identifier.random()
        // Once it has its place there is nothing left of that name. What cannot be removed goes at the next start.
        defer { try? DataFolder.removeTree(new) }
        try ServiceError.wrapping { () throws(SystemError) in
            for folder in ["objects", "data", "temporary"] { try Directory.create(new + "/" + folder) }
            try bucket.document.write(temporary: new + "/bucket", isDurable: self.isDurable)
        }
        // Before it has its place: a bucket's folder without a document would keep the store from opening again.
        try self.synchronize(new)
        let isNew = try self.locked { state throws(ServiceError) in
            guard state.buckets[name] == nil else { return false }
            try ServiceError.wrapping { () throws(SystemError) in try Directory.rename(new, to: bucket.path) }
            state.buckets[name] = bucket
            return true
        }
        try self.synchronize(self.path + "/buckets")
        return isNew
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
            try ServiceError.wrapping { () throws(SystemError) in try Directory.rename(bucket.path, to: removed) }
            state.buckets[name] = nil
            state.objects[name] = nil
        }
        try self.synchronize(self.path + "/buckets")
        // What is left is removed at the next start.
        try? DataFolder.removeTree(removed)
    }

    /// A bucket that is there.
    func bucket(_ name: String) throws(ServiceError) -> Bucket {
        guard let bucket = self.state.withLock({ $0.buckets[name] }) else { throw ServiceError.noSuchBucket(name) }
        return bucket
    }

    /// Changes who may use a bucket.
    func setAccessControl(_ acl: AccessControl, ofBucket name: String) throws(ServiceError) {
        try self.locked { state throws(ServiceError) in
            guard var bucket = state.buckets[name] else { throw ServiceError.noSuchBucket(name) }
            bucket.acl = acl
            try ServiceError.wrapping { () throws(SystemError) in
                let new = bucket.temporaryPath + "/" + Identifier.random()
                try bucket.document.write(temporary: new, isDurable: self.isDurable)
                try Directory.rename(new, to: bucket.path + "/bucket")
            }
            state.buckets[name] = bucket
            try self.synchronize(bucket.path)
        }
    }

    /// Bytes and objects of a bucket, and its open uploads.
    func usage(ofBucket name: String) throws(ServiceError) -> (bytes: Int64, objects: Int, uploads: Int) {
        try self.locked { state throws(ServiceError) in
            guard state.buckets[name] != nil else { throw ServiceError.noSuchBucket(name) }
            let objects = state.objects[name] ?? [:]
            return (
                objects.values.reduce(0) { $0 + $1.size }, objects.count,
                state.uploads.values.count { $0.bucket == name }
            )
        }
    }
}
