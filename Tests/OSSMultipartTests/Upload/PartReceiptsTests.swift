// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import Testing

@testable import OSSMultipart

@Suite struct PartReceiptsTests {
    private func receipt(_ number: Int, size: Int64 = 1) -> PartReceipt {
        PartReceipt(number: number, size: size, md5: nil, crc64: nil, eTag: "E\(number)")
    }

    @Test func `Receipts come in the order of their numbers, however they were taken in, and gaps are none`() {
        let receipts = PartReceipts([7, 2, 10_000, 1].map { self.receipt($0) })
        #expect(Array(receipts.numbers) == [1, 2, 7, 10_000])
        #expect(receipts.map(\.eTag) == ["E1", "E2", "E7", "E10000"])
        #expect(receipts.count == 4)
        #expect(receipts[7] == self.receipt(7))
        #expect(receipts[3] == nil)
    }

    @Test func `A number that no part has is not there`() {
        let receipts = PartReceipts([self.receipt(1)])
        for number in [Int.min + 1, -1, 0, 2, 10_001, Int.max] { #expect(receipts[number] == nil) }
    }

    @Test func `A later receipt of a part takes the place of the earlier`() {
        var receipts = PartReceipts([self.receipt(2), self.receipt(2, size: 5)])
        #expect(receipts.count == 1)
        #expect(receipts[2]?.size == 5)
        receipts.insert(self.receipt(2, size: 7))
        #expect(receipts.count == 1)
        #expect(receipts.map(\.size) == [7])
    }

    @Test func `What is removed is gone, once`() {
        var receipts = PartReceipts((1...3).map { self.receipt($0) })
        let first = receipts.remove(2), second = receipts.remove(2), foreign = receipts.remove(9)
        #expect([first, second, foreign] == [true, false, false])
        #expect(receipts.count == 2)
        #expect(Array(receipts.numbers) == [1, 3])
    }

    @Test func `Equal are those with the same parts, whatever was there before`() {
        var receipts = PartReceipts([self.receipt(1), self.receipt(500)])
        receipts.remove(500)
        #expect(receipts == PartReceipts([self.receipt(1)]))
        #expect(receipts != PartReceipts([self.receipt(2)]))
        #expect(receipts != PartReceipts([self.receipt(1, size: 2)]))
        #expect(receipts != PartReceipts())
        #expect(PartReceipts(capacity: 100) == PartReceipts())
    }
}
