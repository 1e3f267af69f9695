// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import SystemIO

/// Uploads many sources at once, and goes on where a broken batch broke.
///
/// ```swift
/// let folder = OSSFolder(URL(filePath: "/data/films"))
/// let queue = OSSUploadQueue(uploader: uploader)
/// let result = try await queue.upload(try await folder.items(bucket: "media", prefix: "films/"), manifest: "films")
/// for file in result.failed { print(file.source, file.error!) }
/// ```
///
/// All files share one window of requests, and a free place in it goes to the files in turn, so that a large file does not
/// hold up small ones. A file that fails does not stop the others.
public struct OSSUploadQueue: Sendable {
    /// One source and where it goes.
    public struct Item: Sendable {
        /// What is uploaded; not a stream that can be read once.
        public var source: OSSUploadSource
        /// Where it goes.
        public var destination: OSSUploader.Destination

        /// Makes an item.
        public init(_ source: OSSUploadSource, to destination: OSSUploader.Destination) {
            self.source = source
            self.destination = destination
        }
    }

    /// The options of a queue.
    public struct Configuration: Sendable {
        /// Most requests with bytes of the files on their way at a time, 1 to 100; nil: the most that the uploader has
        /// in flight.
        ///
        /// Default: nil.
        public var maximumRequestsInFlight: Int?
        /// Most files that are open at a time, 1 to 1000.
        ///
        /// More than requests: while one file is completed, another one's parts fill the window. Default: 8.
        public var maximumFilesAtWork = 8
        /// Whether a local file is deleted once it is stored.
        ///
        /// Only where the proof is the CRC-64 of the whole, and the file is still the one that was read, untouched since: another
        /// name or other rights count as touched. Default: false.
        public var deletesStoredFiles = false

        /// Makes the default configuration.
        public init() {}
    }

    /// What uploads each file.
    public let uploader: OSSUploader
    /// The options it was made with.
    public let configuration: Configuration

    /// Makes a queue.
    public init(uploader: OSSUploader, configuration: Configuration = .init()) {
        self.uploader = uploader
        self.configuration = configuration
    }

    /// Uploads all items, and returns when each is stored or has failed.
    ///
    /// Cancelling the task stops what is on its way and keeps the records and the manifest.
    ///
    /// - Parameters:
    ///   - items: what to upload; no two to the same bucket and key.
    ///   - manifest: the name of a record of what is stored, kept where the uploader's checkpoints are until all files are: a
    ///     later run of the same name passes over files that are stored and have not changed since. As
    ///     ``OSSUploader/Destination/recordName``; nil: none is kept. Where an optional folder cannot be used none is kept
    ///     either, and a warning says so.
    /// - Throws: `OSSError` with `invalidArgument` or `invalidConfiguration` before anything is sent, `missingCredentials`,
    ///   `checkpointInUse` or `checkpointUnusable` for the manifest, `shutDown`; `CancellationError`. Not for files that failed:
    ///   those are in the result.
    public func upload(_ items: [Item], manifest: String? = nil) async throws -> OSSQueueResult {
        let progress = QueueProgress(items)
        defer { progress.end() }
        return try await QueueRun(queue: self, items: items, manifest: manifest, progress: progress).run()
    }

    /// A manifest's name made of a folder and of where it goes, for programs that go on when they are called in the same way.
    ///
    /// The SHA-256 of all three, in 64 hexadecimal digits; nil where OpenSSL refuses to compute it.
    public static func manifestName(folder: String, bucket: String, prefix: String) -> String? {
        try? OSSCheckpoints.recordName(endpoint: folder, bucket: bucket, key: prefix)
    }

    /// Begins in a task of its own and returns at once.
    public func start(_ items: [Item], manifest: String? = nil) -> OSSQueueTask {
        OSSQueueTask(queue: self, items: items, manifest: manifest)
    }
}

/// What a queue came to.
public struct OSSQueueResult: Sendable {
    /// One file.
    public struct File: Sendable {
        /// The source's path or name.
        public let source: String
        /// Where it went.
        public let destination: OSSUploader.Destination
        /// What the upload came to; nil where it failed or was not needed.
        public internal(set) var result: OSSUploadResult?
        /// Why it failed; nil where it did not.
        public internal(set) var error: OSSError?
        /// Whether an earlier run had stored it, so that nothing was sent.
        public internal(set) var wasStoredBefore = false
        /// Whether the local file was deleted.
        public internal(set) var wasDeleted = false
        /// What the user should know beside the result's own warnings.
        public internal(set) var warnings: [String] = []
    }

    /// Every file, in the order of the items.
    public let files: [File]
    /// What the user should know of the queue as a whole: that an earlier run had stored files, say, or that no manifest can be
    /// kept.
    public let warnings: [String]

    /// The files that failed.
    public var failed: [File] { self.files.filter { $0.error != nil } }
    /// The files that are stored but whose callback failed.
    public var withFailedCallback: [File] { self.files.filter { $0.result?.callback?.hasSucceeded == false } }
    /// Bytes that this run sent and that are stored.
    public var bytesSent: Int64 { self.files.reduce(0) { $0 + ($1.result?.bytesSent ?? 0) } }
}
