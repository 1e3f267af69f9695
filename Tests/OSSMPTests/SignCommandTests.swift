// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import FoundationEssentials
import OSSLocalServer
import Testing

/// `ossmp sign` and `ossmp plan`.
@Suite(.timeLimit(.minutes(5))) struct SignCommandTests {
    private struct Signed: Decodable {
        let method: String, url: String, headers: [String: String], expires: String
    }

    private func sign(_ fixture: ToolFixture, _ arguments: [String]) async throws -> Signed {
        let outcome = try await fixture.run(["sign"] + arguments + ["--json"])
        #expect(outcome.code == 0, "\(outcome.text)")
        #expect(!outcome.text.contains(ToolFixture.secret))
        return try JSONDecoder().decode(Signed.self, from: Data(outcome.output.utf8))
    }

    /// Sends a signed request with curl, and returns the status and the body.
    private func send(
        _ fixture: ToolFixture, _ signed: Signed, file: String? = nil
    ) async throws -> (status: String, body: String) {
        var command = ["curl", "-s", "-g", "-w", "\n%{http_code}"]
        command += signed.method == "HEAD" ? ["-I"] : ["-X", signed.method]
        for (name, value) in signed.headers { command += ["-H", "\(name): \(value)"] }
        if let file { command += ["-H", "Expect:", "--data-binary", "@" + file] }
        if let file, !file.isEmpty, signed.headers["Content-Type"] == nil { command += ["-H", "Content-Type:"] }
        let outcome = try await fixture.run(program: command + [signed.url])
        let lines = outcome.output.split(separator: "\n", omittingEmptySubsequences: false)
        return (String(lines.last ?? ""), lines.dropLast().joined(separator: "\n"))
    }

    @Test(arguments: ["v4", "v1"]) func `Signed URLs get, look at and store objects without credentials`(
        version: String
    )
        async throws
    {
        try await withToolFixture { fixture in
            let key = "v/a b+%文.txt"
            try Data("hello".utf8).write(to: URL(filePath: fixture.folder + "/body"))
            let put = try await self.sign(
                fixture,
                ["oss://media/\(key)", "--method", "PUT", "--content-type", "image/png", "--sign-version", version])
            #expect((put.method, put.headers["Content-Type"]) == ("PUT", "image/png"))
            #expect(fixture.server.requests.isEmpty, "nothing is sent")
            #expect(try await self.send(fixture, put, file: "body").status == "200")
            #expect(try await fixture.object(key) == Array("hello".utf8))
            #expect(fixture.server.objectInfo(bucket: "media", key: key)?.headers["Content-Type"] == "image/png")

            let get = try await self.sign(
                fixture, ["oss://media/\(key)", "--sign-version", version, "--expires", "1h"])
            #expect(get.method == "GET")
            #expect(try await self.send(fixture, get) == ("200", "hello"))
            let head = try await self.sign(
                fixture, ["oss://media/\(key)", "--method", "HEAD", "--sign-version", version])
            #expect(try await self.send(fixture, head).status == "200")
            // It is good for what it was made for alone.
            var other = get
            other = Signed(method: "DELETE", url: get.url, headers: [:], expires: get.expires)
            #expect(try await self.send(fixture, other).status == "403")
            let parameter = version == "v4" ? "x-oss-signature-version=OSS4-HMAC-SHA256" : "OSSAccessKeyId="
            #expect(get.url.contains(parameter))
        }
    }

    @Test func `The URL is on standard output alone, what else is to be known on standard error`() async throws {
        try await withToolFixture { fixture in
            let outcome = try await fixture.run(
                ["sign", "oss://media/k", "--method", "PUT", "--content-type", "a/b", "--expires", "90s"])
            #expect(outcome.code == 0)
            #expect(outcome.output.filter { $0 == "\n" }.count == 1)
            #expect(outcome.output.hasPrefix("\(fixture.server.endpoint)/media/k?"))
            #expect(outcome.output.contains("x-oss-expires=90"))
            #expect(outcome.errors.contains("the request must have the header Content-Type: a/b"))
            #expect(!outcome.errors.contains("x-oss-signature"))
        }
    }

    @Test func `The parts of an upload can be sent, joined and given up by signed URLs`() async throws {
        try await withToolFixture { fixture in
            let file = try fixture.file("film.bin", parts: 4)
            fixture.server.faults.add(
                .init(.respond(status: 403, code: "AccessDenied"), operation: "UploadPart", partNumber: 2))
            _ = try await fixture.run(fixture.copy(file.path, "k", ["--parallel", "1"]))
            fixture.server.faults.removeAll()
            let upload = try #require(fixture.server.openUploads(bucket: "media").first).uploadID
            try Data("last".utf8).write(to: URL(filePath: fixture.folder + "/body"))
            let address = ["oss://media/k", "--upload-id", upload]
            let part = try await self.sign(fixture, address + ["--part-number", "2"])
            #expect(part.method == "PUT")
            #expect(try await self.send(fixture, part, file: "body").status == "200")
            let parts = fixture.server.parts(ofUpload: upload)
            #expect(parts.map(\.size) == [102_400, 4])
            let list = parts.map { "<Part><PartNumber>\($0.partNumber)</PartNumber><ETag>\($0.eTag)</ETag></Part>" }
            let document = "<CompleteMultipartUpload>\(list.joined())</CompleteMultipartUpload>"
            try Data(document.utf8).write(to: URL(filePath: fixture.folder + "/list"))
            let complete = try await self.sign(fixture, address + ["--method", "POST"])
            #expect(try await self.send(fixture, complete, file: "list").status == "200")
            #expect(try await fixture.object("k") == Array(file.bytes.prefix(102_400)) + Array("last".utf8))

            fixture.server.faults.add(
                .init(.respond(status: 403, code: "AccessDenied"), operation: "UploadPart", partNumber: 2))
            _ = try await fixture.run(fixture.copy(file.path, "k2", ["--parallel", "1"]))
            let second = try #require(fixture.server.openUploads(bucket: "media").first).uploadID
            let abort = try await self.sign(fixture, ["oss://media/k2", "--upload-id", second, "--method", "DELETE"])
            #expect(try await self.send(fixture, abort).status == "204")
            #expect(fixture.server.openUploads(bucket: "media").isEmpty)
        }
    }

    @Test(arguments: [
        ["oss://media/k", "--method", "PATCH"], ["oss://media/k", "--method", "DELETE"],
        ["oss://media/k", "--method", "POST"], ["oss://media/k", "--part-number", "1"],
        ["oss://media/k", "--upload-id", "X"], ["oss://media/k", "--upload-id", "X", "--method", "PUT"],
        ["oss://media/k", "--upload-id", "X", "--part-number", "0"],
        ["oss://media/k", "--upload-id", "X", "--part-number", "10001"],
        ["oss://media/k", "--upload-id", "X", "--method", "POST", "--part-number", "1"],
        ["oss://media/k", "--expires", "8d"], ["oss://media/k", "--expires", "0s"],
        ["oss://media/k", "--expires", "soon"],
        ["oss://media/k", "--content-type", "a/b"], ["oss://media"], [],
    ])
    func `A URL that the service would refuse is a usage error`(arguments: [String]) async throws {
        try await withToolFixture { fixture in
            let outcome = try await fixture.run(["sign"] + arguments)
            #expect(outcome.code == 2, "\(outcome.text)")
            #expect(outcome.output == "")
        }
    }

    // MARK: plan

    private struct Plan: Decodable {
        struct Part: Decodable, Equatable { let partNumber: Int, offset: Int64, size: Int64 }
        let source: String, bucket: String, key: String, size: Int64, method: String, partSize: Int64, partsTotal: Int
        let parts: [Part]
    }

    private func plan(_ fixture: ToolFixture, _ path: String, _ more: [String]) async throws -> Plan {
        // Neither a service nor credentials are needed.
        let outcome = try await fixture.run(["plan", path, "oss://media/dir/"] + more, environment: [:])
        #expect(outcome.code == 0, "\(outcome.text)")
        #expect(outcome.errors == "")
        return try JSONDecoder().decode(Plan.self, from: Data(outcome.output.utf8))
    }

    @Test(arguments: [0, 1, 102_399, 102_400, 102_401, 1_000_000])
    func `The plan is what cp then sends, and nothing is sent for it`(size: Int) async throws {
        try await withToolFixture { fixture in
            let file = try fixture.file("film.bin", parts: 0, extra: size)
            let plan = try await self.plan(fixture, file.path, ["--part-size", "100KiB"])
            #expect(fixture.server.requests.isEmpty)
            #expect((plan.source, plan.bucket, plan.key) == (file.path, "media", "dir/film.bin"))
            #expect((plan.size, plan.partSize, plan.partsTotal) == (Int64(size), 102_400, plan.parts.count))
            let outcome = try await fixture.run(fixture.copy(file.path, "k"))
            #expect(outcome.code == 0)
            let wasWhole = fixture.requests("PutObject").count == 1
            #expect((plan.method == "PutObject") == wasWhole)
            #expect(["PutObject", "MultipartUpload"].contains(plan.method))
            let sent =
                wasWhole
                ? [Plan.Part(partNumber: 1, offset: 0, size: Int64(size))]
                : fixture.requests("UploadPart").sorted { ($0.partNumber ?? 0) < ($1.partNumber ?? 0) }.map { request in
                    Plan.Part(
                        partNumber: request.partNumber ?? 0, offset: Int64((request.partNumber ?? 0) - 1) * 102_400,
                        size: request.bytesReceived)
                }
            #expect(plan.parts == sent)
        }
    }

    @Test func `A terabyte is planned at once, and what cannot be planned is told`() async throws {
        try await withToolFixture { fixture in
            let path = fixture.folder + "/sparse"
            _ = try await fixture.run(program: ["truncate", "-s", "1T", "sparse"])
            let plan = try await self.plan(fixture, path, [])
            #expect(plan.partsTotal <= 10_000)
            #expect(plan.partSize % 1_048_576 == 0)
            #expect(plan.parts.reduce(0) { $0 + $1.size } == 1 << 40)
            let small = try await fixture.run(["plan", path, "oss://media/k", "--part-size", "8MiB"])
            #expect(small.code == 2)
            #expect(small.errors.contains("10000"))
            #expect(try await fixture.run(["plan", fixture.folder + "/no", "oss://media/k"]).code == 1)
            #expect(try await fixture.run(["plan", "-", "oss://media/k"]).code == 2)
            #expect(try await fixture.run(["plan", path, "oss://media/k", "--part-size", "1"]).code == 2)
        }
    }
}
