// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import FoundationEssentials
import OSSLocalServer
import Testing

@testable import OSSMultipart

/// Public cases of checkpoints and of going on.
@Suite(.timeLimit(.minutes(5))) struct ResumeCaseTests {
    private static let part = Int(LocalFixture.partSize)

    // Case 38: https://github.com/aliyun/aliyun-oss-android-sdk/issues/21
    @Test func `A document that begins with a byte order mark and a comment is understood`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 6 * Self.part)
            try await fixture.breakUpload(file, atPart: 4)
            for operation in ["ListParts", "CompleteMultipartUpload"] {
                fixture.server.faults.add(
                    .init(.editReplyBody(replacing: "<?xml", with: "\u{FEFF}<?xml"), operation: operation),
                    .init(.editReplyBody(replacing: "?>", with: "?><!-- a < comment > -->"), operation: operation)
                )
            }
            try await fixture.upload(file)
            #expect(fixture.partsSent == [4, 5, 6])
            #expect(try await fixture.object() == file.bytes)
        }
    }

    // Case 36: https://github.com/afreidah/s3-orchestrator/issues/1535, https://github.com/chimera-nas/chimera/issues/483
    @Test func `A listing that shows every part on every page counts each part once`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 6 * Self.part)
            let uploadID = try await fixture.breakUpload(file, atPart: 5)
            // Says that there is more behind part 2, and shows all when asked for what is behind it.
            let first = OSSServer.Fault.Action.editReplyBody(
                replacing: "<IsTruncated>false</IsTruncated>",
                with: "<IsTruncated>true</IsTruncated><NextPartNumberMarker>2</NextPartNumberMarker>")
            let parts = fixture.server.parts(ofUpload: uploadID).map {
                "<Part><PartNumber>\($0.partNumber)</PartNumber><LastModified>2026-01-02T03:04:05.000Z</LastModified>"
                    + "<ETag>\"\($0.eTag)\"</ETag><HashCrc64ecma>\($0.crc64)</HashCrc64ecma><Size>\($0.size)</Size></Part>"
            }
            let all =
                "<?xml version=\"1.0\"?><ListPartsResult><Bucket>media</Bucket><Key>v/film.bin</Key>"
                + "<UploadId>\(uploadID)</UploadId><IsTruncated>false</IsTruncated>\(parts.joined())</ListPartsResult>"
            fixture.server.faults.add(
                .init(first, operation: "ListParts", occurrences: 1...1),
                .init(.replaceReplyBody(Array(all.utf8)), operation: "ListParts", occurrences: 2...2)
            )
            let result = try await fixture.upload(file)
            #expect(fixture.count("ListParts") == 2)
            #expect(fixture.partsSent == [5, 6])
            #expect(result.partsResumed == 4)
            #expect(try await fixture.object() == file.bytes)
        }
    }

    // Case 45: https://github.com/aliyun/aliyun-oss-ios-sdk/issues/352
    @Test(arguments: ["a/b/c", "with blanks/文件 😀", "trailing/", "per%20cent/#?"])
    func `A checkpoint folder that is not there yet is made, however deep and odd its name`(name: String) async throws {
        try await withLocalServer { fixture in
            let folder = URL(filePath: fixture.folder + "/" + name)
            let file = try fixture.file(size: 6 * Self.part)
            fixture.server.faults.add(
                .init(.respond(status: 403, code: "AccessDenied"), operation: "UploadPart", partNumber: 4))
            let uploader = fixture.uploader(checkpoints: .directory(folder)) { $0.partsInFlight = .fixed(1) }
            _ = try await failure { try await fixture.upload(file, uploader) }
            #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.folder + "/" + name).count == 1)
            fixture.server.faults.removeAll()
            fixture.server.removeAllRequests()
            try await fixture.upload(file, uploader)
            #expect(fixture.partsSent == [4, 5, 6])
            #expect(try await fixture.object() == file.bytes)
            #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.folder + "/" + name).isEmpty)
        }
    }

    // Cases 47 and 48: https://github.com/aliyun/aliyun-oss-csharp-sdk/pull/25, https://github.com/aliyun/ossutil/issues/109,
    // https://github.com/Q00/ouroboros/issues/397
    @Test func `Keys that look alike, or like ways out of the folder, each go on with their own upload`() async throws {
        try await withLocalServer { fixture in
            let keys = [
                "a/b", "a%2Fb", "a:b", "a_b", "A/B", String(repeating: "k", count: 1023), "../../evil",
                "a/../../../evil2", "..\\..\\evil3", "...", "a/./b",
            ]
            let file = try fixture.file(size: 4 * Self.part)
            let before = try Self.names(below: fixture.folder)
            fixture.server.faults.add(
                .init(.respond(status: 403, code: "AccessDenied"), operation: "UploadPart", partNumber: 3))
            for key in keys {
                _ = try await failure {
                    try await fixture.upload(file, fixture.uploader { $0.partsInFlight = .fixed(1) }, key: key)
                }
            }
            #expect(fixture.records.count == keys.count)
            let added = try Self.names(below: fixture.folder).subtracting(before)
            #expect(added.allSatisfy { $0.hasPrefix("checkpoints") })
            fixture.server.faults.removeAll()
            fixture.server.removeAllRequests()
            for key in keys {
                try await fixture.upload(file, key: key)
                #expect(try await fixture.object(key) == file.bytes)
            }
            #expect(fixture.partsSent.count == 2 * keys.count)
            #expect(Set(fixture.server.keys(bucket: LocalFixture.bucket)) == Set(keys))
            #expect(fixture.openUploads.isEmpty)
            #expect(try Self.names(below: fixture.folder).subtracting(before) == ["checkpoints"])
        }
    }

    private static func names(below folder: String) throws -> Set<String> {
        Set(try FileManager.default.subpathsOfDirectory(atPath: folder))
    }

    // Case 79: https://github.com/durch/rust-s3/pull/353, https://github.com/aws/aws-sdk-java/issues/1648
    @Test func `An upload that was gone on with has the content type and the metadata that it was begun with`()
        async throws
    {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 4 * Self.part)
            var destination = fixture.destination
            destination.headers.contentType = "text/x-sample"
            destination.headers.metadata = ["color": "blue"]
            fixture.server.faults.add(
                .init(
                    .respond(status: 403, code: "AccessDenied"), operation: "UploadPart", partNumber: 3,
                    occurrences: 1...1))
            _ = try await failure { _ = try await fixture.uploader().upload(.file(file.url), to: destination) }
            let result = try await fixture.uploader().upload(.file(file.url), to: destination)
            #expect(result.partsResumed > 0)
            #expect(fixture.count("InitiateMultipartUpload") == 1)
            let head = try await fixture.client.headObject(.init(bucket: LocalFixture.bucket, key: LocalFixture.key))
            #expect(head.contentType == "text/x-sample")
            #expect(head.metadata == ["color": "blue"])
        }
    }

    // Cases 64 and 77: https://github.com/ali-sdk/ali-oss/issues/644, https://github.com/aws/aws-sdk-php/issues/1895
    @Test(arguments: ["SecurityTokenExpired", "InvalidSecurityToken", "AccessKeyIdAndSecurityTokenNotMatch"])
    func `A token that dies where none can be had anew ends the run soon, and a new one goes on`(code: String)
        async throws
    {
        let accounts = [1, 2].map {
            OSSServer.Account(accessKeyID: "STS.\($0)", accessKeySecret: "sk", securityToken: "token-\($0)")
        }
        let first = try OSSCredentials(accessKeyID: "STS.1", accessKeySecret: "sk", securityToken: "token-1")
        let second = try OSSCredentials(accessKeyID: "STS.2", accessKeySecret: "sk", securityToken: "token-2")
        try await withLocalServer({ $0.accounts = accounts }, credentials: .fixed(first)) { fixture in
            fixture.server.faults.add(
                .init(.respond(status: 403, code: code), operation: "UploadPart", occurrences: 6...99))
            let file = try fixture.file(size: 11 * Self.part)
            let error = try await failure {
                try await fixture.upload(file, fixture.uploader { $0.partsInFlight = .fixed(4) })
            }
            #expect(error.service?.code.name == code)
            #expect(error.description.contains(code))
            #expect(error.resumption?.bytesUploaded ?? 0 >= 2 * LocalFixture.partSize)
            // Five that were stored, and at most as many as were in flight.
            #expect(fixture.partsSent.count <= 9)
            fixture.server.faults.removeAll()
            fixture.server.removeAllRequests()
            let client = try OSSClient(
                endpoint: fixture.server.endpoint, region: "cn-hangzhou", credentials: .fixed(second),
                configuration: fixture.client.configuration)
            let renewed = LocalFixture(server: fixture.server, client: client, folder: fixture.folder)
            try await renewed.upload(file)
            #expect(fixture.partsSent.count == 6)
            #expect(fixture.server.requests.allSatisfy { $0.status == 200 })
            #expect(try await fixture.object() == file.bytes)
            await client.shutDown()
        }
    }
}
