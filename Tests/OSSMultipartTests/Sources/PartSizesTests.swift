// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import OSSWire
import Testing

@testable import OSSMultipart

@Suite struct PartSizesTests {
    private static let mebibyte: Int64 = 1024 * 1024
    private let sizes = PartSizes.growing(from: 8 * mebibyte, limit: 256 * mebibyte)

    @Test(
        arguments: [
            (1, 8), (500, 8), (501, 16), (1000, 16), (1001, 32), (2000, 64), (2001, 128), (2501, 256), (3001, 256),
            (10_000, 256),
        ] as [(Int, Int64)])
    func `Parts grow at fixed numbers, up to the limit`(number: Int, mebibytes: Int64) {
        #expect(self.sizes[number] == mebibytes * Self.mebibyte)
    }

    @Test(arguments: [1, 2, 500, 501, 502, 999, 1000, 1001, 2500, 2501, 9999, 10_000])
    func `Each part begins where the one before ends`(number: Int) {
        #expect(self.sizes.offset(of: number + 1) == self.sizes.offset(of: number) + self.sizes[number])
        #expect(self.sizes.count(for: self.sizes.offset(of: number)) == max(1, number - 1))
        #expect(self.sizes.count(for: self.sizes.offset(of: number) + 1) == number)
    }

    @Test func `The default takes 1.9 TiB in 10,000 parts, the smallest parts with the highest limit 12 TiB`() {
        #expect(self.sizes.capacity == (500 * (8 + 16 + 32 + 64 + 128) + 7500 * 256) * Self.mebibyte)
        #expect(
            PartSizes.growing(from: 102_400, limit: Limits.maximumPartSize).capacity > 12 * 1024 * 1024 * Self.mebibyte)
        #expect(PartSizes.growing(from: Limits.maximumPartSize, limit: 1).capacity == Limits.maximumObjectSize)
    }

    @Test func `Sizes that do not grow are all the same`() {
        let sizes = PartSizes(102_400)
        #expect(sizes[10_000] == 102_400)
        #expect(sizes.offset(of: 10_000) == 9999 * 102_400)
        #expect(sizes.count(for: 0) == 1)
        #expect(sizes.count(for: 102_401) == 2)
    }

    @Test func `A plan with growing parts ends with what is left`() {
        let size = self.sizes.offset(of: 502) + 5
        let plan = PartPlan(size: size, sizes: self.sizes)
        #expect(plan.count == 502)
        #expect(plan[501] == .init(number: 501, offset: 500 * 8 * Self.mebibyte, size: 16 * Self.mebibyte))
        #expect(plan[502].size == 5)
    }
}
