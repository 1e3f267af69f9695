// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import FoundationEssentials
import OSSLocalServer
import OSSWire
import Testing

@testable import OSSMultipart

/// Public cases of parts, their replies, and the source.
@Suite(.timeLimit(.minutes(5))) struct PartCaseTests {
    private static let part = Int(LocalFixture.partSize)

    // Case 17: https://github.com/TritonDataCenter/java-manta/issues/305, https://github.com/rlmcpherson/s3gof3r/pull/50
    @Test func `A part whose reply has no ETag is sent again, and nothing unusable is recorded`() async throws {
        try await withLocalServer { fixture in
            fixture.server.faults.add(
                .init(.editReplyHeader("ETag", nil), operation: "UploadPart", partNumber: 3, occurrences: 1...1))
            let file = try fixture.file(size: 5 * Self.part)
            try await fixture.upload(file)
            #expect(fixture.partsSent == [1, 2, 3, 3, 4, 5])
            #expect(try await fixture.object() == file.bytes)
        }
    }

    @Test func `A part whose replies never have an ETag ends the run within bounds, and the next run finishes`()
        async throws
    {
        try await withLocalServer { fixture in
            fixture.server.faults.add(.init(.editReplyHeader("ETag", nil), operation: "UploadPart", partNumber: 3))
            let file = try fixture.file(size: 5 * Self.part)
            let error = try await failure { try await fixture.upload(file) }
            #expect(error.partNumber == 3)
            #expect(fixture.partsSent.filter { $0 == 3 }.count == 8)
            fixture.server.faults.removeAll()
            try await fixture.upload(file)
            #expect(try await fixture.object() == file.bytes)
        }
    }

    // Case 22
    @Test(arguments: ["", " xmlns=\"http://doc.oss-cn-hangzhou.aliyuncs.com\"", " xmlns=\"urn:another\""])
    func `Documents are read with any namespace and without one`(declaration: String) async throws {
        try await withLocalServer { fixture in
            for name in ["InitiateMultipartUploadResult", "ListPartsResult", "CompleteMultipartUploadResult"] {
                fixture.server.faults.add(
                    .init(.editReplyBody(replacing: " xmlns=\"\(XMLWriter.namespace)\"", with: "")),
                    .init(.editReplyBody(replacing: "<\(name)>", with: "<\(name)\(declaration)>"))
                )
            }
            let file = try fixture.file(size: 5 * Self.part + 17)
            // Not breakUpload, which takes all rules away.
            fixture.server.faults.add(
                .init(
                    .respond(status: 403, code: "AccessDenied"), operation: "UploadPart", partNumber: 4,
                    occurrences: 1...1))
            _ = try await failure {
                try await fixture.upload(file, fixture.uploader { $0.partsInFlight = .fixed(1) })
            }
            fixture.server.removeAllRequests()
            try await fixture.upload(file)
            #expect(fixture.partsSent == [4, 5, 6])
            #expect(try await fixture.object() == file.bytes)
        }
    }

    // Case 24: https://github.com/awslabs/aws-c-s3/issues/656, https://github.com/mem9-ai/drive9/issues/228
    @Test func `Each of sixty parts that finish in any order holds the bytes of its own place`() async throws {
        try await withLocalServer { fixture in
            var random = SplitMix64(state: 24)
            for number in 1...60 {
                fixture.server.faults.add(
                    .init(.stall(.milliseconds(random.next() % 40)), operation: "UploadPart", partNumber: number))
            }
            fixture.server.faults.add(
                .init(
                    .respond(status: 403, code: "AccessDenied"), operation: "CompleteMultipartUpload",
                    occurrences: 1...1))
            let file = try fixture.file(size: 59 * Self.part + 5)
            _ = try await failure {
                try await fixture.upload(file, fixture.uploader { $0.partsInFlight = .fixed(12) })
            }
            let parts = fixture.server.parts(ofUpload: try #require(fixture.openUploads.first))
            #expect(parts.count == 60)
            for part in parts {
                let start = (part.partNumber - 1) * Self.part
                let bytes = Array(file.bytes[start..<min(start + Self.part, file.bytes.count)])
                #expect(part.crc64 == CRC64.of(bytes))
            }
            try await fixture.upload(file)
            #expect(try await fixture.object() == file.bytes)
        }
    }

    // Case 60: https://github.com/swiftlang/swift-corelibs-foundation/issues/4818
    @Test(arguments: [0, 1, 11 * Self.part])
    func `Every request with a body, or that could have one, is framed by one length`(size: Int) async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: size)
            try await fixture.upload(file)
            #expect(try await fixture.object() == file.bytes)
            for request in fixture.server.requests where ["PUT", "POST"].contains(request.method) {
                #expect(request.headers["content-length"] == "\(request.bytesReceived)")
                #expect(request.headers["transfer-encoding"] == nil)
                #expect(request.headers["expect"] == nil)
            }
            #expect(
                fixture.server.requests.filter { $0.operation == "InitiateMultipartUpload" }
                    .allSatisfy { $0.headers["content-length"] == "0" })
        }
    }

    // Case 71: https://github.com/swiftlang/swift-corelibs-foundation/issues/5469
    @Test func `Connections are reused: about as many as parts in flight`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 80 * Self.part)
            try await fixture.upload(file, fixture.uploader { $0.partsInFlight = .fixed(4) })
            #expect(fixture.partsSent.count == 80)
            #expect(Set(fixture.server.requests.map(\.connectionID)).count <= 6)
        }
    }
}
