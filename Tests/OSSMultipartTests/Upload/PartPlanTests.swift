// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import OSSWire
import Testing

@testable import OSSMultipart

@Suite struct PartPlanTests {
    private static let mebibyte: Int64 = 1024 * 1024

    @Test(
        arguments: [
            (1, 1, 1), (63, 1, 63), (102_399, 1, 102_399), (102_400, 1, 102_400), (102_401, 2, 1),
            (204_800, 2, 102_400),
            (204_801, 3, 1), (1_024_017, 11, 17),
        ] as [(Int64, Int, Int64)])
    func `Parts cover the source without an empty one at the end`(size: Int64, count: Int, last: Int64) throws {
        let plan = try PartPlan(size: size, partSize: 102_400)
        #expect(plan.count == count)
        #expect(plan[count].size == last)
        var offset: Int64 = 0
        for number in 1...plan.count {
            #expect(plan[number].offset == offset)
            offset += plan[number].size
        }
        #expect(offset == size)
    }

    @Test func `An empty source is one empty part`() throws {
        let plan = try PartPlan(size: 0, partSize: nil)
        #expect(plan.count == 1)
        #expect(plan[1].size == 0)
    }

    @Test(arguments: [
        0, 1, 8 * mebibyte, 80_000 * mebibyte, 80_000 * mebibyte + 1, 1024 * 1024 * mebibyte, 16 * 1024 * mebibyte,
        Limits.maximumObjectSize - 1, Limits.maximumObjectSize,
    ])
    func `The automatic part size is whole MiB and never needs more than 10,000 parts`(size: Int64) throws {
        let plan = try PartPlan(size: size, partSize: nil)
        #expect(plan.partSize % Self.mebibyte == 0)
        #expect(plan.partSize >= PartPlan.automaticPartSize)
        #expect(plan.partSize <= Limits.maximumPartSize)
        #expect(plan.count <= Limits.maximumPartNumber)
        if plan.partSize > PartPlan.automaticPartSize {
            #expect((plan.partSize - Self.mebibyte) * 10_000 < size, "a smaller part size would do")
        }
    }

    // Case 31: https://github.com/aws/aws-sdk-go/issues/2557
    @Test func `Exactly 10,000 parts are allowed and one byte more is not`() throws {
        #expect(try PartPlan(size: 1_024_000_000, partSize: 102_400).count == 10_000)
        #expect {
            try PartPlan(size: 1_024_000_001, partSize: 102_400)
        } throws: { error in
            (error as? OSSError)?.code == .invalidArgument && "\(error)".contains("at least 102401 bytes")
        }
    }

    @Test(arguments: [0, -1, 102_399, Limits.maximumPartSize + 1])
    func `A part size that the service does not take is refused`(partSize: Int64) {
        #expect { try PartPlan(size: 1000, partSize: partSize) } throws: { ($0 as? OSSError)?.code == .invalidArgument }
    }

    @Test func `A source beyond 48.8 TiB is refused`() {
        #expect {
            try PartPlan(size: Limits.maximumObjectSize + 1, partSize: nil)
        } throws: { ($0 as? OSSError)?.code == .invalidArgument }
    }
}
