// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import CurlTransport
internal import SystemIO

/// Reads a region of a source into the body of a request that is under way, between what stands before and behind it.
struct BodyMaker: Sendable {
    var head: [UInt8] = []
    let region: SourceRegion
    var tail: [UInt8] = []
    let pipe: BodyPipe
    let executor: BlockingExecutor

    /// Makes the body; returns when it is whole, or nobody takes it any more.
    func make() async -> Result<Void, any Error> {
        do {
            guard await self.pipe.write(self.head) else { return .success(()) }
            try await self.region.readPieces(on: self.executor) { await self.pipe.write($0) }
            _ = await self.pipe.write(self.tail)
            return .success(())
        } catch {
            // The transfer must not wait for bytes that will never come.
            self.pipe.breakOff()
            return .failure(error)
        }
    }
}
