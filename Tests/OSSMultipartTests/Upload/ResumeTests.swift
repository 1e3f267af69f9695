// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import FoundationEssentials
import OSSLocalServer
import OSSWire
import Testing

@testable import OSSMultipart

@Suite(.timeLimit(.minutes(5))) struct ResumeTests {
    private static let part = Int(LocalFixture.partSize)
    private static let size = 10 * part + 17

    private func rewrite(_ file: TestFile, _ change: (inout [UInt8]) -> Void) throws -> TestFile {
        var bytes = file.bytes
        change(&bytes)
        return try TestFile(file.path, bytes)
    }

    private func journalPath(_ fixture: LocalFixture) throws -> String {
        try #require(fixture.records.first { $0.hasSuffix(".journal") }).withPrefix(fixture.checkpointFolder + "/")
    }

    @Test func `A broken upload goes on with what is missing, and only that`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: Self.size)
            let uploadID = try await fixture.breakUpload(file, atPart: 6)
            #expect(fixture.records.count == 1)
            let result = try await fixture.upload(file)
            #expect(result.uploadID == uploadID)
            #expect(fixture.partsSent == Array(6...11))
            #expect((result.partsResumed, result.partsSent) == (5, 6))
            #expect(result.bytesSent == Int64(5 * Self.part + 17))
            #expect(fixture.count("InitiateMultipartUpload") == 0)
            #expect(result.proof == .crc64)
            #expect(try await fixture.object() == file.bytes)
            #expect(fixture.openUploads.isEmpty)
            #expect(fixture.records.isEmpty)
        }
    }

    @Test func `In memory, a broken upload goes on within the process`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: Self.size)
            let uploader = fixture.uploader(checkpoints: .memory()) { $0.partsInFlight = .fixed(1) }
            fixture.server.faults.add(
                .init(.respond(status: 403, code: "AccessDenied"), operation: "UploadPart", partNumber: 4)
            )
            _ = try await failure { try await fixture.upload(file, uploader) }
            fixture.server.faults.removeAll()
            fixture.server.removeAllRequests()
            try await fixture.upload(file, uploader)
            #expect(fixture.partsSent == Array(4...11))
            #expect(try await fixture.object() == file.bytes)
        }
    }

    // Case 51: https://github.com/ali-sdk/ali-oss/issues/1190
    @Test func `A gap stays a gap, and a short last part that is stored is kept`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: Self.size)
            fixture.server.faults.add(
                .init(.respond(status: 500, code: "InternalError"), operation: "UploadPart", partNumber: 1)
            )
            // Eleven in flight: all others are stored while the first is tried and tried again.
            let error = try await failure {
                try await fixture.upload(file, fixture.uploader { $0.partsInFlight = .fixed(11) })
            }
            #expect(error.service?.code == .internalError)
            fixture.server.faults.removeAll()
            fixture.server.removeAllRequests()
            try await fixture.upload(file)
            #expect(fixture.partsSent.first == 1)
            #expect(fixture.partsSent.count <= 5)
            #expect(try await fixture.object() == file.bytes)
        }
    }

    // Case 41: https://github.com/aliyun/aliyun-oss-python-sdk/issues/17
    @Test func `Parts that the service has lost are sent again`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: Self.size)
            let uploadID = try await fixture.breakUpload(file, atPart: 8)
            try await fixture.server.removeParts([1, 4], ofUpload: uploadID)
            try await fixture.upload(file)
            #expect(fixture.partsSent == [1, 4, 8, 9, 10, 11])
            // Seen at the resume, not only when the service refuses to join the others.
            #expect(fixture.count("CompleteMultipartUpload") == 1)
            #expect(try await fixture.object() == file.bytes)
        }
    }

    // Case 40: https://github.com/aliyun/alibabacloud-oss-python-sdk-v2/issues/174
    @Test func `All parts lost, the upload still there: all are sent again`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: Self.size)
            let uploadID = try await fixture.breakUpload(file, atPart: 8)
            try await fixture.server.removeParts(Array(1...7), ofUpload: uploadID)
            try await fixture.upload(file)
            #expect(fixture.partsSent == Array(1...11))
            #expect(try await fixture.object() == file.bytes)
        }
    }

    @Test func `A listed part of the right size with foreign bytes is sent again`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: Self.size)
            let uploadID = try await fixture.breakUpload(file, atPart: 8)
            try await fixture.server.corruptPart(3, ofUpload: uploadID)
            try await fixture.upload(file)
            #expect(fixture.partsSent == [3, 8, 9, 10, 11])
            // Seen at the resume, not only when the service refuses to join it.
            #expect(fixture.count("CompleteMultipartUpload") == 1)
            #expect(try await fixture.object() == file.bytes)
        }
    }

    @Test func `Parts that no journal knows are kept where their bytes are the source's, and only there`() async throws
    {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: Self.size)
            let uploadID = try await fixture.breakUpload(file, atPart: 3)
            // Somebody else sent these: one right, one wrong, one that no plan names.
            let upload = OSSMultipartUpload(bucket: LocalFixture.bucket, key: LocalFixture.key, uploadID: uploadID)
            func send(_ number: Int, _ bytes: [UInt8]) async throws {
                _ = try await fixture.client.uploadPart(.init(upload: upload, partNumber: number, body: .bytes(bytes)))
            }
            try await send(5, Array(file.bytes[4 * Self.part..<5 * Self.part]))
            try await send(6, Array(repeating: 9, count: Self.part))
            try await send(99, Array(repeating: 9, count: Self.part))
            fixture.server.removeAllRequests()
            let result = try await fixture.upload(file)
            #expect(fixture.partsSent == [3, 4, 6, 7, 8, 9, 10, 11])
            #expect(result.partsResumed == 3)
            #expect(try await fixture.object() == file.bytes)
        }
    }

    // Case 35: https://github.com/s3tools/s3cmd/issues/346
    @Test func `All pages of the listing count`() async throws {
        try await withLocalServer { fixture in
            // More parts than one page has.
            let file = try SparseFile(fixture.folder + "/sparse", size: 1010 * LocalFixture.partSize)
            try await fixture.breakUpload(of: file.url, atPart: 1006)
            let result = try await fixture.uploader().upload(.file(file.url), to: fixture.destination)
            #expect(fixture.partsSent == Array(1006...1010))
            #expect(fixture.count("ListParts") == 2)
            #expect(result.proof == .crc64)
        }
    }

    @Test func `The same key from another file of the same size sends what differs, which is all`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: Self.size)
            try await fixture.breakUpload(file, atPart: 6)
            let other = try fixture.file("other", size: Self.size, seed: 2)
            try await fixture.upload(other)
            #expect(fixture.partsSent == Array(1...11))
            #expect(try await fixture.object() == other.bytes)
            #expect(fixture.openUploads.isEmpty)
        }
    }

    // Case 37: https://github.com/chimera-nas/chimera/issues/483
    @Test func `A listing whose marker does not grow ends the run, and a healed server lets the next one finish`()
        async throws
    {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: Self.size)
            try await fixture.breakUpload(file, atPart: 5)
            fixture.server.faults.add(
                .init(
                    .editReplyBody(
                        replacing: "<IsTruncated>false</IsTruncated>",
                        with: "<IsTruncated>true</IsTruncated><NextPartNumberMarker>0</NextPartNumberMarker>"
                    ), operation: "ListParts"
                )
            )
            let error = try await failure { try await fixture.upload(file) }
            #expect(error.code == .malformedReply)
            #expect(fixture.count("ListParts") <= 10)
            fixture.server.faults.removeAll()
            fixture.server.removeAllRequests()
            try await fixture.upload(file)
            #expect(fixture.partsSent == Array(5...11))
            #expect(try await fixture.object() == file.bytes)
        }
    }

    // Case 38: https://github.com/aliyun/aliyun-oss-android-sdk/issues/21
    @Test func `A listing in unusual XML is understood`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: Self.size)
            try await fixture.breakUpload(file, atPart: 5)
            fixture.server.faults.add(
                .init(
                    .editReplyBody(replacing: "<ETag>\"", with: "<!-- note --><Odd><A/></Odd><ETag><![CDATA[\""),
                    operation: "ListParts"
                ),
                .init(
                    .editReplyBody(replacing: "<ETag>&quot;", with: "<Odd><A/></Odd><ETag> &#34;"),
                    operation: "ListParts")
            )
            try await fixture.upload(file)
            #expect(fixture.partsSent == Array(5...11))
        }
    }

    @Test func `Where listing is denied the journal is enough`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: Self.size)
            try await fixture.breakUpload(file, atPart: 7)
            fixture.server.faults.add(.init(.respond(status: 403, code: "AccessDenied"), operation: "ListParts"))
            let result = try await fixture.upload(file)
            #expect(fixture.partsSent == Array(7...11))
            #expect(result.warnings.contains { $0.contains("oss:ListParts") })
            #expect(try await fixture.object() == file.bytes)
        }
    }

    // Case 39: https://github.com/aliyun/alibabacloud-oss-python-sdk-v2/issues/174
    @Test func `An upload that is gone begins anew in the same run`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: Self.size)
            let uploadID = try await fixture.breakUpload(file, atPart: 7)
            try await fixture.server.removeUpload(uploadID)
            let result = try await fixture.upload(file)
            #expect(fixture.partsSent == Array(1...11))
            #expect(result.uploadID != uploadID)
            #expect(result.warnings.contains { $0.contains(uploadID) })
            #expect(try await fixture.object() == file.bytes)
            #expect(fixture.records.isEmpty)
        }
    }

    @Test func `An older object with the same bytes is not taken for what no run has completed`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: Self.size)
            try await fixture.upload(file)
            var destination = fixture.destination
            destination.headers.metadata = ["take": "2"]
            fixture.server.faults.add(
                .init(.respond(status: 403, code: "AccessDenied"), operation: "CompleteMultipartUpload"))
            _ = try await failure { _ = try await fixture.uploader().upload(.file(file.url), to: destination) }
            fixture.server.faults.removeAll()
            // As it is when the run was killed before it sent Complete.
            let path = fixture.checkpointFolder + "/" + (try #require(fixture.records.first))
            let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
            #expect(lines.last?.hasSuffix(" completing") == true)
            try Data(lines.dropLast().map { $0 + "\n" }.joined().utf8).write(to: URL(filePath: path))
            let uploadID = try #require(fixture.openUploads.first)
            try await fixture.client.abortMultipartUpload(
                .init(upload: .init(bucket: LocalFixture.bucket, key: LocalFixture.key, uploadID: uploadID)))
            _ = try await fixture.uploader().upload(.file(file.url), to: destination)
            let head = try await fixture.client.headObject(.init(bucket: LocalFixture.bucket, key: LocalFixture.key))
            #expect(head.metadata == ["take": "2"])
        }
    }

    @Test func `An upload that an earlier run completed without hearing of it is found complete`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: Self.size)
            fixture.server.faults.add(
                .init(.commitThenDrop, operation: "CompleteMultipartUpload"),
                .init(.respond(status: 403, code: "AccessDenied"), operation: "HeadObject")
            )
            let error = try await failure { try await fixture.upload(file) }
            #expect(error.code == .outcomeUnknown)
            #expect(fixture.records.count == 1)
            fixture.server.faults.removeAll()
            fixture.server.removeAllRequests()
            let result = try await fixture.upload(file)
            #expect(result.proof == .crc64)
            #expect(result.partsSent == 0)
            #expect(result.partsResumed == 11)
            #expect(fixture.partsSent.isEmpty)
            #expect(fixture.count("CompleteMultipartUpload") == 0)
            #expect(fixture.records.isEmpty)
        }
    }

    @Test func `Where it can never be seen whether an earlier run had completed, all is sent again, and that is said`()
        async throws
    {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: Self.size)
            fixture.server.faults.add(
                .init(.commitThenDrop, operation: "CompleteMultipartUpload", occurrences: 1...1),
                .init(.respond(status: 403, code: "AccessDenied"), operation: "HeadObject")
            )
            let error = try await failure { try await fixture.upload(file) }
            #expect(error.code == .outcomeUnknown)
            let result = try await fixture.upload(file)
            #expect(result.partsSent == 11)
            #expect(result.warnings.contains { $0.contains("cannot be seen") })
            #expect(try await fixture.object() == file.bytes)
            #expect(fixture.records.isEmpty)
        }
    }

    @Test func `An upload that vanishes in mid-run begins anew in the same run`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: Self.size)
            fixture.server.faults.add(
                .init(
                    .respond(status: 404, code: "NoSuchUpload"), operation: "UploadPart", partNumber: 4,
                    occurrences: 1...1)
            )
            let result = try await fixture.upload(file)
            #expect(fixture.count("InitiateMultipartUpload") == 2)
            #expect(result.warnings.contains { $0.contains("gone") })
            #expect(try await fixture.object() == file.bytes)
        }
    }

    @Test func `Parts in flight when another fails are stored and kept`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: Self.size)
            fixture.server.faults.add(
                .init(.respond(status: 403, code: "AccessDenied"), operation: "UploadPart", partNumber: 1))
            for part in 2...4 {
                fixture.server.faults.add(.init(.delay(.milliseconds(300)), operation: "UploadPart", partNumber: part))
            }
            _ = try await failure { try await fixture.upload(file) }
            fixture.server.faults.removeAll()
            fixture.server.removeAllRequests()
            try await fixture.upload(file)
            #expect(fixture.partsSent.first == 1)
            #expect(!fixture.partsSent.contains(2) && !fixture.partsSent.contains(3) && !fixture.partsSent.contains(4))
        }
    }

    // Cases 15 and 34: https://github.com/aws-amplify/aws-sdk-android/pull/2504
    @Test func `Only Complete was missing: no part is sent`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 10 * Self.part)
            fixture.server.faults.add(
                .init(.respond(status: 403, code: "AccessDenied"), operation: "CompleteMultipartUpload"))
            let error = try await failure { try await fixture.upload(file) }
            #expect(error.operation == .completeMultipartUpload)
            #expect(fixture.count("CompleteMultipartUpload") == 1)
            fixture.server.faults.removeAll()
            fixture.server.removeAllRequests()
            try await fixture.upload(file)
            #expect(fixture.partsSent.isEmpty)
            #expect(try await fixture.object() == file.bytes)
        }
    }

    // MARK: The source between runs

    // Case 42: https://github.com/kychee-com/run402/issues/316
    @Test func `A source of another size begins anew, and the old upload is aborted`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: Self.size)
            let uploadID = try await fixture.breakUpload(file, atPart: 6)
            let longer = try self.rewrite(file) { $0 += [1, 2, 3] }
            let result = try await fixture.upload(longer)
            #expect(fixture.partsSent == Array(1...11))
            #expect(result.uploadID != uploadID)
            #expect(result.warnings.contains { $0.contains(uploadID) && $0.contains("bytes") })
            #expect(try await fixture.object() == longer.bytes)
            #expect(fixture.openUploads.isEmpty)
        }
    }

    // Case 43: https://github.com/tus/tus-js-client/issues/112
    @Test func `A source whose content changed sends the parts that differ`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: Self.size)
            try await fixture.breakUpload(file, atPart: 6)
            let changed = try self.rewrite(file) {
                $0[Self.part + 5] ^= 1
                $0[8 * Self.part + 5] ^= 1
            }
            try await fixture.upload(changed)
            #expect(fixture.partsSent == [2, 6, 7, 8, 9, 10, 11])
            #expect(try await fixture.object() == changed.bytes)
        }
    }

    // Case 43: https://github.com/kychee-com/run402/issues/316
    @Test func `One byte changed with size and times restored is noticed`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: Self.size)
            try await fixture.breakUpload(file, atPart: 6)
            try file.overwriteSecretly([file.bytes[Self.part] ^ 1], at: LocalFixture.partSize)
            try await fixture.upload(file)
            var changed = file.bytes
            changed[Self.part] ^= 1
            #expect(fixture.partsSent == [2, 6, 7, 8, 9, 10, 11])
            #expect(try await fixture.object() == changed)
        }
    }

    @Test
    func `A source that was only touched, moved or copied goes on, and the run after that trusts the record again`()
        async throws
    {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: Self.size)
            try await fixture.breakUpload(file, atPart: 6)
            let copy = try TestFile(fixture.folder + "/copy", file.bytes)
            try FileManager.default.removeItem(atPath: file.path)
            try await fixture.breakUpload(copy, atPart: 8)
            #expect(fixture.openUploads.count == 1)
            try await fixture.upload(copy)
            #expect(fixture.partsSent == Array(8...11))
            #expect(try await fixture.object() == copy.bytes)
        }
    }

    @Test func `A change is not forgotten when the run that saw it breaks as well`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: Self.size)
            try await fixture.breakUpload(file, atPart: 6)
            let changed = try self.rewrite(file) { $0[5] ^= 1 }
            // Breaks at part 1, the very one that has to be sent again.
            try await fixture.breakUpload(changed, atPart: 1)
            try await fixture.upload(changed)
            #expect(fixture.partsSent == [1, 6, 7, 8, 9, 10, 11])
            #expect(try await fixture.object() == changed.bytes)
        }
    }

    @Test func `Verification by content reads again, and by record does not`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: Self.size)
            try await fixture.breakUpload(file, atPart: 6)
            let changed = try self.rewrite(file) { $0[5] ^= 1 }
            // By record the old first part is trusted, and the checksum of the whole cannot tell: the user asked for that.
            try await fixture.upload(changed, fixture.uploader { $0.verification = .record })
            #expect(fixture.partsSent == Array(6...11))

            try await fixture.breakUpload(file, atPart: 6)
            try await fixture.upload(file, fixture.uploader { $0.verification = .content })
            #expect(fixture.partsSent == Array(6...11))
        }
    }

    @Test func `A source that has become smaller than a part goes up whole, and the old upload is aborted`()
        async throws
    {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: Self.size)
            let uploadID = try await fixture.breakUpload(file, atPart: 6)
            let small = try self.rewrite(file) { $0 = [1, 2, 3] }
            let result = try await fixture.upload(small)
            #expect(result.warnings.contains { $0.contains(uploadID) })
            #expect(try await fixture.object() == [1, 2, 3])
            #expect(fixture.openUploads.isEmpty)
            #expect(fixture.records.isEmpty)
        }
    }

    // MARK: Other wishes than before

    @Test func `The recorded part size wins over another that is asked for, and that is said`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: Self.size)
            try await fixture.breakUpload(file, atPart: 6)
            let result = try await fixture.upload(file, fixture.uploader { $0.partSize = 3 * LocalFixture.partSize })
            #expect(fixture.partsSent == Array(6...11))
            #expect(result.warnings.contains { $0.contains("102400") })
            #expect(try await fixture.object() == file.bytes)
        }
    }

    @Test func `Other object headers begin anew`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: Self.size)
            let uploadID = try await fixture.breakUpload(file, atPart: 6)
            var destination = fixture.destination
            destination.headers.contentType = "video/mp4"
            let result = try await fixture.uploader().upload(.file(file.url), to: destination)
            #expect(result.uploadID != uploadID)
            #expect(fixture.openUploads.isEmpty)
            #expect(
                fixture.server.objectInfo(bucket: LocalFixture.bucket, key: LocalFixture.key)?.headers["Content-Type"]
                    == "video/mp4")
        }
    }

    @Test func `A new beginning can be asked for`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: Self.size)
            try await fixture.breakUpload(file, atPart: 6)
            try await fixture.upload(file, fixture.uploader { $0.startsAnew = true })
            #expect(fixture.partsSent == Array(1...11))
            #expect(fixture.openUploads.isEmpty)
        }
    }

    // MARK: The record

    // Case 44: https://github.com/franzopl/pesto/issues/113
    @Test func `A record cut anywhere lets the upload finish`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 6 * Self.part)
            try await fixture.breakUpload(file, atPart: 4)
            let path = try self.journalPath(fixture)
            let whole = try #require(FileManager.default.contents(atPath: path))
            try await fixture.upload(file)
            for length in [
                0, 1, 40, 100, whole.count / 4, whole.count / 2, whole.count - 100, whole.count - 2, whole.count - 1,
            ] {
                try Data(whole.prefix(length)).write(to: URL(filePath: path))
                try await fixture.server.removeObject(bucket: LocalFixture.bucket, key: LocalFixture.key)
                try await fixture.upload(file)
                #expect(try await fixture.object() == file.bytes)
                #expect(fixture.records.isEmpty)
            }
        }
    }

    @Test(arguments: ["null", "[]", "{}", "\0\0\0\0\0\0\0\0"])
    func `A record of nonsense is set aside and said, and the upload begins anew`(text: String) async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 3 * Self.part)
            try await fixture.breakUpload(file, atPart: 2)
            try Data(text.utf8).write(to: URL(filePath: try self.journalPath(fixture)))
            let result = try await fixture.upload(file)
            #expect(result.warnings.contains { $0.contains("damaged") })
            // The upload that the record named can only be told of.
            #expect(result.warnings.contains { $0.contains("no checkpoint names") })
            #expect(try await fixture.object() == file.bytes)
            #expect(fixture.records.isEmpty)
        }
    }

    @Test func `A damaged head with a readable ID has its upload aborted`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 3 * Self.part)
            try await fixture.breakUpload(file, atPart: 2)
            let path = try self.journalPath(fixture)
            var bytes = try #require(FileManager.default.contents(atPath: path))
            bytes[3] ^= 1
            try bytes.write(to: URL(filePath: path))
            try await fixture.upload(file)
            #expect(fixture.openUploads.isEmpty)
            #expect(try await fixture.object() == file.bytes)
        }
    }

    @Test func `A record of a later version is left alone, with an error that says so`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 3 * Self.part)
            try await fixture.breakUpload(file, atPart: 2)
            let path = try self.journalPath(fixture)
            var head = JournalLine("journal")
            head["version"] = "7"
            try Data(head.bytes).write(to: URL(filePath: path))
            let error = try await failure { try await fixture.upload(file) }
            #expect(error.code == .checkpointUnusable)
            #expect(error.message.contains("version 7"))
            #expect(FileManager.default.contents(atPath: path) == Data(head.bytes))
            #expect(fixture.server.requests.isEmpty)
        }
    }

    @Test func `An Initiate whose reply was lost leaves no upload behind once a later run has succeeded`() async throws
    {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 3 * Self.part)
            fixture.server.faults.add(.init(.commitThenDrop, operation: "InitiateMultipartUpload"))
            let error = try await failure { try await fixture.upload(file) }
            #expect(error.operation == .initiateMultipartUpload)
            #expect(fixture.openUploads.count == 8)
            #expect(fixture.records.count == 1)
            fixture.server.faults.removeAll()
            try await fixture.upload(file)
            #expect(fixture.openUploads.isEmpty)
            #expect(try await fixture.object() == file.bytes)
        }
    }

    @Test func `An Initiate that was answered the second time leaves nothing of the first behind`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 3 * Self.part)
            fixture.server.faults.add(.init(.commitThenDrop, operation: "InitiateMultipartUpload", occurrences: 1...2))
            try await fixture.upload(file)
            #expect(fixture.count("InitiateMultipartUpload") == 3)
            #expect(fixture.openUploads.isEmpty)
            #expect(try await fixture.object() == file.bytes)
        }
    }

    @Test func `What a lost Initiate left behind is still looked for when the first run could not`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 3 * Self.part)
            fixture.server.faults.add(
                .init(.commitThenDrop, operation: "InitiateMultipartUpload", occurrences: 1...1),
                .init(.dropBeforeReply, operation: "ListMultipartUploads")
            )
            let error = try await failure { try await fixture.upload(file) }
            #expect(error.code == .connection)
            #expect(fixture.openUploads.count == 2)
            fixture.server.faults.removeAll()
            try await fixture.upload(file)
            #expect(fixture.openUploads.isEmpty)
            #expect(try await fixture.object() == file.bytes)
        }
    }

    @Test func `An earlier upload that cannot be aborted for want of a connection is not forgotten`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: Self.size)
            try await fixture.breakUpload(file, atPart: 6)
            let longer = try self.rewrite(file) { $0 += [1] }
            fixture.server.faults.add(.init(.dropBeforeReply, operation: "AbortMultipartUpload"))
            let error = try await failure { try await fixture.upload(longer) }
            #expect(error.code == .connection)
            fixture.server.faults.removeAll()
            try await fixture.upload(longer)
            #expect(fixture.openUploads.isEmpty)
            #expect(try await fixture.object() == longer.bytes)
        }
    }

    @Test func `An upload of that key that was there before is not taken for one's own`() async throws {
        try await withLocalServer { fixture in
            let other = try await fixture.client.initiateMultipartUpload(
                .init(bucket: LocalFixture.bucket, key: LocalFixture.key))
            // Dates of listings have whole seconds, and two of them are allowed for.
            try await Task.sleep(for: .seconds(3.1))
            let file = try fixture.file(size: 3 * Self.part)
            fixture.server.faults.add(.init(.commitThenDrop, operation: "InitiateMultipartUpload"))
            _ = try await failure { try await fixture.upload(file) }
            fixture.server.faults.removeAll()
            try await fixture.upload(file)
            #expect(fixture.openUploads == [other.uploadID])
        }
    }

    @Test func `A refused Initiate leaves neither record nor upload`() async throws {
        try await withLocalServer { fixture in
            fixture.server.faults.add(
                .init(.respond(status: 403, code: "AccessDenied"), operation: "InitiateMultipartUpload"))
            let file = try fixture.file(size: 3 * Self.part)
            _ = try await failure { try await fixture.upload(file) }
            #expect(fixture.count("InitiateMultipartUpload") == 1)
            #expect(fixture.records.isEmpty)
        }
    }
}

extension String {
    fileprivate func withPrefix(_ prefix: String) -> String { prefix + self }
}
