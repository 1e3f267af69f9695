// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import OSSLocalServer
import OSSWire
import Testing

@testable import OSSMultipart

@Suite(.timeLimit(.minutes(5))) struct CompleteTests {
    private static let part = Int(LocalFixture.partSize)
    private static let complete = "CompleteMultipartUpload"

    private func withFile(
        _ faults: [OSSServer.Fault], _ body: (LocalFixture, TestFile) async throws -> Void
    ) async throws {
        try await withLocalServer { fixture in
            fixture.server.faults.add(contentsOf: faults)
            try await body(fixture, try fixture.file(size: 4 * Self.part + 17))
        }
    }

    private static func fault(_ action: OSSServer.Fault.Action, _ times: ClosedRange<Int> = 1...1) -> OSSServer.Fault {
        .init(action, operation: Self.complete, occurrences: times)
    }

    // Cases 2, 3 and 4: https://github.com/aws/aws-sdk-java-v2/issues/7068
    @Test(
        arguments: [
            .respond(status: 200, code: "InternalError"), .respond(status: 500, code: "InternalError"),
            .respondRaw(status: 200, body: []),
            .respondRaw(status: 200, body: Array("<html><body>Hello</body></html>".utf8)),
            .respondRaw(status: 200, body: Array("<CompleteMultipartUploadResult><Loc".utf8)), .dropBeforeReply,
        ] as [OSSServer.Fault.Action])
    func `A Complete that was not applied is sent again`(action: OSSServer.Fault.Action) async throws {
        try await self.withFile([Self.fault(action)]) { fixture, file in
            let result = try await fixture.upload(file)
            #expect(result.proof == .crc64)
            #expect(try await fixture.object() == file.bytes)
            #expect(fixture.count(Self.complete) == 2)
            #expect(fixture.records.isEmpty)
        }
    }

    @Test(
        arguments: [
            .respond(status: 200, code: "InternalError"), .respondRaw(status: 200, body: []), .dropBeforeReply,
        ] as [OSSServer.Fault.Action])
    func `A Complete that is never applied fails within bounds, and the next run finishes`(
        action: OSSServer.Fault.Action
    ) async throws {
        try await self.withFile([Self.fault(action, OSSServer.Fault.always)]) { fixture, file in
            let error = try await failure { try await fixture.upload(file) }
            #expect(error.code == .outcomeUnknown || error.code == .malformedReply)
            #expect(fixture.count(Self.complete) <= 8)
            #expect(try await fixture.object() == nil)
            fixture.server.faults.removeAll()
            fixture.server.removeAllRequests()
            try await fixture.upload(file)
            #expect(fixture.partsSent.isEmpty)
            #expect(try await fixture.object() == file.bytes)
        }
    }

    // Cases 5 and 6: https://github.com/peak/s5cmd/issues/450
    @Test(
        arguments: [
            .commitThenDrop, .commitThenRespond(status: 500, code: "InternalError"),
            .replaceReplyBody(Array("<CompleteMultipartUploadResult><Loc".utf8)), .replaceReplyBody([]),
            .replaceReplyBody(Array("<html></html>".utf8)),
        ] as [OSSServer.Fault.Action])
    func `A Complete that was applied is found out, and nothing is sent twice`(action: OSSServer.Fault.Action)
        async throws
    {
        try await self.withFile([Self.fault(action)]) { fixture, file in
            let result = try await fixture.upload(file)
            #expect(result.proof == .crc64)
            #expect(fixture.partsSent == Array(1...5))
            #expect(fixture.count(Self.complete) == 1)
            #expect(fixture.count("InitiateMultipartUpload") == 1)
            // The object tells; the upload need not be looked for.
            #expect(fixture.count("ListParts") == 0)
            #expect(fixture.records.isEmpty)
            #expect(try await fixture.object() == file.bytes)
        }
    }

    @Test func `A Complete that is applied and never answered ends by time-out and is found out`() async throws {
        try await withLocalServer(client: { $0.idleTimeout = .milliseconds(700) }) { fixture in
            fixture.server.faults.add(Self.fault(.stall(.seconds(3600))))
            let file = try fixture.file(size: 4 * Self.part + 17)
            let result = try await fixture.upload(file)
            #expect(result.proof == .crc64)
            #expect(fixture.count(Self.complete) <= 1)
            #expect(try await fixture.object() == file.bytes)
        }
    }

    // Case 7: https://github.com/peak/s5cmd/issues/450
    @Test func `The reply is lost, the upload is gone and no object is there: it begins anew`() async throws {
        try await self.withFile([
            Self.fault(.dropBeforeReply),
            .init(.respond(status: 404, code: "NoSuchUpload"), operation: "ListParts", occurrences: 1...1),
        ]) { fixture, file in
            let result = try await fixture.upload(file)
            #expect(result.proof == .crc64)
            #expect(fixture.partsSent.count == 10)
            #expect(try await fixture.object() == file.bytes)
        }
    }

    @Test func `An older object of the same size is not taken for the new one`() async throws {
        try await self.withFile([Self.fault(.dropBeforeReply)]) { fixture, file in
            let older = file.bytes.map { $0 ^ 0xFF }
            try await fixture.server.putObject(bucket: LocalFixture.bucket, key: LocalFixture.key, data: older)
            try await fixture.upload(file)
            #expect(try await fixture.object() == file.bytes)
            #expect(fixture.count(Self.complete) == 2)
        }
    }

    @Test func `Where looking is denied after a lost reply, the outcome is unknown and the record kept`() async throws {
        try await self.withFile([
            Self.fault(.commitThenDrop), .init(.respond(status: 403, code: "AccessDenied"), operation: "HeadObject"),
        ]) { fixture, file in
            let error = try await failure { try await fixture.upload(file) }
            #expect(error.code == .outcomeUnknown)
            #expect(fixture.records.count == 1)
            #expect(fixture.count("AbortMultipartUpload") == 0)
            #expect(try await fixture.object() == file.bytes)
        }
    }

    @Test func `Without a checkpoint an unknown outcome is not aborted`() async throws {
        try await self.withFile([
            Self.fault(.commitThenDrop), .init(.respond(status: 403, code: "AccessDenied"), operation: "HeadObject"),
        ]) { fixture, file in
            let error = try await failure {
                try await fixture.upload(file, fixture.uploader(checkpoints: OSSCheckpoints.none))
            }
            #expect(error.code == .outcomeUnknown)
            #expect(fixture.count("AbortMultipartUpload") == 0)
            #expect(try await fixture.object() == file.bytes)
        }
    }

    // Case 13: https://github.com/aliyun/aliyun-oss-ios-sdk/issues/286
    @Test func `A stored object whose checksum differs is an integrity error, and the next run starts anew`()
        async throws
    {
        try await self.withFile([Self.fault(.editReplyHeader("x-oss-hash-crc64ecma", "12345"))]) { fixture, file in
            let error = try await failure { try await fixture.upload(file) }
            #expect(error.code == .integrity)
            #expect(error.message.contains("12345"))
            #expect(fixture.records.isEmpty)
            #expect(fixture.count("AbortMultipartUpload") == 0)
            fixture.server.removeAllRequests()
            try await fixture.upload(file)
            #expect(fixture.partsSent == Array(1...5))
            #expect(try await fixture.object() == file.bytes)
        }
    }

    // Case 14: https://github.com/minio/minio-dotnet/issues/1337
    @Test func `Without any checksum in the replies the upload works, and the proof says what there was`() async throws
    {
        try await self.withFile([.init(.editReplyHeader("x-oss-hash-crc64ecma", nil))]) { fixture, file in
            let result = try await fixture.upload(file)
            #expect(result.proof == .eTag)
            #expect(try await fixture.object() == file.bytes)

            let small = try fixture.file("small", size: 5)
            let whole = try await fixture.upload(small, key: "small")
            #expect(whole.proof == .eTag)
        }
    }

    // Case 12: https://github.com/minio/minio-dotnet/issues/1337
    @Test func `Without checksum and ETag the size is compared`() async throws {
        try await self.withFile([
            .init(.editReplyHeader("x-oss-hash-crc64ecma", nil)),
            .init(.editReplyHeader("ETag", nil), operation: Self.complete),
            .init(.editReplyBody(replacing: "ETag", with: "Other"), operation: Self.complete),
            .init(.editReplyHeader("ETag", nil), operation: "HeadObject"),
        ]) { fixture, file in
            let result = try await fixture.upload(file)
            #expect(result.proof == .size)
            #expect(result.eTag == nil)
            #expect(try await fixture.object() == file.bytes)
        }
    }

    // Case 12: https://github.com/minio/minio-dotnet/issues/1337
    @Test func `The ETag may come in the document alone or in the header alone`() async throws {
        for fault in [
            OSSServer.Fault(.editReplyHeader("ETag", nil), operation: Self.complete),
            OSSServer.Fault(.editReplyBody(replacing: "ETag", with: "Other"), operation: Self.complete),
        ] {
            try await self.withFile([fault]) { fixture, file in
                let result = try await fixture.upload(file)
                #expect(
                    result.eTag == fixture.server.objectInfo(bucket: LocalFixture.bucket, key: LocalFixture.key)?.eTag)
            }
        }
    }

    @Test func `InvalidPart makes the lost parts be sent again`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 4 * Self.part + 17)
            // Refused, to come again after a second, until the parts have been lost.
            let later = OSSServer.Fault.Action.respond(status: 503, code: "SlowDown", headers: ["Retry-After": "1"])
            fixture.server.faults.add(Self.fault(later, OSSServer.Fault.always))
            let task = fixture.uploader().start(.file(file.url), to: fixture.destination)
            for await event in task.events where event.snapshot.partsDone == 5 { break }
            let uploadID = try #require(fixture.openUploads.first)
            try await fixture.server.removeParts([2, 5], ofUpload: uploadID)
            fixture.server.faults.removeAll()
            let result = try await task.value
            #expect(fixture.partsSent == [1, 2, 2, 3, 4, 5, 5])
            #expect(result.warnings.contains { $0.contains("lost") })
            #expect(try await fixture.object() == file.bytes)
            #expect(task.snapshot.bytesDone == Int64(file.bytes.count))
        }
    }

    @Test func `An existing object that must not be overwritten is told before anything is sent`() async throws {
        try await withLocalServer { fixture in
            try await fixture.server.putObject(bucket: LocalFixture.bucket, key: LocalFixture.key, data: [1])
            for size in [5, 3 * Self.part] {
                let file = try fixture.file(size: size)
                var destination = fixture.destination
                destination.headers.forbidsOverwrite = true
                let error = try await failure {
                    _ = try await fixture.uploader().upload(.file(file.url), to: destination)
                }
                #expect(error.service?.code == .fileAlreadyExists)
                #expect(fixture.partsSent.isEmpty)
                #expect(try await fixture.object() == [1])
                #expect(fixture.records.isEmpty)
            }
        }
    }

    @Test(arguments: [5, 3 * part])
    func `A lost reply with overwriting forbidden is found out`(size: Int) async throws {
        try await withLocalServer { fixture in
            fixture.server.faults.add(
                .init(.commitThenDrop, operation: size == 5 ? "PutObject" : Self.complete, occurrences: 1...1)
            )
            let file = try fixture.file(size: size)
            var destination = fixture.destination
            destination.headers.forbidsOverwrite = true
            let result = try await fixture.uploader().upload(.file(file.url), to: destination)
            #expect(result.proof == .crc64)
            #expect(try await fixture.object() == file.bytes)
            let publishing = fixture.server.requests.filter { ["PutObject", Self.complete].contains($0.operation) }
            #expect(!publishing.isEmpty)
            #expect(publishing.allSatisfy { $0.headers["x-oss-forbid-overwrite"] == "true" })
        }
    }

    // Case 3: https://github.com/oven-sh/bun/pull/34044
    @Test func `A well-formed result without an object behind it is not believed`() async throws {
        let result = "<CompleteMultipartUploadResult><ETag>\"X\"</ETag></CompleteMultipartUploadResult>"
        let faults = [Self.fault(.respondRaw(status: 200, body: Array(result.utf8)))]
        try await self.withFile(faults) { fixture, file in
            let upload = try await fixture.upload(file)
            #expect(upload.proof == .crc64)
            #expect(fixture.count(Self.complete) == 2)
            let object = try await fixture.object()
            #expect(object == file.bytes)
        }
    }

    @Test func `A portal's page is no stored object, whatever its status says`() async throws {
        try await withLocalServer { fixture in
            try await fixture.server.putObject(bucket: LocalFixture.bucket, key: LocalFixture.key, data: [1, 2, 3])
            let page = OSSServer.Fault.Action.respondRaw(
                status: 200, headers: ["Content-Type": "text/html"], body: Array("<html>Sign in</html>".utf8)
            )
            fixture.server.faults.add(.init(page, operation: "PutObject"))
            let small = try fixture.file("small", size: 100)
            let error = try await failure { try await fixture.upload(small) }
            #expect(error.code == .malformedReply)
            #expect(error.description.contains("status 200"))
            #expect(try await fixture.object() == [1, 2, 3])
        }
    }

    @Test func `Overwriting forbidden and lost to another: the upload is given up, for no run could finish it`()
        async throws
    {
        try await withLocalServer { fixture in
            fixture.server.faults.add(
                Self.fault(.respond(status: 409, code: "FileAlreadyExists"), OSSServer.Fault.always))
            let file = try fixture.file(size: 3 * Self.part)
            var destination = fixture.destination
            destination.headers.forbidsOverwrite = true
            let error = try await failure { _ = try await fixture.uploader().upload(.file(file.url), to: destination) }
            #expect(error.service?.code == .fileAlreadyExists)
            #expect(error.resumption == nil)
            #expect(fixture.openUploads.isEmpty)
            #expect(fixture.records.isEmpty)
        }
    }

    // Case 8: https://github.com/minio/minio-js/issues/452
    @Test func `Blanks before the document do not matter`() async throws {
        try await self.withFile([Self.fault(.editReplyBody(replacing: "<?xml", with: " \n\n   <?xml"))]) {
            fixture, file in
            let result = try await fixture.upload(file)
            #expect(result.proof == .crc64)
        }
    }
}
