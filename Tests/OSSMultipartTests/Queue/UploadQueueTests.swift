// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import FoundationEssentials
import OSSLocalServer
import OSSWire
import SystemIO
import Testing

@testable import OSSMultipart

/// Does something when the parts have been joined and the client does not know it yet.
private struct ChangeAtComplete: OSSMiddleware {
    let change: @Sendable () -> Void

    init(_ change: @escaping @Sendable () -> Void) { self.change = change }

    func intercept(
        _ attempt: OSSAttempt, next: (OSSAttempt) async throws -> OSSReply
    ) async throws -> OSSReply {
        let reply = try await next(attempt)
        if attempt.operation == .completeMultipartUpload { self.change() }
        return reply
    }
}

/// Holds the parts of an object from one on.
private struct HoldingMiddleware: OSSMiddleware {
    private let first: Int
    private let key: String
    private let isHeld: @Sendable () -> Bool

    init(from first: Int, of key: String, while isHeld: @escaping @Sendable () -> Bool) {
        self.first = first
        self.key = key
        self.isHeld = isHeld
    }

    func intercept(_ attempt: OSSAttempt, next: (OSSAttempt) async throws -> OSSReply) async throws -> OSSReply {
        if attempt.key == self.key, let part = attempt.partNumber, part >= self.first {
            while self.isHeld() { try await Task.sleep(for: .milliseconds(2)) }
        }
        return try await next(attempt)
    }
}

