// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import FoundationEssentials
import OSSLocalServer
import Testing

@testable import OSSMultipart

/// Giving up leaves no upload behind, whatever the upload was doing.
@Suite(.timeLimit(.minutes(5))) struct AbortTests {
    private static let part = Int(LocalFixture.partSize)

    /// What is on its way when the upload is given up.
    enum Held: CaseIterable, Sendable {
        case initiateNotApplied, initiateApplied, partNotApplied, partApplied, completeNotApplied, completeApplied
        case listing, aborting

        var operation: String {
            switch self {
            case .initiateNotApplied, .initiateApplied: "InitiateMultipartUpload"
            case .partNotApplied, .partApplied: "UploadPart"
            case .completeNotApplied, .completeApplied: "CompleteMultipartUpload"
            case .listing: "ListParts"
            case .aborting: "AbortMultipartUpload"
            }
        }

        var isApplied: Bool { self == .initiateApplied || self == .partApplied || self == .completeApplied }
    }

    /// Begins an upload whose request is held, applied or not.
    private func heldTask(_ held: Held, _ fixture: LocalFixture, _ checkpoints: OSSCheckpoints) async throws -> (
        task: OSSUploadTask, file: TestFile
    ) {
        var file = try fixture.file(size: 4 * Self.part)
        if held == .listing || held == .aborting { try await fixture.breakUpload(file, atPart: 3) }
        if held == .aborting { file = try TestFile(file.path, file.bytes + [1]) }
        fixture.server.faults.add(
            .init(
                held.isApplied ? .stall(.seconds(3600)) : .delay(.seconds(3600)), operation: held.operation,
                occurrences: held == .aborting || held == .listing ? 1...1 : 1...Int.max))
        let uploader = try fixture.steppingUploader(Steps(), checkpoints)
        let task = uploader.start(.file(file.url), to: fixture.destination)
        switch held {
        case .initiateApplied: try await fixture.wait { !fixture.openUploads.isEmpty }
        case .partApplied:
            try await fixture.wait {
                fixture.openUploads.first.map { fixture.server.parts(ofUpload: $0).count == 4 } ?? false
            }
        case .completeApplied:
            while try await fixture.object() == nil { try await Task.sleep(for: .milliseconds(2)) }
        default: try await fixture.wait { fixture.server.faults.count(ofOperation: held.operation) > 0 }
        }
        return (task, file)
    }

    @Test(arguments: Held.allCases, ["folder", "memory", "none"])
    func `Aborted whatever is on its way, it leaves no open upload and no record`(held: Held, checkpoints: String)
        async throws
    {
        let needsRecord = held == .listing || held == .aborting
        guard !needsRecord || checkpoints == "folder" else { return }
        try await withLocalServer { fixture in
            let folder = OSSCheckpoints.directory(URL(filePath: fixture.checkpointFolder))
            let store = checkpoints == "folder" ? folder : checkpoints == "memory" ? .memory() : OSSCheckpoints.none
            let (task, file) = try await self.heldTask(held, fixture, store)
            try await task.abort()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(fixture.openUploads.isEmpty)
            #expect(fixture.records.isEmpty)
            #expect(try await fixture.object() == (held == .completeApplied ? file.bytes : nil))
        }
    }

    @Test(arguments: [true, false])
    func `Without a checkpoint an Initiate whose reply is lost leaves nothing behind`(isTask: Bool) async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 3 * Self.part)
            fixture.server.faults.add(.init(.commitThenDrop, operation: "InitiateMultipartUpload"))
            let uploader = try fixture.steppingUploader(Steps(), withRecord: false)
            let error = try await failure {
                if isTask {
                    _ = try await uploader.start(.file(file.url), to: fixture.destination).value
                } else {
                    try await fixture.upload(file, uploader)
                }
            }
            // The first error is the one that is told.
            #expect(error.operation == .initiateMultipartUpload)
            #expect(fixture.count("InitiateMultipartUpload") == 8)
            #expect(fixture.openUploads.isEmpty)
        }
    }

    @Test(arguments: [true, false])
    func `Cancelled within Initiate, without a checkpoint, it leaves nothing behind`(isTask: Bool) async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 3 * Self.part)
            fixture.server.faults.add(.init(.stall(.seconds(3600)), operation: "InitiateMultipartUpload"))
            let uploader = try fixture.steppingUploader(Steps(), withRecord: false)
            let destination = fixture.destination
            if isTask {
                let task = uploader.start(.file(file.url), to: destination)
                try await fixture.wait { !fixture.openUploads.isEmpty }
                task.cancel()
                await #expect(throws: CancellationError.self) { try await task.value }
            } else {
                let task = Task { try await uploader.upload(.file(file.url), to: destination) }
                try await fixture.wait { !fixture.openUploads.isEmpty }
                task.cancel()
                await #expect(throws: CancellationError.self) { try await task.value }
            }
            #expect(fixture.openUploads.isEmpty)
        }
    }

    @Test func `What a lost Initiate left behind goes too when the recorded upload is given up`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 3 * Self.part)
            // Begun twice, and the one without a reply could not be looked for.
            fixture.server.faults.add(
                .init(.commitThenDrop, operation: "InitiateMultipartUpload", occurrences: 1...1),
                .init(.dropBeforeReply, operation: "ListMultipartUploads")
            )
            _ = try await failure { try await fixture.upload(file) }
            #expect(fixture.openUploads.count == 2)
            fixture.server.faults.removeAll()
            #expect(try await fixture.uploader().abandon(fixture.destination))
            #expect(fixture.openUploads.isEmpty)
            #expect(fixture.records.isEmpty)

            // The same where another size makes a new run give it up.
            fixture.server.faults.add(
                .init(.commitThenDrop, operation: "InitiateMultipartUpload", occurrences: 1...1),
                .init(.dropBeforeReply, operation: "ListMultipartUploads")
            )
            _ = try await failure { try await fixture.upload(file) }
            fixture.server.faults.removeAll()
            let longer = try TestFile(file.path, file.bytes + [1])
            try await fixture.upload(longer)
            #expect(try await fixture.object() == longer.bytes)
            #expect(fixture.openUploads.isEmpty)
        }
    }

    @Test func `A record of a later version is not removed, nor its upload forgotten`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 3 * Self.part)
            try await fixture.breakUpload(file, atPart: 2)
            let name = try #require(fixture.records.first)
            let path = fixture.checkpointFolder + "/" + name
            var head = JournalLine("journal")
            head["version"] = "7"
            try Data(head.bytes).write(to: URL(filePath: path))
            let error = try await failure { try await fixture.uploader().abandon(fixture.destination) }
            #expect(error.code == .checkpointUnusable)
            #expect(error.message.contains("version 7"))
            #expect(FileManager.default.contents(atPath: path) == Data(head.bytes))
        }
    }

    @Test func `A record of that name that is another object's is left as it is`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 3 * Self.part)
            fixture.server.faults.add(
                .init(.respond(status: 403, code: "AccessDenied"), operation: "UploadPart", partNumber: 2))
            var mine = fixture.destination
            mine.recordName = "shared"
            _ = try await failure { _ = try await fixture.uploader().upload(.file(file.url), to: mine) }
            fixture.server.faults.removeAll()
            fixture.server.removeAllRequests()
            let record = FileManager.default.contents(atPath: fixture.checkpointFolder + "/shared.journal")

            var other = mine
            other.key = "other"
            #expect(try await fixture.uploader().abandon(other) == false)
            // The same object of another service is another object too.
            var elsewhere = OSSClient.Configuration()
            elsewhere.proxy = ""
            let key = OSSServer.Account.test
            let client = try OSSClient(
                endpoint: fixture.server.endpoint.replacing("127.0.0.1", with: "localhost"), region: "cn-hangzhou",
                credentials: .fixed(
                    OSSCredentials(accessKeyID: key.accessKeyID, accessKeySecret: key.accessKeySecret)),
                configuration: elsewhere)
            let uploader = OSSUploader(client: client, checkpoints: fixture.uploader().checkpoints)
            #expect(try await uploader.abandon(mine) == false)
            await client.shutDown()
            #expect(fixture.server.requests.isEmpty)
            #expect(fixture.openUploads.count == 1)
            #expect(FileManager.default.contents(atPath: fixture.checkpointFolder + "/shared.journal") == record)

            #expect(try await fixture.uploader().abandon(mine))
            #expect(fixture.openUploads.isEmpty)
            #expect(fixture.records.isEmpty)
        }
    }

    @Test func `A damaged record whose ID can be read is given up with its upload`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 3 * Self.part)
            try await fixture.breakUpload(file, atPart: 2)
            let path = fixture.checkpointFolder + "/" + (try #require(fixture.records.first))
            var bytes = try #require(FileManager.default.contents(atPath: path))
            bytes[3] ^= 1
            try bytes.write(to: URL(filePath: path))
            #expect(try await fixture.uploader().abandon(fixture.destination))
            #expect(fixture.openUploads.isEmpty)
            #expect(fixture.records.isEmpty)
        }
    }

    @Test func `A part that lands while its upload is given up does not keep it`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 3 * Self.part)
            // The server goes on with a part whose sender has gone: it is stored when the abort has been answered.
            fixture.server.faults.add(.init(.delay(.milliseconds(300)), operation: "UploadPart"))
            let task = fixture.uploader().start(.file(file.url), to: fixture.destination)
            try await fixture.wait { fixture.server.faults.count(ofOperation: "UploadPart") == 3 }
            try await task.abort()
            try await Task.sleep(for: .milliseconds(400))
            #expect(fixture.openUploads.isEmpty)
            #expect(fixture.records.isEmpty)
        }
    }
}
