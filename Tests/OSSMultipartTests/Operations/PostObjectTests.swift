// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import CurlTransport
import FoundationEssentials
import OSSLocalServer
import OSSWire
import SystemIO
import Testing

@testable import OSSMultipart

/// Objects that go up as HTML forms.
@Suite(.timeLimit(.minutes(5))) struct PostObjectTests {
    @Test(arguments: [0, 1, 300_000], ["v4", "v1"])
    func `A form with its policy and signature stores the bytes`(size: Int, version: String) async throws {
        try await withLocalServer { _ in
        } client: {
            $0.signatureVersion = version == "v1" ? .v1 : .v4
        } _: { fixture in
            let bytes = randomBytes(size)
            let result = try await fixture.client.postObject(
                .init(bucket: LocalFixture.bucket, key: "a \"b\"\\ü/😀+%", body: .bytes(bytes)))
            #expect(try await fixture.object("a \"b\"\\ü/😀+%") == bytes)
            #expect(result.crc64 == CRC64.of(bytes))
            #expect(result.sentCRC64 == result.crc64)
            #expect(result.eTag == Hex.upper(try MessageDigest.of(bytes, .md5)))
        }
    }

    @Test func `A region of a file goes up, and the form's own lines are no part of it`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 700_000)
            var request = PostObjectRequest(
                bucket: LocalFixture.bucket, key: "k", body: .file(file.url, range: 100..<600_001))
            request.headers.contentType = "text/x-sample"
            request.headers.metadata["color"] = "blue"
            request.headers.acl = "public-read"
            _ = try await fixture.client.postObject(request)
            #expect(try await fixture.object("k") == Array(file.bytes[100..<600_001]))
            let head = try await fixture.client.headObject(.init(bucket: LocalFixture.bucket, key: "k"))
            #expect(head.contentType == "text/x-sample")
            #expect(head.metadata["color"] == "blue")
            #expect(
                try await fixture.client.getObjectACL(.init(bucket: LocalFixture.bucket, key: "k")).acl == "public-read"
            )
        }
    }

    @Test(arguments: [OSSClient.SignatureVersion.v4, .v1])
    func `A form of temporary credentials has their token`(version: OSSClient.SignatureVersion) async throws {
        let account = OSSServer.Account(accessKeyID: "STS.1", accessKeySecret: "secret", securityToken: "a/to+ken=")
        try await withLocalServer(
            { $0.accounts = [account] }, client: { $0.signatureVersion = version },
            credentials: .fixed(
                OSSCredentials(accessKeyID: "STS.1", accessKeySecret: "secret", securityToken: "a/to+ken="))
        ) { fixture in
            _ = try await fixture.client.postObject(.init(bucket: LocalFixture.bucket, key: "k", body: .bytes([1])))
            #expect(try await fixture.object("k") == [1])
        }
    }

    @Test func `What cannot be sent is refused before anything is sent`() async throws {
        let transport = ScriptedTransport([])
        let client = try scriptedClient(transport)
        try await withTemporaryFolder { folder in
            let large = try SparseFile(folder + "/large", size: Limits.maximumPartSize + 1)
            var wrong = PostObjectRequest(bucket: "media", key: "k", body: .bytes([1]))
            wrong.headers.contentType = "a\r\nb"
            var callback = PostObjectRequest(bucket: "media", key: "k", body: .bytes([1]))
            callback.callback = OSSCallback(url: "nowhere", body: "b")
            for request in [wrong, callback, .init(bucket: "media", key: "k", body: .file(large.url))] {
                let error = try await failure { _ = try await client.postObject(request) }
                #expect(error.code == .invalidArgument)
            }
        }
        #expect(transport.requests.isEmpty)
    }

    @Test func `What the reply says is told, and one that says nothing is none`() async throws {
        for forbids in [true, false] {
            let transport = ScriptedTransport([.reply(), .reply(headers: ["ETag": "\"E\"", "x-oss-version-id": "V"])])
            let client = try scriptedClient(transport)
            var request = PostObjectRequest(bucket: "media", key: "k", body: .bytes([1, 2]))
            request.headers.forbidsOverwrite = forbids
            let result = try await client.postObject(request)
            #expect((result.eTag, result.versionID) == ("E", "V"))
            // The first was asked again; whether the transport may do so unseen depends.
            #expect(transport.requests.map(\.isIdempotent) == [!forbids, !forbids])
        }
        let silent = try scriptedClient(ScriptedTransport(Array(repeating: .reply(), count: 9)))
        let error = try await failure {
            _ = try await silent.postObject(.init(bucket: "media", key: "k", body: .bytes([1])))
        }
        #expect(error.code == .malformedReply)
    }

    @Test func `A form whose connection breaks is sent again, whole`() async throws {
        try await withLocalServer { fixture in
            fixture.server.faults.add(
                .init(.cut(afterBodyBytes: 50_000), operation: "PostObject", occurrences: 1...2),
                .init(.respond(status: 500, code: "InternalError"), operation: "PostObject", occurrences: 3...3)
            )
            let bytes = randomBytes(400_000)
            _ = try await fixture.client.postObject(.init(bucket: LocalFixture.bucket, key: "k", body: .bytes(bytes)))
            #expect(try await fixture.object("k") == bytes)
            #expect(fixture.count("PostObject") == 4)
        }
    }

    @Test func `A wrong CRC-64 in the reply is an integrity error`() async throws {
        try await withLocalServer { fixture in
            fixture.server.faults.add(.init(.editReplyHeader("x-oss-hash-crc64ecma", "1"), operation: "PostObject"))
            let error = try await failure {
                _ = try await fixture.client.postObject(.init(bucket: LocalFixture.bucket, key: "k", body: .bytes([1])))
            }
            #expect(error.code == .integrity)
        }
    }

    @Test func `A callback's reply comes back`() async throws {
        try await withLocalServer { fixture in
            let application = try ApplicationServer(body: #"{"id": 7}"#)
            var request = PostObjectRequest(bucket: LocalFixture.bucket, key: "k", body: .bytes([1, 2]))
            var callback = OSSCallback(url: application.url(), body: "s=${size}&u=${x:u}")
            callback.variables["x:u"] = "me"
            request.callback = callback
            let result = try await fixture.client.postObject(request)
            #expect(result.callback.map { String(decoding: $0.reply, as: UTF8.self) } == #"{"id": 7}"#)
            #expect(application.requests.map(\.body) == ["s=2&u=me"])
        }
    }

    @Test func `A wrong secret is refused, and forbidding to overwrite is kept`() async throws {
        try await withLocalServer(
            credentials: .fixed(
                OSSCredentials(accessKeyID: OSSServer.Account.test.accessKeyID, accessKeySecret: "wrong"))
        ) { fixture in
            let error = try await failure {
                _ = try await fixture.client.postObject(.init(bucket: LocalFixture.bucket, key: "k", body: .bytes([1])))
            }
            #expect(error.service?.code == .signatureDoesNotMatch)
        }
        try await withLocalServer { fixture in
            var request = PostObjectRequest(bucket: LocalFixture.bucket, key: "k", body: .bytes([1]))
            request.headers.forbidsOverwrite = true
            _ = try await fixture.client.postObject(request)
            let error = try await failure { _ = try await fixture.client.postObject(request) }
            #expect(error.service?.code == .fileAlreadyExists)
        }
    }

    // MARK: Forms for others

    @Test func `A form holds no secret, and allows what was asked for and nothing else`() async throws {
        try await withLocalServer { fixture in
            var request = OSSPostFormRequest(bucket: LocalFixture.bucket, key: "in/")
            request.allowsLongerKeys = true
            request.sizes = 2...5
            let form = try await fixture.client.postForm(request)
            #expect(!form.fields.contains { $0.value.contains(OSSServer.Account.test.accessKeySecret) })
            #expect(!form.description.contains(form.fields.last?.value ?? ""))
            func post(_ key: String, _ bytes: [UInt8], _ extra: [OSSPostForm.Field] = []) async throws -> Int {
                var fields = form.fields.filter { $0.name != "key" } + extra
                fields.insert(.init(name: "key", value: key), at: 0)
                return try await Self.post(form.url, fields, bytes, fixture)
            }
            #expect(try await post("in/a", [1, 2, 3]) == 200)
            #expect(try await fixture.object("in/a") == [1, 2, 3])
            #expect(try await post("out/a", [1, 2, 3]) == 403)
            #expect(try await post("in/b", [1]) == 400)
            #expect(try await post("in/b", [1, 2, 3, 4, 5, 6]) == 400)
            #expect(try await fixture.object("in/b") == nil)
        }
    }

    @Test func `A form is good for its key, its headers and its time alone`() async throws {
        // The server's clock is ten minutes ahead, which the client does not know yet.
        try await withLocalServer({ $0.clockOffset = .seconds(600) }) { fixture in
            var request = OSSPostFormRequest(bucket: LocalFixture.bucket, key: "in/a")
            request.headers.metadata = ["color": "blue"]
            request.lifetime = .seconds(700)
            let form = try await fixture.client.postForm(request)
            func post(_ change: (OSSPostForm.Field) -> OSSPostForm.Field = { $0 }) async throws -> Int {
                try await Self.post(form.url, form.fields.map(change), [1], fixture)
            }
            #expect(try await post { $0.name == "key" ? .init(name: "key", value: "in/ab") : $0 } == 403)
            #expect(try await post { $0.name == "x-oss-meta-color" ? .init(name: $0.name, value: "red") : $0 } == 403)
            #expect(fixture.server.keys(bucket: LocalFixture.bucket).isEmpty)
            #expect(try await post() == 200)
            request.lifetime = .seconds(500)
            let late = try await fixture.client.postForm(request)
            #expect(try await Self.post(late.url, late.fields, [1], fixture) == 403)
        }
        try await withLocalServer({ $0.clockOffset = .seconds(7200) }) { fixture in
            // A clock that is off is corrected by the first request, and forms are made by the corrected one.
            _ = try await fixture.client.getBucketLocation(.init(bucket: LocalFixture.bucket))
            let form = try await fixture.client.postForm(.init(bucket: LocalFixture.bucket, key: "k"))
            #expect(try await Self.post(form.url, form.fields, [1], fixture) == 200)
        }
    }

    @Test func `A form with bad limits is refused`() async throws {
        try await withLocalServer { fixture in
            for configure in [
                { $0.sizes = -1...5 }, { $0.sizes = 0...(Int64(5) << 30 + 1) }, { $0.lifetime = .zero },
                { $0.key = "" },
            ] as [(inout OSSPostFormRequest) -> Void] {
                var request = OSSPostFormRequest(bucket: LocalFixture.bucket, key: "k")
                configure(&request)
                let error = try await failure { _ = try await fixture.client.postForm(request) }
                #expect(error.code == .invalidArgument)
            }
        }
    }

    /// Posts as a browser would, with curl; the reply's status.
    private static func post(
        _ url: String, _ fields: [OSSPostForm.Field], _ bytes: [UInt8], _ fixture: LocalFixture
    ) async throws -> Int {
        let path = fixture.folder + "/upload"
        try Data(bytes).write(to: URL(filePath: path))
        var arguments = ["-s", "-o", "/dev/null", "-w", "%{http_code}", "--noproxy", "*"]
        for field in fields { arguments += ["--form-string", "\(field.name)=\(field.value)"] }
        arguments += ["-F", "file=@\(path)", url]
        let command = ["curl"] + arguments
        let outcome = try await BlockingExecutor(threads: 1).run { () throws(any Error) in
            try ChildProcess.run(command, outputLimit: 1000, timeLimit: .seconds(240))
        }
        let output = String(decoding: outcome.output, as: UTF8.self)
        guard let status = Int(output) else { throw Unexpected("curl said \(output)") }
        return status
    }
}
