// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import CurlTransport

/// Reads a region of a source of the caller's into the body of a request that is under way.
struct BodyMaker: Sendable {
    let source: any OSSRandomAccessSource
    let region: SourceRegion
    let pipe: BodyPipe

    /// Makes the body; returns when it is whole, or nobody takes it any more.
    func make() async -> Result<Void, any Error> {
        do {
            try await self.region.readPieces(of: self.source) { await self.pipe.write($0) }
            return .success(())
        } catch {
            // The transfer must not wait for bytes that will never come.
            self.pipe.breakOff()
            return .failure(error)
        }
    }
}
