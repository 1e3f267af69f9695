// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import FoundationEssentials
import OSSWire
import SystemIO
import Testing

@testable import OSSMultipart

/// Digests of regions, and what ends them before their end.
@Suite(.timeLimit(.minutes(5))) struct SourceDigestsTests {
    private static let part = Int(LocalFixture.partSize)

    @Test func `A region's digests are those of its bytes, wherever it begins`() throws {
        try withTemporaryFolder { folder in
            let bytes = randomBytes(3 * Self.part)
            let file = try TestFile(folder + "/file", bytes)
            for range in [0..<bytes.count, 1..<2, 40_000..<200_001, bytes.count..<bytes.count] {
                let region = Int64(range.lowerBound)..<Int64(range.upperBound)
                let whole = try OpenSource(path: file.path).region(at: region.lowerBound, length: Int64(range.count))
                let slice = try OpenSource(path: file.path, region: region).region(at: 0, length: Int64(range.count))
                for region in [whole, slice] {
                    let digests = try region.digests(md5: true, crc64: true) { false }
                    #expect(digests.crc64 == CRC64.of(Array(bytes[range])))
                    #expect(try digests.md5 == MessageDigest.of(Array(bytes[range]), .md5))
                }
            }
        }
    }

    @Test func `Whoever is cancelled within a part stops at its next read`() throws {
        try withTemporaryFolder { folder in
            let file = try TestFile(folder + "/file", randomBytes(3 * Self.part))
            let region = try OpenSource(path: file.path).region(at: 0, length: Int64(3 * Self.part))
            var looks = 0
            _ = try region.digests(md5: true, crc64: true) {
                looks += 1
                return false
            }
            #expect(looks > 3, "a part is read in pieces, and before each the flag is looked at")
            let last = looks
            looks = 0
            #expect(throws: CancellationError.self) {
                try region.digests(md5: true, crc64: true) {
                    looks += 1
                    return looks == 3
                }
            }
            #expect(looks == 3 && last > 3)
        }
    }

    @Test func `A task that is cancelled while a file is digested does not wait for its end`() async throws {
        try await withLocalServer { fixture in
            // A digest of all these zeros would take longer than the test may.
            let size: Int64 = 1 << 40
            let sparse = try SparseFile(fixture.folder + "/sparse", size: size)
            let region = try OpenSource(path: sparse.url.path).region(at: 0, length: size)
            let client = fixture.client
            let task = Task { try await client.digests(of: region, md5: true, crc64: true) }
            // Whether it is cancelled before or within: it ends.
            try await Task.sleep(for: .milliseconds(20))
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    }

    @Test(arguments: OSSIntegrity.all)
    func `An upload that is cancelled within one large part reads no more of it`(integrity: OSSIntegrity) async throws {
        try await withLocalServer { fixture in
            let reads = Counter()
            let (third, tell) = AsyncStream.makeStream(of: Void.self)
            let (cancelled, goOn) = AsyncStream.makeStream(of: Void.self)
            let source = OSSUploadSource.reading(named: "asset", size: { 64 << 20 }) { _, buffer in
                // A reader that knows nothing of tasks: it gives its bytes whether anybody wants them or not.
                if reads.next() == 2 {
                    tell.finish()
                    await Task { for await _ in cancelled {} }.value
                }
                return buffer.count
            }
            let uploader = fixture.uploader {
                $0.partSize = 64 << 20
                $0.partsInFlight = .fixed(1)
                $0.integrity = integrity
            }
            let task = uploader.start(source, to: fixture.destination)
            for await _ in third {}
            task.cancel()
            goOn.finish()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(reads.value == 3)
        }
    }
}
