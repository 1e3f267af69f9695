// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import ByteProxy
import FoundationEssentials
import Glibc
import OSSLocalServer
import SystemIO
import Testing

/// Public cases, as the tool has to meet them: exit codes, messages, the environment, signals.
///
/// The library meets the same ones in its own tests; the case numbers are those of the list of public bug reports.
@Suite(.timeLimit(.minutes(5))) struct PublicCaseTests {
    private static let complete = "CompleteMultipartUpload"

    private static func once(
        _ action: OSSServer.Fault.Action, _ operation: String, part: Int? = nil, _ times: ClosedRange<Int> = 1...1
    ) -> OSSServer.Fault {
        .init(action, operation: operation, partNumber: part, occurrences: times)
    }

    // MARK: What passes

    // Cases 2 to 6, 9, 14, 17, 19, 20, 23, 54, 55 and 66: the links are with the library's tests of the same numbers.
    @Test(arguments: [
        once(.respond(status: 200, code: "InternalError"), complete), once(.respondRaw(status: 200), complete),
        once(.respondRaw(status: 200, body: Array("<html></html>".utf8)), complete),
        once(.replaceReplyBody(Array("<CompleteMultipartUploadResult><Loc".utf8)), complete),
        once(.commitThenDrop, complete),
        once(.respond(status: 503, code: "ServiceUnavailable"), "InitiateMultipartUpload", 1...2),
        once(.commitThenDrop, "InitiateMultipartUpload"), once(.editReplyHeader("ETag", nil), "UploadPart", part: 3),
        once(.respond(status: 400, code: "InvalidDigest"), "UploadPart", part: 2),
        once(.editReplyHeader("x-oss-hash-crc64ecma", "1"), "UploadPart", part: 4),
        once(.commitThenDrop, "UploadPart", part: 4), once(.cut(afterBodyBytes: 70_000), "UploadPart", part: 3, 1...2),
        once(.respond(status: 500, code: "InternalError"), "UploadPart", part: 5, 1...2),
        once(.respond(status: 503, code: "SlowDown", headers: ["Retry-After": "1"]), "UploadPart", part: 2),
        .init(.editReplyHeader("x-oss-hash-crc64ecma", nil)),
    ])
    func `What passes ends with code 0, the right object, and nothing left behind`(fault: OSSServer.Fault) async throws
    {
        try await withToolFixture { fixture in
            fixture.server.faults.add(fault)
            let file = try fixture.file("film.bin", parts: 5)
            let outcome = try await fixture.run(fixture.copy(file.path, "k"))
            #expect(outcome.code == 0, "\(outcome.text)")
            #expect(fixture.server.faults.count(ofOperation: fault.operation ?? Self.complete) > 0)
            #expect(try await fixture.object("k") == file.bytes)
            #expect(!fixture.hasLeftovers)
        }
    }

    // Cases 21, 27 and 29: https://github.com/aws/aws-sdk-go/issues/2557, https://github.com/aws/aws-sdk-php/issues/1649,
    // https://github.com/aliyun/aliyun-oss-ios-sdk/issues/227
    @Test func `Sizes around the part size, odd file names and links give the bytes of exactly that file`() async throws
    {
        try await withToolFixture { fixture in
            let names = ["a b#c%20d?.bin", "文件 😀.bin", "it's \"q\".bin", "plain", "-", "%41"]
            let sizes = [(0, 0), (0, 1), (1, -1), (1, 0), (1, 1), (2, 1)]
            for (name, size) in zip(names, sizes) {
                let file = try fixture.file(name, parts: size.0, extra: size.1)
                let link = fixture.folder + "/link"
                try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file.path)
                for path in [file.path, link] {
                    let outcome = try await fixture.run(fixture.copy(path, "k"))
                    #expect(outcome.code == 0, "\(outcome.text)")
                    #expect(try await fixture.object("k") == file.bytes)
                }
                try FileManager.default.removeItem(atPath: link)
            }
            #expect(fixture.server.requests.allSatisfy { $0.operation != "UploadPart" || $0.bytesReceived > 0 })
            #expect(!fixture.hasLeftovers)
        }
    }

    // Cases 18, 56, 59 and 69: https://github.com/curl/curl/issues/3787, https://github.com/cvmfs/cvmfs/issues/3065,
    // https://github.com/aws/aws-sdk-js-v3/issues/825, https://github.com/curl/curl/issues/4949
    @Test func `Resets, connections that die, unasked interim replies and odd headers are no matter, and no signal`()
        async throws
    {
        try await withToolFixture { fixture in
            let port = try #require(fixture.server.endpoint.split(separator: ":").last.flatMap { UInt16($0) })
            var odd = ByteProxy.Configuration()
            odd.requestEdits = [.init("User-Agent: ", "Connection: close\r\nUser-Agent: ")]
            odd.replyEdits = [
                .init("Connection: close", "Connection: keep-alive"), .init("ETag: ", "etag:"),
                .init("HTTP/1.1 200", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200"),
            ]
            let resets = [2, 5, 8].flatMap { part -> [ByteProxy.Rule] in
                let mark = "PUT /media/k?partNumber=\(part)&"
                return [
                    .init(mark, .end(.reset, .requestThrough("\r\n\r\n"))),
                    .init(mark, .end(.reset, .request(4000)), occurrences: 2...2),
                ]
            }
            for (configuration, rules) in [(odd, []), (ByteProxy.Configuration(), resets)] {
                let proxy = try ByteProxy(to: port, configuration, rules: rules)
                let file = try fixture.file("film.bin", parts: 10)
                let outcome = try await fixture.run(fixture.copy(file.path, "k", ["--endpoint", proxy.url]))
                #expect(outcome.signal == nil)
                #expect(outcome.code == 0, "\(outcome.text)")
                #expect(proxy.unusedEdits.isEmpty)
                #expect(rules.indices.allSatisfy { proxy.count(ofRule: $0) >= 3 })
                #expect(try await fixture.object("k") == file.bytes)
                #expect(!fixture.hasLeftovers)
                try await fixture.server.removeObject(bucket: ToolFixture.bucket, key: "k")
            }
        }
    }

    // MARK: What does not pass

    // Cases 11, 15, 58, 65, 81 and 85: https://github.com/pingcap/tidb/pull/71162, https://github.com/curl/curl/issues/16788,
    // https://github.com/aws-amplify/aws-sdk-android/pull/2504, https://github.com/s3tools/s3cmd/issues/69
    @Test(
        arguments: [
            (once(.respond(status: 403, code: "AccessDenied"), "UploadPart", part: 5, 1...99), 4),
            (once(.respond(status: 403, code: "AccessDenied"), "UploadPart", part: 3, 1...99), 4),
            (once(.respondEarly(status: 403, code: "AccessDenied"), "UploadPart", part: 1, 1...99), 4),
            (once(.respond(status: 403, code: "AccessDenied"), complete, 1...99), 4),
            (once(.respond(status: 403, code: "AccessDenied"), "InitiateMultipartUpload", 1...99), 4),
            (once(.respond(status: 404, code: "NoSuchBucket"), "InitiateMultipartUpload", 1...99), 4),
            (once(.respond(status: 403, code: "AccessDenied"), "PutObject", 1...99), 0),
            (.init(.respond(status: 403, code: "UserDisable")), 4),
            (.init(.respond(status: 403, code: "UserDisable")), 0),
        ] as [(OSSServer.Fault, Int)])
    func `A refusal gives code 1 after one try, names code and request ID, and leaves the older object as it was`(
        fault: OSSServer.Fault, parts: Int
    ) async throws {
        try await withToolFixture { fixture in
            try await fixture.server.putObject(bucket: ToolFixture.bucket, key: "k", data: [1, 2, 3])
            fixture.server.faults.add(fault)
            let file = try fixture.file("film.bin", parts: parts)
            let outcome = try await fixture.run(fixture.copy(file.path, "k"))
            #expect(outcome.code == 1)
            #expect(outcome.output == "")
            let refused = fixture.server.requests.filter { $0.metFault }
            // An early refusal may come together with the end of the connection it came on.
            #expect((1...2).contains(refused.count), "\(refused.map(\.operation))")
            #expect(["AccessDenied", "NoSuchBucket", "UserDisable"].contains { outcome.errors.contains($0) })
            #expect(refused.contains { outcome.errors.contains($0.requestID) })
            #expect(try await fixture.object("k") == [1, 2, 3])

            fixture.server.faults.removeAll()
            let second = try await fixture.run(fixture.copy(file.path, "k"))
            #expect(second.code == 0, "\(second.text)")
            #expect(try await fixture.object("k") == file.bytes)
            #expect(!fixture.hasLeftovers)
        }
    }

    // Case 57: https://github.com/rusoto/rusoto/issues/63, https://github.com/snowflakedb/snowflake-connector-python/pull/2900
    @Test func `A redirect to another host is not followed, and gives code 1`() async throws {
        try await withToolFixture { other in
            try await withToolFixture { fixture in
                let elsewhere = OSSServer.Fault.Action.respondRaw(
                    status: 307, headers: ["Location": other.server.endpoint + "/media/k"])
                fixture.server.faults.add(.init(elsewhere, operation: "UploadPart", partNumber: 2))
                let file = try fixture.file("film.bin", parts: 3)
                let outcome = try await fixture.run(fixture.copy(file.path, "k"))
                #expect(outcome.code == 1)
                #expect(outcome.errors.contains("307"))
                #expect(other.server.requests.isEmpty)
                #expect(try await fixture.object("k") == nil)
            }
        }
    }

    // Case 70: https://github.com/aws/aws-sdk-go/issues/2409, https://github.com/tus/TUSKit/issues/27
    @Test func `Failures without end give code 1 after the tries that --retries allows`() async throws {
        try await withToolFixture { fixture in
            fixture.server.faults.add(.init(.respond(status: 500, code: "InternalError"), operation: "UploadPart"))
            let file = try fixture.file("film.bin", parts: 6)
            let outcome = try await fixture.run(fixture.copy(file.path, "k", ["--retries", "2"]))
            #expect(outcome.code == 1)
            #expect(outcome.errors.contains("InternalError"))
            #expect(fixture.server.requests.contains { outcome.errors.contains($0.requestID) })
            for part in 1...7 { #expect(fixture.partsSent.filter { $0 == part }.count <= 3) }
            fixture.server.faults.removeAll()
            #expect(try await fixture.run(fixture.copy(file.path, "k")).code == 0)
            #expect(try await fixture.object("k") == file.bytes)
        }
    }

    // Case 28: https://github.com/aws/aws-cli/issues/3709, https://github.com/aws/aws-cli/issues/487
    @Test func `A folder and a link to nowhere give code 1 and no request`() async throws {
        try await withToolFixture { fixture in
            let link = fixture.folder + "/dangling"
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: fixture.folder + "/nowhere")
            for path in [fixture.folder, link, "/dev/null"] {
                let outcome = try await fixture.run(fixture.copy(path, "k"))
                #expect(outcome.code == 1)
                #expect(outcome.errors.hasPrefix("ossmp: "))
            }
            #expect(fixture.server.requests.isEmpty)
            #expect(!fixture.hasLeftovers)
        }
    }

    // Case 84: https://github.com/oven-sh/bun/issues/43137, https://github.com/hesprs/sync-engine/issues/283
    @Test func `Without a checkpoint a failed run aborts its upload`() async throws {
        try await withToolFixture { fixture in
            fixture.server.faults.add(
                .init(.respond(status: 403, code: "AccessDenied"), operation: "UploadPart", partNumber: 6))
            let file = try fixture.file("film.bin", parts: 10)
            let outcome = try await fixture.run(
                ["cp", file.path, "oss://media/k", "--part-size", "100KiB", "--no-checkpoint"])
            #expect(outcome.code == 1)
            #expect(outcome.errors.contains("AccessDenied"))
            #expect(fixture.server.requests.last?.operation != "UploadPart")
            #expect(!fixture.hasLeftovers)
            #expect(try await fixture.object("k") == nil)
        }
    }

    // MARK: Going on

    // Case 34: https://github.com/tencentyun/cos-cpp-sdk-v5/pull/199, https://github.com/aliyun/aliyun-oss-cpp-sdk/issues/17
    @Test(arguments: [0, 17])
    func `Killed when only Complete was missing, the second run sends no part`(extra: Int) async throws {
        try await withToolFixture { fixture in
            fixture.server.faults.add(.init(.delay(.seconds(3600)), operation: Self.complete))
            let file = try fixture.file("film.bin", parts: 10, extra: extra)
            let process = try fixture.start(fixture.copy(file.path, "k"))
            try await fixture.wait { fixture.server.faults.count(ofOperation: Self.complete) > 0 }
            process.send(SIGKILL)
            #expect(try await process.outcome().signal == SIGKILL)
            fixture.server.faults.removeAll()
            fixture.server.removeAllRequests()
            let second = try await fixture.run(fixture.copy(file.path, "k"))
            #expect(second.code == 0, "\(second.text)")
            #expect(fixture.partsSent.isEmpty)
            #expect(try await fixture.object("k") == file.bytes)
            #expect(!fixture.hasLeftovers)
        }
    }

    /// What happens between two runs.
    enum Change: CaseIterable, Sendable {
        case uploadRemoved, partsRemoved, gap, longer, otherBytes, touched, recordEmptied, recordCut, recordOfNonsense
        case folderLost

        /// How many parts the second run sends at least, and at most.
        var sent: ClosedRange<Int> {
            switch self {
            case .gap: 6...6
            case .touched: 5...5
            case .otherBytes: 6...6
            case .recordCut: 5...10
            case .longer: 11...11
            default: 10...10
            }
        }

        func make(_ fixture: ToolFixture, _ path: String, _ bytes: inout [UInt8]) async throws {
            let uploadID = try #require(fixture.server.openUploads(bucket: ToolFixture.bucket).first).uploadID
            let name = try #require(FileManager.default.contentsOfDirectory(atPath: fixture.checkpoints).first)
            let record = URL(filePath: fixture.checkpoints + "/" + name)
            switch self {
            case .uploadRemoved: try await fixture.server.removeUpload(uploadID)
            case .partsRemoved: try await fixture.server.removeParts([1, 2, 3, 4, 5], ofUpload: uploadID)
            case .gap: try await fixture.server.removeParts([2], ofUpload: uploadID)
            case .longer: bytes += [1]
            case .otherBytes: bytes[ToolFixture.partSize] ^= 1
            case .touched: break
            case .recordEmptied: try Data().write(to: record)
            case .recordCut: try Data(contentsOf: record).dropLast(200).write(to: record)
            case .recordOfNonsense: try Data("null".utf8).write(to: record)
            case .folderLost: try FileManager.default.removeItem(atPath: fixture.checkpoints)
            }
            if [.longer, .otherBytes, .touched].contains(self) { try Data(bytes).write(to: URL(filePath: path)) }
        }
    }

    // Cases 33, 39 to 44 and 50: https://github.com/aliyun/alibabacloud-oss-python-sdk-v2/issues/174,
    // https://github.com/tus/tus-js-client/issues/112, https://github.com/franzopl/pesto/issues/113
    @Test(arguments: Change.allCases)
    func `Whatever happens between two runs, the second stores the file as it is then`(change: Change) async throws {
        try await withToolFixture { fixture in
            fixture.hold(6...10)
            var (path, bytes) = try fixture.file("film.bin", parts: 10, extra: 0)
            let process = try fixture.start(fixture.copy(path, "k"))
            try await fixture.wait { fixture.storedParts("k") >= 5 }
            // A part counts once it is recorded; the signal gives the time for that, and kill -9 is tested apart.
            process.send(SIGTERM)
            #expect(try await process.outcome().code == 143)
            fixture.server.faults.removeAll()
            try await change.make(fixture, path, &bytes)
            fixture.server.removeAllRequests()
            let second = try await fixture.run(fixture.copy(path, "k"))
            #expect(second.code == 0, "\(second.text)")
            #expect(try await fixture.object("k") == bytes)
            #expect(change.sent.contains(fixture.partsSent.count), "\(fixture.partsSent)")
            let names = (try? FileManager.default.contentsOfDirectory(atPath: fixture.checkpoints)) ?? []
            #expect(names.isEmpty)
            // Without its ID an upload can only be told of, or not even that.
            let isForgotten = [.recordEmptied, .recordOfNonsense, .folderLost].contains(change)
            #expect(fixture.server.openUploads(bucket: ToolFixture.bucket).count == (isForgotten ? 1 : 0))
        }
    }

    // Case 49: https://github.com/googleapis/google-cloud-cpp/issues/6713, https://github.com/sapcc/keppel/pull/711
    @Test func `Two runs that begin together never both write, and the object is right`() async throws {
        try await withToolFixture { fixture in
            let file = try fixture.file("film.bin", parts: 20)
            for round in 1...3 {
                let runs = try (1...2).map { _ in try fixture.start(fixture.copy(file.path, "k\(round)")) }
                var codes: [Int32?] = []
                for run in runs { codes.append(try await run.outcome().code) }
                #expect(codes.contains(0))
                // The one that comes too late is told so, or comes so late that it does all again.
                #expect(codes.allSatisfy { $0 == 0 || $0 == 5 }, "\(codes)")
                #expect(try await fixture.object("k\(round)") == file.bytes)
            }
            #expect(!fixture.hasLeftovers)
        }
    }

    // Case 51: https://github.com/ali-sdk/ali-oss/issues/1190
    @Test func `What is stored although the first part fails is kept`() async throws {
        try await withToolFixture { fixture in
            fixture.server.faults.add(
                .init(.respond(status: 500, code: "InternalError"), operation: "UploadPart", partNumber: 1))
            let file = try fixture.file("film.bin", parts: 10)
            let first = try await fixture.run(fixture.copy(file.path, "k", ["--retries", "1"]))
            #expect(first.code == 1)
            #expect(first.errors.contains("InternalError"))
            let stored = fixture.storedParts("k")
            fixture.server.faults.removeAll()
            fixture.server.removeAllRequests()
            #expect(try await fixture.run(fixture.copy(file.path, "k")).code == 0)
            #expect(fixture.partsSent.count <= 11 - stored + 4)
            #expect(try await fixture.object("k") == file.bytes)
            #expect(!fixture.hasLeftovers)
        }
    }

    // Cases 45 and 46: https://github.com/aliyun/aliyun-oss-ios-sdk/issues/352, https://github.com/aliyun/ossutil/issues/65
    @Test func `A checkpoint folder is made, also below the working folder, and one that is a file is refused`()
        async throws
    {
        try await withToolFixture { fixture in
            let file = try fixture.file("film.bin", parts: 5)
            for folder in ["relative/文件 😀/c", fixture.folder + "/with blanks/b/c"] {
                let command = [
                    "cp", file.path, "oss://media/k", "--part-size", "100KiB", "--parallel", "1", "--checkpoint-dir",
                    folder,
                ]
                fixture.server.faults.add(
                    .init(.respond(status: 403, code: "AccessDenied"), operation: "UploadPart", partNumber: 4))
                #expect(try await fixture.run(command).code == 1)
                fixture.server.faults.removeAll()
                fixture.server.removeAllRequests()
                #expect(try await fixture.run(command).code == 0)
                #expect(fixture.partsSent == [4, 5, 6])
            }
            let plain = try fixture.file("plain", parts: 0)
            fixture.server.removeAllRequests()
            let refused = try await fixture.run([
                "cp", file.path, "oss://media/k", "--part-size", "100KiB", "--checkpoint-dir", plain.path,
            ])
            #expect(refused.code == 1)
            #expect(refused.errors.contains(plain.path))
            #expect(fixture.server.requests.isEmpty)
            #expect(FileManager.default.contents(atPath: plain.path) == Data(plain.bytes))
        }
    }

    // Case 64: https://github.com/ali-sdk/ali-oss/issues/644, https://github.com/awslabs/aws-sdk-swift/issues/1556
    @Test func `A token that expires in mid-run gives code 1 soon, and a new one in the environment goes on`()
        async throws
    {
        let accounts = ["1", "2"].map {
            OSSServer.Account(accessKeyID: "STS.\($0)", accessKeySecret: "sk", securityToken: "TOKEN-\($0)")
        }
        try await withToolFixture({ $0.accounts = accounts }) { fixture in
            var environment = fixture.environment
            func use(_ number: String) {
                environment["OSS_ACCESS_KEY_ID"] = "STS.\(number)"
                environment["OSS_ACCESS_KEY_SECRET"] = "sk"
                environment["OSS_SESSION_TOKEN"] = "TOKEN-\(number)"
            }
            use("1")
            fixture.hold(6...11)
            let file = try fixture.file("film.bin", parts: 10)
            let process = try fixture.start(fixture.copy(file.path, "k"), environment: environment)
            try await fixture.wait { fixture.storedParts("k") >= 5 }
            // Those that are held are past the check: only what comes after them is refused.
            fixture.server.setExpiration(0, ofAccessKeyID: "STS.1")
            process.send(SIGTERM)
            #expect(try await process.outcome().code == 143)
            fixture.server.faults.removeAll()
            let expired = try await fixture.run(fixture.copy(file.path, "k"), environment: environment)
            #expect(expired.code == 1)
            #expect(expired.errors.contains("SecurityTokenExpired"))
            use("2")
            fixture.server.removeAllRequests()
            let renewed = try await fixture.run(fixture.copy(file.path, "k"), environment: environment)
            #expect(renewed.code == 0, "\(renewed.text)")
            #expect(fixture.partsSent.count <= 6 + 4)
            #expect(try await fixture.object("k") == file.bytes)
            #expect(!fixture.hasLeftovers)
        }
    }

    // Cases 79 and 80: https://github.com/durch/rust-s3/pull/353, https://github.com/aws/aws-sdk-java/issues/1648
    @Test func `Type and metadata are the object's, whether it is small or large, and also after going on`()
        async throws
    {
        try await withToolFixture { fixture in
            let headers = ["--content-type", "text/x-sample", "--meta", "color=blue"]
            let small = try fixture.file("small", parts: 0)
            let large = try fixture.file("large", parts: 5)
            #expect(try await fixture.run(fixture.copy(small.path, "small", headers)).code == 0)
            fixture.server.faults.add(
                .init(.respond(status: 403, code: "AccessDenied"), operation: "UploadPart", partNumber: 4))
            #expect(try await fixture.run(fixture.copy(large.path, "large", headers)).code == 1)
            fixture.server.faults.removeAll()
            #expect(try await fixture.run(fixture.copy(large.path, "large", headers)).code == 0)
            #expect(fixture.server.counters["InitiateMultipartUpload"] == 1)
            for key in ["small", "large"] {
                let info = try #require(fixture.server.objectInfo(bucket: "media", key: key))
                #expect(info.headers["Content-Type"] == "text/x-sample")
                #expect(info.headers.contains { $0.key.lowercased() == "x-oss-meta-color" && $0.value == "blue" })
            }
            for request in fixture.server.requests where request.operation == "UploadPart" {
                #expect(request.headers["content-type"] == nil)
                #expect(request.headers["x-oss-meta-color"] == nil)
            }

            // Without any option the size makes no difference.
            var types: Set<String?> = []
            for parts in [0, 2] {
                let clip = try fixture.file("clip.mp4", parts: parts)
                #expect(try await fixture.run(fixture.copy(clip.path, "clip.mp4")).code == 0)
                types.insert(fixture.server.objectInfo(bucket: "media", key: "clip.mp4")?.headers["Content-Type"])
            }
            #expect(types.count == 1)
        }
    }

    // MARK: The environment

    // Cases 32 and 86: https://github.com/aliyun/ossutil/issues/65, https://github.com/soto-project/soto/issues/463
    @Test func `With nothing in the environment but the service it works, and no folder gets a file`() async throws {
        try await withToolFixture { fixture in
            let file = try fixture.file("film.bin", parts: 40)
            let service = fixture.environment.filter { $0.key.hasPrefix("OSS_") }
            #expect(try await fixture.run(fixture.copy(file.path, "k"), environment: service).code == 0)
            #expect(try await fixture.object("k") == file.bytes)

            var watched = service
            for name in ["HOME", "TMPDIR"] {
                watched[name] = fixture.folder + "/" + name
                try Directory.create(fixture.folder + "/" + name)
            }
            // Held with all parts stored: whatever it keeps anywhere is there now.
            fixture.server.faults.add(.init(.delay(.seconds(3600)), operation: Self.complete, occurrences: 1...1))
            let before = Set(try FileManager.default.contentsOfDirectory(atPath: fixture.folder))
            let process = try fixture.start(fixture.copy(file.path, "k"), environment: watched)
            try await fixture.wait { fixture.server.faults.count(ofOperation: Self.complete) > 0 }
            let after = Set(try FileManager.default.contentsOfDirectory(atPath: fixture.folder))
            #expect(after.subtracting(before).allSatisfy { $0 == "checkpoints" || $0.hasPrefix("run-") })
            for name in ["HOME", "TMPDIR"] {
                #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.folder + "/" + name).isEmpty)
            }
            process.send(SIGTERM)
            #expect(try await process.outcome().code == 143)
        }
    }

    // Case 31: https://github.com/aws/aws-sdk-go/issues/2557, https://github.com/soto-project/soto/issues/463
    @Test func `What is written for a part does not grow with the number of parts`() async throws {
        try await withToolFixture { fixture in
            let path = fixture.folder + "/sparse.bin"
            try PosixFile(path: path, [.write, .create]).truncate(to: Int64(600 * ToolFixture.partSize))
            fixture.server.faults.add(.init(.delay(.seconds(3600)), operation: Self.complete))
            let process = try fixture.start(fixture.copy(path, "k", ["--quiet"]))
            try await fixture.wait { fixture.server.faults.count(ofOperation: Self.complete) > 0 }
            // All that the process has ever written to files; what goes to sockets is not counted there.
            let counts = try PosixFile(path: "/proc/\(process.identifier)/io", .read)
            var buffer = [UInt8](repeating: 0, count: 4096)
            let count = try counts.readNext(into: &buffer)
            let text = String(decoding: buffer.prefix(count), as: UTF8.self)
            let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("wchar: ") })
            let written = try #require(Int(line.dropFirst("wchar: ".count)))
            // A sanitizer writes to files of its own.
            if !ToolProcess.isInstrumented { #expect(written < 600 * 256, "\(written) bytes written to files") }
            process.send(SIGTERM)
            #expect(try await process.outcome().code == 143)
        }
    }

    // Case 63: https://github.com/aws/aws-sdk-js-v3/issues/8005, https://github.com/aws/aws-sdk-go-v2/issues/3187
    @Test func `A clock that is two hours off is no matter`() async throws {
        try await withToolFixture({ $0.clockOffset = .seconds(7200) }) { fixture in
            let file = try fixture.file("film.bin", parts: 4)
            let outcome = try await fixture.run(fixture.copy(file.path, "k"))
            #expect(outcome.code == 0, "\(outcome.text)")
            #expect(try await fixture.object("k") == file.bytes)
            #expect(fixture.server.requests.filter { $0.status != 200 }.count == 1)
        }
    }

    // Case 72: https://github.com/aliyun/aliyun-oss-go-sdk/issues/439, https://github.com/chimera-nas/chimera/issues/1136
    @Test func `Keys on the command line are taken as they are`() async throws {
        try await withToolFixture { fixture in
            let keys = [
                "plus+percent%hash#question?amp&equal=", "blank in it", "中文/键", "emoji 😀", "a//b", "a%2Fb", "../up",
                "e\u{301}",
            ]
            let file = try fixture.file("film.bin", parts: 2)
            for key in keys {
                let outcome = try await fixture.run(fixture.copy(file.path, key))
                #expect(outcome.code == 0, "\(outcome.text)")
                #expect(try await fixture.object(key) == file.bytes)
            }
            #expect(Set(fixture.server.keys(bucket: ToolFixture.bucket)) == Set(keys))
        }
    }

    // Cases 74 to 76: https://github.com/aliyun/aliyun-oss-ios-sdk/pull/124, https://github.com/aliyun/aliyun-oss-go-sdk/issues/244,
    // https://github.com/aliyun/terraform-provider-alicloud/issues/8553
    @Test func `Forms of the endpoint, localhost, and virtual host style through a proxy work`() async throws {
        try await withToolFixture({ $0.serviceHosts = ["oss-cn-hangzhou.example"] }) { fixture in
            let file = try fixture.file("film.bin", parts: 2)
            let address = fixture.server.endpoint.dropFirst("http://".count)
            let port = try #require(address.split(separator: ":").last)
            let forms = [
                ["--endpoint", "http://\(address)/"], ["--endpoint", "HTTP://\(address)"],
                ["--endpoint", "http://localhost:\(port)"],
                ["--endpoint", "http://oss-cn-hangzhou.example", "--proxy", fixture.server.endpoint],
            ]
            for (number, form) in forms.enumerated() {
                let outcome = try await fixture.run(fixture.copy(file.path, "k\(number)", form))
                #expect(outcome.code == 0, "\(outcome.text)")
                #expect(try await fixture.object("k\(number)") == file.bytes)
            }
        }
    }
}
