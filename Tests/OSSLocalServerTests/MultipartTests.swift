// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import OSSLocalServer
import OSSWire
import Testing

@Suite(.timeLimit(.minutes(5))) struct MultipartTests {
    private let large = bytes(102_400, seed: 1)
    private let small = bytes(7, seed: 2)

    @Test func `Parts become an object by the documented rules, with gaps and in any order of sending`() async throws {
        try await withServer { server, client async throws in
            let id = try await client.initiate("k", headers: ["Content-Type": "text/x", "x-oss-meta-a": "b"])
            #expect(id.count == 32)
            let last = try await client.uploadPart(9, id, key: "k", body: self.small)
            let first = try await client.uploadPart(2, id, key: "k", body: self.large)
            #expect(first.status == 200)
            #expect(first.headers["ETag"] == "\"\(try eTag(self.large))\"")
            #expect(first.headers["x-oss-hash-crc64ecma"] == String(CRC64.of(self.large)))
            #expect(last.headers["Content-MD5"] == Base64.encode(try MessageDigest.of(self.small, .md5)))
            #expect(try await client.send("GET", key: "k").errorCode == "NoSuchKey")
            #expect(server.parts(ofUpload: id).map(\.partNumber) == [2, 9])
            let tags = [try eTag(self.large), try eTag(self.small)]
            let done = try await client.complete(id, key: "k", parts: [(2, tags[0]), (9, tags[1])])
            #expect(done.status == 200)
            let document = try done.document
            #expect(document.name == "CompleteMultipartUploadResult")
            #expect(document.string("ETag") == "\"\(try MultipartETag.of(partETags: tags))\"")
            let crc = String(CRC64.of(self.large + self.small))
            #expect(done.headers["x-oss-hash-crc64ecma"] == crc)
            let head = try await client.send("HEAD", key: "k")
            #expect(head.headers["Content-Length"] == "102407")
            #expect(head.headers["Content-Type"] == "text/x")
            #expect(head.headers["x-oss-meta-a"] == "b")
            #expect(head.headers["x-oss-object-type"] == "Multipart")
            #expect(head.headers["x-oss-hash-crc64ecma"] == crc)
            #expect(try await client.send("GET", key: "k").body == self.large + self.small)
            #expect(try await server.objectData(bucket: "bucket", key: "k") == self.large + self.small)
            #expect(try await client.complete(id, key: "k", parts: [(2, tags[0])]).errorCode == "NoSuchUpload")
            #expect(server.openUploads(bucket: "bucket").isEmpty)
        }
    }

    @Test func `Complete refuses what does not fit, and the upload goes on`() async throws {
        try await withServer { server, client async throws in
            let id = try await client.initiate("k")
            try await client.uploadPart(1, id, key: "k", body: self.small)
            try await client.uploadPart(2, id, key: "k", body: self.large)
            let small = try eTag(self.small), large = try eTag(self.large)
            let tooSmall = try await client.complete(id, key: "k", parts: [(1, small), (2, large)]).document
            #expect(tooSmall.string("Code") == "EntityTooSmall")
            #expect(tooSmall.string("MinSizeAllowed") == "102400")
            #expect(tooSmall.string("ProposedSize") == "7")
            #expect(tooSmall.string("PartNumber") == "1")
            #expect(tooSmall.string("ETag") == small)
            #expect(tooSmall.string("UploadId") == id)
            let wrongOrder = try await client.complete(id, key: "k", parts: [(2, large), (1, small)])
            #expect(wrongOrder.errorCode == "InvalidPartOrder")
            #expect(try await client.complete(id, key: "k", parts: [(1, large)]).errorCode == "InvalidPart")
            #expect(try await client.complete(id, key: "k", parts: [(3, large)]).errorCode == "InvalidPart")
            #expect(try await client.complete(id, key: "k", parts: []).errorCode == "MalformedXML")
            #expect(try await client.complete(id, key: "other", parts: [(1, small)]).errorCode == "NoSuchUpload")
            #expect(server.parts(ofUpload: id).count == 2)
            #expect(try await client.complete(id, key: "k", parts: [(2, large.lowercased())]).status == 200)
        }
    }

    @Test func `A wrong digest or checksum keeps the part out`() async throws {
        try await withServer { server, client async throws in
            let id = try await client.initiate("k")
            for value in ["nonsense", "AAAA", Base64.encode(try MessageDigest.of(self.small, .md5))] {
                let reply = try await client.uploadPart(
                    1, id, key: "k", headers: ["Content-MD5": value], body: self.large)
                #expect(reply.status == 400)
                #expect(reply.errorCode == "InvalidDigest")
            }
            let reply = try await client.uploadPart(
                1, id, key: "k", headers: ["x-oss-hash-crc64ecma": "1"], body: self.large)
            #expect(reply.errorCode == "InvalidCRC64")
            #expect(server.parts(ofUpload: id).isEmpty)
            let digest = Base64.encode(try MessageDigest.of(self.large, .md5))
            #expect(
                try await client.uploadPart(1, id, key: "k", headers: ["Content-MD5": digest], body: self.large).status
                    == 200)
        }
    }

    @Test func `ListParts pages by number`() async throws {
        try await withServer { _, client async throws in
            let id = try await client.initiate("k")
            for number in [10_000, 3, 1, 7] { try await client.uploadPart(number, id, key: "k", body: self.small) }
            func page(_ marker: Int) async throws -> XMLElement {
                try await client.send(
                    "GET", key: "k",
                    query: [
                        QueryItem("uploadId", id), QueryItem("max-parts", "3"),
                        QueryItem("part-number-marker", String(marker)),
                    ]
                ).document
            }
            let first = try await page(0)
            #expect(try first.all("Part").map { try $0.requiredInteger("PartNumber", as: Int.self) } == [1, 3, 7])
            #expect(try first.boolean("IsTruncated") == true)
            #expect(first.string("NextPartNumberMarker") == "7")
            #expect(first.all("Part").first?.string("HashCrc64ecma") == String(CRC64.of(self.small)))
            let second = try await page(7)
            #expect(second.all("Part").map { $0.string("PartNumber") } == ["10000"])
            #expect(try second.boolean("IsTruncated") == false)
            let wrong = try await client.send(
                "GET", key: "k", query: [QueryItem("uploadId", id), QueryItem("max-parts", "1001")])
            #expect(wrong.errorCode == "InvalidArgument")
        }
    }

    @Test func `ListMultipartUploads pages by key and ID`() async throws {
        try await withServer { server, client async throws in
            for key in ["b", "a", "b", "c/d", "c/e"] { _ = try await client.initiate(key) }
            var found: [String] = [], marker: [QueryItem] = [], pages = 0
            while pages < 10 {
                let page = try await client.send(
                    "GET", query: [QueryItem("uploads"), QueryItem("max-uploads", "2")] + marker
                ).document
                found += try page.all("Upload").map { try $0.requiredString("UploadId") }
                pages += 1
                guard try page.boolean("IsTruncated") == true else { break }
                marker = [
                    QueryItem("key-marker", try page.requiredString("NextKeyMarker")),
                    QueryItem("upload-id-marker", try page.requiredString("NextUploadIdMarker")),
                ]
            }
            #expect(pages == 3)
            #expect(found == server.openUploads(bucket: "bucket").map(\.uploadID))
            let grouped = try await client.send("GET", query: [QueryItem("uploads"), QueryItem("delimiter", "/")])
            #expect(try grouped.document.all("CommonPrefixes").map { $0.string("Prefix") } == ["c/"])
        }
    }

    @Test func `Nothing is overwritten where that is forbidden`() async throws {
        try await withServer { server, client async throws in
            let forbid: HTTPFields = ["x-oss-forbid-overwrite": "true"]
            let id = try await client.initiate("k")
            try await client.uploadPart(1, id, key: "k", body: self.small)
            #expect(try await client.send("PUT", key: "k", headers: forbid, body: [1]).status == 200)
            #expect(try await client.send("PUT", key: "k", headers: forbid, body: [2]).status == 409)
            let part = (number: 1, eTag: try eTag(self.small))
            let refused = try await client.complete(id, key: "k", parts: [part], headers: forbid)
            #expect(refused.status == 409)
            #expect(refused.errorCode == "FileAlreadyExists")
            let begun = try await client.send(
                "POST", key: "k", query: [QueryItem("uploads")], headers: forbid, body: [])
            #expect(begun.errorCode == "FileAlreadyExists")
            #expect(try await server.objectData(bucket: "bucket", key: "k") == [1])
            #expect(try await client.complete(id, key: "k", parts: [part]).status == 200)
            #expect(try await server.objectData(bucket: "bucket", key: "k") == self.small)
        }
    }

    @Test func `All parts are completed where that is asked for`() async throws {
        try await withServer { server, client async throws in
            let id = try await client.initiate("k")
            try await client.uploadPart(3, id, key: "k", body: self.small)
            try await client.uploadPart(1, id, key: "k", body: self.large)
            let all: HTTPFields = ["x-oss-complete-all": "yes"]
            #expect(try await client.complete(id, key: "k", parts: [], headers: all).errorCode == "InvalidArgument")
            let reply = try await client.send(
                "POST", key: "k", query: [QueryItem("uploadId", id)], headers: all, body: [])
            #expect(reply.status == 200)
            #expect(try await server.objectData(bucket: "bucket", key: "k") == self.large + self.small)
        }
    }

    @Test func `Abort removes an upload once, and parts cannot be sent to it`() async throws {
        try await withServer { server, client async throws in
            let id = try await client.initiate("k")
            try await client.uploadPart(1, id, key: "k", body: self.small)
            let query = [QueryItem("uploadId", id)]
            #expect(try await client.send("DELETE", key: "k", query: query).status == 204)
            #expect(try await client.send("DELETE", key: "k", query: query).errorCode == "NoSuchUpload")
            #expect(try await client.uploadPart(1, id, key: "k", body: self.small).errorCode == "NoSuchUpload")
            #expect(server.counters["UploadPart"] == 2)
        }
    }

    @Test(arguments: ["0", "10001", "-1", "x", "1.5"])
    func `A part number out of range is refused`(number: String) async throws {
        try await withServer { _, client async throws in
            let id = try await client.initiate("k")
            let reply = try await client.send(
                "PUT", key: "k", query: [QueryItem("partNumber", number), QueryItem("uploadId", id)], body: [1])
            #expect(reply.errorCode == "InvalidArgument")
            #expect(try reply.document.string("ArgumentName") == "PartNumber")
        }
    }

    @Test func `Sequential uploads take parts in order and only once`() async throws {
        try await withServer { _, client async throws in
            let id = try await client.initiate("k", query: [QueryItem("sequential")])
            #expect(try await client.uploadPart(2, id, key: "k", body: self.large).errorCode == "PartNotSequential")
            #expect(try await client.uploadPart(1, id, key: "k", body: self.large).status == 200)
            let again = try await client.uploadPart(1, id, key: "k", body: self.large)
            #expect(again.status == 409)
            #expect(try again.document.string("PartEtag") == "\"\(try eTag(self.large))\"")
        }
    }

    @Test func `Tests can lose, change and expire what is stored`() async throws {
        try await withServer { server, client async throws in
            let id = try await client.initiate("k")
            for number in 1...3 { try await client.uploadPart(number, id, key: "k", body: self.large) }
            try await server.removeParts([2], ofUpload: id)
            try await server.corruptPart(3, ofUpload: id)
            let parts = server.parts(ofUpload: id)
            #expect(parts.map(\.partNumber) == [1, 3])
            #expect(parts.map(\.size) == [102_400, 102_400])
            #expect(parts.last?.eTag != (try eTag(self.large)))
            #expect(try await server.removeUpload(id))
            #expect(try await client.uploadPart(1, id, key: "k", body: self.small).errorCode == "NoSuchUpload")
        }
    }
}
