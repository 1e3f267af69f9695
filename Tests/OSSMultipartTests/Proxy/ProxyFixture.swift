// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import ByteProxy
import OSSLocalServer

@testable import OSSMultipart

/// What the uploader asks for, by the bytes that its request begins with.
enum Exchange: String, CaseIterable, Sendable {
    case initiate = "POST /media/v/film.bin?uploads"
    case part = "PUT /media/v/film.bin?partNumber=3&"
    case list = "GET /media/v/film.bin?encoding-type=url&max-parts=1000&"
    case complete = "POST /media/v/film.bin?encoding-type=url&uploadId="
    case put = "PUT /media/v/film.bin HTTP/1.1"
}

extension LocalFixture {
    /// Does all that an uploader can: an upload that breaks and is gone on with, and a small one, and checks the objects.
    func useEverything(_ configure: (inout OSSUploader.Configuration) -> Void = { _ in }) async throws -> Bool {
        let file = try self.file(size: 5 * Int(Self.partSize) + 17)
        try await self.breakUpload(file, atPart: 3, configure)
        let result = try await self.upload(file, self.uploader(configure))
        let small = try self.file("small", size: 5000)
        try await self.upload(small, key: "small")
        let (large, little) = (try await self.object(), try await self.object("small"))
        return large == file.bytes && little == small.bytes && result.partsResumed == 2 && self.openUploads.isEmpty
            && self.records.isEmpty
    }
}

/// Runs a test whose client reaches its server through a proxy.
func withProxy(
    _ configuration: ByteProxy.Configuration = .init(), rules: [ByteProxy.Rule] = [],
    server configureServer: (inout OSSServer.Configuration) -> Void = { _ in },
    client configureClient: (inout OSSClient.Configuration) -> Void = { _ in },
    _ body: (LocalFixture, ByteProxy) async throws -> Void
) async throws {
    try await withLocalServer(configureServer, client: configureClient) { direct in
        let port = try direct.server.endpoint.split(separator: ":").last.flatMap { UInt16($0) }.unwrapped()
        let proxy = try ByteProxy(to: port, configuration, rules: rules)
        let client = try OSSClient(
            endpoint: proxy.url, region: direct.client.region,
            credentials: .fixed(
                OSSCredentials(
                    accessKeyID: OSSServer.Account.test.accessKeyID,
                    accessKeySecret: OSSServer.Account.test.accessKeySecret
                )
            ), configuration: direct.client.configuration
        )
        let result: Result<Void, any Error>
        do {
            result = .success(
                try await body(LocalFixture(server: direct.server, client: client, folder: direct.folder), proxy))
        } catch {
            result = .failure(error)
        }
        await client.shutDown()
        try result.get()
    }
}

extension Optional {
    /// The value; an error where there is none.
    func unwrapped() throws -> Wrapped {
        guard let value = self else { throw Unexpected("a value is missing") }
        return value
    }
}
