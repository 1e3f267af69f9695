// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import CurlTransport
import FoundationEssentials
import Glibc
import OSSLocalServer
import OSSWire
import SystemIO
import Testing

@testable import OSSMultipart

/// No record, whatever is in its place, keeps an upload from its end, or makes it store anything but the source.
@Suite(.timeLimit(.minutes(5))) struct RecordTests {
    private static let part = Int(LocalFixture.partSize)

    /// An upload of two parts that was killed after its first, and the record of it.
    private func killedUpload(_ fixture: LocalFixture, _ file: TestFile) async throws -> (id: String, record: [UInt8]) {
        let upload = try await fixture.client.initiateMultipartUpload(
            .init(bucket: LocalFixture.bucket, key: LocalFixture.key))
        let bytes = Array(file.bytes[..<Self.part])
        let sent = try await fixture.client.uploadPart(.init(upload: upload, partNumber: 1, body: .bytes(bytes)))
        let intent = Journal.Intent(
            endpoint: fixture.client.endpoint, bucket: LocalFixture.bucket, key: LocalFixture.key,
            begun: fixture.client.surroundings.now()
        )
        let recorded = Journal.Upload(
            uploadID: upload.uploadID, sizes: PartSizes(LocalFixture.partSize),
            source: SourceIdentity(try FileStatus.of(path: file.path)), headers: ""
        )
        let receipt = PartReceipt(
            number: 1, size: LocalFixture.partSize, md5: try MessageDigest.of(bytes, .md5), crc64: CRC64.of(bytes),
            eTag: sent.info.eTag
        )
        return (upload.uploadID, Journal.beginning(intent) + Journal.line(recorded) + Journal.line(receipt))
    }

    private func place(_ fixture: LocalFixture) throws -> String {
        let name = try OSSCheckpoints.recordName(
            endpoint: fixture.client.endpoint, bucket: LocalFixture.bucket, key: LocalFixture.key)
        return DirectoryCheckpointStore(path: fixture.checkpointFolder).location(of: name)
    }

    /// Uploads with that record and checks the end: the object, no record, and no upload that was not told of.
    private func finish(
        _ fixture: LocalFixture, _ file: TestFile, record: [UInt8], old: String, _ what: String
    ) async throws {
        try await fixture.server.removeObject(bucket: LocalFixture.bucket, key: LocalFixture.key)
        try Directory.create(fixture.checkpointFolder)
        try Data(record).write(to: URL(filePath: try self.place(fixture)))
        let result = try await fixture.upload(file)
        #expect(try await fixture.object() == file.bytes, "\(what)")
        #expect(fixture.records.isEmpty, "\(what)")
        for left in fixture.openUploads {
            #expect(left == old && result.warnings.contains { $0.contains(old) }, "\(what)")
            try await fixture.server.removeUpload(left)
        }
    }

    /// The places to try of all that lie in `range`: where what is read changes, and one in the middle of each stretch.
    ///
    /// What an upload does depends on what is read of its record, so every place is read, and each reading tried.
    private func places(_ range: Range<Int>, reading: (Int) -> [UInt8]) -> [Int] {
        var stretches: [(reading: Journal.Reading, range: Range<Int>)] = []
        for place in range {
            var now = Journal.read(reading(place))
            if case .journal(var journal) = now {
                journal.length = 0
                now = .journal(journal)
            }
            if let last = stretches.last, last.reading == now {
                stretches[stretches.count - 1].range = last.range.lowerBound..<place + 1
            } else {
                stretches.append((now, place..<place + 1))
            }
        }
        let chosen = stretches.flatMap {
            [$0.range.lowerBound, $0.range.lowerBound + $0.range.count / 2, $0.range.upperBound - 1]
        }
        return Array(Set(chosen)).sorted()
    }

    // https://github.com/franzopl/pesto/issues/113
    @Test func `Cut at any byte, a record lets the upload finish`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: Self.part + 1)
            let whole = try await self.killedUpload(fixture, file)
            try await self.finish(fixture, file, record: whole.record, old: whole.id, "whole")
            // Of nothing at all nothing can be told: it begins with the first byte.
            let lengths = self.places(1..<whole.record.count) { Array(whole.record.prefix($0)) }
            #expect(lengths.count >= 8)
            for length in lengths {
                let (id, record) = try await self.killedUpload(fixture, file)
                try await self.finish(fixture, file, record: Array(record.prefix(length)), old: id, "cut at \(length)")
            }
        }
    }

    @Test func `With any byte changed, a record lets the upload finish`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: Self.part + 1)
            let whole = try await self.killedUpload(fixture, file)
            try await self.finish(fixture, file, record: whole.record, old: whole.id, "whole")
            func changed(_ record: [UInt8], at index: Int) -> [UInt8] {
                var record = record
                record[index] ^= 0x01
                return record
            }
            let indices = self.places(0..<whole.record.count) { changed(whole.record, at: $0) }
            #expect(indices.count >= 8)
            for index in indices {
                let (id, record) = try await self.killedUpload(fixture, file)
                try await self.finish(
                    fixture, file, record: changed(record, at: min(index, record.count - 1)), old: id, "byte \(index)")
            }
        }
    }

    /// What can stand in a record's place.
    enum Intruder: CaseIterable, Sendable {
        case folder, fullFolder, danglingLink, linkElsewhere, linkToFolder, pipe, zeros, megabyte
    }

    @Test(arguments: Intruder.allCases)
    func `Whatever stands in the record's place, the upload finishes and nothing elsewhere is touched`(
        intruder: Intruder
    ) async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 2 * Self.part)
            let place = try self.place(fixture), elsewhere = fixture.folder + "/elsewhere"
            try Directory.create(fixture.checkpointFolder)
            try Data("keep".utf8).write(to: URL(filePath: elsewhere))
            switch intruder {
            case .folder: try Directory.create(place)
            case .fullFolder:
                try Directory.create(place)
                try Data("keep".utf8).write(to: URL(filePath: place + "/file"))
            case .danglingLink: #expect(unsafe symlink(fixture.folder + "/nowhere", place) == 0)
            case .linkElsewhere: #expect(unsafe symlink(elsewhere, place) == 0)
            case .linkToFolder: #expect(unsafe symlink(fixture.folder, place) == 0)
            case .pipe: #expect(unsafe mkfifo(place, 0o600) == 0)
            case .zeros: try Data(repeating: 0, count: 4096).write(to: URL(filePath: place))
            case .megabyte: try Data(repeating: 0x0A, count: 1 << 20).write(to: URL(filePath: place))
            }
            let result = try await fixture.upload(file)
            #expect(result.uploadID != nil)
            #expect(try await fixture.object() == file.bytes)
            #expect(fixture.openUploads.isEmpty)
            #expect(FileManager.default.contents(atPath: elsewhere) == Data("keep".utf8))
            #expect(!FileManager.default.fileExists(atPath: fixture.folder + "/nowhere"))
            #expect(!fixture.records.contains { $0.hasSuffix(".journal") })
            // A second time there is something at the place where the first was put aside.
            if intruder == .fullFolder { try Directory.create(place) }
            if intruder == .linkElsewhere { #expect(unsafe symlink(elsewhere, place) == 0) }
            try await fixture.upload(file)
            #expect(!fixture.records.contains { $0.hasSuffix(".journal") })
        }
    }

    @Test func `A broken upload's record may be moved with its folder`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 3 * Self.part)
            try await fixture.breakUpload(file, atPart: 3)
            let moved = fixture.folder + "/moved"
            try Directory.rename(fixture.checkpointFolder, to: moved)
            try await fixture.upload(file, fixture.uploader(checkpoints: .directory(URL(filePath: moved + "/"))))
            #expect(fixture.partsSent == [3])
        }
    }

    @Test func `A record that names another object is put aside, and the upload it names is left alone`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 3 * Self.part)
            let uploadID = try await fixture.breakUpload(file, atPart: 3)
            let bytes = try #require(FileManager.default.contents(atPath: try self.place(fixture)))
            let name = try OSSCheckpoints.recordName(
                endpoint: fixture.client.endpoint, bucket: LocalFixture.bucket, key: "other")
            try bytes.write(to: URL(filePath: fixture.checkpointFolder + "/\(name).journal"))
            let result = try await fixture.upload(file, key: "other")
            #expect(result.partsSent == 3)
            #expect(result.warnings.contains { $0.contains("another object") })
            #expect(fixture.openUploads == [uploadID])
        }
    }

    // MARK: A source that is smaller than a part by now

    @Test func `A small source gives up what its record names, whatever state that is in`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 3 * Self.part)
            let small = try fixture.file("small", size: 10)
            // A damaged head whose ID can be read.
            try await fixture.breakUpload(file, atPart: 2)
            let place = try self.place(fixture)
            var bytes = try #require(FileManager.default.contents(atPath: place))
            bytes[3] ^= 1
            try bytes.write(to: URL(filePath: place))
            let result = try await fixture.upload(small)
            #expect(result.warnings.contains { $0.contains("damaged") })
            #expect(fixture.openUploads.isEmpty)
            #expect(fixture.records.isEmpty)
            // An intent: Initiate was applied and its reply lost.
            fixture.server.faults.add(.init(.commitThenDrop, operation: "InitiateMultipartUpload"))
            _ = try await failure { try await fixture.upload(file) }
            fixture.server.faults.removeAll()
            #expect(!fixture.openUploads.isEmpty)
            try await fixture.upload(small)
            #expect(fixture.openUploads.isEmpty)
            #expect(fixture.records.isEmpty)
            #expect(try await fixture.object() == small.bytes)
        }
    }

    @Test func `A small source does not take a later version's record away`() async throws {
        try await withLocalServer { fixture in
            var head = JournalLine("journal")
            head["version"] = "7"
            try Directory.create(fixture.checkpointFolder)
            try Data(head.bytes).write(to: URL(filePath: try self.place(fixture)))
            let small = try fixture.file("small", size: 10)
            let error = try await failure { try await fixture.upload(small) }
            #expect(error.code == .checkpointUnusable)
            #expect(FileManager.default.contents(atPath: try self.place(fixture)) == Data(head.bytes))
            #expect(fixture.server.requests.isEmpty)
        }
    }

    @Test func `A recorded upload goes on also where the part size asked for now is above the source's size`()
        async throws
    {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 4 * Self.part)
            let uploadID = try await fixture.breakUpload(file, atPart: 3)
            let result = try await fixture.upload(file, fixture.uploader { $0.partSize = nil })
            #expect(result.uploadID == uploadID)
            #expect(fixture.partsSent == [3, 4])
            #expect(result.warnings.isEmpty)
            #expect(try await fixture.object() == file.bytes)
            #expect(fixture.records.isEmpty)
        }
    }

    // MARK: What it costs

    /// A store that notes the size of everything that is appended.
    private final class CountingStore: CheckpointStore {
        private let inner = MemoryCheckpointStore()
        private let sizes = Lock<[Int]>([])

        /// The sizes so far, in bytes.
        var appended: [Int] { self.sizes.withLock { $0 } }

        func location(of name: String) -> String { self.inner.location(of: name) }
        func names() throws -> [String]? { try self.inner.names() }
        func peek(_ name: String, limit: Int) throws -> [UInt8]? { try self.inner.peek(name, limit: limit) }
        func open(_ name: String, creating: Bool) throws -> (any CheckpointRecord)? {
            try self.inner.open(name, creating: creating).map { Record(inner: $0, store: self) }
        }

        private final class Record: CheckpointRecord {
            private let inner: any CheckpointRecord
            private let store: CountingStore
            init(inner: any CheckpointRecord, store: CountingStore) {
                self.inner = inner
                self.store = store
            }
            func read() throws -> [UInt8] { try self.inner.read() }
            func append(_ bytes: [UInt8]) throws {
                self.store.sizes.withLock { $0.append(bytes.count) }
                try self.inner.append(bytes)
            }
            func truncate(to length: Int) throws { try self.inner.truncate(to: length) }
            func synchronize(name: Bool) throws { try self.inner.synchronize(name: name) }
            func setAside() throws -> String { try self.inner.setAside() }
            func close() { self.inner.close() }
            func remove() throws { try self.inner.remove() }
        }
    }

    /// A service that takes everything and looks at nothing.
    private struct TakingTransport: HTTPTransport {
        func execute(_ request: TransportRequest) async throws -> TransportResponse {
            let eTag: HTTPFields = ["ETag": "\"\(String(repeating: "F", count: 32))\""]
            let document = { (name: String, content: String) in
                TransportResponse(
                    status: 200, headers: eTag, body: Array("<\(name)Result>\(content)</\(name)Result>".utf8))
            }
            switch request.method {
            case "PUT": return TransportResponse(status: 200, headers: eTag, body: [], sentCRC64: .max)
            case "HEAD":
                return TransportResponse(
                    status: 200, headers: ["Content-Length": "\(10_000 * LocalFixture.partSize)"], body: [])
            case "POST" where request.url.contains("uploadId"):
                return document("CompleteMultipartUpload", "<ETag>E</ETag>")
            default: return document("InitiateMultipartUpload", "<UploadId>UPLOAD</UploadId>")
            }
        }
        func shutDown() async {}
    }

    @Test func `At 10,000 parts each part costs one line of at most 256 bytes`() async throws {
        try await withTemporaryFolder { folder in
            let file = try SparseFile(folder + "/sparse", size: 10_000 * LocalFixture.partSize)
            let client = try OSSClient(
                endpoint: "https://oss-cn-hangzhou.aliyuncs.com", region: nil,
                credentials: .fixed(OSSCredentials(accessKeyID: "ak", accessKeySecret: "sk")), configuration: .init(),
                transport: TakingTransport(), surroundings: Waits().surroundings
            )
            let store = CountingStore()
            var configuration = OSSUploader.Configuration()
            configuration.partSize = LocalFixture.partSize
            // Digests that cost nothing: what a line costs is the question here.
            configuration.integrity = .crc64
            let uploader = OSSUploader(
                client: client,
                checkpoints: OSSCheckpoints(store: store, isRequired: true, warning: nil, description: "counting"),
                configuration: configuration
            )
            let result = try await uploader.upload(
                .file(file.url), to: .init(bucket: LocalFixture.bucket, key: LocalFixture.key))
            #expect(result.partsSent == 10_000)
            let lines = store.appended
            // The beginning, the upload, the parts, "completing".
            #expect(lines.count == 2 + 10_000 + 1)
            let parts = lines.dropFirst(2).dropLast()
            #expect(parts.allSatisfy { $0 <= 256 })
            // Only the digits of the number make one line longer than another.
            #expect(Set(parts).count <= 5)
            await client.shutDown()
        }
    }
}
