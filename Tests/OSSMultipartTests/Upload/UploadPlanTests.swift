// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import FoundationEssentials
import Testing

@testable import OSSMultipart

@Suite struct UploadPlanTests {
    @Test func `A plan tells of any source whose length is known, and refuses the others`() async throws {
        var configuration = OSSUploader.Configuration()
        configuration.partSize = LocalFixture.partSize
        let empty = AsyncStream<[UInt8]> { $0.finish() }
        let known = try await configuration.plan(for: .stream(empty, size: 250_000))
        #expect((known.size, known.partCount, known.isSingleRequest) == (250_000, 3, false))
        #expect(known.parts.map(\.size) == [102_400, 102_400, 45_200])
        #expect(known.parts.map(\.offset) == [0, 102_400, 204_800])
        let memory = try await configuration.plan(for: .bytes([1, 2, 3]))
        #expect((memory.isSingleRequest, memory.partCount) == (true, 1))
        let error = try await failure { _ = try await configuration.plan(for: .stream(empty)) }
        #expect(error.code == .invalidArgument)
        let missing = try await failure { _ = try await configuration.plan(for: .file(URL(filePath: "/no/such"))) }
        #expect(missing.code == .sourceUnreadable)
    }
}
