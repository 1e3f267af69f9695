// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

public import FoundationEssentials
internal import OSSWire
internal import SystemIO

/// Uploads files of any size in parts, and goes on where a broken upload broke.
///
/// ```swift
/// let uploader = OSSUploader(client: client, checkpointDirectory: URL(filePath: "/var/lib/app/uploads"))
/// let result = try await uploader.upload(.file(URL(filePath: "film.mp4")), to: .init(bucket: "media", key: "film.mp4"))
/// ```
///
/// An upload that ends by an error, a cancellation, a killed process or a power failure keeps its record. The next call for
/// the same bucket and key sends only what is missing. The call returns when the object is stored and nothing that the
/// service says contradicts it.
public struct OSSUploader: Sendable {
    /// The options of an uploader.
    public struct Configuration: Sendable {
        /// Bytes of every part but the last, 102,400 to 5 GiB; nil: 8 MiB, or more where 10,000 parts would not suffice.
        ///
        /// Default: nil. An upload that is resumed keeps its own.
        public var partSize: Int64?
        /// How many parts are in flight.
        ///
        /// Default: what the network gives, from 4 up to 16.
        public var partsInFlight: PartsInFlight = .adaptive()
        /// How the bytes are protected on their way.
        ///
        /// Default: `Content-MD5` sent, CRC-64 compared.
        public var integrity: OSSIntegrity = .md5AndCRC64
        /// When parts of an earlier run are read again before they count.
        ///
        /// Default: ``Verification/automatic``.
        public var verification: Verification = .automatic
        /// Whether an open upload that no record names is taken over.
        ///
        /// Default: ``Adoption/never``.
        public var adoption: Adoption = .never
        /// Most bytes of a stream in memory at a time, at least 102,400.
        ///
        /// Fewer parts are in flight where they would not fit, and parts of a stream of unknown length grow to this size at most.
        /// One whose length is given gets the part size that its length needs. Default: 256 MiB.
        public var streamBufferLimit: Int64 = 256 * 1024 * 1024
        /// Whether the parts are sent one after the other, in order and each once, so that the object gets a `Content-MD5`.
        ///
        /// ``partsInFlight`` counts as one. No part can be sent a second time: where a stored one is not the source's, the
        /// upload is aborted and a new one begun. Not together with ``adoption``. Default: false.
        ///
        /// OSS document: InitiateMultipartUpload, the parameter `sequential`.
        public var isSequential = false
        /// Whether an upload that a record names is aborted and a new one begun.
        ///
        /// Default: false.
        public var startsAnew = false

        /// Makes the default configuration.
        public init() {}
    }

    /// How many parts are in flight: a number, or what the network gives.
    public struct PartsInFlight: Sendable, Hashable {
        /// Most parts in flight ever.
        public let maximum: Int
        /// Whether the number follows what the network gives.
        public let isAdaptive: Bool

        /// Always that number, as long as so many are left.
        ///
        /// - Parameter number: 1 to 100.
        public static func fixed(_ number: Int) -> PartsInFlight { PartsInFlight(maximum: number, isAdaptive: false) }

        /// Four at first, more while that makes the upload faster, and half as many each time that the service asks for less
        /// or does not answer in time.
        ///
        /// A stream, whose parts are in memory, stays at four.
        ///
        /// - Parameter maximum: most parts in flight, 1 to 100. Default: 16.
        public static func adaptive(upTo maximum: Int = 16) -> PartsInFlight {
            PartsInFlight(maximum: maximum, isAdaptive: true)
        }

        /// How many there are at first.
        var initial: Int { self.isAdaptive ? min(AdaptiveWindow.initialSize, self.maximum) : self.maximum }
    }

    /// When parts of an earlier run are read again and compared before they count.
    public struct Verification: Sendable, Hashable, CustomStringConvertible {
        private enum Mode: String { case automatic = "auto", content, record }
        private let mode: Mode

        /// Where the source's size is what it was but its times, inode or device are not.
        public static let automatic = Verification(mode: .automatic)
        /// Always.
        public static let content = Verification(mode: .content)
        /// Never: the record is trusted.
        public static let record = Verification(mode: .record)

        /// Every mode.
        public static let all: [Verification] = [.automatic, .content, .record]

        /// The name, as the tool takes it: `auto`, `content` or `record`.
        public var description: String { self.mode.rawValue }
    }

    /// Whether an open upload of the same key that no record names is taken over: the record was lost, say.
    ///
    /// Its parts that equal the source's bytes are kept, all others sent. It could be another machine's that is still at work,
    /// which would then fail; and what object headers it was begun with cannot be seen. So it is never done unasked.
    public struct Adoption: Sendable, Hashable {
        enum Choice: Hashable { case never, latest, upload(String) }
        let choice: Choice

