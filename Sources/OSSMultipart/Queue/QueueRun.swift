// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import SystemIO

/// One pass over the items of a queue; a pass that was cancelled is followed by another one for what is left.
final class QueueRun: Sendable {
    private typealias File = OSSQueueResult.File

    private let queue: OSSUploadQueue
    private let items: [OSSUploadQueue.Item]
    private let manifestName: String?
    private let progress: QueueProgress
    /// What came of the files that are done with, by number.
    private let files = Lock<[Int: OSSQueueResult.File]>([:])
    /// Whether a pass has been begun.
    private let hasBegun = Lock(false)

    init(queue: OSSUploadQueue, items: [OSSUploadQueue.Item], manifest: String?, progress: QueueProgress) {
        self.queue = queue
        self.items = items
        self.manifestName = manifest
        self.progress = progress
    }

    /// Uploads what is not done with.
    func run() async throws -> OSSQueueResult {
        try self.validate()
        let uploader = self.queue.uploader
        // Credentials that are missing are told once, and not for each file.
        _ = try await uploader.client.authority.grant()
        let isFirstPass = self.hasBegun.withLock { hasBegun in
            defer { hasBegun = true }
            return !hasBegun
        }
        let manifest = try await QueueManifest.open(self.manifestName, uploader) { warning in
            // Behind a pause it has been said, and what the manifest holds is this queue's own.
            if isFirstPass { self.progress.warn(warning) }
        }
        do {
            try await self.uploadAll(manifest)
            try Task.checkCancellation()
        } catch {
            await manifest?.close()
            throw error
        }
        let done = self.files.withLock { $0 }
        let result = OSSQueueResult(
            files: done.sorted { $0.key < $1.key }.map(\.value), warnings: self.progress.warnings)
        // While a file has failed the manifest spares the others a second upload.
        if result.failed.isEmpty { await manifest?.remove() } else { await manifest?.close() }
        return result
    }

    // MARK: Before anything is sent

    private func validate() throws(OSSError) {
        let configuration = self.queue.configuration
        guard (1...1000).contains(configuration.maximumFilesAtWork) else {
            throw OSSError(
                .invalidConfiguration,
                "maximumFilesAtWork is \(configuration.maximumFilesAtWork); it lies between 1 and 1000"
            )
        }
        if let window = configuration.maximumRequestsInFlight, !(1...100).contains(window) {
            throw OSSError(
                .invalidConfiguration, "maximumRequestsInFlight is \(window); it lies between 1 and 100"
            )
        }
        var known: Set<QueueManifest.Place> = []
        for item in self.items {
            guard item.source.canBeReadAgain else {
                throw OSSError(
                    .invalidArgument,
                    "\(item.source) is a stream that can be read once, and a queue may have to read it again: upload it by itself"
                )
            }
            guard known.insert(.init(bucket: item.destination.bucket, key: item.destination.key)).inserted else {
                throw OSSError(
                    .invalidArgument,
                    "two sources go to \(item.destination.bucket)/\(item.destination.key); give each a key of its own"
                )
            }
        }
    }

    // MARK: Files

    private func uploadAll(_ manifest: QueueManifest?) async throws {
        let configuration = self.queue.configuration
        let slots = PartSlots(
            count: configuration.maximumRequestsInFlight ?? self.queue.uploader.configuration.partsInFlight.maximum
        )
        let done = self.files.withLock { Set($0.keys) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            var atWork = 0
            for index in self.items.indices where !done.contains(index) {
                if atWork >= configuration.maximumFilesAtWork {
                    try await group.next()
                    atWork -= 1
                }
                try Task.checkCancellation()
                atWork += 1
                group.addTask { try await self.upload(index, manifest, SlotShare(slots: slots, owner: index)) }
            }
            try await group.waitForAll()
        }
    }

    /// Uploads one file and keeps what came of it; throws only what ends the whole queue.
    private func upload(_ index: Int, _ manifest: QueueManifest?, _ share: SlotShare) async throws {
        let item = self.items[index]
        let uploader = self.queue.uploader
        var file = File(source: "\(item.source)", destination: item.destination)
        let progress = self.progress.began(index)
        do {
            if let manifest, try await manifest.hasStored(item, uploader) {
                file.wasStoredBefore = true
            } else {
                var stored: (@Sendable (OSSUploadResult, SourceIdentity) async -> Void)?
                if let manifest {
                    let queue = self.progress
                    stored = { result, identity in
                        if let failure = await manifest.add(result, identity) { queue.warn(failure) }
                    }
                }
                let result = try await uploader.upload(
                    item.source, to: item.destination, progress: progress, share: share, stored: stored
                )
                file.result = result
                if self.queue.configuration.deletesStoredFiles { await self.deleteSource(of: item, result, &file) }
            }
        } catch let error as OSSError {
            switch error.code {
            // What none of the others could do either.
            case .missingCredentials, .shutDown, .invalidConfiguration: throw error
            default: file.error = error
            }
        }
        progress.end()
        self.files.withLock { $0[index] = file }
        self.progress.ended(index, file)
    }

    /// Deletes a file that is stored beyond doubt.
    private func deleteSource(
        of item: OSSUploadQueue.Item, _ result: OSSUploadResult, _ file: inout OSSQueueResult.File
    ) async {
        guard case .file(let path, nil) = item.source.kind else { return }
        guard result.proof == .crc64 else {
            file.warnings.append("\(path) was not deleted: the proof that it is stored is \(result.proof), not crc64")
            return
        }
        let identity = result.sourceIdentity
        do {
            let wasDeleted = try await self.queue.uploader.client.blocking.run { () throws(any Error) in
                try Self.removeFile(path, ifStill: identity)
            }
            file.wasDeleted = wasDeleted
            if !wasDeleted {
                file.warnings.append(
                    "\(path) was not deleted: it is not the file that was uploaded, or has changed since")
            }
        } catch {
            file.warnings.append("\(path) is stored and could not be deleted: \(error)")
        }
    }

    /// Removes a file that is still the one that was read; false where it is not.
    private static func removeFile(_ path: String, ifStill identity: SourceIdentity) throws(SystemError) -> Bool {
        // By all that tells it: what takes a file's name often takes its size and its time as well.
        guard SourceIdentity(try FileStatus.ofLink(path: path)).isSurely(identity) else { return false }
        try Directory.removeFile(path)
        return true
    }
}