/// Many files in one queue.
@Suite(.timeLimit(.minutes(5))) struct UploadQueueTests {
    private static let part = Int(LocalFixture.partSize)

    /// Files of different sizes, small and large, and their items.
    private func items(_ fixture: LocalFixture, sizes: [Int]) throws -> ([OSSUploadQueue.Item], [TestFile]) {
        let files = try sizes.enumerated().map { try fixture.file("f\($0)", size: $1, seed: UInt64($0 + 1)) }
        let items = files.enumerated().map {
            OSSUploadQueue.Item(.file($1.url), to: .init(bucket: LocalFixture.bucket, key: "k\($0)"))
        }
        return (items, files)
    }

    private func areStored(_ files: [TestFile], _ fixture: LocalFixture) async throws {
        for (index, file) in files.enumerated() {
            let object = try await fixture.object("k\(index)")
            #expect(object == file.bytes, "k\(index)")
        }
        #expect(fixture.openUploads.isEmpty)
        #expect(fixture.records.isEmpty)
    }

    @Test func `All files arrive, whatever their sizes, and each has its result`() async throws {
        try await withLocalServer { fixture in
            let (items, files) = try self.items(
                fixture, sizes: [0, 1, 300_000, Self.part, 5 * Self.part + 3, 10, 250_000])
            let queue = OSSUploadQueue(uploader: fixture.uploader())
            let result = try await queue.upload(items, manifest: "batch")
            #expect(result.failed.isEmpty)
            #expect(result.files.map(\.source) == files.map(\.path))
            #expect(result.files.map { $0.result?.size } == files.map { Int64($0.bytes.count) })
            #expect(result.bytesSent == files.reduce(0) { $0 + Int64($1.bytes.count) })
            try await self.areStored(files, fixture)
        }
    }

    @Test func `A queue without items is done`() async throws {
        try await withLocalServer { fixture in
            let result = try await OSSUploadQueue(uploader: fixture.uploader()).upload([], manifest: "none")
            #expect(result.files.isEmpty)
            #expect(fixture.records.isEmpty)
        }
    }

    @Test func `A file that fails does not stop the others, and its error names it`() async throws {
        try await withLocalServer { fixture in
            let (items, files) = try self.items(fixture, sizes: [10, 3 * Self.part, 20, 3 * Self.part])
            fixture.server.faults.add(
                .init(.respond(status: 403, code: "AccessDenied"), operation: "UploadPart", key: "k1"))
            try FileManager.default.removeItem(atPath: files[2].path)
            let result = try await OSSUploadQueue(uploader: fixture.uploader()).upload(items)
            #expect(result.files[1].error?.service?.code == .accessDenied)
            #expect(result.files[2].error?.code == .sourceUnreadable)
            #expect(result.failed.count == 2)
            #expect(try await fixture.object("k0") == files[0].bytes)
            #expect(try await fixture.object("k3") == files[3].bytes)
            #expect(try await fixture.object("k1") == nil)
        }
    }

    @Test func `No more requests are on their way than the window, and free places go to the files in turn`()
        async throws
    {
        let asked = Lock<Set<Int>>([])
        // The large one goes on when the others have been looked at, however long that takes.
        let holding = HoldingMiddleware(from: 5, of: "k0") { asked.withLock(\.count) < 3 }
        try await withLocalServer(client: { $0.middlewares = [holding] }) { fixture in
            let (made, files) = try self.items(fixture, sizes: [24 * Self.part, 2 * Self.part, 2 * Self.part, 1000])
            var items = made
            let isOpen = Lock(false)
            for index in 1...3 {
                // The small ones come when the large one has filled the window and all of its own.
                let bytes = files[index].bytes
                items[index].source = .reading(named: files[index].path) {
                    while !isOpen.withLock(\.self) { try await Task.sleep(for: .milliseconds(2)) }
                    asked.withLock { _ = $0.insert(index) }
                    return Int64(bytes.count)
                } read: { offset, buffer in
                    let piece = bytes.dropFirst(Int(offset)).prefix(buffer.count)
                    buffer.replaceSubrange(0..<piece.count, with: piece)
                    return piece.count
                }
            }
            fixture.server.faults.add(.init(.delay(.milliseconds(50)), operation: "UploadPart"))
            var configuration = OSSUploadQueue.Configuration()
            configuration.maximumRequestsInFlight = 2
            let queue = OSSUploadQueue(
                uploader: fixture.uploader { $0.partsInFlight = .fixed(16) }, configuration: configuration)
            let task = queue.start(items)
            try await fixture.wait { fixture.server.faults.count(ofOperation: "UploadPart") >= 3 }
            isOpen.withLock { $0 = true }
            let result = try await task.value
            #expect(result.failed.isEmpty)
            // What waits of the large file alone would take more than that before anybody else had a turn.
            let order = fixture.server.requests.compactMap { request in
                request.operation == "UploadPart" || request.operation == "PutObject" ? request.key : nil
            }
            let firstOfSmall = try #require(order.firstIndex(of: "k3"))
            #expect(firstOfSmall < 12, "\(order)")
            try await self.areStored(files, fixture)
        }
    }

    @Test(arguments: [(3, 8), (nil, 3)])
    func `The queue's window is its own, or else the uploader's for all files together`(
        asked: Int?, inFlight: Int
    ) async throws {
        try await withLocalServer { fixture in
            let (made, files) = try self.items(fixture, sizes: [6 * Self.part, 6 * Self.part, 10, 20])
            var items = made
            let bytes = files[1].bytes
            items[1].source = .replayable(named: "tape") {
                AsyncStream<[UInt8]> {
                    $0.yield(bytes)
                    $0.finish()
                }
            }
            // Parts of files and of streams, and files that go up whole.
            let held = ["UploadPart", "PutObject"]
            for operation in held { fixture.server.faults.add(.init(.delay(.seconds(3600)), operation: operation)) }
            func onTheirWay() -> Int { held.reduce(0) { $0 + fixture.server.faults.count(ofOperation: $1) } }
            var configuration = OSSUploadQueue.Configuration()
            configuration.maximumRequestsInFlight = asked
            let uploader = fixture.uploader { $0.partsInFlight = .fixed(inFlight) }
            let task = OSSUploadQueue(uploader: uploader, configuration: configuration).start(items)
            try await fixture.wait { onTheirWay() >= 3 }
            // Others would be on their way by now.
            try await Task.sleep(for: .milliseconds(100))
            #expect(onTheirWay() == 3)
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    }

    @Test func `A queue that was stopped goes on: what is stored is not sent again, what was begun is gone on with`()
        async throws
    {
        try await withLocalServer { fixture in
            let (items, files) = try self.items(fixture, sizes: [10, 3 * Self.part, 6 * Self.part, 20, 30])
            fixture.server.faults.add(.init(.delay(.seconds(3600)), operation: "UploadPart", key: "k2", partNumber: 4))
            fixture.server.faults.add(.init(.delay(.seconds(3600)), operation: "PutObject", key: "k4"))
            // Room for the two that are held and for all others.
            let uploader = fixture.uploader { $0.partsInFlight = .fixed(8) }
            let task = OSSUploadQueue(uploader: uploader).start(items, manifest: "batch")
            while task.snapshot.filesStored < 3
                || fixture.server.parts(ofUpload: fixture.openUploads.first ?? "").count < 5
            {
                try await Task.sleep(for: .milliseconds(5))
            }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(fixture.records.contains("batch.manifest.journal"))
            fixture.server.faults.removeAll()
            fixture.server.removeAllRequests()

            let result = try await OSSUploadQueue(uploader: uploader).upload(items, manifest: "batch")
            #expect(result.files.map(\.wasStoredBefore) == [true, true, false, true, false])
            #expect(result.files[2].result?.partsResumed == 5)
            #expect(Set(fixture.server.requests.compactMap(\.key)) == ["k2", "k4"])
            #expect(fixture.partsSent == [4])
            try await self.areStored(files, fixture)
        }
    }

    @Test func `A file that changed since it was stored is sent again`() async throws {
        try await withLocalServer { fixture in
            let (items, _) = try self.items(fixture, sizes: [10, 20, 30])
            fixture.server.faults.add(
                .init(.respond(status: 403, code: "AccessDenied"), operation: "PutObject", key: "k2"))
            let queue = OSSUploadQueue(uploader: fixture.uploader())
            _ = try await queue.upload(items, manifest: "batch")
            fixture.server.faults.removeAll()
            fixture.server.removeAllRequests()
            let changed = try fixture.file("f1", size: 20, seed: 99)
            let result = try await queue.upload(items, manifest: "batch")
            #expect(result.files.map(\.wasStoredBefore) == [true, false, false])
            #expect(try await fixture.object("k1") == changed.bytes)
            // All is stored: the next run of that name begins anew.
            let again = try await queue.upload(items, manifest: "batch")
            #expect(again.files.map(\.wasStoredBefore) == [false, false, false])
        }
    }

    @Test func `A manifest with torn and foreign lines is read as far as it can be`() async throws {
        try await withLocalServer { fixture in
            let (items, files) = try self.items(fixture, sizes: [10, 20])
            fixture.server.faults.add(
                .init(.respond(status: 403, code: "AccessDenied"), operation: "PutObject", key: "k1"))
            let queue = OSSUploadQueue(uploader: fixture.uploader())
            _ = try await queue.upload(items, manifest: "batch")
            let path = fixture.checkpointFolder + "/batch.manifest.journal"
            var bytes = Array(try Data(contentsOf: URL(filePath: path)))
            // Of a kind that a later version may write.
            var other = JournalLine("dropped")
            other["endpoint"] = fixture.client.endpoint
            other["bucket"] = LocalFixture.bucket
            other["key"] = "k1"
            try OpenSource(path: files[1].path).identity.write(to: &other)
            bytes = Array("null\n".utf8) + bytes + other.bytes + Array("0123456789abcdef stored torn".utf8)
            try Data(bytes).write(to: URL(filePath: path))
            fixture.server.faults.removeAll()
            let result = try await queue.upload(items, manifest: "batch")
            #expect(result.files.map(\.wasStoredBefore) == [true, false])
            try await self.areStored(files, fixture)
        }
    }

    @Test(arguments: [1, 40]) func `A manifest whose last line is cut loses it alone`(cut: Int)
        async throws
    {
        try await withLocalServer { fixture in
            let (items, _) = try self.items(fixture, sizes: [10, 20, 30, 40])
            let refusals = ["k2", "k3"].map {
                OSSServer.Fault(.respond(status: 403, code: "AccessDenied"), operation: "PutObject", key: $0)
            }
            for refusal in refusals { fixture.server.faults.add(refusal) }
            var configuration = OSSUploadQueue.Configuration()
            // One after the other, so that it is known which line is the last.
            configuration.maximumFilesAtWork = 1
            let queue = OSSUploadQueue(uploader: fixture.uploader(), configuration: configuration)
            _ = try await queue.upload(items, manifest: "batch")
            let manifest = try PosixFile(path: fixture.checkpointFolder + "/batch.manifest.journal", .write)
            try manifest.truncate(to: try manifest.status().size - Int64(cut))
            // The next line must not be glued to what is left of the cut one.
            fixture.server.faults.removeAll()
            fixture.server.faults.add(refusals[1])
            let second = try await queue.upload(items, manifest: "batch")
            #expect(second.files.map(\.wasStoredBefore) == [true, false, false, false])
            fixture.server.faults.removeAll()
            let third = try await queue.upload(items, manifest: "batch")
            #expect(third.files.map(\.wasStoredBefore) == [true, true, true, false])
            #expect(fixture.records.isEmpty)
        }
    }

    @Test func `What is stored at one service is not taken to be stored at another`() async throws {
        try await withLocalServer { first in
            try await withLocalServer { second in
                let (items, files) = try self.items(first, sizes: [10, 20])
                let uploader = first.uploader()
                let other = OSSUploader(
                    client: second.client, checkpoints: uploader.checkpoints, configuration: uploader.configuration)
                for server in [first.server, second.server] {
                    server.faults.add(
                        .init(.respond(status: 403, code: "AccessDenied"), operation: "PutObject", key: "k1"))
                }
                _ = try await OSSUploadQueue(uploader: uploader).upload(items, manifest: "batch")
                let elsewhere = try await OSSUploadQueue(uploader: other).upload(items, manifest: "batch")
                #expect(elsewhere.files.map(\.wasStoredBefore) == [false, false])
                #expect(try await second.object("k0") == files[0].bytes)
                // Both are known from then on, each to its own.
                first.server.faults.removeAll()
                let again = try await OSSUploadQueue(uploader: uploader).upload(items, manifest: "batch")
                #expect(again.files.map(\.wasStoredBefore) == [true, false])
            }
        }
    }

    @Test func `A manifest of the same name knows files by bucket and key`() async throws {
        try await withLocalServer({ $0.buckets = [LocalFixture.bucket, "other"] }) { fixture in
            let (items, _) = try self.items(fixture, sizes: [10, 20])
            fixture.server.faults.add(
                .init(.respond(status: 403, code: "AccessDenied"), operation: "PutObject", key: "k1"))
            let queue = OSSUploadQueue(uploader: fixture.uploader())
            _ = try await queue.upload(items, manifest: "batch")
            let moved = OSSUploadQueue.Item(items[0].source, to: .init(bucket: "other", key: "k0"))
            let result = try await queue.upload([moved, items[0], items[1]], manifest: "batch")
            #expect(result.files.map(\.wasStoredBefore) == [false, true, false])
        }
    }

    @Test func `A manifest knows keys by their bytes: what looks the same is not stored yet`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 10)
            let items = ["\u{e9}", "e\u{301}"].map {
                OSSUploadQueue.Item(.file(file.url), to: .init(bucket: LocalFixture.bucket, key: $0))
            }
            fixture.server.faults.add(
                .init(
                    .respond(status: 403, code: "AccessDenied"), operation: "PutObject", key: "e\u{301}",
                    occurrences: 1...1))
            let queue = OSSUploadQueue(uploader: fixture.uploader())
            let first = try await queue.upload(items, manifest: "batch")
            #expect(first.failed.count == 1)
            let result = try await queue.upload(items, manifest: "batch")
            #expect(result.files.map(\.wasStoredBefore) == [true, false])
            #expect(try await fixture.object("e\u{301}") == file.bytes)
        }
    }

    @Test func `Sources that show nothing of themselves are sent again`()
        async throws
    {
        try await withLocalServer { fixture in
            let sources: [OSSUploadSource] = [
                .bytes([1, 2]), .bytes([3, 4], identity: "1"), .bytes([5], identity: "1"),
            ]
            let items = sources.enumerated().map {
                OSSUploadQueue.Item($1, to: .init(bucket: LocalFixture.bucket, key: "k\($0)"))
            }
            fixture.server.faults.add(
                .init(.respond(status: 403, code: "AccessDenied"), operation: "PutObject", key: "k2"))
            let queue = OSSUploadQueue(uploader: fixture.uploader())
            _ = try await queue.upload(items, manifest: "batch")
            let result = try await queue.upload(items, manifest: "batch")
            #expect(result.files.map(\.wasStoredBefore) == [false, true, false])
        }
    }

    // MARK: What the user is told of the manifest

    @Test func `An optional folder that cannot be used is told, a required one an error`() async throws {
        try await withLocalServer { fixture in
            let (items, files) = try self.items(fixture, sizes: [10, 20])
            // No folder can be made in a file.
            let url = URL(filePath: files[0].path + "/checkpoints")
            let optional = OSSUploadQueue(uploader: fixture.uploader(checkpoints: .directory(url, isRequired: false)))
            let task = optional.start(items, manifest: "batch")
            let result = try await task.value
            #expect(result.failed.isEmpty)
            #expect(result.warnings.count == 1)
            #expect(result.warnings.first?.contains("\(url.path) cannot be used") == true)
            #expect(result.warnings.first?.contains("without a manifest") == true)
            // Whoever comes late hears of it too.
            var told: [String?] = []
            for await event in task.events where event.kind == .warning { told.append(event.message) }
            #expect(told == result.warnings)
            let unasked = try await optional.upload(items)
            #expect(unasked.warnings.isEmpty)
            fixture.server.removeAllRequests()
            let required = OSSUploadQueue(uploader: fixture.uploader(checkpoints: .directory(url)))
            let error = try await failure { _ = try await required.upload(items, manifest: "batch") }
            #expect(error.code == .checkpointUnusable)
            #expect(fixture.server.requests.isEmpty)
        }
    }

    @Test func `Without a home there is no manifest, and that is told where one was wanted`() async throws {
        try await withLocalServer { fixture in
            let (items, _) = try self.items(fixture, sizes: [10])
            let homeless = OSSCheckpoints(store: nil, isRequired: false, warning: "no home", description: "none")
            let queue = OSSUploadQueue(uploader: fixture.uploader(checkpoints: homeless))
            #expect(try await queue.upload(items, manifest: "batch").warnings == ["no home"])
            #expect(try await queue.upload(items).warnings.isEmpty)
            let none = OSSUploadQueue(uploader: fixture.uploader(checkpoints: OSSCheckpoints.none))
            #expect(try await none.upload(items, manifest: "batch").warnings.isEmpty)
        }
    }

    @Test func `What an earlier run had stored is told once, and no pause counts as one`() async throws {
        try await withLocalServer { fixture in
            let (items, _) = try self.items(fixture, sizes: [10, 20, 30])
            fixture.server.faults.add(.init(.delay(.seconds(3600)), operation: "PutObject", key: "k2"))
            let uploader = fixture.uploader()
            for earlier in [0, 2] {
                let task = OSSUploadQueue(uploader: uploader).start(items, manifest: "batch")
                for _ in 1...2 {
                    try await fixture.wait {
                        task.snapshot.filesStored == 2 && fixture.server.faults.count(ofOperation: "PutObject") > 0
                    }
                    let events = task.events
                    task.pause()
                    for await event in events where event.kind == .paused { break }
                    task.resume()
                }
                var told: [String] = []
                task.cancel()
                for await event in task.events where event.kind == .warning { told.append(event.message ?? "") }
                _ = await task.future.result
                #expect(told.count == (earlier == 0 ? 0 : 1))
                #expect(told.allSatisfy { $0.contains("had stored \(earlier) files") })
            }
        }
    }

    @Test func `A manifest is made durable once a second and at the end`() async throws {
        try await withLocalServer { fixture in
            var (items, _) = try self.items(fixture, sizes: [10, 20, 30])
            // So long that the line behind it is due.
            items[1].source = .reading(named: "slow", identity: "1") {
                try await Task.sleep(for: .milliseconds(1100))
                return 1
            } read: { _, buffer in
                buffer.count
            }
            fixture.server.faults.add(
                .init(.respond(status: 403, code: "AccessDenied"), operation: "PutObject", key: "k2"))
            let steps = Steps()
            var configuration = OSSUploadQueue.Configuration()
            configuration.maximumFilesAtWork = 1
            let uploader = try fixture.steppingUploader(steps)
            _ = try await OSSUploadQueue(uploader: uploader, configuration: configuration)
                .upload(items, manifest: "batch")
            await uploader.client.shutDown()
            let names = steps.names.filter { $0.hasPrefix("append") || $0.hasPrefix("synchronize") }
            let second = try #require(names.lastIndex(of: "append stored"))
            #expect(names.count { $0 == "append stored" } == 2)
            // That line's own, and the last one.
            #expect(names[(second + 1)...] == ["synchronize with name", "synchronize with name"])
        }
    }

    @Test func `Two runs of one name exclude each other`() async throws {
        try await withLocalServer { fixture in
            let (items, _) = try self.items(fixture, sizes: [10])
            fixture.server.faults.add(.init(.delay(.seconds(3600)), operation: "PutObject"))
            let queue = OSSUploadQueue(uploader: fixture.uploader())
            let task = queue.start(items, manifest: "batch")
            while fixture.server.faults.count(ofOperation: "PutObject") < 1 {
                try await Task.sleep(for: .milliseconds(5))
            }
            let error = try await failure { _ = try await queue.upload(items, manifest: "batch") }
            #expect(error.code == .checkpointInUse)
            task.cancel()
            _ = await task.future.result
        }
    }

    @Test func `A paused queue goes on, and files that are done with are not touched again`() async throws {
        try await withLocalServer { fixture in
            let (items, files) = try self.items(fixture, sizes: [10, 4 * Self.part, 20])
            fixture.server.faults.add(
                .init(.delay(.seconds(3600)), operation: "UploadPart", partNumber: 3, occurrences: 1...1))
            let uploader = fixture.uploader { $0.partsInFlight = .fixed(1) }
            let task = OSSUploadQueue(uploader: uploader).start(items)
            while task.snapshot.filesStored < 2 || fixture.server.faults.count(ofOperation: "UploadPart") < 1 {
                try await Task.sleep(for: .milliseconds(5))
            }
            let events = task.events
            task.pause()
            for await event in events where event.kind == .paused { break }
            #expect(task.snapshot.isPaused)
            #expect(task.snapshot.filesAtWork == 0)
            fixture.server.removeAllRequests()
            task.resume()
            let result = try await task.value
            #expect(result.failed.isEmpty)
            #expect(Set(fixture.server.requests.compactMap(\.key)) == ["k1"])
            #expect(task.snapshot.filesStored == 3)
            #expect(!task.snapshot.isPaused)
            try await self.areStored(files, fixture)
        }
    }

    @Test func `Progress counts every file once and every byte`() async throws {
        try await withLocalServer { fixture in
            let (items, files) = try self.items(fixture, sizes: [0, 10, 3 * Self.part, 20])
            let task = OSSUploadQueue(uploader: fixture.uploader()).start(items)
            var ended: [Int] = []
            var last = OSSQueueSnapshot()
            for await event in task.events {
                if event.kind == .fileEnded, let index = event.index { ended.append(index) }
                #expect(event.snapshot.bytesDone <= event.snapshot.bytesTotal)
                #expect(event.snapshot.filesStored >= last.filesStored)
                last = event.snapshot
            }
            _ = try await task.value
            #expect(ended.sorted() == [0, 1, 2, 3])
            #expect(task.snapshot.filesStored == 4)
            #expect(task.snapshot.filesAtWork == 0)
            #expect(task.snapshot.hasEnded)
            #expect(task.snapshot.bytesDone == files.reduce(0) { $0 + Int64($1.bytes.count) })
            #expect(task.snapshot.bytesTotal == task.snapshot.bytesDone)
        }
    }

    @Test func `Of each file it is told when it begins and what came of it`() async throws {
        try await withLocalServer { fixture in
            var (items, _) = try self.items(fixture, sizes: [0, 10, 20])
            let (gate, open) = AsyncStream.makeStream(of: Void.self)
            // It begins, and gets no further until somebody listens.
            items[0].source = .reading(named: "gated") {
                for await _ in gate {}
                return 0
            } read: { _, _ in
                0
            }
            fixture.server.faults.add(
                .init(.respond(status: 403, code: "AccessDenied"), operation: "PutObject", key: "k1"))
            var configuration = OSSUploadQueue.Configuration()
            configuration.maximumFilesAtWork = 1
            let queue = OSSUploadQueue(uploader: fixture.uploader(), configuration: configuration)
            let task = queue.start(items)
            try await fixture.wait { task.snapshot.filesAtWork == 1 }
            let events = task.events
            open.finish()
            var told: [String] = []
            for await event in events where event.kind != .snapshot {
                let end = event.file.map { $0.error == nil ? " stored" : " failed" } ?? ""
                told.append("\(event.kind) \(event.index ?? -1)\(end)")
            }
            #expect(
                told.suffix(5) == [
                    "fileEnded 0 stored", "fileBegan 1", "fileEnded 1 failed", "fileBegan 2", "fileEnded 2 stored",
                ])
        }
    }

    @Test func `Progress of a later run tells what was stored before and what failed`()
        async throws
    {
        try await withLocalServer { fixture in
            let (items, _) = try self.items(fixture, sizes: [10, 20, 30])
            fixture.server.faults.add(
                .init(.respond(status: 403, code: "AccessDenied"), operation: "PutObject", key: "k2"))
            let queue = OSSUploadQueue(uploader: fixture.uploader())
            for before in [0, 2] {
                let task = queue.start(items, manifest: "batch")
                let result = try await task.value
                let snapshot = task.snapshot
                #expect((snapshot.filesTotal, snapshot.filesStored, snapshot.filesFailed) == (3, 2, 1))
                #expect(snapshot.filesStoredBefore == before)
                #expect(result.files.count { $0.wasStoredBefore } == before)
            }
        }
    }

    @Test func `Only what this run sent counts for the rate, also when its files have ended`() {
        let items = (0..<2).map {
            OSSUploadQueue.Item(.bytes([]), to: .init(bucket: LocalFixture.bucket, key: "k\($0)"))
        }
        let progress = QueueProgress(items)
        let file = OSSQueueResult.File(source: "", destination: items[0].destination)
        let resumed = progress.began(0)
        resumed.begin(bytesTotal: 10, partsTotal: 2)
        resumed.resumed(parts: [1, 2], bytes: 10)
        #expect(progress.snapshot.bytesDone == 10)
        #expect(progress.snapshot.bytesPerSecond == nil)
        progress.ended(0, file)
        #expect(progress.snapshot.bytesPerSecond == nil)
        let sent = progress.began(1)
        sent.begin(bytesTotal: 7, partsTotal: 1)
        sent.resumed(parts: [], bytes: 0)
        _ = sent.partBegan(1)
        sent.partStored(1, bytes: 7)
        #expect((progress.snapshot.bytesPerSecond ?? 0) > 0)
        progress.ended(1, file)
        #expect((progress.snapshot.bytesPerSecond ?? 0) > 0)
        #expect(progress.snapshot.bytesDone == 17)
    }

    // MARK: Deleting

    @Test func `Stored files are deleted where that was asked for, and only with the proof crc64`() async throws {
        try await withLocalServer { fixture in
            let (items, files) = try self.items(fixture, sizes: [10, 3 * Self.part, 20])
            fixture.server.faults.add(.init(.editReplyHeader("x-oss-hash-crc64ecma", nil), key: "k1"))
            fixture.server.faults.add(
                .init(.respond(status: 403, code: "AccessDenied"), operation: "PutObject", key: "k2"))
            var configuration = OSSUploadQueue.Configuration()
            configuration.deletesStoredFiles = true
            let queue = OSSUploadQueue(uploader: fixture.uploader(), configuration: configuration)
            let result = try await queue.upload(items)
            #expect(result.files.map(\.wasDeleted) == [true, false, false])
            #expect(files.map { FileManager.default.fileExists(atPath: $0.path) } == [false, true, true])
            #expect(result.files[1].warnings.contains { $0.contains("not deleted") })
        }
    }

    /// What can become of a file while its parts are being joined.
    enum Change: CaseIterable, Sendable {
        case grown, rewritten, rewrittenSecretly, replaced, linked

        func apply(to file: TestFile) throws {
            switch self {
            case .grown: try PosixFile(path: file.path, [.write, .append]).write([1])
            case .rewritten: try PosixFile(path: file.path, .write).write([1])
            case .rewrittenSecretly: try file.overwriteSecretly([file.bytes[0] ^ 1], at: 0)
            case .replaced:
                // As a copy that keeps the time does it.
                let (other, time) = (file.path + ".new", try FileStatus.of(path: file.path).modificationTime)
                try TestFile(other, file.bytes).setModificationTime(time)
                try Directory.rename(other, to: file.path)
            case .linked:
                try Directory.rename(file.path, to: file.path + ".old")
                try FileManager.default.createSymbolicLink(
                    atPath: file.path, withDestinationPath: file.path + ".old")
            }
        }
    }

    @Test(arguments: Change.allCases)
    func `A file that changes when it is all but stored is not deleted`(change kind: Change) async throws {
        let changed = Lock<TestFile?>(nil)
        let change = ChangeAtComplete {
            // A file that cannot be changed shows in what is looked at then.
            if let file = changed.withLock(\.self) { try? kind.apply(to: file) }
        }
        try await withLocalServer(client: { $0.middlewares = [change] }) { fixture in
            let (items, files) = try self.items(fixture, sizes: [3 * Self.part])
            changed.withLock { $0 = files[0] }
            var configuration = OSSUploadQueue.Configuration()
            configuration.deletesStoredFiles = true
            let queue = OSSUploadQueue(uploader: fixture.uploader(), configuration: configuration)
            let result = try await queue.upload(items)
            #expect(result.files.map(\.wasDeleted) == [false])
            #expect(result.files[0].warnings.contains { $0.contains("not the file that was uploaded") })
            #expect(FileManager.default.contents(atPath: files[0].path) != nil)
            #expect(try await fixture.object("k0") == files[0].bytes)
        }
    }

    @Test func `Nothing is deleted unasked`() async throws {
        try await withLocalServer { fixture in
            let (items, files) = try self.items(fixture, sizes: [10])
            _ = try await OSSUploadQueue(uploader: fixture.uploader()).upload(items)
            #expect(FileManager.default.fileExists(atPath: files[0].path))
        }
    }

    @Test func `A file of which a slice was stored, and one that a link led to, are not deleted`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file("whole", size: 1000)
            let link = fixture.folder + "/link"
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file.path)
            var configuration = OSSUploadQueue.Configuration()
            configuration.deletesStoredFiles = true
            let result = try await OSSUploadQueue(uploader: fixture.uploader(), configuration: configuration).upload([
                .init(.file(file.url, range: 0..<1000), to: .init(bucket: LocalFixture.bucket, key: "k0")),
                .init(.file(URL(filePath: link)), to: .init(bucket: LocalFixture.bucket, key: "k1")),
            ])
            #expect(result.files.map(\.wasDeleted) == [false, false])
            #expect(FileManager.default.contents(atPath: link) == Data(file.bytes))
        }
    }

    // MARK: What cannot be

    @Test
    func `Two sources for one key, streams that are read once and bad limits are refused before anything is sent`()
        async throws
    {
        try await withLocalServer { fixture in
            let destination = fixture.destination
            let one = OSSUploadQueue.Item(.bytes([1]), to: destination)
            let stream = AsyncStream<[UInt8]> { $0.finish() }
            let uploader = fixture.uploader()
            for (items, configure) in [
                ([one, one], { _ in }), ([.init(.stream(stream), to: destination)], { _ in }),
                ([one], { $0.maximumFilesAtWork = 0 }), ([one], { $0.maximumRequestsInFlight = 0 }),
                ([one], { $0.maximumFilesAtWork = 1001 }), ([one], { $0.maximumRequestsInFlight = 101 }),
            ] as [([OSSUploadQueue.Item], (inout OSSUploadQueue.Configuration) -> Void)] {
                var configuration = OSSUploadQueue.Configuration()
                configure(&configuration)
                let error = try await failure {
                    _ = try await OSSUploadQueue(uploader: uploader, configuration: configuration).upload(items)
                }
                #expect([.invalidArgument, .invalidConfiguration].contains(error.code))
            }
            #expect(fixture.server.requests.isEmpty)
        }
    }

    @Test func `Keys that look the same and differ in their bytes are two`() async throws {
        try await withLocalServer { fixture in
            let keys = ["\u{e9}", "e\u{301}"]
            let items = keys.map {
                OSSUploadQueue.Item(.bytes(Array($0.utf8)), to: .init(bucket: LocalFixture.bucket, key: $0))
            }
            let result = try await OSSUploadQueue(uploader: fixture.uploader()).upload(items)
            #expect(result.failed.isEmpty)
            for key in keys { #expect(try await fixture.object(key) == Array(key.utf8)) }
        }
    }

    @Test func `Missing credentials are told once, before a manifest is made or a file opened`() async throws {
        let asked = Counter()
        let provider = OSSCredentialsProvider.refreshing {
            _ = asked.next()
            throw Unexpected("no key")
        }
        try await withLocalServer(credentials: provider) { fixture in
            let (items, _) = try self.items(fixture, sizes: [10, 20, 3 * Self.part])
            let task = OSSUploadQueue(uploader: fixture.uploader()).start(items, manifest: "batch")
            let events = task.events
            let error = try await failure { _ = try await task.value }
            #expect(error.code == .missingCredentials)
            for await event in events { #expect(event.kind == .snapshot) }
            #expect(asked.value == 1)
            #expect(fixture.records.isEmpty)
        }
    }

    @Test func `Credentials that end and cannot be renewed end the queue, and its manifest is kept`() async throws {
        let account = OSSServer.Account.test
        let asked = Counter()
        let provider = OSSCredentialsProvider.refreshing {
            if asked.next() > 0 { throw Unexpected("no key any more") }
            return try OSSCredentials(accessKeyID: account.accessKeyID, accessKeySecret: account.accessKeySecret)
        }
        try await withLocalServer(credentials: provider) { fixture in
            let (items, _) = try self.items(fixture, sizes: [10, 20, 30, 40])
            fixture.server.faults.add(
                .init(.respond(status: 403, code: "SecurityTokenExpired"), operation: "PutObject", key: "k1"))
            var configuration = OSSUploadQueue.Configuration()
            configuration.maximumFilesAtWork = 1
            let queue = OSSUploadQueue(uploader: fixture.uploader(), configuration: configuration)
            let error = try await failure { _ = try await queue.upload(items, manifest: "batch") }
            #expect(error.code == .missingCredentials)
            #expect(fixture.server.keys(bucket: LocalFixture.bucket) == ["k0"])
            #expect(fixture.records == ["batch.manifest.journal"])
        }
    }

    @Test func `A client that is shut down, and an uploader that cannot be, end the queue at once`() async throws {
        try await withLocalServer { fixture in
            let (items, _) = try self.items(fixture, sizes: [10, 20])
            let wrong = OSSUploadQueue(uploader: fixture.uploader { $0.partsInFlight = .fixed(0) })
            #expect(try await failure { _ = try await wrong.upload(items) }.code == .invalidConfiguration)
            fixture.server.faults.add(.init(.delay(.seconds(3600)), operation: "PutObject"))
            let task = OSSUploadQueue(uploader: fixture.uploader()).start(items)
            try await fixture.wait { fixture.server.faults.count(ofOperation: "PutObject") == 2 }
            await fixture.client.shutDown()
            #expect(try await failure { _ = try await task.value }.code == .shutDown)
        }
    }
}

@Suite struct PartSlotsTests {
    private final class Order: Sendable {
        let list = Lock<[Int]>([])
    }

    @Test(.timeLimit(.minutes(5))) func `Waiting owners have their turns one after the other`() async throws {
        let slots = PartSlots(count: 1)
        let order = Order()
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await slots.withSlot(of: 0) { for await _ in gate {} } }
            while slots.waitingCount != 0 || slots.freeCount != 0 { await Task.yield() }
            for (count, owner) in [1, 1, 1, 1, 2, 2, 3].enumerated() {
                group.addTask { try await slots.withSlot(of: owner) { order.list.withLock { $0.append(owner) } } }
                while slots.waitingCount != count + 1 { await Task.yield() }
            }
            open.finish()
            try await group.waitForAll()
        }
        #expect(order.list.withLock { $0 } == [1, 2, 3, 1, 2, 1, 1])
        #expect(slots.freeCount == 1)
    }

    @Test(.timeLimit(.minutes(5))) func `One that is cancelled while it waits gives its turn up and takes no slot`()
        async throws
    {
        let slots = PartSlots(count: 1)
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let holder = Task { try await slots.withSlot(of: 0) { for await _ in gate {} } }
        while slots.freeCount != 0 { await Task.yield() }
        let waiter = Task { try await slots.withSlot(of: 1) {} }
        while slots.waitingCount != 1 { await Task.yield() }
        waiter.cancel()
        await #expect(throws: CancellationError.self) { try await waiter.value }
        let late = Task {
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            try await slots.withSlot(of: 2) {}
        }
        await #expect(throws: CancellationError.self) { try await late.value }
        open.finish()
        try await holder.value
        #expect(slots.freeCount == 1)
        #expect(slots.waitingCount == 0)
    }
}
