// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import OSSLocalServer
import OSSWire
import SystemIO
import Testing

@Suite(.timeLimit(.minutes(5))) struct PostObjectTests {
    private static let sts = OSSServer.Account(
        accessKeyID: "STS.1", accessKeySecret: "secret", securityToken: "a/token+with=signs")

    @Test(arguments: TestForm.Signing.allCases, [OSSServer.Account.test, Self.sts])
    func `A signed form is stored as PutObject stores a body`(
        signing: TestForm.Signing, account: OSSServer.Account
    ) async throws {
        try await withServer({ $0.accounts = [.test, Self.sts] }) { server, client async throws in
            var form = TestForm([
                ("KEY", "dir/文 ${filename}"), ("Content-Type", "text/x"), ("Cache-Control", "no-cache"),
                ("x-oss-meta-Colour", " blue "), ("x-oss-object-acl", "public-read"),
                ("x-oss-storage-class", "IA"), ("x-oss-tagging", "a=b"), ("x-oss-server-side-encryption", "AES256"),
                ("something", "else"),
            ])
            form.fileHead =
                "Content-Disposition: form-data; name=\"file\"; filename=\"x\\\\a 1.txt\"\r\nContent-Type: text/other"
            form.file = bytes(300_000)
            try form.sign(signing, account: account)
            let reply = try await client.post(form)
            #expect(reply.status == 204)
            let tag = "\"\(try eTag(form.file))\"", crc = String(CRC64.of(form.file))
            #expect(reply.headers["ETag"] == tag)
            #expect(reply.headers["x-oss-hash-crc64ecma"] == crc)
            #expect(reply.headers["Content-MD5"] == Base64.encode(try MessageDigest.of(form.file, .md5)))
            #expect(reply.headers["x-oss-request-id"]?.count == 24)
            #expect(reply.headers["x-oss-server-side-encryption"] == "AES256")
            let key = "dir/文 a 1.txt"
            #expect(try await server.objectData(bucket: "bucket", key: key) == form.file)
            let head = try await client.send("HEAD", key: key)
            let expected = [
                "Content-Type": "text/x", "Cache-Control": "no-cache", "x-oss-meta-colour": "blue", "ETag": tag,
                "x-oss-storage-class": "IA", "x-oss-tagging-count": "1", "x-oss-object-type": "Normal",
                "x-oss-hash-crc64ecma": crc, "x-oss-server-side-encryption": "AES256", "Content-Length": "300000",
            ]
            for (name, value) in expected { #expect(head.headers[name] == value, "\(name)") }
            #expect(head.headers["something"] == nil)
            #expect(server.objectInfo(bucket: "bucket", key: key)?.headers["x-oss-object-acl"] == "public-read")
            let record = try #require(server.requests.first)
            #expect(record.operation == "PostObject")
            #expect(record.key == key)
            #expect(!"\(server.requests)".contains(account.securityToken ?? account.accessKeySecret))
        }
    }

    @Test func `The type is the form's own field's, else the field Content-Type's, else the file's`() async throws {
        try await withServer { server, client async throws in
            var form = TestForm()
            form.fileHead = (form.fileHead ?? "") + "\r\nContent-Type: text/file"
            try form.sign()
            func type(_ form: TestForm) async throws -> String? {
                #expect(try await client.post(form).status == 204)
                return try await client.send("HEAD", key: "k").headers["Content-Type"]
            }
            #expect(try await type(form) == "text/file")
            #expect(try await type(form.with("Content-Type", "text/field")) == "text/field")
            #expect(
                try await type(form.with("Content-Type", "text/field").with("x-oss-content-type", "text/own"))
                    == "text/own")
        }
    }

    @Test(
        arguments: [("200", 200), ("201", 201), ("204", 204), ("302", 204), ("", 204), (nil, 204)] as [(String?, Int)])
    func `A form names the status of its reply`(wanted: String?, status: Int) async throws {
        try await withServer { _, client async throws in
            var form = TestForm([("key", "a b/文<&>")])
            try form.sign()
            let reply = try await client.post(form.with("success_action_status", wanted))
            #expect(reply.status == status)
            #expect(reply.headers["ETag"] == "\"\(try eTag(form.file))\"")
            guard status == 201 else {
                #expect(reply.body.isEmpty)
                return
            }
            #expect(reply.headers["Content-Type"] == "application/xml")
            #expect(reply.headers["Content-MD5"] == nil)
            let document = try reply.document
            #expect(document.name == "PostResponse")
            #expect(document.string("Bucket") == "bucket")
            #expect(document.string("Key") == "a b/文<&>")
            #expect(document.string("ETag") == "\"\(try eTag(form.file))\"")
            #expect(
                document.string("Location")
                    == "http://127.0.0.1:\(client.port)/bucket/a%20b/%E6%96%87%3C%26%3E")
        }
    }

    @Test func `A form leads where it wants once it is stored, and only then`() async throws {
        try await withServer { server, client async throws in
            var form = TestForm()
            try form.sign()
            let url = "https://app.example/done?a=b"
            let led = try await client.post(
                form.with("success_action_redirect", url).with("success_action_status", "200"))
            #expect(led.status == 303)
            #expect(led.headers["Location"] == url)
            for nonsense in ["nowhere", "javascript:alert(1)", "http://a\r\nx-evil: 1", ""] {
                let reply = try await client.post(form.with("success_action_redirect", nonsense))
                #expect(reply.status == 204, "\(nonsense)")
                #expect(reply.headers["Location"] == nil)
            }
            let refused = try await client.post(form.with("success_action_redirect", url).with("policy", "AAAA"))
            #expect(refused.status == 403)
            #expect(refused.headers["Location"] == nil)
        }
    }

    @Test(
        arguments: [
            (#"{"bucket": "bucket"}"#, true), (#"{"bucket": "other"}"#, false), (#"["eq", "$bucket", "bucket"]"#, true),
            (#"{"key": "user/${filename}"}"#, true), (#"{"$key": "user/${filename}"}"#, true),
            (#"{"key": "user/a.txt"}"#, false), (#"["eq", "$KEY", "user/${filename}"]"#, true),
            (#"["eq", "key", "user/"]"#, false), (#"["EQ", "$key", "user/\${filename}"]"#, true),
            (#"["starts-with", "$key", "user/"]"#, true), (#"["starts-with", "$key", "User/"]"#, false),
            (#"["starts-with", "$key", ""]"#, true), (#"["eq", "$x-oss-meta-a", "1"]"#, true),
            (#"["eq", "$x-oss-meta-A", "2"]"#, false), (#"["eq", "$missing", "x"]"#, false),
            (#"["starts-with", "$missing", ""]"#, true),
            (#"["in", "$content-type", ["image/png", "text/plain"]]"#, true),
            (#"["in", "$content-type", ["image/png"]]"#, false), (#"["in", "$content-type", []]"#, false),
            (#"["not-in", "$content-type", ["image/png"]]"#, true),
            (#"["not-in", "$Content-Type", ["text/plain"]]"#, false),
            (#"["not-in", "$cache-control", ["no-cache"]]"#, true),
            (#"["eq", "$x-oss-meta-b", "\u0065\u0301"]"#, false),
        ])
    func `A condition of the policy decides`(condition: String, holds: Bool) async throws {
        try await withServer { server, client async throws in
            var form = TestForm([("key", "user/${filename}"), ("x-oss-meta-a", "1"), ("x-oss-meta-b", "\u{E9}")])
            form.fileHead = (form.fileHead ?? "") + "\r\nContent-Type: text/plain"
            // One that does not hold is enough.
            try form.sign(conditions: "[\(condition), [\"content-length-range\", 0, 1000]]")
            let reply = try await client.post(form)
            #expect(reply.status == (holds ? 204 : 403))
            #expect(server.keys(bucket: "bucket") == (holds ? ["user/a.txt"] : []))
            guard !holds else { return }
            #expect(reply.errorCode == "AccessDenied")
            #expect(reply.headers["x-oss-ec"] == "0006-00000227")
            let message = try reply.document.string("Message")
            #expect(message?.hasPrefix("Invalid according to Policy: Policy Condition failed: [\"") == true)
        }
    }

    @Test(
        arguments: [
            ("not Base64", nil), ("e30=", "0006-00000209"), ("AAAA", "0006-00000201"), ("W10=", "0006-00000201"),
        ] as [(String, String?)]
            + [
                (#"{"expiration": "2099-01-01T00:00:00Z"}"#, "0006-00000207"),
                (#"{"conditions": []}"#, "0006-00000208"),
                (
                    #"{"expiration": "2099-01-01T00:00:00Z", "conditions": [["eq", "$key", ""]], "x": 1}"#,
                    "0006-00000206"
                ),
                (#"{"expiration": "tomorrow", "conditions": [["eq", "$key", ""]]}"#, nil),
                (#"{"expiration": 2099, "conditions": [["eq", "$key", ""]]}"#, nil),
            ].map { (Base64.encode(Array($0.0.utf8)), $0.1) }
            + [
                ("123", "0006-00000214"), ("[]", "0006-00000215"), (#"[["$key"]]"#, "0006-00000216"),
                (#"[["eq", "$key"]]"#, "0006-00000218"), (#"[["starts-with", "$key", "a", "b"]]"#, "0006-00000218"),
                (#"[["like", "$key", "a"]]"#, "0006-00000216"), (#"[["eq", "$key", 1]]"#, "0006-00000224"),
                (#"[["not-in", "$key", "a"]]"#, "0006-00000224"), (#"[["in", "$key", [1]]]"#, "0006-00000224"),
                (#"[["eq", 1, "a"]]"#, "0006-00000218"), (#"[{}]"#, nil), (#"[{"a": "b", "c": "d"}]"#, nil),
                (#"[{"a": 1}]"#, nil), (#"["eq"]"#, nil), (#"[["content-length-range", 2, 1]]"#, nil),
                (#"[["content-length-range", -1, 1]]"#, nil), (#"[["content-length-range", 0]]"#, "0006-00000218"),
                (#"[["content-length-range", 0.5, 1]]"#, nil),
            ].map { (TestForm.policy($0.0), $0.1) })
    func `A policy that is none is refused`(policy: String, ec: String?) async throws {
        try await withServer { server, client async throws in
            for signing in TestForm.Signing.allCases {
                var form = TestForm()
                try form.sign(signing, policy: policy)
                let reply = try await client.post(form)
                #expect(reply.status == 400)
                #expect(reply.errorCode == "InvalidPolicyDocument")
                if let ec { #expect(reply.headers["x-oss-ec"] == ec) }
            }
            #expect(server.keys(bucket: "bucket").isEmpty)
        }
    }

    @Test(arguments: [(2, "EntityTooSmall"), (3, nil), (5, nil), (6, "EntityTooLarge"), (500_000, "EntityTooLarge")])
    func `The file's size has to be in the policy's range`(size: Int, code: String?) async throws {
        try await withServer { server, client async throws in
            var form = TestForm()
            form.file = bytes(size)
            // Of two ranges both have to hold; texts are taken for numbers.
            try form.sign(
                conditions: #"[["content-length-range", 0, 5], ["content-length-range", "3", "1000000"]]"#)
            let reply = try await client.post(form)
            #expect(reply.errorCode == code)
            #expect(reply.status == (code == nil ? 204 : 400))
            #expect(server.keys(bucket: "bucket").isEmpty == (code != nil))
            if code != nil {
                let document = try reply.document
                #expect(document.string(size < 3 ? "MinSizeAllowed" : "MaxSizeAllowed") == (size < 3 ? "3" : "5"))
            }
            // What was begun is gone.
            let folders = try Directory.names(in: server.directory + "/buckets/bucket/data")
            #expect(folders.count == (code == nil ? 1 : 0))
        }
    }

    @Test(arguments: TestForm.Signing.allCases)
    func `Who did not sign it, or not for now, is refused`(signing: TestForm.Signing) async throws {
        try await withServer({ $0.accounts = [.test, Self.sts] }) { server, client async throws in
            func code(
                _ account: OSSServer.Account = .test, policy: String? = nil, drop: String? = nil
            ) async throws -> String? {
                var form = TestForm()
                try form.sign(signing, policy: policy, account: account)
                return try await client.post(drop.map { form.with($0, nil) } ?? form).errorCode
            }
            #expect(try await code(policy: TestForm.policy("[{\"key\": \"k\"}]", expiresIn: -1)) == "AccessDenied")
            var other = OSSServer.Account.test
            other.accessKeySecret = "wrong"
            var form = TestForm()
            try form.sign(signing, account: other)
            let mismatch = try await client.post(form)
            #expect(mismatch.status == 403)
            #expect(mismatch.errorCode == "SignatureDoesNotMatch")
            #expect(try mismatch.document.string("StringToSign") == form.fields.first { $0.name == "policy" }?.value)
            other.accessKeyID = "nobody"
            #expect(try await code(other) == "InvalidAccessKeyId")
            other = Self.sts
            other.securityToken = "other"
            #expect(try await code(other) == "InvalidSecurityToken")
            other.securityToken = nil
            #expect(try await code(other) == "InvalidAccessKeyId")
            #expect(server.setExpiration(1, ofAccessKeyID: Self.sts.accessKeyID))
            #expect(try await code(Self.sts) == "SecurityTokenExpired")
            let needed =
                signing == .v1
                ? ["OSSAccessKeyId", "policy", "Signature"]
                : ["x-oss-credential", "policy", "x-oss-signature", "x-oss-signature-version", "x-oss-date"]
            for name in needed { #expect(try await code(drop: name) == "InvalidArgument", "\(name)") }
            #expect(try await code(drop: "key") == "InvalidArgument")
            #expect(server.keys(bucket: "bucket").isEmpty)
        }
    }

    @Test func `The date and the place of a signature V4 have to be right`() async throws {
        try await withServer { server, client async throws in
            func reply(
                region: String = "cn-hangzhou", age: Int64 = 0, _ name: String? = nil, _ value: String? = nil
            ) async throws -> TestReply {
                var form = TestForm()
                try form.sign(region: region, age: age)
                return try await client.post(name.map { form.with($0, value) } ?? form)
            }
            #expect(try await reply(region: "elsewhere").errorCode == "InvalidArgument")
            #expect(try await reply(age: 6 * 86_400).status == 204)
            #expect(try await reply(age: 7 * 86_400 + 1).errorCode == "AccessDenied")
            #expect(try await reply(age: -14 * 60).status == 204)
            #expect(try await reply(age: -16 * 60).errorCode == "RequestTimeTooSkewed")
            #expect(try await reply("x-oss-date", "20200101T000000Z").errorCode == "InvalidArgument")
            #expect(try await reply("x-oss-date", "today").errorCode == "InvalidArgument")
            #expect(try await reply("x-oss-signature-version", "OSS3").errorCode == "InvalidArgument")
            #expect(try await reply("x-oss-credential", "a/b/c").errorCode == "InvalidArgument")
        }
    }

    @Test func `A form without a signature is taken where everybody may write`() async throws {
        try await withServer { server, client async throws in
            let form = TestForm()
            #expect(try await client.post(form).errorCode == "AccessDenied")
            #expect(server.keys(bucket: "bucket").isEmpty)
            // Neither a header nor a URL counts.
            #expect(try await client.send("POST", headers: ["Content-Type": "text/plain"], body: []).status == 400)
            let acl = try await client.send(
                "PUT", query: [QueryItem("acl")], headers: ["x-oss-acl": "public-read-write"], body: [])
            #expect(acl.status == 200)
            #expect(try await client.post(form).status == 204)
            _ = try await client.send(
                "PUT", key: "k", query: [QueryItem("acl")], headers: ["x-oss-object-acl": "private"], body: [])
            #expect(try await client.post(form).errorCode == "AccessDenied")
        }
        try await withServer({ $0.allowsAnonymous = true }) { _, client async throws in
            #expect(try await client.post(TestForm()).status == 204)
            #expect(try await client.post(TestForm(), target: "/nowhere/").errorCode == "NoSuchBucket")
        }
    }

    @Test func `A form has one file, and what follows it does not count`() async throws {
        try await withServer({ $0.allowsAnonymous = true }) { server, client async throws in
            let part = "--\(TestForm.boundary)\r\nContent-Disposition: form-data; name="
            var form = TestForm()
            form.fileHead = nil
            #expect(try await client.post(form).errorCode == "IncorrectNumberOfFilesInPOSTRequest")
            form = TestForm()
            form.tail = "\(part)\"file\"; filename=\"b\"\r\n\r\nother\r\n"
            #expect(try await client.post(form).errorCode == "IncorrectNumberOfFilesInPOSTRequest")
            form = TestForm([])
            form.tail = "\(part)\"key\"\r\n\r\nk\r\n"
            let late = try await client.post(form)
            #expect(late.errorCode == "InvalidArgument")
            #expect(try late.document.string("ArgumentName") == "key")
            #expect(server.keys(bucket: "bucket").isEmpty)
            form = TestForm()
            form.tail = "\(part)\"submit\"\r\n\r\nUpload\r\n\(part)\"x-oss-meta-a\"\r\n\r\n1\r\n"
            #expect(try await client.post(form).status == 204)
            #expect(try await server.objectData(bucket: "bucket", key: "k") == form.file)
            #expect(try await client.send("HEAD", key: "k").headers["x-oss-meta-a"] == nil)
            // Text in the place of a file.
            form.fileHead = "Content-Disposition: form-data; name=\"file\""
            #expect(try await client.post(form.with("key", "t${filename}")).status == 204)
            #expect(server.keys(bucket: "bucket") == ["k", "t"])
        }
    }

    @Test func `What cannot be stored is refused and leaves nothing`() async throws {
        try await withServer({ $0.allowsAnonymous = true }) { server, client async throws in
            func code(_ name: String, _ value: String) async throws -> String? {
                try await client.post(TestForm().with(name, value)).errorCode
            }
            #expect(try await code("key", "/k") == "InvalidObjectName")
            #expect(try await code("key", "a\u{0}b") == "InvalidObjectName")
            #expect(try await code("key", String(repeating: "k", count: 1024)) == "InvalidObjectName")
            #expect(try await code("x-oss-meta-a", "1\r\nx-evil: 1") == "InvalidArgument")
            #expect(try await code("Content-Type", "a\u{0}") == "InvalidArgument")
            #expect(try await code("x-oss-object-acl", "everybody") == "InvalidArgument")
            #expect(try await code("x-oss-storage-class", "Cheap") == "InvalidArgument")
            #expect(try await code("x-oss-server-side-encryption", "ROT13") == "InvalidEncryptionAlgorithmError")
            #expect(try await code("x-oss-meta-a", String(repeating: "x", count: 8193)) == "MetadataTooLarge")
            #expect(try await code("a", String(repeating: "x", count: 300_000)) == "FieldItemTooLong")
            #expect(try await code("callback", "!!") == "InvalidArgument")
            var form = TestForm()
            form.tail = "no boundary"
            #expect(try await client.post(form, contentType: "text/plain").errorCode == "MalformedPOSTRequest")
            #expect(
                try await client.post(form, contentType: "multipart/form-data; boundary=other").errorCode
                    == "MalformedPOSTRequest")
            // Cut short within the file.
            let cut = try await client.send(
                "POST", headers: ["Content-Type": "multipart/form-data; boundary=\(TestForm.boundary)"],
                body: Array(form.body.dropLast(60)))
            #expect(cut.errorCode == "MalformedPOSTRequest")
            let wrong = Base64.encode(try MessageDigest.of([1], .md5))
            #expect(try await client.post(TestForm(), headers: ["Content-MD5": wrong]).errorCode == "InvalidDigest")
            #expect(server.keys(bucket: "bucket").isEmpty)
            #expect(try Directory.names(in: server.directory + "/buckets/bucket/data").isEmpty)
            let right = Base64.encode(try MessageDigest.of(TestForm().body, .md5))
            #expect(try await client.post(TestForm(), headers: ["Content-MD5": right]).status == 204)
            let again = try await client.post(TestForm().with("x-oss-forbid-overwrite", "true"))
            #expect(again.status == 409)
            #expect(again.errorCode == "FileAlreadyExists")
        }
    }

    @Test func `The bucket may stand in the host, and the body may come in chunks`() async throws {
        try await withServer({ $0.allowsAnonymous = true }) { server, client async throws in
            let reply = try await client.post(
                TestForm().with("success_action_status", "201"), target: "/", host: "bucket.oss.example")
            #expect(try reply.document.string("Location") == "http://bucket.oss.example/k")
            let body = TestForm().with("key", "chunks").body
            var bytes = Array(
                ("POST /bucket HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n"
                    + "Content-Type: multipart/form-data; boundary=\(TestForm.boundary)\r\n\r\n").utf8)
            // Of one byte each.
            for byte in body { bytes += Array("1\r\n".utf8) + [byte] + Array("\r\n".utf8) }
            #expect(try await client.sendRaw(bytes + Array("0\r\n\r\n".utf8)).status == 204)
            #expect(try await server.objectData(bucket: "bucket", key: "chunks") == TestForm().file)
        }
    }

    @Test func `A form's callback gets its variables, and its reply is the application's`() async throws {
        try await withServer { application, _ async throws in
            try await withServer { server, client async throws in
                application.faults.add(.init(.respondRaw(status: 200, body: Array("{\"a\": 1}".utf8)), bucket: "good"))
                func form(_ path: String) throws -> TestForm {
                    let json =
                        "{\"callbackUrl\": \"127.0.0.1:\(application.port)/\(path)\", "
                        + "\"callbackBody\": \"${object}${x:mine}${operation}\"}"
                    var form = TestForm([
                        ("key", "a${filename}"), ("callback", Base64.encode(Array(json.utf8))), ("x:mine", "1&\"2"),
                        ("success_action_status", "201"),
                    ])
                    try form.sign()
                    return form
                }
                let reply = try await client.post(try form("good"))
                #expect(reply.status == 200)
                #expect(reply.body == Array("{\"a\": 1}".utf8))
                #expect(reply.headers["ETag"] == "\"\(try eTag(TestForm().file))\"")
                let posted = try #require(application.requests.last)
                #expect(posted.bytesReceived == Int64("aa.txt1%26%222PostObject".utf8.count))
                let failed = try await client.post(try form("no-such-bucket-here"))
                #expect(failed.status == 203)
                #expect(failed.errorCode == "CallbackFailed")
                #expect(server.keys(bucket: "bucket") == ["aa.txt"])
                // Names in capitals are none.
                #expect(try await client.post(try form("good").with("x:Mine", "1")).errorCode == "InvalidArgument")
            }
        }
    }

    @Test func `A form's file takes no memory`() async throws {
        let process = try ServerProcess(["--anonymous"])
        let client = TestClient(port: process.port)
        do {
            var form = TestForm()
            form.file = [UInt8](repeating: 0, count: 70_000_000)
            #expect(try await client.post(form).status == 204)
            #expect(try await client.send("HEAD", key: "k").headers["Content-Length"] == "70000000")
            #expect(try process.peakMemory(isBelow: 60 << 20))
        } catch {
            process.kill()
            process.wait()
            throw error
        }
        #expect(process.stopsCleanly())
    }
}
