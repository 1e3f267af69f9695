// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import OSSLocalServer
import OSSWire
import Testing

@testable import OSSMultipart

/// Public cases of the commit, and every row of what can become of Complete and of PutObject.
///
/// The case numbers are those of the list of public bug reports that the uploader is held to.
@Suite(.timeLimit(.minutes(5))) struct CommitCaseTests {
    private static let part = Int(LocalFixture.partSize)
    private static let complete = "CompleteMultipartUpload"
    private static let document = Array("<CompleteMultipartUploadResult><Loc".utf8)
    private static let page = Array("<html><body>Sign in</body></html>".utf8)

    /// What stores an object, and how large the source is for it.
    enum Way: String, CaseIterable, Sendable {
        case complete = "CompleteMultipartUpload"
        case put = "PutObject"
        var size: Int { self == .put ? 5000 : 3 * Int(LocalFixture.partSize) + 17 }
    }

    private func upload(
        _ file: TestFile, _ fixture: LocalFixture, forbidsOverwrite: Bool, _ uploader: OSSUploader? = nil
    ) async throws -> OSSUploadResult {
        var destination = fixture.destination
        destination.headers.forbidsOverwrite = forbidsOverwrite
        return try await (uploader ?? fixture.uploader()).upload(.file(file.url), to: destination)
    }

    // Cases 2 to 6: https://github.com/aws/aws-sdk-java-v2/issues/7068, https://github.com/oven-sh/bun/pull/34044,
    // https://github.com/peak/s5cmd/issues/450
    @Test(
        arguments: Way.allCases,
        [
            .dropBeforeReply, .commitThenDrop, .respond(status: 500, code: "InternalError"),
            .respond(status: 200, code: "InternalError"), .respond(status: 504, code: "GatewayTimeout"),
            .commitThenRespond(status: 500, code: "InternalError"), .commitThenRespond(status: 502, code: "BadGateway"),
            .commitThenRespond(status: 200, code: "InternalError"), .respondRaw(status: 200),
            .respondRaw(status: 200, body: Self.page), .respondRaw(status: 200, body: Self.document),
        ] as [OSSServer.Fault.Action])
    func `Whatever becomes of one reply, the object is stored once, also where it must not replace another`(
        way: Way, action: OSSServer.Fault.Action
    ) async throws {
        for forbidsOverwrite in [false, true] {
            try await withLocalServer { fixture in
                fixture.server.faults.add(.init(action, operation: way.rawValue, occurrences: 1...1))
                let file = try fixture.file(size: way.size)
                let result = try await self.upload(file, fixture, forbidsOverwrite: forbidsOverwrite)
                #expect(result.proof == .crc64)
                #expect(try await fixture.object() == file.bytes)
                #expect(fixture.count(way.rawValue) <= 2)
                #expect(fixture.count("InitiateMultipartUpload") <= 1)
                #expect(fixture.openUploads.isEmpty)
                #expect(fixture.records.isEmpty)
            }
        }
    }

    @Test(arguments: Way.allCases, [true, false])
    func `A reply that never comes ends by time-out and is found out, or sent again`(way: Way, isApplied: Bool)
        async throws
    {
        try await withLocalServer(client: { $0.idleTimeout = .seconds(2) }) { fixture in
            fixture.server.faults.add(
                .init(
                    isApplied ? .stall(.seconds(3600)) : .delay(.seconds(3600)), operation: way.rawValue,
                    occurrences: 1...1)
            )
            let file = try fixture.file(size: way.size)
            let result = try await self.upload(file, fixture, forbidsOverwrite: true)
            #expect(result.proof == .crc64)
            #expect(try await fixture.object() == file.bytes)
            #expect(fixture.openUploads.isEmpty)
        }
    }

    @Test(
        arguments: Way.allCases,
        [
            .respond(status: 200, code: "InternalError"), .respond(status: 500, code: "InternalError"),
            .dropBeforeReply,
            .respondRaw(status: 200, body: Self.page),
        ] as [OSSServer.Fault.Action])
    func `An object that is never stored is not claimed, the tries are bounded, and the older one stays`(
        way: Way, action: OSSServer.Fault.Action
    ) async throws {
        try await withLocalServer { fixture in
            try await fixture.server.putObject(bucket: LocalFixture.bucket, key: LocalFixture.key, data: [1, 2, 3])
            fixture.server.faults.add(.init(action, operation: way.rawValue))
            let file = try fixture.file(size: way.size)
            let error = try await failure { try await fixture.upload(file) }
            #expect(error.operation?.description == way.rawValue)
            #expect((2...8).contains(fixture.server.faults.count(ofOperation: way.rawValue)))
            #expect(try await fixture.object() == [1, 2, 3])
            fixture.server.faults.removeAll()
            fixture.server.removeAllRequests()
            try await fixture.upload(file)
            #expect(fixture.partsSent.isEmpty)
            #expect(try await fixture.object() == file.bytes)
            #expect(fixture.openUploads.isEmpty)
        }
    }

    @Test(arguments: Way.allCases)
    func `An older object of the same size is not taken for the new one`(way: Way) async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: way.size)
            try await fixture.server.putObject(
                bucket: LocalFixture.bucket, key: LocalFixture.key, data: file.bytes.map { $0 ^ 0xFF })
            fixture.server.faults.add(.init(.dropBeforeReply, operation: way.rawValue, occurrences: 1...1))
            try await fixture.upload(file)
            #expect(try await fixture.object() == file.bytes)
            #expect(fixture.count(way.rawValue) == 2)
        }
    }

    @Test(arguments: Way.allCases)
    func `Where another object came first and none may be replaced, a lost reply does not make it ours`(way: Way)
        async throws
    {
        try await withLocalServer(client: { $0.idleTimeout = .seconds(2) }) { fixture in
            let file = try fixture.file(size: way.size)
            let other = file.bytes.map { $0 ^ 0xFF }
            // Held until the other one, of the same size, has long been stored; then it is given up and sent again.
            fixture.server.faults.add(
                .init(.delay(.seconds(3600)), operation: way.rawValue, occurrences: 1...1))
            async let outcome = failure { _ = try await self.upload(file, fixture, forbidsOverwrite: true) }
            while fixture.server.faults.count(ofOperation: way.rawValue) == 0 {
                try await Task.sleep(for: .milliseconds(2))
            }
            try await fixture.server.putObject(bucket: LocalFixture.bucket, key: LocalFixture.key, data: other)
            let error = try await outcome
            #expect(error.service?.code == .fileAlreadyExists)
            #expect(try await fixture.object() == other)
            #expect(fixture.openUploads.isEmpty)
            #expect(fixture.records.isEmpty)
        }
    }

    // Case 7: https://github.com/peak/s5cmd/issues/450, https://github.com/piskvorky/smart_open/issues/628
    @Test func `A Complete that is lost together with its upload makes the source be uploaded anew`() async throws {
        try await withLocalServer(client: { $0.idleTimeout = .seconds(2) }) { fixture in
            fixture.server.faults.add(
                .init(.delay(.seconds(3600)), operation: Self.complete, occurrences: 1...1))
            let file = try fixture.file(size: Way.complete.size)
            async let upload = fixture.upload(file)
            while fixture.server.faults.count(ofOperation: Self.complete) == 0 {
                try await Task.sleep(for: .milliseconds(2))
            }
            let lost = try #require(fixture.openUploads.first)
            try await fixture.server.removeUpload(lost)
            let result = try await upload
            #expect(result.uploadID != lost)
            #expect(result.warnings.contains { $0.contains(lost) })
            #expect(fixture.partsSent == [1, 1, 2, 2, 3, 3, 4, 4])
            #expect(try await fixture.object() == file.bytes)
            #expect(fixture.openUploads.isEmpty)
            #expect(fixture.records.isEmpty)
        }
    }

    @Test(arguments: ["NoSuchUpload", "FileAlreadyExists"])
    func `A lost reply, then a refusal by what the second try had done: the object is found`(code: String) async throws
    {
        try await withLocalServer { fixture in
            fixture.server.faults.add(
                .init(.dropBeforeReply, operation: Self.complete, occurrences: 1...1),
                .init(
                    .commitThenRespond(status: code == "NoSuchUpload" ? 404 : 409, code: code),
                    operation: Self.complete,
                    occurrences: 2...2)
            )
            let file = try fixture.file(size: Way.complete.size)
            let result = try await self.upload(file, fixture, forbidsOverwrite: code == "FileAlreadyExists")
            #expect(result.proof == .crc64)
            #expect(result.partsSent == 4)
            #expect(fixture.count("InitiateMultipartUpload") == 1)
            #expect(try await fixture.object() == file.bytes)
            #expect(fixture.records.isEmpty)
        }
    }

    @Test(arguments: Way.allCases)
    func `Where looking is denied after a lost reply and a refusal, the outcome is unknown`(way: Way) async throws {
        try await withLocalServer { fixture in
            fixture.server.faults.add(
                .init(.commitThenDrop, operation: way.rawValue, occurrences: 1...1),
                .init(.respond(status: 403, code: "AccessDenied"), operation: "HeadObject")
            )
            let file = try fixture.file(size: way.size)
            let error = try await failure { _ = try await self.upload(file, fixture, forbidsOverwrite: true) }
            #expect(error.code == .outcomeUnknown, "\(error)")
            #expect(fixture.count("AbortMultipartUpload") == 0)
            #expect(fixture.records.count == (way == .complete ? 1 : 0))
            #expect(try await fixture.object() == file.bytes)
        }
    }

    @Test(arguments: Way.allCases)
    func `Status 203 says that the object is stored and the callback failed, and nothing is left to go on with`(
        way: Way
    )
        async throws
    {
        try await withLocalServer { fixture in
            let failed = OSSServer.Fault.Action.commitThenRespond(
                status: 203, code: "CallbackFailed", message: "Error status : 502.")
            fixture.server.faults.add(.init(failed, operation: way.rawValue))
            let file = try fixture.file(size: way.size)
            let result = try await fixture.upload(file)
            #expect(result.callback?.failure?.contains("Error status : 502.") == true)
            #expect(result.callback?.hasSucceeded == false)
            // What the reply does not tell is asked for.
            #expect(result.proof == .crc64)
            #expect(fixture.server.faults.count(ofOperation: way.rawValue) == 1)
            #expect(fixture.count("AbortMultipartUpload") == 0)
            #expect(try await fixture.object() == file.bytes)
            #expect(fixture.records.isEmpty)
        }
    }

    // Case 13: https://github.com/aliyun/alibabacloud-oss-sdk/pull/286
    @Test(arguments: Way.allCases)
    func `Stored bytes whose checksum differs are an integrity error`(way: Way) async throws {
        try await withLocalServer { fixture in
            fixture.server.faults.add(
                .init(.editReplyHeader("x-oss-hash-crc64ecma", "12345"), operation: way.rawValue))
            let file = try fixture.file(size: way.size)
            let error = try await failure { try await fixture.upload(file) }
            #expect(error.code == .integrity)
            #expect(error.message.contains("12345"))
            #expect(fixture.records.isEmpty)
            #expect((1...8).contains(fixture.count(way.rawValue)))
        }
    }

    @Test func `A service that keeps saying that parts are missing is believed three times`() async throws {
        try await withLocalServer { fixture in
            fixture.server.faults.add(.init(.respond(status: 400, code: "InvalidPart"), operation: Self.complete))
            let file = try fixture.file(size: Way.complete.size)
            let error = try await failure { try await fixture.upload(file) }
            #expect(error.message.contains("keeps saying"))
            #expect(fixture.count(Self.complete) == 3)
            // It lists them as they were sent: none of them is sent again.
            #expect(fixture.partsSent == [1, 2, 3, 4])
            fixture.server.faults.removeAll()
            try await fixture.upload(file)
            #expect(try await fixture.object() == file.bytes)
            #expect(fixture.openUploads.isEmpty)
        }
    }

    // Case 15: https://github.com/aws-amplify/aws-sdk-android/pull/2504, https://github.com/aws/aws-sdk-go/issues/2409
    @Test(arguments: [
        (403, "AccessDenied"), (400, "EntityTooSmall"), (400, "InvalidPartOrder"), (400, "MalformedXML"),
        (409, "FileImmutable"),
    ])
    func `A refused Complete is sent once and told with code and request ID, and the next run sends no part`(
        status: Int, code: String
    ) async throws {
        try await withLocalServer { fixture in
            fixture.server.faults.add(.init(.respond(status: status, code: code), operation: Self.complete))
            let file = try fixture.file(size: Way.complete.size)
            let error = try await failure { try await fixture.upload(file) }
            #expect(error.service?.code.name == code)
            #expect(error.description.contains(code))
            #expect(error.description.contains(try error.service?.requestID.unwrapped() ?? "none"))
            #expect(error.resumption?.bytesUploaded == Int64(file.bytes.count))
            #expect(fixture.count(Self.complete) == 1)
            #expect(try await fixture.object() == nil)
            fixture.server.faults.removeAll()
            fixture.server.removeAllRequests()
            try await fixture.upload(file)
            #expect(fixture.partsSent.isEmpty)
            #expect(try await fixture.object() == file.bytes)
        }
    }

    // Case 9: https://github.com/aws/aws-sdk-java/issues/2168, https://github.com/TTLabs/EvaporateJS/issues/107
    @Test(
        arguments: ["InitiateMultipartUpload", "UploadPart", "CompleteMultipartUpload", "PutObject"],
        [(503, "ServiceUnavailable"), (429, "Throttling"), (500, "InternalError")])
    func `A request that is put off twice is made a third time`(operation: String, answer: (status: Int, code: String))
        async throws
    {
        try await withLocalServer { fixture in
            fixture.server.faults.add(
                .init(
                    .respond(status: answer.status, code: answer.code), operation: operation,
                    partNumber: operation == "UploadPart" ? 2 : nil, occurrences: 1...2)
            )
            let file = try fixture.file(size: operation == "PutObject" ? 5000 : 3 * Self.part)
            try await fixture.upload(file)
            #expect(fixture.count(operation) == (operation == "UploadPart" ? 5 : 3))
            #expect(try await fixture.object() == file.bytes)
            #expect(fixture.openUploads.isEmpty)
            #expect(fixture.records.isEmpty)
        }
    }
}
