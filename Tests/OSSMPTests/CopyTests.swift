// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import FoundationEssentials
import Glibc
import OSSLocalServer
import SystemIO
import Testing

@Suite(.timeLimit(.minutes(5))) struct CopyTests {
    private struct Report: Decodable {
        let bucket: String, key: String, size: Int64, uploadId: String?, etag: String?, crc64: String?, proof: String
        let partsTotal: Int, partsSent: Int, partsResumed: Int, bytesSent: Int64, seconds: Double, requestId: String?
    }

    private struct Failure: Decodable {
        struct Details: Decodable {
            let code: String, message: String
            let operation: String?, requestId: String?
            let status: Int?
        }
        let error: Details
    }

    private func read<Value: Decodable>(_ output: String, as type: Value.Type = Value.self) throws -> Value {
        #expect(output.filter { $0 == "\n" }.count == 1, "one object on one line: \(output)")
        return try JSONDecoder().decode(type, from: Data(output.utf8))
    }

    // Case 1
    @Test func `A file is stored, and JSON on standard output says how`() async throws {
        try await withToolFixture { fixture in
            let file = try fixture.file("film.bin", parts: 10)
            let outcome = try await fixture.run(fixture.copy(file.path, "v/film.bin", ["--json"]))
            #expect(outcome.code == 0)
            #expect(outcome.errors == "")
            let report: Report = try self.read(outcome.output)
            #expect((report.bucket, report.key, report.size) == ("media", "v/film.bin", Int64(file.bytes.count)))
            #expect((report.partsTotal, report.partsSent, report.partsResumed) == (11, 11, 0))
            #expect(report.proof == "crc64")
            #expect(report.bytesSent == report.size)
            #expect(report.requestId?.isEmpty == false)
            let info = try #require(fixture.server.objectInfo(bucket: "media", key: "v/film.bin"))
            #expect(report.etag == info.eTag)
            #expect(report.crc64 == "\(info.crc64)")
            #expect(try await fixture.object("v/film.bin") == file.bytes)
            #expect(!fixture.hasLeftovers)
        }
    }

    @Test func `Without JSON all goes to standard error, and a key that ends with a slash gets the file's name`()
        async throws
    {
        try await withToolFixture { fixture in
            let file = try fixture.file("film.bin", parts: 3)
            let outcome = try await fixture.run(fixture.copy(file.path, "dir/", ["-v"]))
            #expect(outcome.code == 0)
            #expect(outcome.output == "")
            for words in ["100 %", "part 4 of 4 is stored", "stored oss://media/dir/film.bin", "proof: crc64"] {
                #expect(outcome.errors.contains(words))
            }
            #expect(try await fixture.object("dir/film.bin") == file.bytes)
            let quiet = try await fixture.run(fixture.copy(file.path, "dir/", ["--quiet"]))
            #expect(quiet.code == 0)
            #expect(quiet.text == "")
        }
    }

    // Case 33: https://github.com/soto-project/soto/pull/515
    @Test func `Killed at ten moments it goes on each time, and the object is right each time`() async throws {
        try await withToolFixture { fixture in
            let file = try fixture.file("film.bin", parts: 20)
            for moment in 0..<10 {
                let key = "killed-\(moment)"
                fixture.server.removeAllRequests()
                fixture.hold(moment * 2 + 1...21)
                let process = try fixture.start(fixture.copy(file.path, key))
                let wanted = moment * 2
                // The first moment is as early as can be: before or within Initiate.
                if moment > 0 { try await fixture.wait { fixture.storedParts(key) >= wanted } }
                process.send(SIGKILL)
                let killed = try await process.outcome()
                #expect(killed.signal == SIGKILL)
                fixture.server.faults.removeAll()
                let stored = fixture.storedParts(key)
                fixture.server.removeAllRequests()
                let outcome = try await fixture.run(fixture.copy(file.path, key, ["--json"]))
                #expect(outcome.code == 0, "\(outcome.text)")
                let report: Report = try self.read(outcome.output)
                #expect(report.proof == "crc64")
                #expect(report.partsSent <= 21 - stored + 4, "at most the parts in flight go twice")
                if moment > 0 { #expect(report.partsResumed > 0) }
                #expect(try await fixture.object(key) == file.bytes)
                #expect(!fixture.hasLeftovers)
            }
        }
    }

    @Test
    func `Killed before and after Initiate was applied it leaves no upload behind once a later run has succeeded`()
        async throws
    {
        try await withToolFixture { fixture in
            let file = try fixture.file("film.bin", parts: 3)
            for action: OSSServer.Fault.Action in [.delay(.seconds(3600)), .stall(.seconds(3600))] {
                fixture.server.faults.add(.init(action, operation: "InitiateMultipartUpload"))
                let before = fixture.server.faults.count(ofOperation: "InitiateMultipartUpload")
                let process = try fixture.start(fixture.copy(file.path, "k"))
                try await fixture.wait { fixture.server.faults.count(ofOperation: "InitiateMultipartUpload") > before }
                if action == .stall(.seconds(3600)) {
                    try await fixture.wait { !fixture.server.openUploads(bucket: "media").isEmpty }
                }
                process.send(SIGKILL)
                _ = try await process.outcome()
                fixture.server.faults.removeAll()
                #expect(try await fixture.run(fixture.copy(file.path, "k")).code == 0)
                #expect(try await fixture.object("k") == file.bytes)
                #expect(!fixture.hasLeftovers)
            }
        }
    }

    // Cases 53 and 82: https://github.com/aliyun/aliyun-oss-android-sdk/issues/78
    @Test(arguments: [(SIGINT, 130), (SIGTERM, 143), (SIGHUP, 129)] as [(Int32, Int32)])
    func `A signal in mid-run keeps the progress, and the next run goes on`(signal: Int32, code: Int32) async throws {
        try await withToolFixture { fixture in
            fixture.hold(7...17)
            let file = try fixture.file("film.bin", parts: 16)
            let process = try fixture.start(fixture.copy(file.path, "k"))
            try await fixture.wait { fixture.storedParts("k") >= 6 }
            process.send(signal)
            let outcome = try await process.outcome()
            fixture.server.faults.removeAll()
            #expect(outcome.code == code)
            #expect(outcome.errors.contains("run the same command again"))
            let stored = fixture.storedParts("k")
            #expect(stored < 17)
            fixture.server.removeAllRequests()
            let second = try await fixture.run(fixture.copy(file.path, "k"))
            #expect(second.code == 0)
            #expect(fixture.partsSent.count <= 17 - stored + 4)
            #expect(try await fixture.object("k") == file.bytes)
            #expect(!fixture.hasLeftovers)
        }
    }

    // Case 83: https://github.com/vm0-ai/vm0/pull/28100
    @Test func `A signal during Complete leaves the outcome to the next run, and nothing is aborted`() async throws {
        try await withToolFixture { fixture in
            fixture.server.faults.add(
                .init(.stall(.seconds(3600)), operation: "CompleteMultipartUpload", occurrences: 1...1)
            )
            let file = try fixture.file("film.bin", parts: 3)
            let process = try fixture.start(fixture.copy(file.path, "k"))
            try await fixture.wait { fixture.server.faults.count(ofOperation: "CompleteMultipartUpload") > 0 }
            process.send(SIGINT)
            let outcome = try await process.outcome()
            #expect(outcome.code == 130)
            #expect(outcome.errors.contains("outcome unknown"))
            #expect(fixture.server.counters["AbortMultipartUpload"] == nil)
            let second = try await fixture.run(fixture.copy(file.path, "k"))
            #expect(second.code == 0)
            #expect(try await fixture.object("k") == file.bytes)
            #expect(fixture.partsSent.count == 4)
            #expect(!fixture.hasLeftovers)
        }
    }

    // Case 49: https://github.com/googleapis/google-cloud-cpp/issues/6713
    @Test func `Two runs at once: one gets code 5, and when the other is killed its turn comes`() async throws {
        try await withToolFixture { fixture in
            fixture.hold(3...13)
            let file = try fixture.file("film.bin", parts: 12)
            let other = try fixture.file("other.bin", parts: 12, seed: 2)
            let first = try fixture.start(fixture.copy(file.path, "k"))
            try await fixture.wait { fixture.storedParts("k") >= 2 }
            let second = try await fixture.run(fixture.copy(other.path, "k"))
            #expect(second.code == 5)
            #expect(second.errors.contains("wait until it has ended"))
            // The record is free once its process is dead, and the other source then begins anew.
            first.send(SIGKILL)
            _ = try await first.outcome()
            fixture.server.faults.removeAll()
            #expect(try await fixture.run(fixture.copy(other.path, "k")).code == 0)
            #expect(try await fixture.object("k") == other.bytes)
            #expect(!fixture.hasLeftovers)
        }
    }

    // Cases 25 and 26: https://github.com/dandi/dandi-cli/issues/1373
    @Test func `A source that changes during the run gives code 4`() async throws {
        try await withToolFixture { fixture in
            // These are asked to come again until the file has changed: the source is looked at before each attempt.
            for part in 3...13 {
                fixture.server.faults.add(
                    .init(
                        .respond(status: 503, code: "SlowDown", headers: ["Retry-After": "1"]), operation: "UploadPart",
                        partNumber: part
                    )
                )
            }
            let file = try fixture.file("film.bin", parts: 12)
            let process = try fixture.start(fixture.copy(file.path, "k", ["--retries", "100"]))
            try await fixture.wait { fixture.storedParts("k") >= 2 }
            try PosixFile(path: file.path, [.write, .append]).write([1])
            let outcome = try await process.outcome()
            #expect(outcome.code == 4)
            #expect(outcome.errors.contains("changed"))
            #expect(try await fixture.object("k") == nil)
        }
    }

    // Case 13: https://github.com/aliyun/alibabacloud-oss-sdk/pull/286
    @Test func `Exit codes tell integrity, callback and refusal apart, and the message names code and request ID`()
        async throws
    {
        try await withToolFixture { fixture in
            let file = try fixture.file("film.bin", parts: 2)
            func run(_ fault: OSSServer.Fault) async throws -> ToolProcess.Outcome {
                fixture.server.faults.removeAll()
                fixture.server.faults.add(fault)
                return try await fixture.run(fixture.copy(file.path, "k", ["--json"]))
            }
            let integrity = try await run(
                .init(.editReplyHeader("x-oss-hash-crc64ecma", "1"), operation: "CompleteMultipartUpload"))
            #expect(integrity.code == 3)
            let callback = try await run(
                .init(.commitThenRespond(status: 203, code: "CallbackFailed"), operation: "CompleteMultipartUpload"))
            #expect(callback.code == 6)
            #expect(callback.errors.contains("is stored"))
            let refused = try await run(
                .init(.respond(status: 403, code: "AccessDenied"), operation: "InitiateMultipartUpload"))
            #expect(refused.code == 1)
            let failure: Failure = try self.read(refused.output)
            #expect(failure.error.code == "AccessDenied")
            #expect(failure.error.operation == "InitiateMultipartUpload")
            #expect(failure.error.status == 403)
            let requestID = try #require(failure.error.requestId)
            #expect(refused.errors.contains(requestID))
            #expect(refused.errors.contains("AccessDenied"))
        }
    }

    // Case 87: https://github.com/Azure/azure-storage-azcopy/issues/2461
    @Test func `A good run after a failed one speaks of no error`() async throws {
        try await withToolFixture { fixture in
            let file = try fixture.file("film.bin", parts: 4)
            fixture.server.faults.add(
                .init(.respond(status: 403, code: "AccessDenied"), operation: "UploadPart", partNumber: 2))
            let first = try await fixture.run(fixture.copy(file.path, "k"))
            #expect(first.code == 1)
            #expect(first.errors.contains("run the same command again"))
            fixture.server.faults.removeAll()
            let second = try await fixture.run(fixture.copy(file.path, "k"))
            #expect(second.code == 0)
            for word in ["error", "warning", "AccessDenied", "failed"] { #expect(!second.text.contains(word)) }
        }
    }

    // https://github.com/peak/s5cmd/issues/379
    @Test(arguments: [
        ["cp"], ["cp", "a"], ["cp", "a", "oss://media/k", "c"], ["cp", "a", "s3://b/k"], ["cp", "a", "oss://"],
        ["cp", "", "oss://media/k"],
        ["cp", "a", "oss://media/k", "--part-size", "8MB"], ["cp", "a", "oss://media/k", "--part-size", "-1"],
        ["cp", "a", "oss://media/k", "--parallel", "0"], ["cp", "a", "oss://media/k", "--verify", "maybe"],
        ["cp", "a", "oss://media/k", "--no-checkpoint", "--checkpoint-dir", "x"],
        ["cp", "a", "oss://media/k", "--no-such-option"],
        ["cp", "a", "oss://media/k", "--meta", "novalue"],
        ["cp", "a", "oss://media/k", "--endpoint", "http://host/path"],
        ["ls-parts", "oss://media/k"], ["abort", "oss://media/k"],
        ["abort", "oss://media/k", "--all", "--upload-id", "x"],
        ["nonsense"], [], ["cp", "a", "oss://media/bad\u{FFFD}"], ["cp", "a", "oss://media/k", "--retries", "x"],
    ])
    func `A wrong command line gives code 2, a message, and no request`(arguments: [String]) async throws {
        try await withToolFixture { fixture in
            let outcome = try await fixture.run(arguments)
            #expect(outcome.code == 2, "\(outcome.text)")
            #expect(outcome.errors.hasPrefix("ossmp: "))
            #expect(outcome.output == "")
            #expect(fixture.server.requests.isEmpty)
        }
    }

    // Case 73: https://github.com/haierkeys/custom-image-gateway/issues/25
    @Test(arguments: ["UPPER/k", "media//k", "media/\\k", "ab/k"])
    func `A name that the service refuses gives code 2 and no request`(address: String) async throws {
        try await withToolFixture { fixture in
            let file = try fixture.file("film.bin", parts: 2)
            let outcome = try await fixture.run([
                "cp", file.path, "oss://" + address, "--checkpoint-dir", fixture.checkpoints,
            ])
            #expect(outcome.code == 2)
            #expect(fixture.server.requests.isEmpty)
        }
    }

    // Cases 28 and 88: https://github.com/aliyun/aliyun-oss-ios-sdk/issues/227
    @Test func `Missing files and credentials are told before anything is sent`() async throws {
        try await withToolFixture { fixture in
            let missing = try await fixture.run(fixture.copy(fixture.folder + "/missing", "k"))
            #expect(missing.code == 1)
            #expect(missing.errors.contains("No such file"))
            let file = try fixture.file("film.bin", parts: 2)
            for (name, value) in [
                ("OSS_ACCESS_KEY_ID", nil), ("OSS_ACCESS_KEY_SECRET", nil), ("OSS_ACCESS_KEY_ID", ""),
            ] {
                var environment = fixture.environment
                environment[name] = value
                let outcome = try await fixture.run(fixture.copy(file.path, "k"), environment: environment)
                #expect(outcome.code == 1)
                #expect(outcome.errors.contains("credentials"))
            }
            #expect(fixture.server.requests.isEmpty)
            #expect(!fixture.hasLeftovers)
        }
    }

    // Case 85: https://github.com/peak/s5cmd/issues/379
    @Test func `Servers that cannot be reached end the run with a message`() async throws {
        try await withToolFixture { fixture in
            let file = try fixture.file("film.bin", parts: 2)
            for endpoint in ["http://127.0.0.1:1", "http://no-such-host.invalid"] {
                let outcome = try await fixture.run(
                    fixture.copy(file.path, "k", ["--endpoint", endpoint, "--retries", "1", "--proxy", ""])
                )
                #expect(outcome.code == 1)
                #expect(outcome.errors.contains("check the endpoint"))
            }
        }
    }

    // Cases 52 and 78: https://github.com/jxxghp/MoviePilot/issues/6295
    @Test func `No secret is in any output or file, and records are their owner's alone`() async throws {
        let account = OSSServer.Account(
            accessKeyID: "STS.id", accessKeySecret: "SECRETSECRET", securityToken: "TOKENTOKEN")
        try await withToolFixture({ $0.accounts = [account] }) { fixture in
            let file = try fixture.file("film.bin", parts: 8)
            var environment = fixture.environment
            environment["OSS_ACCESS_KEY_ID"] = "STS.id"
            environment["OSS_ACCESS_KEY_SECRET"] = "SECRETSECRET"
            environment["OSS_SESSION_TOKEN"] = "TOKENTOKEN"
            fixture.server.faults.add(
                .init(.respond(status: 403, code: "AccessDenied"), operation: "UploadPart", partNumber: 5))
            let outcome = try await fixture.run(
                fixture.copy(file.path, "k", ["-v", "--json"]), environment: environment)
            environment["OSS_ACCESS_KEY_SECRET"] = "WRONGSECRET"
            fixture.server.faults.removeAll()
            let wrong = try await fixture.run(fixture.copy(file.path, "k", ["-v", "--json"]), environment: environment)
            #expect(wrong.code == 1)
            #expect(wrong.errors.contains("SignatureDoesNotMatch"))
            let record = try #require(FileManager.default.contentsOfDirectory(atPath: fixture.checkpoints).first)
            let contents = try Data(contentsOf: URL(filePath: fixture.checkpoints + "/" + record))
            for text in [outcome.text, wrong.text, String(decoding: contents, as: UTF8.self)] {
                for secret in ["SECRETSECRET", "TOKENTOKEN", "WRONGSECRET", "OSS4-HMAC", "Signature="] {
                    #expect(!text.contains(secret))
                }
            }
            #expect(try FileStatus.of(path: fixture.checkpoints + "/" + record).permissions == 0o600)
        }
    }

    // Case 86: https://github.com/aliyun/ossutil/issues/65
    @Test func `Without a home it works and warns; with one the records go where XDG says`() async throws {
        try await withToolFixture { fixture in
            let file = try fixture.file("film.bin", parts: 4)
            var environment = fixture.environment
            environment["HOME"] = nil
            let command = ["cp", file.path, "oss://media/k", "--part-size", "100KiB"]
            let outcome = try await fixture.run(command, environment: environment)
            #expect(outcome.code == 0)
            #expect(outcome.errors.contains("warning"))

            fixture.server.faults.add(
                .init(.respond(status: 403, code: "AccessDenied"), operation: "UploadPart", partNumber: 3))
            _ = try await fixture.run(command)
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: fixture.folder + "/home/.local/state/ossmp").count
                    == 1)
            environment["XDG_STATE_HOME"] = fixture.folder + "/state"
            _ = try await fixture.run(command, environment: environment)
            #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.folder + "/state/ossmp").count == 1)
        }
    }

    // Case 67: https://github.com/opentofu/opentofu/pull/2674
    @Test func `A dead proxy in the environment does not matter where the server is excluded`() async throws {
        try await withToolFixture { fixture in
            let file = try fixture.file("film.bin", parts: 2)
            var environment = fixture.environment
            for name in ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
                environment[name] = "http://127.0.0.1:1"
            }
            environment["NO_PROXY"] = "127.0.0.1,localhost"
            #expect(try await fixture.run(fixture.copy(file.path, "k"), environment: environment).code == 0)
            environment["NO_PROXY"] = nil
            let proxied = try await fixture.run(
                fixture.copy(file.path, "k", ["--retries", "0"]), environment: environment)
            #expect(proxied.code == 1)
            let none = try await fixture.run(fixture.copy(file.path, "k", ["--proxy", ""]), environment: environment)
            #expect(none.code == 0)
        }
    }

    // Case 32: https://github.com/soto-project/soto/issues/463
    @Test func `A large file takes little memory, and no file appears but the record`() async throws {
        try await withToolFixture { fixture in
            let path = fixture.folder + "/sparse.bin"
            try PosixFile(path: path, [.write, .create]).truncate(to: 256 * 1024 * 1024)
            let before = Set(try FileManager.default.contentsOfDirectory(atPath: fixture.folder))
            fixture.server.faults.add(.init(.delay(.seconds(3600)), operation: "CompleteMultipartUpload"))
            let process = try fixture.start([
                "cp", path, "oss://media/k", "--checkpoint-dir", fixture.checkpoints, "--parallel", "8", "--quiet",
            ])
            // All parts are stored and Complete is held: the peak is behind it.
            try await fixture.wait { fixture.server.faults.count(ofOperation: "CompleteMultipartUpload") > 0 }
            let peak = try process.peakMemory()
            process.send(SIGKILL)
            _ = try await process.outcome()
            // Sanitizers keep books of their own; the bar is for the plain build.
            if !ToolProcess.isInstrumented { #expect(peak < 64 * 1024) }
            let after = Set(try FileManager.default.contentsOfDirectory(atPath: fixture.folder))
            #expect(after.subtracting(before).allSatisfy { $0 == "checkpoints" || $0.hasPrefix("run-") })
        }
    }

    @Test(arguments: [16, 20, 30])
    func `With hardly a descriptor left a run ends by itself, before anything is sent, and says why`(limit: Int)
        async throws
    {
        try await withToolFixture { fixture in
            let file = try fixture.file("film.bin", parts: 3)
            let outcome = try await fixture.run(
                fixture.copy(file.path, "k"), launcher: ["/usr/bin/prlimit", "--nofile=\(limit):\(limit)", "--"])
            #expect(outcome.code == 1, "\(outcome.text)")
            #expect(outcome.errors.contains("ulimit -n"))
            #expect(fixture.server.requests.isEmpty)
            // What the user may raise is raised.
            let raised = try await fixture.run(
                fixture.copy(file.path, "k"), launcher: ["/usr/bin/prlimit", "--nofile=\(limit):1000", "--"])
            #expect(raised.code == 0, "\(raised.text)")
            #expect(try await fixture.object("k") == file.bytes)
        }
    }

    // The sanitizers want to be the first library that is loaded.
    @Test(.disabled(if: ToolProcess.isInstrumented))
    func `Where curl has no descriptor to be woken by, a run goes on all the same`() async throws {
        let source = """
            #define _GNU_SOURCE
            #include <dlfcn.h>
            #include <errno.h>
            #include <string.h>
            static int refuses(void *caller) {
                Dl_info info;
                if (!dladdr(caller, &info) || !info.dli_fname || !strstr(info.dli_fname, "libcurl")) return 0;
                errno = EMFILE;
                return 1;
            }
            #define REFUSING(name, parameters, arguments) \\
                int name parameters { \\
                    if (refuses(__builtin_return_address(0))) return -1; \\
                    return ((int (*) parameters)dlsym(RTLD_NEXT, #name)) arguments; \\
                }
            REFUSING(eventfd, (unsigned count, int flags), (count, flags))
            REFUSING(pipe, (int ends[2]), (ends))
            REFUSING(pipe2, (int ends[2], int flags), (ends, flags))
            REFUSING(socketpair, (int domain, int type, int protocol, int ends[2]), (domain, type, protocol, ends))
            """
        try await withToolFixture { fixture in
            guard let library = try await fixture.library("deaf", source) else { return }
            let file = try fixture.file("film.bin", parts: 8)
            var environment = fixture.environment
            environment["LD_PRELOAD"] = library
            // A thread that waited for what cannot come would take minutes, and to end as well.
            let outcome = try await fixture.run(
                fixture.copy(file.path, "k"), environment: environment,
                launcher: ["/usr/bin/timeout", "--kill-after=5", "40"])
            #expect(outcome.code == 0, "\(outcome.text)")
            #expect(try await fixture.object("k") == file.bytes)
        }
    }
}
