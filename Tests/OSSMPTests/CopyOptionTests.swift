// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import ByteProxy
import FoundationEssentials
import OSSLocalServer
import SystemIO
import Testing

/// Every option of `cp` that no other suite is about, by what the server got.
@Suite(.timeLimit(.minutes(5))) struct CopyOptionTests {
    private static let bucket = ToolFixture.bucket

    private struct Report: Decodable {
        let uploadId: String?, proof: String, partsTotal: Int, partsSent: Int, partsResumed: Int, seconds: Double
    }

    @discardableResult
    private func copy(
        _ fixture: ToolFixture, _ path: String, _ more: [String] = [], environment: [String: String]? = nil
    ) async throws -> Report {
        let outcome = try await fixture.run(fixture.copy(path, "k", ["--json"] + more), environment: environment)
        #expect(outcome.code == 0, "\(outcome.text)")
        return try JSONDecoder().decode(Report.self, from: Data(outcome.output.utf8))
    }

    // MARK: What is stored with the object

    @Test(arguments: [0, 2]) func `Type, metadata, class, tags and ACL are the object's`(parts: Int) async throws {
        try await withToolFixture { fixture in
            let file = try fixture.file("film.bin", parts: parts)
            try await self.copy(
                fixture, file.path,
                [
                    "--content-type", "video/mp4", "--meta", "a=1", "--meta", "b=x=y", "--storage-class", "IA",
                    "--tagging",
                    "t=1&u=%20", "--acl", "public-read",
                ])
            let first = try #require(
                fixture.server.requests.first { ["PutObject", "InitiateMultipartUpload"].contains($0.operation) })
            #expect(first.headers["content-type"] == "video/mp4")
            #expect(first.headers["x-oss-meta-a"] == "1")
            #expect(first.headers["x-oss-meta-b"] == "x=y")
            #expect(first.headers["x-oss-storage-class"] == "IA")
            #expect(first.headers["x-oss-tagging"] == "t=1&u=%20")
            let last = parts == 0 ? first : try #require(fixture.requests("CompleteMultipartUpload").first)
            #expect(last.headers["x-oss-object-acl"] == "public-read")
        }
    }

    @Test(arguments: [0, 2]) func `Overwriting can be forbidden`(parts: Int) async throws {
        try await withToolFixture { fixture in
            try await fixture.server.putObject(bucket: Self.bucket, key: "k", data: [1])
            let file = try fixture.file("film.bin", parts: parts)
            let outcome = try await fixture.run(fixture.copy(file.path, "k", ["--forbid-overwrite"]))
            #expect(outcome.code == 1)
            #expect(outcome.errors.contains("FileAlreadyExists"))
            #expect(outcome.errors.contains("choose another key or allow it"))
            #expect(try await fixture.object("k") == [1])
            #expect(!fixture.hasLeftovers)
            try await self.copy(fixture, file.path)
            #expect(try await fixture.object("k") == file.bytes)
        }
    }

    // MARK: How it is sent

    @Test func `The part size is that of every part but the last, in plain bytes, KiB, MiB and GiB`() async throws {
        try await withToolFixture { fixture in
            let file = try fixture.file("film.bin", parts: 11)
            for (size, parts) in [("200KiB", 6), ("204800", 6), ("1MiB", 2), ("1GiB", 1)] {
                fixture.server.removeAllRequests()
                let report = try await self.copy(fixture, file.path, ["--part-size", size])
                #expect(report.partsTotal == parts)
                #expect(fixture.requests("UploadPart").count == (parts == 1 ? 0 : parts))
            }
        }
    }

    @Test(arguments: [1, 3, 8]) func `So many parts are in flight as --parallel says`(parallel: Int) async throws {
        try await withToolFixture { fixture in
            let file = try fixture.file("film.bin", parts: 12)
            fixture.hold(1...13)
            let process = try fixture.start(fixture.copy(file.path, "k", ["--parallel", "\(parallel)"]))
            try await fixture.wait { fixture.server.faults.count(ofOperation: "UploadPart") >= parallel }
            // One that came too soon would come in this while.
            try await Task.sleep(for: .milliseconds(200))
            #expect(fixture.server.faults.count(ofOperation: "UploadPart") == parallel)
            process.send(9)
            _ = try await process.outcome()
        }
    }

    @Test func `--sequential sends one part after the other, and the object gets its MD5`() async throws {
        try await withToolFixture { fixture in
            let file = try fixture.file("film.bin", parts: 6)
            fixture.server.faults.add(
                .init(.commitThenDrop, operation: "UploadPart", partNumber: 2, occurrences: 1...1))
            try await self.copy(fixture, file.path, ["--sequential"])
            #expect(fixture.requests("InitiateMultipartUpload").map { $0.query["sequential"] } == [""])
            #expect(fixture.requests("UploadPart").map(\.partNumber) == [1, 2, 2, 3, 4, 5, 6, 7])
            #expect(try await fixture.object("k") == file.bytes)
            let sum = try await fixture.run(program: ["md5sum", "film.bin"]).output.prefix(32)
            let stat = try await fixture.run(["stat", "oss://media/k"])
            #expect(stat.output.contains("\nmd5: \(sum)\n"))
            fixture.server.removeAllRequests()
            try await self.copy(fixture, file.path)
            #expect(fixture.requests("InitiateMultipartUpload").map { $0.query["sequential"] } == [nil])
        }
    }

    @Test func `--limit-rate holds the sending back`() async throws {
        try await withToolFixture { fixture in
            let file = try fixture.file("film.bin", parts: 8)
            let report = try await self.copy(fixture, file.path, ["--limit-rate", "400KiB"])
            // 800 KiB, of which a quarter of a second's worth may go at once.
            #expect(report.seconds > 1.7)
            #expect(try await fixture.object("k") == file.bytes)
        }
    }

    @Test(arguments: ["md5+crc64", "md5", "crc64", "etag", "none"])
    func `The integrity is what is sent and compared`(mode: String) async throws {
        try await withToolFixture { fixture in
            for parts in [0, 2] {
                let file = try fixture.file("film.bin", parts: parts)
                fixture.server.removeAllRequests()
                let report = try await self.copy(fixture, file.path, ["--integrity", mode])
                let bodies = fixture.server.requests.filter { ["PutObject", "UploadPart"].contains($0.operation) }
                #expect(!bodies.isEmpty)
                #expect(bodies.allSatisfy { ($0.headers["content-md5"] != nil) == mode.hasPrefix("md5") })
                #expect(report.proof == (mode.hasSuffix("crc64") ? "crc64" : mode == "none" ? "size" : "etag"))
            }
            // What comes back is wrong: seen by those who compare it.
            let file = try fixture.file("film.bin", parts: 2)
            fixture.server.faults.add(
                .init(
                    .editReplyHeader("ETag", "\"\(String(repeating: "0", count: 32))\""), operation: "UploadPart",
                    partNumber: 1, occurrences: 1...1),
                .init(
                    .editReplyHeader("x-oss-hash-crc64ecma", "1"), operation: "UploadPart", partNumber: 2,
                    occurrences: 1...1))
            fixture.server.removeAllRequests()
            _ = try await fixture.run(fixture.copy(file.path, "k", ["--integrity", mode, "--parallel", "1"]))
            let sent = fixture.partsSent
            #expect((sent.filter { $0 == 2 }.count > 1) == mode.hasSuffix("crc64"), "\(sent)")
            if mode == "etag" { #expect(sent.filter { $0 == 1 }.count > 1) }
        }
    }

    @Test func `Signatures of both versions, in the region that is asked for`() async throws {
        try await withToolFixture({ $0.region = "eu-central-1" }) { fixture in
            let file = try fixture.file("film.bin", parts: 2)
            for version in ["v4", "v1"] {
                fixture.server.removeAllRequests()
                try await self.copy(fixture, file.path, ["--region", "eu-central-1", "--sign-version", version])
                #expect(
                    fixture.server.requests.allSatisfy {
                        ($0.headers["x-oss-content-sha256"] != nil) == (version == "v4")
                    })
            }
            let wrong = try await fixture.run(fixture.copy(file.path, "k", ["--region", "cn-beijing"]))
            #expect(wrong.code == 1)
            #expect(wrong.errors.contains("region"))
        }
    }

    @Test func `The bucket is in the path, in the host name, or nowhere, as --addressing says`() async throws {
        try await withToolFixture({ $0.serviceHosts = ["oss.example.com"] }) { fixture in
            let file = try fixture.file("film.bin", parts: 2)
            let proxy = ["--proxy", fixture.server.endpoint, "--endpoint"]
            for (style, endpoint, host) in [
                ("auto", "http://oss.example.com", "media.oss.example.com"),
                ("virtual", "http://oss.example.com", "media.oss.example.com"),
                ("path", "http://oss.example.com", "oss.example.com"),
            ] {
                fixture.server.removeAllRequests()
                try await self.copy(fixture, file.path, proxy + [endpoint, "--addressing", style])
                #expect(fixture.server.requests.allSatisfy { $0.headers["host"] == host }, "\(style)")
            }
            // A domain of one's own: the server takes its first label for the bucket, which it is not told otherwise.
            fixture.server.removeAllRequests()
            _ = try await fixture.run(
                fixture.copy(
                    file.path, "k", proxy + ["http://media.oss.example.com", "--addressing", "cname"]))
            #expect(fixture.server.requests.allSatisfy { $0.headers["host"] == "media.oss.example.com" })
            #expect(fixture.server.requests.allSatisfy { $0.bucket == "media" && $0.key == "k" })
        }
    }

    @Test func `--retries is how often a request is sent again`() async throws {
        try await withToolFixture { fixture in
            let file = try fixture.file("film.bin", parts: 2)
            fixture.server.faults.add(
                .init(.respond(status: 500, code: "InternalError"), operation: "UploadPart", partNumber: 1))
            for retries in [0, 2] {
                fixture.server.removeAllRequests()
                let outcome = try await fixture.run(
                    fixture.copy(file.path, "k", ["--retries", "\(retries)", "--restart"]))
                #expect(outcome.code == 1)
                #expect(fixture.partsSent.filter { $0 == 1 }.count == retries + 1)
            }
        }
    }

    // MARK: How the service is reached

    @Test func `--endpoint and --region go before the environment`() async throws {
        try await withToolFixture { fixture in
            let file = try fixture.file("film.bin", parts: 2)
            var environment = fixture.environment
            environment["OSS_ENDPOINT"] = "http://127.0.0.1:1"
            environment["OSS_REGION"] = "cn-beijing"
            try await self.copy(
                fixture, file.path, ["--endpoint", fixture.server.endpoint, "--region", "cn-hangzhou"],
                environment: environment)
            environment["OSS_ENDPOINT"] = nil
            let none = try await fixture.run(fixture.copy(file.path, "k"), environment: environment)
            #expect(none.code == 2)
            #expect(none.errors.contains("give --endpoint https://oss-cn-hangzhou.aliyuncs.com, or set OSS_ENDPOINT"))
        }
    }

    @Test func `--no-proxy names what is reached without the proxy`() async throws {
        try await withToolFixture { fixture in
            let file = try fixture.file("film.bin", parts: 2)
            let dead = ["--proxy", "http://user:PROXYSECRET@127.0.0.1:1", "--retries", "0"]
            let outcome = try await fixture.run(fixture.copy(file.path, "k", dead + ["--json", "-v"]))
            #expect(outcome.code == 1)
            #expect(!outcome.text.contains("PROXYSECRET"))
            try await self.copy(fixture, file.path, dead + ["--no-proxy", "example.com, 127.0.0.1"])
        }
    }

    @Test func `--ca-file names who is believed, and --insecure believes everybody and says so`() async throws {
        try await withToolFixture { fixture in
            let made = try await fixture.run(
                program: [
                    "sh", "-c",
                    "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=127.0.0.1 "
                        + "-addext subjectAltName=IP:127.0.0.1 -keyout key.pem -out cert.pem",
                ])
            try #require(made.code == 0)
            let end = try ToolProcess(
                command: [
                    "/usr/bin/env", "-C", fixture.folder, "openssl", "s_server", "-accept", "127.0.0.1:0", "-cert",
                    "cert.pem", "-key", "key.pem", "-www", "-naccept", "20",
                ], environment: ["PATH": "/usr/bin:/bin"], in: fixture.folder)
            defer { end.send(9) }
            var port = ""
            try await fixture.wait {
                let said = (try? end.outputSoFar()) ?? ""
                guard let line = said.split(separator: "\n").first(where: { $0.hasPrefix("ACCEPT") }) else {
                    return false
                }
                port = String(line.drop { $0 != ":" }.dropFirst().prefix { $0.isNumber })
                return !port.isEmpty
            }
            func look(_ more: [String]) async throws -> ToolProcess.Outcome {
                try await fixture.run(
                    ["ls", "oss://media", "--endpoint", "https://127.0.0.1:\(port)", "--retries", "0"] + more)
            }
            // What answers speaks no OSS: how far one gets is seen from what is complained of.
            let distrusted = try await look([])
            #expect(distrusted.code == 1)
            #expect(distrusted.errors.contains("certificate"))
            let believed = try await look(["--ca-file", fixture.folder + "/cert.pem"])
            #expect(believed.code == 1)
            #expect(!believed.errors.contains("certificate"), "\(believed.errors)")
            let insecure = try await look(["--insecure"])
            #expect(insecure.errors.contains("--insecure: certificates are not checked"))
            let rest = insecure.errors.split(separator: "\n").dropFirst().joined()
            #expect(!rest.isEmpty && !rest.contains("certificate"), "\(insecure.errors)")
            let missing = try await look(["--ca-file", fixture.folder + "/no.pem"])
            #expect(missing.code != 0)
            #expect(missing.errors.contains("no.pem"))
        }
    }

    // MARK: Credentials

    @Test func `Credentials come from the environment, else from ~/.ossutilconfig, or from where they are said to be`()
        async throws
    {
        let account = OSSServer.Account(
            accessKeyID: "other-id", accessKeySecret: "OTHERSECRET", securityToken: "OTHERTOKEN")
        try await withToolFixture({ $0.accounts = [.test, account] }) { fixture in
            let file = try fixture.file("film.bin", parts: 2)
            var environment = fixture.environment
            environment["OSS_ACCESS_KEY_ID"] = nil
            environment["OSS_ACCESS_KEY_SECRET"] = nil
            let none = try await fixture.run(fixture.copy(file.path, "k"), environment: environment)
            #expect(none.code == 1)
            #expect(none.errors.contains("OSS_ACCESS_KEY_ID"))
            #expect(none.errors.contains(".ossutilconfig"))
            #expect(fixture.server.requests.isEmpty)

            let section = "accessKeyID=other-id\naccessKeySecret=OTHERSECRET\nstsToken=OTHERTOKEN\n"
            try Directory.create(fixture.folder + "/home")
            try Data("[Credentials]\n\(section)".utf8).write(to: URL(filePath: fixture.folder + "/home/.ossutilconfig"))
            try Data("[a]\naccessKeyID=x\naccessKeySecret=y\n[b]\n\(section)".utf8)
                .write(to: URL(filePath: fixture.folder + "/config"))
            let json =
                #"{"current":"x","profiles":[{"name":"x","mode":"AK","access_key_id":"x","access_key_secret":"y"},"#
                + #"{"name":"y","mode":"StsToken","access_key_id":"other-id","access_key_secret":"OTHERSECRET","#
                + #""sts_token":"OTHERTOKEN"}]}"#
            try Data(json.utf8).write(to: URL(filePath: fixture.folder + "/aliyun"))
            let script =
                #"[ "$1" = now ] && echo '{"AccessKeyId":"other-id","AccessKeySecret":"OTHERSECRET","SecurityToken":"OTHERTOKEN"}'"#
                + "\n"
            try Data(script.utf8).write(to: URL(filePath: fixture.folder + "/give"))
            for options in [
                [], ["--credentials", "ossutil"],
                ["--credentials", "ossutil:\(fixture.folder)/config", "--profile", "b"],
                ["--credentials", "aliyun:\(fixture.folder)/aliyun", "--profile", "y"],
                // Read by a shell: a file that a process begun meanwhile still has open for writing cannot be a program.
                ["--credentials", "process:/bin/sh \(fixture.folder)/give now"],
            ] {
                fixture.server.removeAllRequests()
                let outcome = try await fixture.run(
                    fixture.copy(file.path, "k", options + ["-v"]), environment: environment)
                #expect(outcome.code == 0, "\(options) \(outcome.text)")
                for secret in ["OTHERSECRET", "OTHERTOKEN"] { #expect(!outcome.text.contains(secret)) }
            }
            // The environment goes first, and half of a key in it is told, not passed over.
            #expect(try await fixture.run(fixture.copy(file.path, "k")).code == 0)
            environment["OSS_ACCESS_KEY_ID"] = "half"
            let half = try await fixture.run(fixture.copy(file.path, "k"), environment: environment)
            #expect(half.code == 1)
            #expect(half.errors.contains("OSS_ACCESS_KEY_SECRET is not set"))
            environment["OSS_ACCESS_KEY_SECRET"] = "WRONGSECRET"
            let wrong = try await fixture.run(
                fixture.copy(file.path, "k", ["--credentials", "env", "--json", "-v"]), environment: environment)
            #expect(wrong.code == 1)
            #expect(!wrong.text.contains("WRONGSECRET"))
        }
    }

    @Test func `No command prints a secret, whatever goes wrong`() async throws {
        try await withToolFixture { fixture in
            var environment = fixture.environment
            environment["OSS_ACCESS_KEY_SECRET"] = "WRONGSECRET"
            environment["OSS_SESSION_TOKEN"] = "WRONGTOKEN"
            let file = try fixture.file("film.bin", parts: 2)
            for command in [
                ["cp", file.path, "oss://media/k", "--no-checkpoint"], ["get", "oss://media/k", fixture.folder + "/k"],
                ["stat", "oss://media/k"], ["ls", "oss://media"], ["rm", "oss://media/k"],
                ["ls-uploads", "oss://media"], ["ls-parts", "oss://media/k", "--upload-id", "X"],
                ["abort", "oss://media/k", "--all"], ["abort", "oss://media", "--older-than", "1d"],
            ] {
                for more in [[], ["--json"]] + (command[0] == "cp" ? [["-v"]] : []) {
                    let outcome = try await fixture.run(command + more, environment: environment)
                    #expect(outcome.code == 1, "\(command)")
                    for secret in ["WRONGSECRET", "WRONGTOKEN", "OSS4-HMAC", "Signature="] {
                        #expect(!outcome.text.contains(secret), "\(command) \(outcome.text)")
                    }
                }
            }
            // A signed URL is one secret, and says so; the key that it was made with is not in it.
            for more in [[], ["--json"]] {
                let outcome = try await fixture.run(["sign", "oss://media/k"] + more, environment: environment)
                #expect(outcome.code == 0 && outcome.output.contains("x-oss-signature="))
                #expect(!outcome.text.contains("WRONGSECRET"))
                #expect(!outcome.errors.contains("WRONGTOKEN"))
            }
        }
    }
}
