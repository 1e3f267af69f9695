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
            for number in 1...100 {
                let here = UInt(pthread_self())
                #expect(await executor.run { UInt(pthread_self()) } == here)
                // The call is the task's own: what is set for the task is set for it.
                await Self.$mark.withValue(number) { #expect(await executor.run { Self.mark } == number) }
            }
        }
    }

    @Test func `A call is made on the thread that asks where it may block, and nowhere else`() async {
        #expect(!BlockingExecutor.isHere)
        #expect(BlockingExecutor.callHere { 1 } == nil)
        let executor = BlockingExecutor(threads: 1)
        await executor.carry {
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    #expect(BlockingExecutor.isHere)
                    let thread = UInt(pthread_self())
                    #expect(BlockingExecutor.callHere { UInt(pthread_self()) } == thread)
                    #expect(throws: Failed.self) {
                        try BlockingExecutor.callHere { () throws(Failed) in throw Failed() }
                    }
                    BlockingExecutor.callHere {
                        // Within a call there is none.
                        #expect(!BlockingExecutor.isHere)
                        #expect(BlockingExecutor.callHere { 1 } == nil)
                    }
                    #expect(BlockingExecutor.callHere { 2 } == 2)
                }
            }
        }
        await executor.shutDown()
    }

    @Test func `A call is not made on the thread that asks while others have every turn`() async {
        let executor = BlockingExecutor(threads: 1)
        let isBusy = Counter(), mayEnd = Counter()
        async let busy: Void = executor.run {
            isBusy.add()
            while mayEnd.value == 0 { usleep(1000) }
        }
        while isBusy.value == 0 { await Task.yield() }
        await executor.carry {
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    #expect(BlockingExecutor.callHere { 1 } == nil)
                    mayEnd.add()
                }
            }
        }
        await busy
        await executor.shutDown()
    }

    @Test func `A broken connection does not end the process on its threads`() async {
        let executor = BlockingExecutor(threads: 1)
        let isBlocked = await executor.run {
            var mask = sigset_t()
            // SAFETY: the set is ours.
            return unsafe pthread_sigmask(SIG_BLOCK, nil, &mask) == 0 && sigismember(&mask, SIGPIPE) == 1
        }
        #expect(isBlocked)
        await executor.shutDown()
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

    @Test func `An actor that goes through it is on none of the threads any more`() async {
        let threads = Threads()
        let executor = BlockingExecutor(threads: 2, idleSeconds: 3600, begin: threads.begin)
        for _ in 0..<20 {
            let (inside, behind) = await Visitor().visit(executor)
            #expect(threads.all.contains(inside))
            #expect(!threads.all.contains(behind))
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

    @Test func `A step does not wait for a call whose turn comes when another one ends`() async throws {
        let executor = BlockingExecutor(threads: 1)
        let isDone = Counter()
        let isOver = try await Self.ends {
            await executor.carry {
                await withTaskGroup(of: Void.self) { group in
                    await executor.run {
                        executor.start {
                            while isDone.value == 0 { usleep(1000) }
                            return {}
                        }
                        // Other threads have nothing to do by then.
                        usleep(20000)
                    }
                    group.addTask { isDone.add() }
                }
            }
        }
        #expect(isOver)
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

    // MARK: Threads

    @Test func `Threads that wait end when their executor is let go`() async throws {
        let threads = Threads()
        do {
            let executor = BlockingExecutor(threads: 3, idleSeconds: 3600, begin: threads.begin)
            let blocked = Counter()
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<3 {
                    group.addTask {
                        await executor.run {
                            blocked.add()
                            while blocked.value < 3 { usleep(1000) }
                        }
                    }
                }
            }
            #expect(threads.all.count == 3)
        }
        #expect(try await Self.soon { threads.ended == 3 })
    }

    @Test func `What was started is done though the executor is let go at once`() async throws {
        let threads = Threads(), gate = Counter(), done = Counter()
        do {
            let executor = BlockingExecutor(threads: 1, idleSeconds: 3600, begin: threads.begin)
            for _ in 0..<10 {
                executor.start {
                    while gate.value == 0 { usleep(1000) }
                    return { done.add() }
                }
            }
        }
        gate.add()
        #expect(try await Self.soon { done.value == 10 && threads.ended == threads.all.count })
        for _ in 0..<1000 { BlockingExecutor(threads: 1).start { { done.add() } } }
        #expect(try await Self.soon { done.value == 1010 })
    }

    @Test func `A thread that has waited long enough does not end where it has just been chosen`() async throws {
        // Its threads end all the while: now and then as one is chosen.
        let executor = BlockingExecutor(threads: 1, idleSeconds: 0)
        let done = Counter()
        let end = ContinuousClock.now + .seconds(3)
        for number in 1...10_000 where .now < end {
            executor.start { { done.add() } }
            try #require(try await Self.soon { done.value == number }, "number \(number) was forgotten")
        }
    }

    @Test func `There are no more threads than calls there may be, and one for steps on each processor`() async throws {
        let threads = Threads(), gate = Counter()
        let executor = BlockingExecutor(threads: 2, idleSeconds: 3600, begin: threads.begin)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<5 { executor.start { Self.wait(for: gate) } }
            for _ in 0..<40 { group.addTask(executorPreference: executor) { Self.wait(for: gate)() } }
            #expect(threads.begun == 2 + ProcessorCount.available)
            gate.add()
        }
        await executor.shutDown()
        #expect(threads.begun == 2 + ProcessorCount.available)
    }

    // MARK: No threads

    @Test func `Where the system gives no thread the work is done all the same`() async throws {
        let executor = BlockingExecutor(threads: 2, begin: { _ in false })
        let sum = Counter()
        executor.start { { sum.add() } }
        #expect(sum.value == 1)
        let isOver = try await Self.ends {
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask { await Self.work(on: executor, sum) }
                }
            }
            await executor.shutDown()
            await Self.work(on: executor, sum)
        }
        #expect(isOver)
        #expect(sum.value == 1 + 5 * 200)
    }

    @Test(arguments: [1, 2, 3]) func `Where the system gives few threads they do the work`(few: Int) async throws {
        let threads = Threads(most: few)
        let executor = BlockingExecutor(threads: 4, idleSeconds: 3600, begin: threads.begin)
        let gate = Counter(), sum = Counter(), here = UInt(pthread_self())
        // More than there are threads for, so the system is asked in vain.
        for _ in 0..<10 {
            executor.start {
                while gate.value == 0 { usleep(1000) }
                #expect(UInt(pthread_self()) != here)
                return { sum.add() }
            }
        }
        #expect(threads.refused > 0)
        gate.add()
        #expect(try await Self.soon { sum.value == 10 })
        let isOver = try await Self.ends {
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask { await Self.work(on: executor, sum) }
                }
            }
            await executor.shutDown()
        }
        #expect(isOver)
        #expect(sum.value == 10 + 4 * 200)
        #expect(threads.begun == few)
    }

    @Test func `A call that may take long is not begun where no thread can be had for what waits`() async throws {
        let threads = Threads(most: 1)
        let executor = BlockingExecutor(threads: 4, idleSeconds: 3600, begin: threads.begin)
        let isDone = Counter()
        let isOver = try await Self.ends {
            await executor.carry {
                await Task.yield()
                await withTaskGroup(of: Void.self) { group in
                    group.addTask { isDone.add() }
                    // The step would wait for the thread that waits for it.
                    let isBegun: Void? = BlockingExecutor.callHere { while isDone.value == 0 { usleep(1000) } }
                    #expect(isBegun == nil)
                }
                #expect(isDone.value == 1)
                #expect(BlockingExecutor.callHere { 1 } == 1)
            }
            await executor.shutDown()
        }
        #expect(isOver)
        #expect(threads.refused > 0)
    }

    @Test func `A thread that became idle while another one was asked for in vain does its work`() async throws {
        let threads = Threads(), asked = Counter(), refusal = Counter()
        let executor = BlockingExecutor(
            threads: 2, idleSeconds: 3600,
            begin: { life in
                asked.add()
                guard asked.value > 1 else { return threads.begin(life) }
                while refusal.value == 0 { usleep(1000) }
                return false
            })
        let gate = Counter(), done = Counter()
        executor.start {
            while gate.value == 0 { usleep(1000) }
            return { done.add() }
        }
        // The only thread is busy, so another one is asked for; whoever asks waits for the answer.
        _ = DetachedThread.begin { executor.start { { done.add() } } }
        #expect(try await Self.soon { asked.value == 2 })
        gate.add()
        #expect(try await Self.soon { done.value == 2 })
        // It takes what comes until it waits: then it is for the other one, which is still asked for.
        var count = 2
        repeat {
            executor.start { { done.add() } }
            count += 1
        } while try await Self.soon(polls: 20) { done.value == count } && count < 1000
        refusal.add()
        #expect(try await Self.soon { done.value == count })
    }

    // MARK: Helpers

    @TaskLocal private static var mark = 0

    /// Steps and calls: 100 of each, and all that is added is 200.
    private static func work(on executor: BlockingExecutor, _ sum: Counter) async {
        await executor.carry {
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<100 {
                    group.addTask {
                        await Task.yield()
                        await executor.run { sum.add() }
                        sum.add()
                    }
                }
            }
        }
    }

    /// Waits on the thread that it is called on, and says nothing then.
    private static func wait(for gate: Counter) -> @Sendable () -> Void {
        while gate.value == 0 { usleep(1000) }
        return {}
    }

    /// Whether it becomes true; where it has not after so many polls of 5 milliseconds it never will.
    private static func soon(polls: Int = 2000, _ condition: () -> Bool) async throws -> Bool {
        for _ in 0..<1000 where !condition() { await Task.yield() }
        for _ in 0..<polls {
            if condition() { return true }
            try await Task.sleep(for: .milliseconds(5))
        }
        return condition()
    }

    /// Whether `body` comes to its end.
    private static func ends(_ body: @escaping @Sendable () async -> Void) async throws -> Bool {
        let isOver = Counter()
        // A task of its own: what has been forgotten never ends, and the test has to.
        Task {
            await body()
            isOver.add()
        }
        return try await Self.soon { isOver.value > 0 }
    }

    private static func threads() -> Int { (try? Directory.names(in: "/proc/self/task").count) ?? 0 }

    /// The threads of one executor.
    private final class Threads: Sendable {
        private struct State {
            var all: Set<UInt> = []
            var begun = 0
            var refused = 0
            var ended = 0
        }

        private let most: Int
        private let state = Lock(State())

        /// - Parameter most: how many the system gives.
        init(most: Int = .max) { self.most = most }

        /// Begins one.
        @Sendable func begin(_ life: @escaping @Sendable () -> Void) -> Bool {
            let isRefused = self.state.withLock { state in
                guard state.begun < self.most else {
                    state.refused += 1
                    return true
                }
                state.begun += 1
                return false
            }
            guard !isRefused else { return false }
            return DetachedThread.begin {
                self.state.withLock { _ = $0.all.insert(UInt(pthread_self())) }
                life()
                self.state.withLock { $0.ended += 1 }
            }
        }

        /// Those that have run.
        var all: Set<UInt> { self.state.withLock(\.all) }
        var begun: Int { self.state.withLock(\.begun) }
        var refused: Int { self.state.withLock(\.refused) }
        var ended: Int { self.state.withLock(\.ended) }
    }

    private actor Room {
        private(set) var count = 0
        func enter() { self.count += 1 }
    }

    private actor Visitor {
        /// The threads of a call within, and of what comes behind.
        func visit(_ executor: BlockingExecutor) async -> (inside: UInt, behind: UInt) {
            let inside = await executor.carry { await executor.run { UInt(pthread_self()) } }
            return (inside, UInt(pthread_self()))
        }
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
