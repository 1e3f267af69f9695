// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import FoundationEssentials
import OSSLocalServer
import OSSWire
import Synchronization
import SystemIO
import Testing

@testable import OSSMultipart

@Suite(.timeLimit(.minutes(5))) struct UploaderTests {
    private static let part = Int(LocalFixture.partSize)

    // Case 1
    @Test func `A file goes up in parts, each sent once, and nothing is left behind`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 10 * Self.part + 17)
            let result = try await fixture.upload(file)
            #expect(try await fixture.object() == file.bytes)
            #expect(fixture.partsSent == Array(1...11))
            #expect(fixture.count("InitiateMultipartUpload") == 1)
            #expect(fixture.count("CompleteMultipartUpload") == 1)
            #expect(fixture.openUploads.isEmpty)
            #expect(fixture.records.isEmpty)
            #expect(result.proof == .crc64)
            #expect(result.crc64 == CRC64.of(file.bytes))
            #expect(result.size == Int64(file.bytes.count))
            #expect((result.partsTotal, result.partsSent, result.partsResumed) == (11, 11, 0))
            #expect(result.bytesSent == result.size)
            #expect(result.eTag == fixture.server.objectInfo(bucket: LocalFixture.bucket, key: LocalFixture.key)?.eTag)
            #expect(result.warnings.isEmpty)
        }
    }

    // Cases 21 and 27: https://github.com/aws/aws-sdk-go/issues/2557
    @Test(arguments: [0, 1, 63, 65, 4095, 4097, part - 1, part, part + 1, 2 * part, 2 * part + 1])
    func `Every size around the part size arrives whole, without an empty part`(size: Int) async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: size)
            let result = try await fixture.upload(file)
            #expect(try await fixture.object() == file.bytes)
            #expect(result.partsTotal == max(1, (size + Self.part - 1) / Self.part))
            #expect(fixture.count("PutObject") == (size < Self.part ? 1 : 0))
            #expect(result.proof == .crc64)
            #expect(fixture.server.requests.allSatisfy { $0.operation != "UploadPart" || $0.bytesReceived > 0 })
            #expect(fixture.records.isEmpty)
        }
    }

    // Case 1
    @Test func `No more parts are in flight than asked for, and more than one`() async throws {
        try await withLocalServer { fixture in
            fixture.server.faults.add(.init(.delay(.milliseconds(30)), operation: "UploadPart"))
            let file = try fixture.file(size: 12 * Self.part)
            let task = fixture.uploader { $0.partsInFlight = .fixed(3) }.start(.file(file.url), to: fixture.destination)
            var most = 0
            for await event in task.events { most = max(most, event.snapshot.partsInFlight) }
            _ = try await task.value
            #expect((2...3).contains(most))
        }
    }

    @Test(arguments: [(OSSUploader.PartsInFlight.adaptive(), 4), (.adaptive(upTo: 2), 2), (.fixed(6), 6)])
    func `It begins with four parts in flight unless a number is asked for`(
        asked: OSSUploader.PartsInFlight, expected: Int
    ) async throws {
        try await withLocalServer { fixture in
            fixture.server.faults.add(.init(.delay(.seconds(3600)), operation: "UploadPart"))
            let file = try fixture.file(size: 8 * Self.part)
            #expect(OSSUploader.Configuration().partsInFlight == .adaptive(upTo: 16))
            let task = fixture.uploader { $0.partsInFlight = asked }.start(.file(file.url), to: fixture.destination)
            while task.snapshot.partsInFlight < expected { try await Task.sleep(for: .milliseconds(5)) }
            // One more would be on its way by now: parts are begun together.
            try await Task.sleep(for: .milliseconds(50))
            #expect(task.snapshot.partsInFlight == expected)
            task.cancel()
            _ = await task.result
        }
    }

    @Test func `More parts are in flight where each connection is slow, and no more than the maximum`() async throws {
        try await withLocalServer { fixture in
            fixture.server.faults.add(.init(.delay(.milliseconds(100)), operation: "UploadPart"))
            let file = try fixture.file(size: 40 * Self.part)
            let uploader = fixture.uploader { $0.partsInFlight = .adaptive(upTo: 7) }
            let task = uploader.start(.file(file.url), to: fixture.destination)
            var most = 0
            for await event in task.events { most = max(most, event.snapshot.partsInFlight) }
            _ = try await task.value
            #expect((5...7).contains(most))
            #expect(try await fixture.object() == file.bytes)
        }
    }

    // Case 10: https://github.com/alexmojaki/s3-stream-upload/issues/33
    @Test func `Parts that finish in another order are joined in order`() async throws {
        try await withLocalServer { fixture in
            for part in 1...8 {
                fixture.server.faults.add(
                    .init(.stall(.milliseconds((9 - part) * 15)), operation: "UploadPart", partNumber: part)
                )
            }
            let file = try fixture.file(size: 8 * Self.part)
            try await fixture.upload(file, fixture.uploader { $0.partsInFlight = .fixed(8) })
            #expect(try await fixture.object() == file.bytes)
        }
    }

    @Test(arguments: OSSIntegrity.all)
    func `Every integrity mode stores the right bytes and sends what it says`(integrity: OSSIntegrity) async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 3 * Self.part + 1)
            let result = try await fixture.upload(file, fixture.uploader { $0.integrity = integrity })
            #expect(try await fixture.object() == file.bytes)
            let parts = fixture.server.requests.filter { $0.operation == "UploadPart" }
            let names = Set(parts.flatMap { $0.headers.keys.map { $0.lowercased() } })
            #expect(names.contains("content-md5") == integrity.sendsMD5)
            // An ETag that was not compared with an MD5 of our own proves nothing.
            let knowsMD5 = integrity.sendsMD5 || integrity.comparesETag
            #expect(result.proof == (integrity.comparesCRC64 ? .crc64 : knowsMD5 ? .eTag : .size))
        }
    }

    // Case 79: https://github.com/durch/rust-s3/pull/353
    @Test(arguments: OSSIntegrity.all)
    func `A small file goes up with the integrity that was asked for`(integrity: OSSIntegrity) async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 1000)
            let result = try await fixture.upload(file, fixture.uploader { $0.integrity = integrity })
            let request = try #require(fixture.server.requests.first { $0.operation == "PutObject" })
            let sendsMD5 = [OSSIntegrity.md5AndCRC64, .md5].contains(integrity)
            #expect((request.headers["content-md5"] != nil) == sendsMD5)
            #expect((result.proof == .crc64) == [OSSIntegrity.md5AndCRC64, .crc64].contains(integrity))
        }
    }

    @Test func `Another's object of the very bytes is not taken for the one that must not replace it`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 1000)
            try await fixture.server.putObject(bucket: LocalFixture.bucket, key: LocalFixture.key, data: file.bytes)
            var destination = fixture.destination
            destination.headers.forbidsOverwrite = true
            let error = try await failure {
                _ = try await fixture.uploader().upload(.file(file.url), to: destination)
            }
            #expect(error.service?.code == .fileAlreadyExists)
        }
    }

    @Test(arguments: [1, 3])
    func `Object headers go with the object, not with its parts, whether it is small or large`(parts: Int) async throws
    {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: parts * Self.part - 1)
            var destination = fixture.destination
            destination.headers.contentType = "text/x-sample"
            destination.headers.cacheControl = "no-cache"
            destination.headers.metadata = ["color": "blue"]
            _ = try await fixture.uploader().upload(.file(file.url), to: destination)
            let head = try await fixture.client.headObject(.init(bucket: LocalFixture.bucket, key: LocalFixture.key))
            #expect(head.contentType == "text/x-sample")
            #expect(head.metadata == ["color": "blue"])
            for request in fixture.server.requests where request.operation == "UploadPart" {
                let names = request.headers.keys.map { $0.lowercased() }
                #expect(!names.contains("content-type"))
                #expect(!names.contains("x-oss-meta-color"))
            }
        }
    }

    // Case 84: https://github.com/oven-sh/bun/issues/43137
    @Test func `Without a checkpoint a failed upload is aborted and the first error is told`() async throws {
        try await withLocalServer { fixture in
            fixture.server.faults.add(
                .init(.respond(status: 403, code: "AccessDenied"), operation: "UploadPart", partNumber: 6)
            )
            let file = try fixture.file(size: 11 * Self.part)
            let error = try await failure {
                try await fixture.upload(file, fixture.uploader(checkpoints: OSSCheckpoints.none))
            }
            #expect(error.service?.code == .accessDenied)
            #expect(error.partNumber == 6)
            #expect(error.resumption == nil)
            #expect(fixture.openUploads.isEmpty)
            #expect(fixture.count("CompleteMultipartUpload") == 0)
        }
    }

    @Test func `A failed abort does not hide the first error`() async throws {
        try await withLocalServer { fixture in
            fixture.server.faults.add(
                .init(.respond(status: 403, code: "AccessDenied"), operation: "UploadPart", partNumber: 2),
                .init(.respond(status: 500, code: "InternalError"), operation: "AbortMultipartUpload")
            )
            let file = try fixture.file(size: 3 * Self.part)
            let error = try await failure {
                try await fixture.upload(file, fixture.uploader(checkpoints: OSSCheckpoints.none))
            }
            #expect(error.operation == .uploadPart)
            #expect(error.service?.code == .accessDenied)
        }
    }

    // Case 11: https://github.com/pingcap/tidb/pull/71162
    @Test func `A refused last part publishes nothing, and the older object stays`() async throws {
        try await withLocalServer { fixture in
            try await fixture.server.putObject(bucket: LocalFixture.bucket, key: LocalFixture.key, data: [1, 2, 3])
            fixture.server.faults.add(
                .init(.respond(status: 403, code: "AccessDenied"), operation: "UploadPart", partNumber: 5)
            )
            let file = try fixture.file(size: 4 * Self.part + 1)
            let error = try await failure { try await fixture.upload(file) }
            #expect(error.description.contains("AccessDenied"))
            #expect(error.service?.requestID != nil)
            #expect(error.resumption?.bytesUploaded ?? 0 > 0)
            #expect(fixture.count("CompleteMultipartUpload") == 0)
            #expect(try await fixture.object() == [1, 2, 3])
        }
    }

    @Test func `Progress never falls, never passes the whole, and reaches it once`() async throws {
        try await withLocalServer { fixture in
            for part in [2, 5, 9] {
                fixture.server.faults.add(
                    .init(.cut(afterBodyBytes: 70_000), operation: "UploadPart", partNumber: part, occurrences: 1...2)
                )
            }
            let file = try fixture.file(size: 10 * Self.part + 17)
            let task = fixture.uploader().start(.file(file.url), to: fixture.destination)
            var last: Int64 = 0
            for await event in task.events {
                #expect(event.snapshot.bytesDone >= last)
                #expect(event.snapshot.bytesDone <= event.snapshot.bytesTotal)
                last = event.snapshot.bytesDone
            }
            _ = try await task.value
            #expect(task.snapshot.bytesDone == Int64(file.bytes.count))
            #expect(task.snapshot.fractionCompleted == 1)
            #expect(task.snapshot.hasEnded)
            #expect(try await fixture.object() == file.bytes)
        }
    }

    // Case 28: https://github.com/aliyun/aliyun-oss-ios-sdk/issues/227
    @Test func `A source that is no file is refused before anything is sent`() async throws {
        try await withLocalServer { fixture in
            let link = fixture.folder + "/dangling"
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: fixture.folder + "/nowhere")
            for path in [fixture.folder + "/missing", fixture.folder, link, "/dev/null"] {
                let error = try await failure {
                    _ = try await fixture.uploader().upload(.file(URL(filePath: path)), to: fixture.destination)
                }
                #expect(error.code == .sourceUnreadable)
            }
            #expect(fixture.server.requests.isEmpty)
            #expect(fixture.records.isEmpty)
        }
    }

    // Case 29: https://github.com/aliyun/aliyun-oss-ios-sdk/issues/227
    @Test(arguments: ["a b#c%20d?.bin", "文件 😀.bin", "it's \"q\".bin", "a\\b.bin"])
    func `File names may hold anything`(name: String) async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(name, size: Self.part + 1)
            try await fixture.upload(file)
            let link = fixture.folder + "/link to " + name
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file.path)
            _ = try await fixture.uploader().upload(
                .file(URL(filePath: link)), to: .init(bucket: LocalFixture.bucket, key: "linked")
            )
            #expect(try await fixture.object() == file.bytes)
            #expect(try await fixture.object("linked") == file.bytes)
        }
    }

    // Case 72: https://github.com/aliyun/aliyun-oss-go-sdk/issues/439
    @Test(arguments: [OSSClient.SignatureVersion.v4, .v1])
    func `Keys may hold anything that the service takes`(version: OSSClient.SignatureVersion) async throws {
        let keys = [
            "plus+percent%hash#question?amp&equal=", "semi;comma,'quote'(par)*!~:@$", "blank in it", "\"double\"",
            "中文/键",
            "emoji 😀", "e\u{301} and é", "a//b", "trailing/", "..", "a/../b", "./a", "a%2Fb", "%41", "back\\slash",
            "tab\tin",
            String(repeating: "k", count: 1023), String(repeating: "文", count: 341),
        ]
        try await withLocalServer(client: { $0.signatureVersion = version }) { fixture in
            let file = try fixture.file(size: 2 * Self.part + 5)
            for key in keys {
                let result = try await fixture.upload(file, key: key)
                #expect(result.key == key)
                #expect(try await fixture.object(key) == file.bytes)
            }
            #expect(Set(fixture.server.keys(bucket: LocalFixture.bucket)) == Set(keys))
            #expect(fixture.records.isEmpty)
        }
    }

    // Case 77: https://github.com/ali-sdk/ali-oss/issues/644
    @Test func `The token of temporary credentials goes with every request`() async throws {
        let account = OSSServer.Account(accessKeyID: "STS.ak", accessKeySecret: "sk", securityToken: "a-token")
        let credentials = try OSSCredentials(accessKeyID: "STS.ak", accessKeySecret: "sk", securityToken: "a-token")
        try await withLocalServer({ $0.accounts = [account] }, credentials: .fixed(credentials)) { fixture in
            let file = try fixture.file(size: 3 * Self.part)
            try await fixture.upload(file)
            #expect(try await fixture.object() == file.bytes)
            #expect(fixture.server.requests.allSatisfy { $0.status == 200 })
        }
    }

    // Case 64: https://github.com/ali-sdk/ali-oss/issues/644
    @Test func `A token that dies in the middle is renewed once for all parts`() async throws {
        let loads = Mutex(0)
        let provider = OSSCredentialsProvider.refreshing {
            let count = loads.withLock { count in
                count += 1
                return count
            }
            return try OSSCredentials(accessKeyID: "ak\(count)", accessKeySecret: "sk", securityToken: "token")
        }
        let accounts = (1...3).map {
            OSSServer.Account(accessKeyID: "ak\($0)", accessKeySecret: "sk", securityToken: "token")
        }
        try await withLocalServer({ $0.accounts = accounts }, credentials: provider) { fixture in
            fixture.server.faults.add(.init(.delay(.milliseconds(20)), operation: "UploadPart"))
            let file = try fixture.file(size: 12 * Self.part)
            let task = fixture.uploader().start(.file(file.url), to: fixture.destination)
            for await event in task.events where event.snapshot.partsDone > 0 {
                fixture.server.setExpiration(0, ofAccessKeyID: "ak1")
                break
            }
            _ = try await task.value
            #expect(try await fixture.object() == file.bytes)
            #expect(loads.withLock { $0 } == 2)
            #expect(fixture.server.requests.contains { $0.errorCode == "SecurityTokenExpired" })
        }
    }

    @Test(arguments: [10, 3 * part])
    func `Credentials that are missing are told before a record is made and a stream is read`(size: Int) async throws {
        let asked = Counter()
        let provider = OSSCredentialsProvider.refreshing {
            _ = asked.next()
            throw Unexpected("no key")
        }
        try await withLocalServer(credentials: provider) { fixture in
            let file = try fixture.file(size: size)
            let read = Lock(false)
            let stream = OSSUploadSource.replayable(named: "tape") {
                read.withLock { $0 = true }
                return AsyncStream<[UInt8]> { $0.finish() }
            }
            for source in [.file(file.url), .bytes(file.bytes), stream] {
                let error = try await failure {
                    _ = try await fixture.uploader().upload(source, to: fixture.destination)
                }
                #expect(error.code == .missingCredentials)
                #expect(error.underlying is Unexpected)
            }
            #expect(asked.value == 3, "each upload asks once, and its parts do not")
            #expect(!read.withLock { $0 })
            // Not even the folder has been made.
            #expect(!FileManager.default.fileExists(atPath: fixture.checkpointFolder))
            #expect(fixture.server.requests.isEmpty)
        }
    }

    @Test func `A client that has been shut down says so`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 2 * Self.part)
            await fixture.client.shutDown()
            let error = try await failure { try await fixture.upload(file) }
            #expect(error.code == .shutDown)
        }
    }

    // Case 49: https://github.com/googleapis/google-cloud-cpp/issues/6713
    @Test func `Two uploads to one key: the second is told that the first is at work, and the first is unharmed`()
        async throws
    {
        try await withLocalServer { fixture in
            fixture.server.faults.add(.init(.delay(.milliseconds(50)), operation: "UploadPart"))
            let first = try fixture.file("first", size: 8 * Self.part)
            let second = try fixture.file("second", size: 9 * Self.part, seed: 2)
            let task = fixture.uploader().start(.file(first.url), to: fixture.destination)
            for await event in task.events where event.snapshot.partsDone > 0 { break }
            let error = try await failure { try await fixture.upload(second) }
            #expect(error.code == .checkpointInUse)
            _ = try await task.value
            #expect(try await fixture.object() == first.bytes)
            #expect(fixture.records.isEmpty)
        }
    }

    // Case 46: https://github.com/aliyun/aliyun-oss-ios-sdk/issues/352
    @Test
    func `A checkpoint folder that cannot be used is an error where it was named, and a warning where it was not`()
        async throws
    {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 2 * Self.part)
            let error = try await failure {
                try await fixture.upload(file, fixture.uploader(checkpoints: .directory(file.url)))
            }
            #expect(error.code == .checkpointUnusable)
            #expect(fixture.server.requests.isEmpty)
            #expect(FileManager.default.contents(atPath: file.path) == Data(file.bytes))

            let optional = OSSCheckpoints.directory(file.url, isRequired: false)
            let result = try await fixture.upload(file, fixture.uploader(checkpoints: optional))
            #expect(result.warnings.contains { $0.contains("without a checkpoint") })
            #expect(try await fixture.object() == file.bytes)
        }
    }

    @Test func `A checkpoint folder that takes no files is told as one that cannot be used`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 2 * Self.part)
            // Nobody can make a file there, not even root.
            let folder = URL(filePath: "/proc/self")
            let error = try await failure {
                try await fixture.upload(file, fixture.uploader(checkpoints: .directory(folder)))
            }
            #expect(error.code == .checkpointUnusable)
            #expect(fixture.server.requests.isEmpty)
            let result = try await fixture.upload(
                file, fixture.uploader(checkpoints: .directory(folder, isRequired: false))
            )
            #expect(result.warnings.contains { $0.contains("without a checkpoint") })
            #expect(try await fixture.object() == file.bytes)
        }
    }
}