        /// None is taken over.
        public static let never = Adoption(choice: .never)
        /// The one begun last, if any of its parts is the source's.
        public static let latest = Adoption(choice: .latest)
        /// The one with this ID.
        public static func upload(_ uploadID: String) -> Adoption { Adoption(choice: .upload(uploadID)) }
    }

    /// Where an upload goes.
    public struct Destination: Sendable, Hashable {
        /// The bucket's name: 3 to 63 lower-case letters, digits and hyphens.
        public var bucket: String
        /// The object's key: 1 to 1023 bytes of UTF-8, without a leading slash or backslash.
        public var key: String
        /// What is stored with the object.
        ///
        /// Default: nothing.
        public var headers = OSSObjectHeaders()
        /// What the service posts to an application's server when the object is stored.
        ///
        /// Default: nothing.
        public var callback: OSSCallback?
        /// The name of the upload's record: 1 to 200 letters, digits, dots, hyphens and underscores, not a dot first.
        ///
        /// Two uploads with one name exclude each other. Default: nil, the SHA-256 of endpoint, bucket and key.
        public var recordName: String?

        /// Makes a destination.
        public init(bucket: String, key: String) {
            self.bucket = bucket
            self.key = key
        }
    }

    /// The client that sends.
    public let client: OSSClient
    /// Where records of uploads are kept.
    public let checkpoints: OSSCheckpoints
    /// The options it was made with.
    public let configuration: Configuration

    /// Makes an uploader that keeps its records in a folder.
    ///
    /// - Parameters:
    ///   - client: the client that sends.
    ///   - checkpointDirectory: the folder; it is made where it is missing. A folder that cannot be used is an error at the
    ///     upload, before anything is sent.
    ///   - configuration: part size, parts in flight, integrity and verification.
    public init(client: OSSClient, checkpointDirectory: URL, configuration: Configuration = .init()) {
        self.init(client: client, checkpoints: .directory(checkpointDirectory), configuration: configuration)
    }

    /// Makes an uploader.
    ///
    /// - Parameters:
    ///   - client: the client that sends.
    ///   - checkpoints: where records of uploads are kept: a folder, memory, or nowhere.
    ///   - configuration: part size, parts in flight, integrity and verification.
    public init(client: OSSClient, checkpoints: OSSCheckpoints, configuration: Configuration = .init()) {
        self.client = client
        self.checkpoints = checkpoints
        self.configuration = configuration
    }

    /// Uploads a source, or goes on with an upload of it that broke, and returns when the object is stored.
    ///
    /// Cancelling the task stops the requests in flight at once and keeps the record; the call then throws
    /// `CancellationError`.
    ///
    /// - Throws: `OSSError` with `invalidArgument`, `invalidConfiguration`, `sourceUnreadable`, `checkpointInUse`,
    ///   `checkpointUnusable` or `missingCredentials` before anything is sent; `sourceChanged`, `integrity`,
    ///   `outcomeUnknown`, `service`, `connection`, `timeout` or `malformedReply`
    ///   after. ``OSSError/resumption`` says what the next run will go on from.
    @concurrent public func upload(
        _ source: OSSUploadSource, to destination: Destination
    ) async throws -> OSSUploadResult {
        let progress = UploadProgress()
        defer { progress.end() }
        return try await self.upload(source, to: destination, progress: progress)
    }

    /// Gives up the upload that a record names, on the service as well, and removes the record.
    ///
    /// A record under the destination's name that is another object's stays as it is.
    ///
    /// - Returns: whether there was one.
    /// - Throws: `OSSError` with `checkpointInUse` where the upload is at work, `checkpointUnusable`, or what
    ///   ``OSSClient/abortMultipartUpload(_:)`` throws; the record is then kept.
    @discardableResult
    public func abandon(_ destination: Destination) async throws -> Bool {
        guard let (record, reading) = try await self.openRecord(of: destination) else { return false }
        defer { record.close() }
        var uploadID: String?
        switch reading {
        case .empty: break
        case .ofLaterVersion(let version):
            throw OSSError.laterVersion(version, at: try self.location(of: destination))
        case .damaged(let recorded): uploadID = recorded
        case .journal(let journal):
            guard journal.isOf(destination, at: self.client.endpoint) else { return false }
            uploadID = journal.upload?.uploadID
            if journal.upload?.mayHaveSiblings ?? true {
                _ = try await self.client.abortEmptyUploads(
                    of: destination, begunAfter: journal.intent.begun, except: uploadID)
            }
        }
        if let uploadID {
            try await self.client.abortAndLook(
                .init(bucket: destination.bucket, key: destination.key, uploadID: uploadID)
            )
        }
        try await self.client.blocking.run { () throws(any Error) in try record.remove() }
        return uploadID != nil
    }

