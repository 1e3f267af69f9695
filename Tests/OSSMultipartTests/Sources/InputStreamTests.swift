// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import Foundation
import OSSLocalServer
import OSSMultipartFoundation
import Testing

@testable import OSSMultipart

/// Foundation's streams as sources.
@Suite(.timeLimit(.minutes(5))) struct InputStreamTests {
    private static let part = Int(LocalFixture.partSize)

    @Test(arguments: [0, 5, 3 * part + 5]) func `An input stream is read to its end`(size: Int) async throws {
        try await withLocalServer { fixture in
            let bytes = randomBytes(size)
            let source = OSSUploadSource.inputStream(InputStream(data: Data(bytes)))
            _ = try await fixture.uploader().upload(source, to: fixture.destination)
            #expect(try await fixture.object() == bytes)
            #expect(!source.canBeReadAgain)
        }
    }

    @Test func `An input stream of another length than was said publishes nothing`() async throws {
        try await withLocalServer { fixture in
            let source = OSSUploadSource.inputStream(InputStream(data: Data(randomBytes(1000))), size: 1001)
            let error = try await failure {
                _ = try await fixture.uploader().upload(source, to: fixture.destination)
            }
            #expect(error.code == .sourceChanged)
            #expect(try await fixture.object() == nil)
        }
    }

    @Test func `Input streams that can be opened again resume`() async throws {
        try await withLocalServer { fixture in
            let file = try fixture.file(size: 5 * Self.part)
            let path = file.path
            let source = OSSUploadSource.inputStream(named: "tape") {
                guard let stream = InputStream(fileAtPath: path) else { throw Unexpected("no stream") }
                return stream
            }
            fixture.server.faults.add(
                .init(.respond(status: 403, code: "AccessDenied"), operation: "UploadPart", partNumber: 4))
            let uploader = fixture.uploader { $0.partsInFlight = .fixed(1) }
            _ = try await failure { _ = try await uploader.upload(source, to: fixture.destination) }
            fixture.server.faults.removeAll()
            fixture.server.removeAllRequests()
            let result = try await uploader.upload(source, to: fixture.destination)
            #expect(fixture.partsSent == [4, 5])
            #expect(result.partsResumed == 3)
            #expect(try await fixture.object() == file.bytes)
        }
    }

    @Test func `What an input stream fails with is told`() async throws {
        try await withLocalServer { fixture in
            let source = OSSUploadSource.inputStream(named: "nothing") {
                guard let stream = InputStream(fileAtPath: "/nowhere/at/all") else { throw Unexpected("no stream") }
                return stream
            }
            let error = try await failure { _ = try await fixture.uploader().upload(source, to: fixture.destination) }
            #expect(error.code == .sourceUnreadable)
            #expect(fixture.server.requests.isEmpty)
        }
    }
}
