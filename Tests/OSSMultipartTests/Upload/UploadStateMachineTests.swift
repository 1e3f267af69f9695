// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import Testing

@testable import OSSMultipart

@Suite struct UploadStateMachineTests {
    private let plan: PartPlan

    init() throws { self.plan = try PartPlan(size: 5 * 102_400 + 1, partSize: 102_400) }

    private func receipt(_ number: Int) -> PartReceipt {
        PartReceipt(number: number, size: self.plan[number].size, md5: nil, crc64: UInt64(number), eTag: "E\(number)")
    }

    private func machine(stored: [Int] = [], window: Int = 2) -> UploadStateMachine {
        UploadStateMachine(
            plan: self.plan, stored: PartReceipts(stored.map(self.receipt)), window: window
        )
    }

    @Test func `Parts go in order, and no more than the window at a time`() {
        var machine = self.machine()
        #expect(machine.next() == .send(self.plan[1]))
        #expect(machine.next() == .send(self.plan[2]))
        #expect(machine.next() == .wait)
        machine.stored(self.receipt(2))
        #expect(machine.next() == .send(self.plan[3]))
        #expect(machine.next() == .wait)
    }

    @Test func `What is stored is not sent again, gaps and a short last part included`() {
        var machine = self.machine(stored: [1, 3, 6], window: 10)
        #expect([machine.next(), machine.next(), machine.next()] == [2, 4, 5].map { .send(self.plan[$0]) })
        #expect(machine.next() == .wait)
        for number in [5, 2, 4] { machine.stored(self.receipt(number)) }
        #expect(machine.next() == .allStored)
        #expect(machine.isComplete)
        #expect(machine.receipts.map(\.number) == [1, 2, 3, 4, 5, 6])
    }

    @Test func `All stored already is complete at once`() {
        var machine = self.machine(stored: [1, 2, 3, 4, 5, 6])
        #expect(machine.next() == .allStored)
    }

    @Test func `A failed part stops the rest once those in flight have ended, and what they stored counts`() {
        var machine = self.machine(window: 3)
        for _ in 1...3 { _ = machine.next() }
        machine.failed(1)
        #expect(machine.next() == .wait)
        machine.stored(self.receipt(2))
        #expect(machine.next() == .wait)
        machine.failed(3)
        #expect(machine.next() == .stopped)
        #expect(Array(machine.receipts.numbers) == [2])
        #expect(!machine.isComplete)
    }

    @Test func `Lost parts are sent again in order`() {
        var machine = self.machine(stored: [1, 2, 3, 4, 5, 6], window: 4)
        machine.lost([5, 2, 9])
        #expect(machine.next() == .send(self.plan[2]))
        #expect(machine.next() == .send(self.plan[5]))
        #expect(machine.next() == .wait)
        #expect(!machine.isComplete)
    }

    @Test func `A list whose sizes do not sum to the source is no list`() {
        var machine = self.machine(stored: [1, 2, 3, 4, 5])
        _ = machine.next()
        machine.stored(PartReceipt(number: 6, size: 2, md5: nil, crc64: nil, eTag: "E"))
        #expect(machine.next() == .allStored)
        #expect(!machine.isComplete)
    }
}
