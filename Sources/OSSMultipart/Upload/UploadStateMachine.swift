// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

/// Which part is sent when: the upload of parts as a pure value, without tasks, clocks or I/O.
struct UploadStateMachine: Sendable {
    /// What to do next.
    enum Action: Sendable, Equatable {
        /// Send this part.
        case send(PartPlan.Part)
        /// Wait until a part in flight has ended.
        case wait
        /// All parts are stored.
        case allStored
        /// A part has failed for good and none is in flight any more.
        case stopped
    }

    /// The plan.
    let plan: PartPlan
    /// Most parts in flight, at least 1; where it has shrunk, those that are on their way go on.
    var window: Int
    /// The parts that are stored.
    private(set) var receipts: PartReceipts
    /// Parts that are on their way.
    private(set) var inFlight: Set<Int> = []
    /// Parts that are still to be sent, the next one last.
    private var pending: [Int]
    private var hasFailed = false

    /// Begins with the parts that are stored already.
    init(plan: PartPlan, stored: PartReceipts, window: Int) {
        self.plan = plan
        self.window = max(1, window)
        self.receipts = stored
        self.pending = (1...plan.count).reversed().filter { stored[$0] == nil }
    }

    /// Says what to do next; a part that is to be sent counts as in flight from now on.
    mutating func next() -> Action {
        if self.hasFailed { return self.inFlight.isEmpty ? .stopped : .wait }
        guard self.inFlight.count < self.window, let number = self.pending.popLast() else {
            return self.inFlight.isEmpty ? .allStored : .wait
        }
        self.inFlight.insert(number)
        return .send(self.plan[number])
    }

    /// A part in flight is stored.
    mutating func stored(_ receipt: PartReceipt) {
        self.inFlight.remove(receipt.number)
        self.receipts.insert(receipt)
    }

    /// A part in flight has failed for good: no other part is begun.
    mutating func failed(_ number: Int) {
        self.inFlight.remove(number)
        self.hasFailed = true
    }

    /// The service does not have these parts any more: they are sent again.
    mutating func lost(_ numbers: some Sequence<Int>) {
        for number in numbers where self.receipts.remove(number) {
            self.pending.append(number)
        }
        self.pending.sort(by: >)
    }

    /// Whether all parts of the plan are stored, and their sizes sum to the source's.
    var isComplete: Bool {
        var (count, size) = (0, Int64(0))
        for receipt in self.receipts { (count, size) = (count + 1, size + receipt.size) }
        return count == self.plan.count && size == self.plan.size
    }
}
