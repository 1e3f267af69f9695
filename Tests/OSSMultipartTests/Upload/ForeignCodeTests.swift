// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import FoundationEssentials
import OSSLocalServer
import SystemIO
import Testing

@testable import OSSMultipart

/// The names of the threads that code of the caller's ran on.
private final class ThreadNames: Sendable {
    private let names = Lock<[String]>([])

    /// Notes the thread that calls.
    func note() {
        var text = [UInt8](repeating: 0, count: 32)
        let count = (try? PosixFile(path: "/proc/thread-self/comm", .read).readNext(into: &text)) ?? 0
        let name = String(decoding: text.prefix(count), as: UTF8.self).trimmingPrefix { $0.isWhitespace }
        self.names.withLock { $0.append(String(name)) }
    }

    var all: [String] { self.names.withLock { $0 } }
    /// Those that are a client's own.
    var ofClients: [String] { self.all.filter { $0.hasPrefix("oss-") } }
}

/// Notes where it runs, and passes everything on.
private struct NotingMiddleware: OSSMiddleware {
    let threads: ThreadNames

    func intercept(_ attempt: OSSAttempt, next: (OSSAttempt) async throws -> OSSReply) async throws -> OSSReply {
        self.threads.note()
        let reply = try await next(attempt)
        self.threads.note()
        return reply
    }
}

/// A client's threads are for its own calls: code of the caller's, which may block for as long as it likes, never runs there.
@Suite(.timeLimit(.minutes(5))) struct ForeignCodeTests {
    private static let part = Int(LocalFixture.partSize)

    @Test func `A source of the caller's is read elsewhere`() async throws {
        try await withLocalServer { fixture in
            let threads = ThreadNames(), bytes = randomBytes(6 * Self.part)
            let source = OSSUploadSource.reading(
                named: "photo",
                size: {
                    threads.note()
                    return Int64(bytes.count)
                }
            ) { offset, buffer in
                threads.note()
                let piece = bytes.dropFirst(Int(offset)).prefix(buffer.count)
                buffer.replaceSubrange(0..<piece.count, with: piece)
                return piece.count
            }
            _ = try await fixture.uploader().upload(source, to: fixture.destination)
            #expect(threads.all.count > 12)
            #expect(threads.ofClients.isEmpty)
        }
    }

    @Test func `A middleware runs elsewhere, before and behind the request`() async throws {
        let threads = ThreadNames()
        try await withLocalServer(client: { $0.middlewares = [NotingMiddleware(threads: threads)] }) { fixture in
            try await fixture.upload(fixture.file(size: 6 * Self.part))
            #expect(threads.all.count >= 16)
            #expect(threads.ofClients.isEmpty)
        }
    }

    @Test func `A clock, a wait and a random source are asked elsewhere`() async throws {
        let threads = ThreadNames()
        let surroundings = OSSSurroundings(
            clock: {
                threads.note()
                return Date()
            },
            wait: { _ in threads.note() },
            random: {
                threads.note()
                return 0
            }
        )
        try await withLocalServer(client: { $0.surroundings = surroundings }) { fixture in
            fixture.server.faults.add(
                .init(.respond(status: 503, code: "ServiceUnavailable"), operation: "UploadPart", occurrences: 1...2))
            try await fixture.upload(fixture.file(size: 6 * Self.part))
            #expect(threads.all.count >= 14)
            #expect(threads.ofClients.isEmpty)
        }
    }

    @Test func `A signer is asked elsewhere`() async throws {
        try await withLocalServer { fixture in
            let threads = ThreadNames()
            let service = try RequestSignerTests.Form.headersV4.service()
            let signer = RecordingSigner { request, _ in
                threads.note()
                return try await service.sign(request)
            }
            var options = OSSClient.Configuration()
            options.proxy = ""
            let client = try OSSClient(endpoint: fixture.server.endpoint, signer: signer, configuration: options)
            let other = LocalFixture(server: fixture.server, client: client, folder: fixture.folder)
            try await other.upload(other.file(size: 6 * Self.part))
            await client.shutDown()
            #expect(threads.all.count >= 8)
            #expect(threads.ofClients.isEmpty)
        }
    }

    @Test func `Credentials that are renewed while parts are sent are loaded elsewhere`() async throws {
        let threads = ThreadNames()
        let loads = Lock(0)
        let provider = OSSCredentialsProvider.refreshing {
            threads.note()
            let number = loads.withLock { number in
                number += 1
                return number
            }
            return try OSSCredentials(accessKeyID: "ak\(number)", accessKeySecret: "sk", securityToken: "token")
        }
        let accounts = (1...3).map {
            OSSServer.Account(accessKeyID: "ak\($0)", accessKeySecret: "sk", securityToken: "token")
        }
        try await withLocalServer({ $0.accounts = accounts }, credentials: provider) { fixture in
            let expires = OSSServer.Fault.Action.respond(status: 403, code: "SecurityTokenExpired")
            fixture.server.faults.add(.init(expires, operation: "UploadPart", partNumber: 4, occurrences: 1...1))
            try await fixture.upload(fixture.file(size: 6 * Self.part))
            #expect(threads.all.count == 2)
            #expect(threads.ofClients.isEmpty)
        }
    }

    @Test func `What the caller does behind an upload it does elsewhere, be it after an error`() async throws {
        try await withLocalServer { fixture in
            let threads = ThreadNames(), file = try fixture.file(size: 6 * Self.part)
            // Without a record nothing is left to wait for once a part has failed.
            let uploader = fixture.uploader(checkpoints: OSSCheckpoints.none)
            try await fixture.upload(file, uploader)
            threads.note()
            for part in 1...6 {
                fixture.server.faults.add(
                    .init(.respond(status: 403, code: "AccessDenied"), operation: "UploadPart", partNumber: part))
                _ = try await failure { try await fixture.upload(file, uploader, key: "other") }
                threads.note()
                fixture.server.faults.removeAll()
            }
            #expect(threads.all.count == 7)
            #expect(threads.ofClients.isEmpty)
        }
    }
}
