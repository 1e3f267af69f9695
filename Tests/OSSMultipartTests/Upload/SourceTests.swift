// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import FoundationEssentials
import Glibc
import OSSLocalServer
import Synchronization
import SystemIO
import Testing

@testable import OSSMultipart

/// Does something when the object has been stored and the client does not know it yet.
private struct ChangeAtPut: OSSMiddleware {
    let change: @Sendable () throws -> Void

    func intercept(
        _ attempt: OSSAttempt, next: (OSSAttempt) async throws -> OSSReply
    ) async throws -> OSSReply {
        let reply = try await next(attempt)
        try self.change()
        return reply
    }
}

@Suite(.timeLimit(.minutes(5))) struct SourceTests {
    private static let part = Int(LocalFixture.partSize)

    /// Uploads a file that `change` changes as soon as the first part is stored; the upload has to fail.
    private func changed(
        verifying code: OSSError.Code = .sourceChanged, _ change: (TestFile) throws -> Void
    ) async throws {
        try await withLocalServer { fixture in
            try await fixture.server.putObject(bucket: LocalFixture.bucket, key: LocalFixture.key, data: [1, 2, 3])
            fixture.server.faults.add(.init(.delay(.milliseconds(20)), operation: "UploadPart"))
            let file = try fixture.file(size: 12 * Self.part + 17)
            let task = fixture.uploader { $0.partsInFlight = .fixed(2) }.start(.file(file.url), to: fixture.destination)
            for await event in task.events where event.snapshot.partsDone > 0 {
                try change(file)
                break
            }
            let error = try await failure { _ = try await task.value }
            #expect(error.code == code)
            #expect(fixture.count("CompleteMultipartUpload") == 0)
            #expect(try await fixture.object() == [1, 2, 3])

            fixture.server.faults.removeAll()
            let now = try #require(FileManager.default.contents(atPath: file.path))
            try await fixture.upload(file)
            #expect(try await fixture.object() == Array(now))
            #expect(fixture.openUploads.isEmpty)
            #expect(fixture.records.isEmpty)
        }
    }

    @Test func `A file's size and time each tell that it is another, and a path of nothing is told as one`()
        async throws
    {
        try await withLocalServer { fixture in
            let blocking = fixture.client.blocking
            for grows in [true, false] {
                let file = try fixture.file(size: 1000)
                let source = try OpenSource(path: file.path)
                try await source.checkUnchanged(on: blocking)
                let time = try FileStatus.of(path: file.path).modificationTime
                if grows { try PosixFile(path: file.path, [.write, .append]).write([1]) }
                try file.setModificationTime(grows ? time : time + 1)
                let error = try await failure { try await source.checkUnchanged(on: blocking) }
                #expect(error.code == .sourceChanged)
            }
            let error = try await failure { _ = try OpenSource(path: "") }
            #expect(error.message.contains("path is empty"))
        }
    }

    // Case 25: https://github.com/dandi/dandi-cli/issues/1373
    @Test func `A source that is cut while it is uploaded publishes nothing, and the next run works`() async throws {
        try await self.changed { try PosixFile(path: $0.path, .write).truncate(to: Int64(2 * Self.part)) }
    }

    // Case 26: https://github.com/dandi/dandi-cli/issues/1373
    @Test func `A source that grows while it is uploaded publishes nothing, and the next run works`() async throws {
        try await self.changed {
            try PosixFile(path: $0.path, [.write, .append]).write(Array(repeating: 1, count: Self.part))
        }
    }

    @Test func `A source that is rewritten in place publishes nothing, and the next run works`() async throws {
        try await self.changed { file in
            try PosixFile(path: file.path, [.write]).write(Array(repeating: 1, count: 3 * Self.part))
        }
    }

    @Test func `A source that is replaced by another file publishes nothing, and the next run sends the new one`()
        async throws
    {
        try await self.changed { file in
            try PosixFile(path: file.path + ".new", [.write, .create]).write(
                Array(repeating: 7, count: 12 * Self.part + 17))
            try Directory.rename(file.path + ".new", to: file.path)
        }
    }

    @Test func `A source that is rewritten in place, its times set back, publishes nothing, and the next run works`()
        async throws
    {
        try await self.changed { try $0.overwriteSecretly(Array(repeating: 1, count: 12 * Self.part + 17), at: 0) }
    }

    @Test(arguments: OSSIntegrity.all)
    func `One byte that has been sent changes in place, its times set back: nothing is published`(
        integrity: OSSIntegrity
    ) async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 4 * Self.part)
            fixture.server.faults.add(
                .init(
                    .respond(status: 503, code: "SlowDown", headers: ["Retry-After": "1"]), operation: "UploadPart",
                    partNumber: 4))
            let task = fixture.uploader { $0.integrity = integrity }.start(.file(file.url), to: fixture.destination)
            for await event in task.events where event.snapshot.partsDone == 3 { break }
            try file.overwriteSecretly([file.bytes[5] ^ 1], at: 5)
            fixture.server.faults.removeAll()
            let error = try await failure { _ = try await task.value }
            #expect(error.code == .sourceChanged)
            #expect(fixture.count("CompleteMultipartUpload") == 0)
            fixture.server.removeAllRequests()
            let now = try #require(FileManager.default.contents(atPath: file.path))
            try await fixture.upload(file)
            #expect(fixture.partsSent == [1])
            #expect(try await fixture.object() == Array(now))
        }
    }

    @Test func `A source that is renamed, linked, removed or given other rights while it is uploaded is the same`()
        async throws
    {
        for change: @Sendable (TestFile) throws -> Void in [
            { try Directory.rename($0.path, to: $0.path + ".moved") },
            { try Directory.link($0.path, to: $0.path + ".link") }, { try Directory.removeFile($0.path) },
            { try FileManager.default.setAttributes([.posixPermissions: 0o400], ofItemAtPath: $0.path) },
        ] {
            try await withLocalServer { fixture in
                fixture.server.faults.add(.init(.delay(.milliseconds(20)), operation: "UploadPart"))
                let file = try fixture.file(size: 8 * Self.part)
                let task = fixture.uploader { $0.partsInFlight = .fixed(2) }
                    .start(.file(file.url), to: fixture.destination)
                for await event in task.events where event.snapshot.partsDone > 0 {
                    try change(file)
                    break
                }
                _ = try await task.value
                #expect(try await fixture.object() == file.bytes)
                #expect(fixture.partsSent == Array(1...8))
            }
        }
    }

    // https://github.com/dandi/dandi-cli/issues/1373
    @Test(arguments: [OSSIntegrity.md5AndCRC64, .none])
    func `A source that cannot be read any more in the middle publishes nothing, and the next run goes on`(
        integrity: OSSIntegrity
    ) async throws {
        try await withLocalServer { fixture in
            try await fixture.server.putObject(bucket: LocalFixture.bucket, key: LocalFixture.key, data: [1, 2, 3])
            let file = try fixture.file(size: 6 * Self.part)
            fixture.server.faults.add(
                .init(
                    .respond(status: 503, code: "SlowDown", headers: ["Retry-After": "1"]), operation: "UploadPart",
                    partNumber: 4))
            let uploader = fixture.uploader {
                $0.integrity = integrity
                $0.partsInFlight = .fixed(1)
            }
            let task = uploader.start(.file(file.url), to: fixture.destination)
            for await event in task.events where event.snapshot.partsDone == 3 { break }
            // From its refusal on nothing of it is under way for a second.
            for _ in 0..<6000 where !fixture.partsSent.contains(4) { try await Task.sleep(for: .milliseconds(10)) }
            // The same file under the same descriptor, but open for writing alone: every read fails, as of a broken disk.
            let names = try Directory.names(in: "/proc/self/fd")
            let descriptor = try #require(
                names.first {
                    (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + $0)) == file.path
                }.flatMap { Int32($0) })
            let unreadable = try PosixFile(path: file.path, .write)
            #expect(dup2(unreadable.descriptor, descriptor) == descriptor)
            fixture.server.faults.removeAll()
            let error = try await failure { _ = try await task.value }
            #expect(error.code == .sourceUnreadable)
            #expect(fixture.count("CompleteMultipartUpload") == 0)
            #expect(try await fixture.object() == [1, 2, 3])
            fixture.server.removeAllRequests()
            let result = try await fixture.upload(file)
            // The request that broke off may get into the log only now.
            #expect(Set(fixture.partsSent) == [4, 5, 6])
            #expect(result.partsResumed == 3)
            #expect(try await fixture.object() == file.bytes)
        }
    }

    @Test func `A source that is gone or a folder between runs is an error that keeps the record`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 4 * Self.part)
            try await fixture.breakUpload(file, atPart: 3)
            try Directory.removeFile(file.path)
            for _ in 0..<2 {
                let error = try await failure { try await fixture.upload(file) }
                #expect(error.code == .sourceUnreadable)
                #expect(fixture.openUploads.count == 1)
                try Directory.create(file.path)
            }
            try Directory.removeEmptyDirectory(file.path)
            let again = try TestFile(file.path, file.bytes)
            try await fixture.upload(again)
            #expect(fixture.partsSent == [3, 4])
            #expect(try await fixture.object() == file.bytes)
        }
    }

    @Test func `A file that only says that it is empty is not taken for an empty one`() async throws {
        try await withLocalServer { fixture in
            let error = try await failure {
                _ = try await fixture.uploader().upload(
                    .file(URL(filePath: "/proc/self/status")), to: fixture.destination)
            }
            #expect(error.code == .sourceUnreadable)
            #expect(fixture.server.requests.isEmpty)
        }
    }

    @Test func `A source that cannot be read is told as such`() throws {
        try withTemporaryFolder { folder in
            let file = try PosixFile(path: folder + "/write-only", [.write, .create])
            try file.truncate(to: 1000)
            let region = SourceRegion(content: .file(file, origin: 0), name: file.path, offset: 0, length: 1000)
            #expect {
                _ = try region.digests(md5: true, crc64: true) { false }
            } throws: { ($0 as? OSSError)?.code == .sourceUnreadable }
        }
    }

    // Case 20: https://github.com/aws/aws-sdk-ruby/issues/2796
    @Test func `Without a checksum in the replies a flipped part is seen by its ETag`() async throws {
        try await withLocalServer { fixture in
            let wrong = "\"\(String(repeating: "0", count: 32))\""
            fixture.server.faults.add(
                .init(.editReplyHeader("x-oss-hash-crc64ecma", nil)),
                .init(.editReplyHeader("ETag", wrong), operation: "UploadPart", partNumber: 2, occurrences: 1...1)
            )
            let file = try fixture.file(size: 4 * Self.part)
            let result = try await fixture.upload(file)
            #expect(fixture.partsSent == [1, 2, 2, 3, 4])
            #expect(result.proof == .eTag)
            #expect(try await fixture.object() == file.bytes)
        }
    }

    @Test func `An ETag that is no MD5, as of encrypted objects, is no error`() async throws {
        try await withLocalServer { fixture in
            fixture.server.faults.add(
                .init(.editReplyHeader("x-oss-hash-crc64ecma", nil)),
                .init(.editReplyHeader("ETag", "\"opaque\""))
            )
            let file = try fixture.file(size: 100)
            #expect(try await fixture.upload(file).partsSent == 1)
        }
    }

    // Cases 19 and 20: https://github.com/aliyun/aliyun-oss-ios-sdk/issues/260
    @Test func `A part flipped on the way is seen and sent again`() async throws {
        try await withLocalServer { fixture in
            // Without Content-MD5 the service takes what it gets; its checksum tells.
            fixture.server.faults.add(
                .init(
                    .editReplyHeader("x-oss-hash-crc64ecma", "1"), operation: "UploadPart", partNumber: 2,
                    occurrences: 1...1),
                .init(
                    .respond(status: 400, code: "InvalidDigest"), operation: "UploadPart", partNumber: 3,
                    occurrences: 1...1)
            )
            let file = try fixture.file(size: 4 * Self.part)
            try await fixture.upload(file)
            #expect(fixture.partsSent == [1, 2, 2, 3, 3, 4])
            #expect(try await fixture.object() == file.bytes)
        }
    }

    /// Uploads a small file that changes before its PutObject is answered.
    private func put(
        _ integrity: OSSIntegrity, _ change: @escaping @Sendable (TestFile) throws -> Void
    ) async throws -> Result<OSSUploadResult, any Error> {
        let files = Mutex<[TestFile]>([])
        let middleware = ChangeAtPut { for file in files.withLock(\.self) { try change(file) } }
        var result: Result<OSSUploadResult, any Error> = .failure(Unexpected("no upload"))
        try await withLocalServer(client: { $0.middlewares = [middleware] }) { fixture in
            let file = try fixture.file(size: 1000)
            files.withLock { $0 = [file] }
            do {
                let uploader = fixture.uploader { $0.integrity = integrity }
                result = .success(try await fixture.upload(file, uploader))
            } catch { result = .failure(error) }
            #expect(try await fixture.object() == file.bytes)
        }
        return result
    }

    @Test(arguments: [OSSIntegrity.crc64, .eTag, .none])
    func `A small source that changes while it is sent without its MD5 is an error`(integrity: OSSIntegrity)
        async throws
    {
        for change: @Sendable (TestFile) throws -> Void in [
            { try PosixFile(path: $0.path, [.write, .append]).write([1]) },
            { try $0.overwriteSecretly([$0.bytes[5] ^ 1], at: 5) },
        ] {
            let error = try await failure { _ = try await self.put(integrity, change).get() }
            #expect(error.code == .sourceChanged)
            #expect(error.message.contains("mixture"))
        }
        // The same bytes under other rights are the same source.
        let result = try await self.put(integrity) {
            try FileManager.default.setAttributes([.posixPermissions: 0o400], ofItemAtPath: $0.path)
        }
        #expect(try result.get().partsSent == 1)
    }
}
