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

    // MARK: Tasks that stay

    @Test func `A task that stays makes its calls on the spot`() async {
        let executor = BlockingExecutor(threads: 2)
        await executor.carry {
            // A task changes its thread where it waits.
            await Task.yield()
            for _ in 0..<100 {
                let here = UInt(pthread_self())
                #expect(await executor.run { UInt(pthread_self()) } == here)
            }
        }
    }

    @Test func `Behind it the task is on none of the threads any more, be it after an error`() async {
        let executor = BlockingExecutor(threads: 2)
        for fails in [false, true] {
            let threads = Lock<Set<UInt>>([])
            let hasFailed: Bool
            do throws(Failed) {
                try await executor.carry { () throws(Failed) in
                    await Task.yield()
                    await executor.run { _ = threads.withLock { $0.insert(UInt(pthread_self())) } }
                    if fails { throw Failed() }
                }
                hasFailed = false
            } catch {
                hasFailed = true
            }
            #expect(hasFailed == fails)
            let here = UInt(pthread_self())
            #expect(threads.withLock { !$0.isEmpty && !$0.contains(here) })
        }
    }

    @Test(arguments: [1, 2, 8]) func `Steps of many tasks are each taken once`(threads: Int) async {
        let executor = BlockingExecutor(threads: threads)
        let sum = Counter(), room = Room()
        await executor.carry {
            await withTaskGroup(of: Int.self) { group in
                for number in 1...2000 {
                    group.addTask {
                        await Task.yield()
                        await room.enter()
                        await executor.run { sum.add(number) }
                        return number
                    }
                    if number > 4 { _ = await group.next() }
                }
            }
        }
        #expect(sum.value == 2_001_000)
        #expect(await room.count == 2000)
        await executor.shutDown()
    }

    @Test func `A step that was added before a call that blocks does not wait for the call`() async {
        let executor = BlockingExecutor(threads: 1)
        await executor.carry {
            await Task.yield()
            let isDone = Counter()
            await withTaskGroup(of: Void.self) { group in
                group.addTask { isDone.add() }
                await executor.run { while isDone.value == 0 { usleep(1000) } }
            }
        }
    }

    @Test func `A step that a call adds in its midst does not wait for the call`() async {
        let executor = BlockingExecutor(threads: 1)
        let isDone = Counter()
        let (moments, moment) = AsyncStream.makeStream(of: Void.self)
        await executor.carry {
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    for await _ in moments { isDone.add() }
                }
                group.addTask {
                    // The other one waits by then.
                    while !(await executor.run { usleep(20000) == 0 }) {}
                    await executor.run {
                        moment.yield()
                        while isDone.value == 0 { usleep(1000) }
                    }
                    moment.finish()
                }
            }
        }
        #expect(isDone.value == 1)
    }

    @Test func `Steps go on while as many calls block as there may be`() async {
        let executor = BlockingExecutor(threads: 2)
        let gate = Counter(), blocked = Counter()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<3 {
                group.addTask {
                    await executor.run {
                        blocked.add()
                        while gate.value == 0 { usleep(1000) }
                    }
                }
            }
            group.addTask {
                await executor.carry {
                    while blocked.value < 2 { await Task.yield() }
                    await withTaskGroup(of: Void.self) { steps in
                        for _ in 0..<20 { steps.addTask { await Task.yield() } }
                    }
                    gate.add()
                }
            }
        }
        #expect(blocked.value == 3)
    }

    @Test func `Tasks that stay make no more calls at a time than others`() async {
        let executor = BlockingExecutor(threads: 2)
        let running = Counter(), most = Counter(), done = Counter()
        await executor.carry {
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<40 {
                    group.addTask {
                        await executor.run {
                            running.add()
                            most.raise(to: running.value)
                            usleep(1000)
                            running.add(-1)
                        }
                        done.add()
                    }
                }
            }
        }
        #expect(most.value == 2)
        #expect(done.value == 40)
    }

    @Test func `A task that stays can shut the threads down, and goes on`() async {
        let executor = BlockingExecutor(threads: 2)
        let steps = Counter()
        for _ in 0..<50 {
            await executor.carry {
                await Task.yield()
                await withTaskGroup(of: Void.self) { group in
                    for _ in 0..<4 {
                        group.addTask {
                            await executor.shutDown()
                            await executor.run { steps.add() }
                            await Task.yield()
                            steps.add()
                        }
                    }
                }
            }
        }
        #expect(steps.value == 400)
    }

    @Test func `One of its threads may be the last that holds the executor`() async {
        for _ in 0..<200 {
            let executor = BlockingExecutor(threads: 1)
            await executor.carry { await executor.run {} }
            executor.start { [executor] in
                _ = executor
                return {}
            }
        }
        // Their threads end without a time-out, for the executors have ended.
        while Self.threads() > 60 { await Task.yield() }
    }

    private static func threads() -> Int { (try? Directory.names(in: "/proc/self/task").count) ?? 0 }

    private actor Room {
        private(set) var count = 0
        func enter() { self.count += 1 }
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