    /// The same for clean-up: a Complete on its way is not overtaken, it ends after a while, and what went wrong is returned.
    func abandonQuietly(_ destination: Destination) async -> String? {
        do {
            guard let (record, reading) = try await self.openRecord(of: destination) else { return nil }
            defer { record.close() }
            guard case .journal(let journal) = reading else { return nil }
            let (client, known) = (self.client, journal.upload?.uploadID)
            var failures: [String?] = []
            if journal.upload?.mayHaveSiblings ?? true {
                failures.append(
                    await client.cleanUp(within: UploadRun.longestAbort) {
                        _ = try await client.abortEmptyUploads(
                            of: destination, begunAfter: journal.intent.begun, except: known)
                    })
            }
            if let known {
                let upload = OSSMultipartUpload(
                    bucket: destination.bucket, key: destination.key, uploadID: known
                )
                failures.append(
                    journal.isCompleting
                        ? await client.abortUnlessCompleted(upload, within: UploadRun.longestAbort)
                        : await client.abort(upload, within: UploadRun.longestAbort))
            }
            return failures.lazy.compactMap { $0 }.first
        } catch {
            return "\(error)"
        }
    }

    /// Opens the record of an object and reads it; nil where there is none.
    private func openRecord(
        of destination: Destination
    ) async throws -> (record: any CheckpointRecord, reading: Journal.Reading)? {
        try ObjectName.validate(bucket: destination.bucket, key: destination.key, operation: .abortMultipartUpload)
        guard let store = self.checkpoints.store else { return nil }
        let name = try OSSCheckpoints.recordName(of: destination, at: self.client.endpoint)
        let opened = try await self.client.blocking.run { () throws(any Error) in
            try store.open(name, creating: false).map { (record: $0, bytes: try $0.read()) }
        }
        return opened.map { ($0.record, Journal.read($0.bytes)) }
    }

    private func location(of destination: Destination) throws(OSSError) -> String? {
        self.checkpoints.store?.location(
            of: try OSSCheckpoints.recordName(of: destination, at: self.client.endpoint)
        )
    }

    /// Begins an upload in a task of its own and returns at once.
    public func start(_ source: OSSUploadSource, to destination: Destination) -> OSSUploadTask {
        OSSUploadTask(uploader: self, source: source, destination: destination)
    }

    /// As the public one, for those who watch, and for a queue.
    ///
    /// - Parameters:
    ///   - share: the upload's share of the slots of a queue.
    ///   - stored: told of the result before the record is removed.
    func upload(
        _ source: OSSUploadSource, to destination: Destination, progress: UploadProgress, share: SlotShare? = nil,
        stored: (@Sendable (OSSUploadResult, SourceIdentity) async -> Void)? = nil
    ) async throws -> OSSUploadResult {
        try ObjectName.validate(bucket: destination.bucket, key: destination.key, operation: .initiateMultipartUpload)
        try destination.headers.validate(.initiateMultipartUpload)
        _ = try destination.callback?.fields(.completeMultipartUpload)
        guard (1...100).contains(self.configuration.partsInFlight.maximum) else {
            throw OSSError(
                .invalidConfiguration,
                "partsInFlight is \(self.configuration.partsInFlight.maximum); it lies between 1 and 100"
            )
        }
        guard !self.configuration.isSequential || self.configuration.adoption == .never else {
            throw OSSError(
                .invalidConfiguration,
                "isSequential and adoption exclude each other: it cannot be seen how an open upload was begun"
            )
        }
        guard self.configuration.streamBufferLimit >= Limits.minimumPartSize else {
            throw OSSError(
                .invalidConfiguration,
                "streamBufferLimit is \(self.configuration.streamBufferLimit) bytes; a part needs at least "
                    + "\(Limits.minimumPartSize)"
            )
        }
        let open = try await source.open(on: self.client.blocking)
        let plan = try PartPlan(size: open.size, partSize: self.configuration.partSize)
        // Credentials that are missing are told before a record is made.
        _ = try await self.client.authority.grant()
        let run = try UploadRun(
            uploader: self, source: open, plan: plan, destination: destination, progress: progress, share: share,
            stored: stored
        )
        return try await run.run()
    }
}
