// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import OSSLocalServer
import OSSWire
import Testing

@testable import OSSMultipart

/// Callbacks to an application's server, at Complete and at Put.
@Suite(.timeLimit(.minutes(5))) struct CallbackTests {
    private static let part = Int(LocalFixture.partSize)

    private struct Answer: Decodable, Equatable { let id: Int }

    private func callback(_ application: ApplicationServer) -> OSSCallback {
        var callback = OSSCallback(
            url: application.url(), body: #"{"key":${object},"size":${size},"user":${x:user}}"#
        )
        callback.bodyType = .json
        callback.variables["x:user"] = "Zoë \"42\""
        return callback
    }

    // https://github.com/ali-sdk/ali-oss/issues/102
    @Test(arguments: [part / 2, 3 * part + 1])
    func `The application is told once, and its reply comes back`(size: Int) async throws {
        try await withLocalServer { fixture in
            let application = try ApplicationServer(body: #"{"id": 7}"#)
            var destination = fixture.destination
            destination.callback = self.callback(application)
            let bytes = randomBytes(size)
            let result = try await fixture.uploader().upload(.bytes(bytes), to: destination)
            #expect(try await fixture.object() == bytes)
            let outcome = try #require(result.callback)
            #expect(outcome.hasSucceeded)
            #expect(String(decoding: outcome.reply, as: UTF8.self) == #"{"id": 7}"#)
            #expect(try outcome.decode(Answer.self) == Answer(id: 7))
            #expect(result.proof == .crc64)
            #expect(application.requests.map(\.body) == [#"{"key":"v/film.bin","size":\#(size),"user":"Zoë \"42\""}"#])
            #expect(fixture.openUploads.isEmpty && fixture.records.isEmpty)
        }
    }

    @Test func `A form's values are escaped, and the asked host is named`() async throws {
        try await withLocalServer { fixture in
            let application = try ApplicationServer(body: "{}")
            var callback = OSSCallback(url: application.url("/a?b=c"), body: "k=${object}&u=${x:u}")
            callback.host = "app.example"
            callback.variables["x:u"] = "a&b=c"
            var request = PutObjectRequest(bucket: LocalFixture.bucket, key: "a b", body: .bytes([1]))
            request.callback = callback
            let result = try await fixture.client.putObject(request)
            #expect(result.callback?.hasSucceeded == true)
            let received = try #require(application.requests.first)
            #expect(received.body == "k=a%20b&u=a%26b%3Dc")
            #expect(received.head.contains("Host: app.example"))
            #expect(received.head[0] == "POST /a?b=c HTTP/1.1")
        }
    }

    @Test(arguments: [part / 2, 3 * part + 1])
    func `A callback that fails takes nothing from the object, and is told`(size: Int) async throws {
        try await withLocalServer { fixture in
            let application = try ApplicationServer(status: "500 Oops", body: "{}")
            var destination = fixture.destination
            destination.callback = self.callback(application)
            let bytes = randomBytes(size)
            let result = try await fixture.uploader().upload(.bytes(bytes), to: destination)
            #expect(try await fixture.object() == bytes)
            let outcome = try #require(result.callback)
            #expect(!outcome.hasSucceeded)
            #expect(outcome.failure?.contains("500") == true)
            #expect(outcome.reply.isEmpty)
            #expect(result.proof == .crc64)
            #expect(fixture.openUploads.isEmpty && fixture.records.isEmpty)
            #expect(application.requests.count == 1)
        }
    }

    @Test func `Where the reply was lost it is told that the callback's outcome is not known`() async throws {
        try await withLocalServer { fixture in
            fixture.server.faults.add(.init(.commitThenDrop, operation: "CompleteMultipartUpload"))
            let application = try ApplicationServer(body: "{}")
            var destination = fixture.destination
            destination.callback = self.callback(application)
            let bytes = randomBytes(2 * Self.part)
            let result = try await fixture.uploader().upload(.bytes(bytes), to: destination)
            #expect(try await fixture.object() == bytes)
            #expect(result.callback?.failure?.contains("not known") == true)
        }
    }

    @Test(arguments: ["<html>Welcome</html>", ""])
    func `A reply that is not the application's is looked into, not believed`(body: String) async throws {
        try await withLocalServer { fixture in
            // Nothing is committed: somebody between answered.
            fixture.server.faults.add(
                .init(
                    .respondRaw(status: 200, body: Array(body.utf8)), operation: "CompleteMultipartUpload",
                    occurrences: 1...1)
            )
            let application = try ApplicationServer(body: "[1, 2]")
            var destination = fixture.destination
            destination.callback = self.callback(application)
            let bytes = randomBytes(2 * Self.part)
            let result = try await fixture.uploader().upload(.bytes(bytes), to: destination)
            #expect(result.callback?.hasSucceeded == true)
            #expect(try await fixture.object() == bytes)
            #expect(fixture.count("CompleteMultipartUpload") == 2)
        }
    }

    @Test(arguments: ["<html>Welcome</html>", "", "{", "{} {}"])
    func `A reply that is no JSON is none of the application's, whatever its status says`(body: String) async throws {
        let eTag: HTTPFields = ["ETag": "\"E\""]
        let client = try scriptedClient(ScriptedTransport(Array(repeating: .reply(body, headers: eTag), count: 20)))
        let callback = OSSCallback(url: "http://a.example", body: "b")
        var put = PutObjectRequest(bucket: "media", key: "k", body: .bytes([1]))
        put.callback = callback
        let whole = try await failure { [put] in _ = try await client.putObject(put) }
        #expect(whole.code == .malformedReply)
        let upload = OSSMultipartUpload(bucket: "media", key: "k", uploadID: "U")
        var complete = CompleteMultipartUploadRequest(upload: upload, parts: [.init(partNumber: 1, eTag: "E")])
        complete.callback = callback
        let joined = try await failure { [complete] in _ = try await client.completeMultipartUpload(complete) }
        #expect(joined.code == .outcomeUnknown)
    }

    @Test func `A callback that failed for no reason that is told has failed all the same`() async throws {
        let client = try scriptedClient(ScriptedTransport(Array(repeating: .reply(status: 203), count: 2)))
        var put = PutObjectRequest(bucket: "media", key: "k", body: .bytes([1]))
        put.callback = OSSCallback(url: "http://a.example", body: "b")
        let outcome = try await client.putObject(put).callback
        #expect(outcome?.failure == "no reason given")
        // Whoever did not ask for one hears of it as well.
        put.callback = nil
        #expect(try await client.putObject(put).callback?.hasSucceeded == false)
    }

    @Test func `Without a callback there is no outcome`() async throws {
        try await withLocalServer { fixture in
            let result = try await fixture.uploader().upload(.bytes(randomBytes(10)), to: fixture.destination)
            #expect(result.callback == nil)
        }
    }

    // MARK: What cannot be sent

    @Test(arguments: [
        [], ["ftp://a/b"], ["a.example"], ["http:///x"], ["http://a b/"], ["http://ä.example/"], ["http://a;b/"],
        Array(repeating: "http://a.example/", count: 6),
    ])
    func `Addresses that cannot be used are refused before anything is sent`(urls: [String]) async throws {
        try await withLocalServer { fixture in
            var callback = OSSCallback(url: "", body: "a=b")
            callback.urls = urls
            try await self.isRefused(callback, fixture)
        }
    }

    @Test(arguments: ["user", "x:", "x:User", "X:user"])
    func `Names of variables that cannot be used are refused before anything is sent`(name: String) async throws {
        try await withLocalServer { fixture in
            var callback = OSSCallback(url: "http://a.example", body: "a=b")
            callback.variables[name] = "1"
            try await self.isRefused(callback, fixture)
        }
    }

    @Test func `Too long a callback, or one without a body, is refused before anything is sent`() async throws {
        try await withLocalServer { fixture in
            try await self.isRefused(OSSCallback(url: "http://a.example", body: ""), fixture)
            try await self.isRefused(
                OSSCallback(url: "http://a.example", body: String(repeating: "b", count: 5120)), fixture)
            var callback = OSSCallback(url: "http://a.example", body: "b")
            callback.variables["x:a"] = String(repeating: "b", count: 5120)
            try await self.isRefused(callback, fixture)
        }
    }

    private func isRefused(_ callback: OSSCallback, _ fixture: LocalFixture) async throws {
        var destination = fixture.destination
        destination.callback = callback
        let error = try await failure { _ = try await fixture.uploader().upload(.bytes([1]), to: destination) }
        #expect(error.code == .invalidArgument)
        #expect(fixture.server.requests.isEmpty)
    }

    // MARK: The documented JSON

    @Test func `The documented JSON is read`() throws {
        let callback = try OSSCallback(
            json: #"""
                {"callbackUrl": "http://a.example/x; http://b.example", "callbackBody": "k=${object}",
                 "callbackBodyType": "application/json", "callbackHost": "h"}
                """#
        )
        #expect(callback.urls == ["http://a.example/x", "http://b.example"])
        #expect(callback.body == "k=${object}")
        #expect(callback.bodyType == .json)
        #expect(callback.host == "h")
    }

    @Test(arguments: [
        "", "null", "[]", "{}", #"{"callbackUrl": "http://a"}"#, #"{"callbackUrl": 1, "callbackBody": "b"}"#,
        #"{"callbackUrl": "http://a", "callbackBody": "b", "callbackBodyType": "text/plain"}"#,
    ])
    func `What is not the documented JSON is refused`(text: String) {
        #expect { try OSSCallback(json: text) } throws: { ($0 as? OSSError)?.code == .invalidArgument }
    }
}

/// Names of records that the caller chooses.
@Suite(.timeLimit(.minutes(5))) struct RecordNameTests {
    @Test func `An upload goes on under the name that the caller gave its record`() async throws {
        try await withLocalServer { fixture in
            fixture.server.faults.add(
                .init(.respond(status: 403, code: "AccessDenied"), operation: "UploadPart", partNumber: 3)
            )
            let bytes = randomBytes(4 * 102_400)
            var destination = fixture.destination
            destination.recordName = "film-7_of.9"
            let uploader = fixture.uploader { $0.partsInFlight = .fixed(1) }
            let error = try await failure { _ = try await uploader.upload(.bytes(bytes), to: destination) }
            #expect(error.resumption?.checkpoint == fixture.checkpointFolder + "/film-7_of.9.journal")
            fixture.server.faults.removeAll()
            let result = try await uploader.upload(.bytes(bytes), to: destination)
            #expect(result.partsResumed == 2)
            #expect(try await fixture.object() == bytes)
            #expect(fixture.records.isEmpty)
        }
    }

    @Test func `A record of that name that is another object's is put aside`() async throws {
        try await withLocalServer { fixture in
            fixture.server.faults.add(
                .init(.respond(status: 403, code: "AccessDenied"), operation: "UploadPart", partNumber: 3)
            )
            let bytes = randomBytes(4 * 102_400)
            var destination = fixture.destination
            destination.recordName = "one"
            let uploader = fixture.uploader { $0.partsInFlight = .fixed(1) }
            _ = try await failure { _ = try await uploader.upload(.bytes(bytes), to: destination) }
            fixture.server.faults.removeAll()
            destination.key = "other"
            let result = try await uploader.upload(.bytes(bytes), to: destination)
            #expect(result.partsResumed == 0)
            #expect(result.warnings.contains { $0.contains("another object") })
        }
    }

    @Test(arguments: ["", ".", "..", ".a", "a/b", "../a", "a b", "ä", String(repeating: "a", count: 201)])
    func `Names that no file may have are refused`(name: String) async throws {
        try await withLocalServer { fixture in
            var destination = fixture.destination
            destination.recordName = name
            let error = try await failure {
                _ = try await fixture.uploader().upload(.bytes(randomBytes(200_000)), to: destination)
            }
            #expect(error.code == .invalidArgument)
            #expect(fixture.server.requests.isEmpty)
        }
    }
}
