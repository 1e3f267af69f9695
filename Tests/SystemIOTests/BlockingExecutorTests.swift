// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import Glibc
import SystemIO
import Testing

@Suite(.timeLimit(.minutes(5))) struct BlockingExecutorTests {
    private struct Failed: Error {}

    @Test func `Results and errors come back`() async {
        let executor = BlockingExecutor(threads: 2)
        #expect(await executor.run { 7 } == 7)
        await #expect(throws: Failed.self) { try await executor.run { () throws(Failed) -> Int in throw Failed() } }
    }

    @Test func `As many jobs run at a time as there are threads, and no more`() async {
        let executor = BlockingExecutor(threads: 3)
        let running = Counter(), most = Counter(), gate = Counter()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<12 {
                group.addTask {
                    await executor.run {
                        running.add()
                        most.raise(to: running.value)
                        // The first ones wait until all threads are at work.
                        while gate.value == 0 {
                            if running.value == 3 { gate.add() }
                            usleep(1000)
                        }
                        running.add(-1)
                    }
                }
            }
        }
        #expect(most.value == 3)
    }

    @Test func `Many jobs from many tasks are each done once`() async {
        let executor = BlockingExecutor(threads: 4)
        let sum = Counter()
        await withTaskGroup(of: Void.self) { group in
            for number in 1...1000 {
                group.addTask { await executor.run { sum.add(number) } }
            }
        }
        #expect(sum.value == 500_500)
    }

    @Test func `Shutting down waits for the work, twice is once, and later work is still done`() async {
        let executor = BlockingExecutor(threads: 2)
        let done = Counter()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<10 {
                group.addTask {
                    await executor.run {
                        usleep(2000)
                        done.add()
                    }
                }
            }
        }
        await executor.shutDown()
        #expect(done.value == 10)
        await executor.shutDown()
        #expect(await executor.run { 1 } == 1)
    }

    @Test func `A contended lock loses nothing`() async {
        let executor = BlockingExecutor(threads: 4)
        let counter = Counter()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask { await executor.run { for _ in 0..<2000 { counter.addSlowly() } } }
            }
        }
        #expect(counter.value == 8000)
    }

    private final class Counter: Sendable {
        private let count = Lock(0)
        func add(_ number: Int = 1) { self.count.withLock { $0 += number } }
        /// Adds 1, and gives others the processor between reading and writing.
        func addSlowly() {
            self.count.withLock { count in
                let before = count
                sched_yield()
                count = before + 1
            }
        }
        func raise(to number: Int) { self.count.withLock { $0 = max($0, number) } }
        var value: Int { self.count.withLock { $0 } }
    }
}
