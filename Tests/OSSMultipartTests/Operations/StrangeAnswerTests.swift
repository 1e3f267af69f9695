// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import CurlTransport
import OSSWire
import Testing

@testable import OSSMultipart

/// Answers that no faithful service gives, and what of a request only the wire shows.
@Suite(.timeLimit(.minutes(5))) struct StrangeAnswerTests {
    private func client(_ answers: [ScriptedTransport.Answer]) throws -> (OSSClient, ScriptedTransport) {
        let transport = ScriptedTransport(answers)
        return (try scriptedClient(transport) { $0.retryPolicy.maximumAttempts = 2 }, transport)
    }

    private let got: HTTPFields = ["Content-Length": "10", "ETag": "\"E\""]

    // MARK: GetObject

    @Test(
        arguments: [
            ("0123456789", 200, ["Content-Length": "10"]),
            ("012", 206, ["Content-Length": "3", "Content-Range": "bytes 0-4/10"]),
            ("01234", 206, ["Content-Length": "5"]),
        ] as [(String, Int, HTTPFields)])
    func `What is not the range that was asked for is no reply`(
        body: String, status: Int, headers: HTTPFields
    ) async throws {
        let answer = ScriptedTransport.Answer.reply(body, headers: headers, status: status)
        let (client, _) = try self.client([answer, answer])
        var request = GetObjectRequest(bucket: "media", key: "k")
        request.range = .bytes(0..<5)
        let asked = request
        let error = try await failure { _ = try await client.getObject(asked) }
        #expect(error.code == .malformedReply)
    }

    @Test func `More bytes than the reply said are an error`() async throws {
        let (client, _) = try self.client([.reply("abc", headers: ["Content-Length": "2"])])
        let result = try await client.getObject(.init(bucket: "media", key: "k"))
        let error = try await failure { for try await _ in result.body {} }
        #expect(error.code == .malformedReply)
    }

    @Test func `A body that never comes is asked for as often as the policy says`() async throws {
        let (client, transport) = try self.client(Array(repeating: .reply(headers: self.got), count: 5))
        let result = try await client.getObject(.init(bucket: "media", key: "k"))
        let error = try await failure { for try await _ in result.body {} }
        #expect(error.code == .connection)
        #expect(transport.requests.count == 2)
    }

    @Test func `The version is asked for, and every condition is written as it is meant`() async throws {
        let (client, transport) = try self.client([.reply("0123456789", headers: self.got)])
        var request = GetObjectRequest(bucket: "media", key: "k")
        request.versionID = "V 1"
        request.conditions.ifMatch = "E"
        request.conditions.ifNoneMatch = "*"
        _ = try await client.getObject(request)
        #expect(transport.requests[0].url.hasSuffix("/k?versionId=V%201"))
        #expect(transport.requests[0].headers["If-Match"] == "\"E\"")
        #expect(transport.requests[0].headers["If-None-Match"] == "*")
    }

    // MARK: AppendObject

    @Test func `After a lost reply an object with other bytes at its end is not ours`() async throws {
        let (client, transport) = try self.client([
            .broken(.receive), .refusal(409, "PositionNotEqualToLength"),
            .reply(headers: ["Content-Length": "3", "x-oss-hash-crc64ecma": "1"]),
        ])
        var request = AppendObjectRequest(bucket: "media", key: "log", position: 2, body: .bytes([3]))
        request.crc64SoFar = CRC64.of([1, 2])
        let asked = request
        let error = try await failure { _ = try await client.appendObject(asked) }
        #expect(error.code == .outcomeUnknown)
        #expect(transport.requests.map(\.method) == ["POST", "POST", "HEAD"])
    }

    @Test func `A next position before the bytes is no reply, and the headers are sent`() async throws {
        let answer = ScriptedTransport.Answer.reply(headers: ["x-oss-next-append-position": "1"])
        let (client, transport) = try self.client([answer, answer])
        var request = AppendObjectRequest(bucket: "media", key: "log", position: 2, body: .bytes([3]))
        request.headers.metadata = ["a": "1"]
        let asked = request
        let error = try await failure { _ = try await client.appendObject(asked) }
        #expect(error.code == .malformedReply)
        #expect(transport.requests[0].headers["x-oss-meta-a"] == "1")
    }

    // MARK: Others

    @Test func `A source that cannot be is refused before anything is copied`() async throws {
        let (client, transport) = try self.client([])
        let upload = OSSMultipartUpload(bucket: "media", key: "k", uploadID: "U")
        for source in [OSSCopySource(bucket: "Me dia", key: "k"), .init(bucket: "media", key: "")] {
            let error = try await failure {
                _ = try await client.uploadPartCopy(.init(upload: upload, partNumber: 1, source: source))
            }
            #expect(error.code == .invalidArgument)
            #expect(error.message.contains("source"))
        }
        #expect(transport.requests.isEmpty)
    }

    private func page(_ key: String, token: String) -> ScriptedTransport.Answer {
        .reply(
            "<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>"
                + "<NextContinuationToken>\(token)</NextContinuationToken><Contents><Key>\(key)</Key><Size>1</Size></Contents>"
                + "<CommonPrefixes><Prefix>\(key)%2Fx%20y%2F</Prefix></CommonPrefixes></ListBucketResult>")
    }

    @Test func `Pages that begin where the last one ended are an error, and prefixes are decoded`() async throws {
        let (client, _) = try self.client([self.page("a", token: "1"), self.page("a", token: "2")])
        var names: [String] = []
        let error = try await failure {
            for try await entry in client.listObjectsV2Pages(.init(bucket: "media")) { names.append(entry.name) }
        }
        #expect(error.code == .malformedReply)
        #expect(names == ["a", "a/x y/"])
    }

    @Test func `A bucket's ACL and the wish not to overwrite are sent`() async throws {
        let (client, transport) = try self.client([.reply(), .reply(headers: self.got)])
        var bucket = PutBucketRequest(bucket: "media")
        bucket.acl = "public-read"
        try await client.putBucket(bucket)
        #expect(transport.requests[0].headers["x-oss-acl"] == "public-read")
        var put = PutObjectRequest(bucket: "media", key: "k", body: .bytes([]))
        put.headers.forbidsOverwrite = true
        _ = try await client.putObject(put)
        #expect(transport.requests[1].headers["x-oss-forbid-overwrite"] == "true")
    }

    @Test func `Metadata over 8 KiB is refused, and no less`() async throws {
        let (client, transport) = try self.client([.reply(headers: self.got)])
        for (size, isTaken) in [(8191, true), (8192, false)] {
            var put = PutObjectRequest(bucket: "media", key: "k", body: .bytes([]))
            put.headers.metadata = ["a": String(repeating: "x", count: size)]
            let asked = put
            if isTaken {
                _ = try await client.putObject(asked)
            } else {
                #expect(try await failure { _ = try await client.putObject(asked) }.code == .invalidArgument)
            }
        }
        #expect(transport.requests.count == 1)
    }
}
