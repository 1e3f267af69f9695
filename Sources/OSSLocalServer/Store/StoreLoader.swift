// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire
internal import SystemIO

/// Reads a store's folder at the start and clears away what a crash left half done.
struct StoreLoader {
    /// The store's folder.
    let path: String

    /// Everything that is in the folder.
    func load() throws -> Store.State {
        var state = Store.State()
        for name in try Directory.names(in: self.path) where name.hasPrefix("removed-") || name.hasPrefix("new-") {
            try DataFolder.removeTree(self.path + "/" + name)
        }
        for name in try Directory.names(in: self.path + "/buckets") {
            let path = self.path + "/buckets/" + name
            guard let document = try StoreDocument.read(path + "/bucket", kind: Bucket.documentKind),
                let bucket = Bucket(document, name: name, path: path)
            else { throw OSSServer.Error("\(path)/bucket is damaged; restore the folder or name another one") }
            let objects = try self.loadObjects(of: bucket)
            try self.loadUploads(of: bucket, objects: objects.values, into: &state)
            state.buckets[name] = bucket
            state.objects[name] = objects
        }
        return state
    }

    private func loadObjects(of bucket: Bucket) throws -> [ObjectKey: StoredObject] {
        var objects: [ObjectKey: StoredObject] = [:]
        for name in try Directory.names(in: bucket.temporaryPath) {
            try Directory.removeFile(bucket.temporaryPath + "/" + name)
        }
        for name in try Directory.names(in: bucket.objectsPath) {
            let path = bucket.objectsPath + "/" + name
            guard let document = try StoreDocument.read(path, kind: StoredObject.documentKind),
                let object = StoredObject(document, dataPath: bucket.dataPath)
            else { throw OSSServer.Error("\(path) is damaged; restore the folder or name another one") }
            objects[object.key] = object
        }
        return objects
    }

    private func loadUploads(
        of bucket: Bucket, objects: some Sequence<StoredObject>, into state: inout Store.State
    ) throws {
        var wanted: [String: Set<String>] = [:]
        for object in objects { wanted[object.folder.name] = Set(object.parts.map(\.fileName)) }
        for name in try Directory.names(in: bucket.dataPath) {
            let folder = DataFolder(name: name, in: bucket.dataPath)
            let files = try Directory.names(in: folder.path)
            if let wanted = wanted[name] {
                // Completed: the upload's document and the parts that were left out may still be there.
                for file in files where !wanted.contains(file) { try Directory.removeFile(folder.path(of: file)) }
                continue
            }
            guard files.contains(StoredUpload.documentName),
                let document = try StoreDocument.read(
                    folder.path(of: StoredUpload.documentName), kind: StoredUpload.documentKind),
                let upload = StoredUpload(document, bucket: bucket.name, folder: folder)
            else {
                // An upload that was aborted, or an object that was not finished or was deleted.
                try DataFolder.removeTree(folder.path)
                continue
            }
            let parts = try self.loadParts(files, of: upload)
            state.sequence = max(state.sequence, (parts.values.map(\.sequence).max() ?? 0) + 1)
            state.uploads[upload.id] = upload
            state.parts[upload.id] = PartTable(parts: parts)
        }
    }

    private func loadParts(_ files: [String], of upload: StoredUpload) throws -> [Int: StoredPart] {
        var parts: [Int: StoredPart] = [:]
        for file in files where file != StoredUpload.documentName {
            guard let part = StoredPart(fileName: file) else {
                // It was being received.
                try Directory.removeFile(upload.folder.path(of: file))
                continue
            }
            guard let known = parts[part.number] else {
                parts[part.number] = part
                continue
            }
            // It was being replaced: the later one counts.
            let (later, earlier) = known.sequence > part.sequence ? (known, part) : (part, known)
            parts[part.number] = later
            try Directory.removeFile(upload.folder.path(of: earlier.fileName))
        }
        return parts
    }
}
