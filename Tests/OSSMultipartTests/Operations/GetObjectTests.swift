// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import CurlTransport
import FoundationEssentials
import OSSLocalServer
import OSSWire
import Synchronization
import Testing

@testable import OSSMultipart

@Suite(.timeLimit(.minutes(5))) struct GetObjectTests {
    private static let key = LocalFixture.key

    private func bytes(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
        var random = SplitMix64(state: seed)
        let block = (0..<8191).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        return Array((0..<(count / block.count + 1)).flatMap { _ in block }.prefix(count))
    }

    private func request() -> GetObjectRequest { .init(bucket: LocalFixture.bucket, key: Self.key) }

    private func put(_ bytes: [UInt8], _ fixture: LocalFixture) async throws {
        try await fixture.server.putObject(bucket: LocalFixture.bucket, key: Self.key, data: bytes)
    }

    /// A client that goes through a proxy which cuts replies.
    private func withCuts<Value>(
        _ cuts: [Int], _ fixture: LocalFixture, attempts: Int = 8, _ body: (OSSClient) async throws -> Value
    ) async throws -> Value {
        let port = try #require(UInt16(fixture.server.endpoint.split(separator: ":").last ?? ""))
        let proxy = try CuttingProxy(server: port, cuts: cuts)
        var configuration = OSSClient.Configuration()
        configuration.proxy = ""
        configuration.retryPolicy.baseDelay = .milliseconds(1)
        configuration.retryPolicy.maximumAttempts = attempts
        let account = OSSServer.Account.test
        let client = try OSSClient(
            endpoint: "http://127.0.0.1:\(proxy.port)", region: "cn-hangzhou",
            credentials: .fixed(
                OSSCredentials(accessKeyID: account.accessKeyID, accessKeySecret: account.accessKeySecret)),
            configuration: configuration
        )
        let result: Result<Value, any Error>
        do { result = .success(try await body(client)) } catch { result = .failure(error) }
        await client.shutDown()
        return try result.get()
    }

    @Test(arguments: [0, 1, 700_001]) func `An object comes whole, with what is known of it`(size: Int) async throws {
        try await withLocalServer { fixture in
            var headers = OSSObjectHeaders()
            headers.contentType = "text/plain"
            headers.metadata = ["a": "1"]
            var put = PutObjectRequest(bucket: LocalFixture.bucket, key: Self.key, body: .bytes(self.bytes(size)))
            put.headers = headers
            _ = try await fixture.client.putObject(put)
            let result = try await fixture.client.getObject(self.request())
            #expect(result.object.size == Int64(size))
            #expect(result.range == 0..<Int64(size))
            #expect(result.object.contentType == "text/plain")
            #expect(result.object.metadata == ["a": "1"])
            #expect(result.object.crc64 == CRC64.of(self.bytes(size)))
            let received = try await result.body.collect(upTo: size)
            #expect(received == self.bytes(size))
            // A second pass asks again.
            let again = try await result.body.collect(upTo: size)
            #expect(again == self.bytes(size))
            #expect(fixture.count("GetObject") == (size == 0 ? 1 : 2))
        }
    }

    @Test(
        arguments: [
            (OSSByteRange.bytes(3..<10), 3..<10), (.from(90), 90..<100), (.last(7), 93..<100),
            (.bytes(0..<100), 0..<100),
        ] as [(OSSByteRange, Range<Int64>)])
    func `A range comes alone`(range: OSSByteRange, expected: Range<Int64>) async throws {
        try await withLocalServer { fixture in
            let bytes = self.bytes(100)
            try await self.put(bytes, fixture)
            var request = self.request()
            request.range = range
            let result = try await fixture.client.getObject(request)
            #expect(result.range == expected)
            #expect(result.object.size == 100)
            let received = try await result.body.collect(upTo: 100)
            #expect(received == Array(bytes[Int(expected.lowerBound)..<Int(expected.upperBound)]))
        }
    }

    @Test func `A range that cannot be is refused here, one that the object has not by the service`() async throws {
        try await withLocalServer { fixture in
            try await self.put(self.bytes(100), fixture)
            for range in [OSSByteRange.bytes(5..<5), .bytes(-1..<5), .from(-1), .last(0)] {
                var request = self.request()
                request.range = range
                let error = try await failure { _ = try await fixture.client.getObject(request) }
                #expect(error.code == .invalidArgument)
            }
            #expect(fixture.count("GetObject") == 0)
            var request = self.request()
            request.range = .from(100)
            let error = try await failure { _ = try await fixture.client.getObject(request) }
            #expect(error.service?.code == .invalidRange)
        }
    }

    @Test func `Conditions that do not hold are told apart`() async throws {
        try await withLocalServer { fixture in
            try await self.put([1], fixture)
            let head = try await fixture.client.headObject(.init(bucket: LocalFixture.bucket, key: Self.key))
            var request = self.request()
            request.conditions.ifMatch = "OTHER"
            #expect(try await self.refusal(request, fixture) == .preconditionFailed)
            request.conditions = OSSConditions()
            request.conditions.ifNoneMatch = head.eTag
            #expect(try await self.refusal(request, fixture) == .notModified)
            request.conditions = OSSConditions()
            request.conditions.ifModifiedSince = Date.now + 60
            #expect(try await self.refusal(request, fixture) == .notModified)
            request.conditions = OSSConditions()
            request.conditions.ifUnmodifiedSince = Date.now - 86400
            #expect(try await self.refusal(request, fixture) == .preconditionFailed)
            request.conditions.ifUnmodifiedSince = Date.now + 60
            request.conditions.ifMatch = head.eTag
            _ = try await fixture.client.getObject(request)
            request.conditions.ifMatch = "a\nb"
            #expect(try await failure { _ = try await fixture.client.getObject(request) }.code == .invalidArgument)
        }
    }

    private func refusal(_ request: GetObjectRequest, _ fixture: LocalFixture) async throws -> OSSError.ServiceCode? {
        try await failure { _ = try await fixture.client.getObject(request) }.service?.code
    }

    @Test func `An object that is not there is an error with the request's ID`() async throws {
        try await withLocalServer { fixture in
            let error = try await failure { _ = try await fixture.client.getObject(self.request()) }
            #expect(error.service?.code == .noSuchKey)
            #expect(error.service?.requestID != nil)
            #expect(error.operation?.name == "GetObject")
        }
    }

    @Test func `The reply has the header fields that were asked for`() async throws {
        try await withLocalServer { fixture in
            try await self.put([1], fixture)
            var request = self.request()
            request.replyHeaders.contentType = "text/x"
            request.replyHeaders.contentDisposition = "attachment"
            request.replyHeaders.cacheControl = "no-store"
            let result = try await fixture.client.getObject(request)
            #expect(result.object.contentType == "text/x")
            #expect(result.object.contentDisposition == "attachment")
            #expect(result.object.cacheControl == "no-store")
        }
    }

    @Test func `A transfer that breaks off is taken up again where it broke`() async throws {
        try await withLocalServer { fixture in
            let bytes = self.bytes(3_000_000)
            try await self.put(bytes, fixture)
            let received = try await self.withCuts([1_000_000, 500_000], fixture) { client in
                try await client.getObject(self.request()).body.collect(upTo: bytes.count)
            }
            #expect(received == bytes)
            let ranges = fixture.server.requests.compactMap { $0.headers["range"] }
            #expect(ranges.count == 2)
            #expect(fixture.server.requests.dropFirst().allSatisfy { $0.headers["if-match"] != nil })
        }
    }

    @Test func `A range that breaks off is taken up again too`() async throws {
        try await withLocalServer { fixture in
            let bytes = self.bytes(3_000_000)
            try await self.put(bytes, fixture)
            var request = self.request()
            request.range = .bytes(1_000_000..<2_500_000)
            let wanted = request
            let received = try await self.withCuts([700_000], fixture) { client in
                try await client.getObject(wanted).body.collect(upTo: bytes.count)
            }
            #expect(received == Array(bytes[1_000_000..<2_500_000]))
        }
    }

    @Test func `An object that was replaced meanwhile is an error, not a mixture`() async throws {
        try await withLocalServer { fixture in
            try await self.put(self.bytes(3_000_000), fixture)
            let error = try await failure {
                try await self.withCuts([1_000_000], fixture) { client in
                    let result = try await client.getObject(self.request())
                    try await self.put(self.bytes(3_000_000, seed: 2), fixture)
                    _ = try await result.body.collect(upTo: 3_000_000)
                }
            }
            #expect(error.code == .objectChanged)
        }
    }

    @Test func `A transfer that breaks off again and again is an error in the end`() async throws {
        try await withLocalServer { fixture in
            try await self.put(self.bytes(3_000_000), fixture)
            // A reply's head has less than 2,000 bytes: some of the body comes with the first, none with the others.
            let cuts = [100_000] + Array(repeating: 20, count: 50)
            let error = try await failure {
                try await self.withCuts(cuts, fixture, attempts: 2) { client in
                    _ = try await client.getObject(self.request()).body.collect(upTo: 3_000_000)
                }
            }
            #expect(error.code == .connection)
        }
    }

    @Test func `Bytes that have not the object's CRC-64 are an error behind the last one`() async throws {
        try await withLocalServer { fixture in
            try await self.put(self.bytes(1000), fixture)
            fixture.server.faults.add(.init(.editReplyHeader("x-oss-hash-crc64ecma", "1"), operation: "GetObject"))
            let result = try await fixture.client.getObject(self.request())
            let error = try await failure { _ = try await result.body.collect(upTo: 1000) }
            #expect(error.code == .integrity)
            var request = self.request()
            request.comparesCRC64 = false
            let unchecked = try await fixture.client.getObject(request).body.collect(upTo: 1000)
            #expect(unchecked.count == 1000)
        }
    }

    @Test func `More bytes than the limit are refused before they come`() async throws {
        try await withLocalServer { fixture in
            try await self.put(self.bytes(1000), fixture)
            let result = try await fixture.client.getObject(self.request())
            #expect(try await failure { _ = try await result.body.collect(upTo: 999) }.code == .invalidArgument)
        }
    }

    // MARK: Files

    @Test func `A file takes its name when it is whole`() async throws {
        try await withLocalServer { fixture in
            let bytes = self.bytes(2_000_000)
            try await self.put(bytes, fixture)
            let file = try TestFile(fixture.folder + "/got", [9])
            let object = try await fixture.client.getObject(self.request(), toFile: file.url)
            #expect(object.size == 2_000_000)
            #expect(try Array(Data(contentsOf: file.url)) == bytes)
            #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.folder) == ["got"])
        }
    }

    @Test func `A file that cannot be whole leaves the old one as it was`() async throws {
        try await withLocalServer { fixture in
            try await self.put(self.bytes(1000), fixture)
            let file = try TestFile(fixture.folder + "/got", [9])
            fixture.server.faults.add(.init(.editReplyHeader("x-oss-hash-crc64ecma", "1"), operation: "GetObject"))
            let error = try await failure {
                _ = try await fixture.client.getObject(self.request(), toFile: file.url)
            }
            #expect(error.code == .integrity)
            #expect(fixture.count("GetObject") == 2)
            #expect(try Array(Data(contentsOf: file.url)) == [9])
            #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.folder) == ["got"])
            let nowhere = URL(filePath: fixture.folder + "/no/such/folder")
            #expect(
                try await failure { _ = try await fixture.client.getObject(self.request(), toFile: nowhere) }.code
                    == .fileUnwritable)
        }
    }

    // The second more than the usual mask leaves to a new file.
    @Test(arguments: [0o600, 0o666])
    func `A download tells how far it is, and keeps the permissions of the file whose place it takes`(
        permissions given: Int
    ) async throws {
        try await withLocalServer { fixture in
            let bytes = [UInt8](repeating: 5, count: 1_000_000)
            try await fixture.server.putObject(bucket: LocalFixture.bucket, key: "k", data: bytes)
            let file = try TestFile(fixture.folder + "/got", [9])
            try FileManager.default.setAttributes([.posixPermissions: given], ofItemAtPath: file.path)
            let told = Mutex<[Int64]>([])
            _ = try await fixture.client.getObject(.init(bucket: LocalFixture.bucket, key: "k"), toFile: file.url) {
                done, total in
                #expect(total == 1_000_000)
                told.withLock { $0.append(done) }
            }
            let steps = told.withLock { $0 }
            #expect(steps.count > 1)
            #expect(steps == steps.sorted())
            #expect(steps.last == 1_000_000)
            let permissions = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions]
            #expect(permissions as? Int == given || (permissions as? UInt16).map(Int.init) == given)
            #expect(try Array(Data(contentsOf: file.url)) == bytes)
        }
    }

    @Test func `A file can have the longest name that there is`() async throws {
        try await withLocalServer { fixture in
            try await self.put([1, 2, 3], fixture)
            let name = String(repeating: "n", count: 255)
            _ = try await fixture.client.getObject(self.request(), toFile: URL(filePath: fixture.folder + "/" + name))
            #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.folder) == [name])
            #expect(FileManager.default.contents(atPath: fixture.folder + "/" + name).map { Array($0) } == [1, 2, 3])
        }
    }
}
