// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import SystemIO

/// So many requests may be on their way at a time, shared fairly among those who send.
///
/// A free slot goes to the senders in turn, whatever the number of requests each has waiting: a large file does not hold up
/// small ones.
final class PartSlots: Sendable {
    private typealias Waiter = CheckedContinuation<Void, any Error>

    private struct State {
        var free: Int
        /// Who has requests waiting, the next one first.
        var turns: [Int] = []
        /// The waiting requests of each, the oldest first.
        var waiting: [Int: [(number: Int, waiter: Waiter)]] = [:]
        var nextNumber = 0
        /// Requests that were cancelled before they began to wait.
        var cancelled: Set<Int> = []
    }
    private let state: Lock<State>

    /// Makes so many slots, at least one.
    init(count: Int) { self.state = Lock(State(free: max(1, count))) }

    /// Slots that nobody has.
    var freeCount: Int { self.state.withLock(\.free) }

    /// Requests that wait for a slot.
    var waitingCount: Int { self.state.withLock { $0.waiting.values.reduce(0) { $0 + $1.count } } }

    /// Runs `body` when there is a slot for its owner, and gives the slot back.
    ///
    /// - Throws: `CancellationError` where the task is cancelled while it waits; what `body` throws.
    func withSlot<Value>(of owner: Int, _ body: () async throws -> Value) async throws -> Value {
        try await self.take(for: owner)
        defer { self.giveBack() }
        return try await body()
    }

    private func take(for owner: Int) async throws {
        let number = self.state.withLock { state in
            state.nextNumber += 1
            return state.nextNumber
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (waiter: Waiter) in
                enum Answer { case now, later, never }
                let answer: Answer = self.state.withLock { state in
                    if state.cancelled.remove(number) != nil { return .never }
                    if state.free > 0 {
                        state.free -= 1
                        return .now
                    }
                    if state.waiting[owner] == nil { state.turns.append(owner) }
                    state.waiting[owner, default: []].append((number, waiter))
                    return .later
                }
                switch answer {
                case .now: waiter.resume()
                case .later: break
                case .never: waiter.resume(throwing: CancellationError())
                }
            }
        } onCancel: {
            let waiter = self.state.withLock { state -> Waiter? in
                guard let index = state.waiting[owner]?.firstIndex(where: { $0.number == number }) else {
                    state.cancelled.insert(number)
                    return nil
                }
                let waiter = state.waiting[owner]?.remove(at: index).waiter
                if state.waiting[owner]?.isEmpty == true {
                    state.waiting[owner] = nil
                    state.turns.removeAll { $0 == owner }
                }
                return waiter
            }
            waiter?.resume(throwing: CancellationError())
        }
        // One that was cancelled when it had its slot already.
        self.state.withLock { _ = $0.cancelled.remove(number) }
    }

    private func giveBack() {
        let waiter = self.state.withLock { state -> Waiter? in
            guard let owner = state.turns.first, var queue = state.waiting[owner] else {
                state.free += 1
                return nil
            }
            state.turns.removeFirst()
            let next = queue.removeFirst()
            state.waiting[owner] = queue.isEmpty ? nil : queue
            if !queue.isEmpty { state.turns.append(owner) }
            return next.waiter
        }
        waiter?.resume()
    }
}

/// The slots of a queue, as one upload of it sees them.
struct SlotShare: Sendable {
    let slots: PartSlots
    let owner: Int
}

extension SlotShare? {
    /// Runs `body` when there is a slot; at once where nothing is shared.
    func withSlot<Value>(_ body: () async throws -> Value) async throws -> Value {
        guard let self else { return try await body() }
        return try await self.slots.withSlot(of: self.owner, body)
    }
}
