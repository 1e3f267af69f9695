// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import Testing

@testable import CurlTransport

@Suite(.bothWays) struct UploadRateLimitTests {
    private let start = ContinuousClock.now

    private func at(_ seconds: Double) -> ContinuousClock.Instant { self.start + .seconds(seconds) }

    private func granted(_ limit: UploadRateLimit, _ count: Int, at seconds: Double) -> Int {
        guard case .bytes(let granted) = limit.take(count, at: self.at(seconds)) else { return 0 }
        return granted
    }

    @Test func `Without a limit all may go`() {
        #expect(self.granted(UploadRateLimit(), 1 << 30, at: 0) == 1 << 30)
    }

    @Test(arguments: [Int64(1), 10, 1000, 100_000_000]) func `In the long run as much goes as the limit says`(
        rate: Int64
    ) {
        let limit = UploadRateLimit(bytesPerSecond: rate)
        _ = self.granted(limit, 1 << 30, at: 1)
        var sum: Int64 = 0, seconds = 1.0
        while seconds < 101 {
            switch limit.take(256 * 1024, at: self.at(seconds)) {
            case .bytes(let granted): sum += Int64(granted)
            case .wait(let end):
                let wait = (end - self.at(seconds)) / .seconds(1)
                #expect(wait > 0 && wait <= 0.21)
                seconds += max(wait, 0.001)
            }
        }
        #expect(sum <= rate * 101)
        #expect(sum >= rate * 95)
    }

    @Test func `After a rest a quarter of a second's worth may go at once, no more`() {
        let limit = UploadRateLimit(bytesPerSecond: 1000)
        #expect(self.granted(limit, 10_000, at: 3600) == 250)
        #expect(self.granted(limit, 10_000, at: 3600) == 0)
    }

    @Test func `What is given back may go, and a new limit counts at once`() {
        let limit = UploadRateLimit(bytesPerSecond: 1000)
        _ = self.granted(limit, 10_000, at: 10)
        limit.giveBack(100)
        #expect(self.granted(limit, 100, at: 10) == 100)
        limit.bytesPerSecond = nil
        #expect(self.granted(limit, 10_000, at: 10) == 10_000)
        limit.bytesPerSecond = 0
        #expect(limit.bytesPerSecond == 1)
    }
}
