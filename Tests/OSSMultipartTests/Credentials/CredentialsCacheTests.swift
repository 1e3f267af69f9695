// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import FoundationEssentials
import Synchronization
import Testing

@testable import OSSMultipart

/// A provider that is told what to give, and counts how often it was asked.
private final class Source: Sendable {
    struct Refusal: Error {}
    private let state = Mutex<(loads: Int, lifetime: Double?, fails: Bool)>((0, nil, false))
    private let clock: TestClock

    init(_ clock: TestClock) { self.clock = clock }

    var loads: Int { self.state.withLock { $0.loads } }

    func set(lifetime: Double? = nil, fails: Bool = false) {
        self.state.withLock { ($0.lifetime, $0.fails) = (lifetime, fails) }
    }

    func load() throws -> OSSCredentials {
        let (count, lifetime, fails) = self.state.withLock { state in
            state.loads += 1
            return state
        }
        if fails { throw Refusal() }
        return try OSSCredentials(
            accessKeyID: "ak\(count)", accessKeySecret: "s", securityToken: "t",
            expiration: lifetime.map { Date(timeIntervalSince1970: Double(self.clock.now) / 1000 + $0) }
        )
    }

    var provider: OSSCredentialsProvider { .refreshing { try self.load() } }
}

private final class TestClock: Sendable {
    private let milliseconds = Mutex<Int64>(1_700_000_000_000)
    var now: Int64 { self.milliseconds.withLock { $0 } }
    func advance(seconds: Int64) { self.milliseconds.withLock { $0 += seconds * 1000 } }
}

@Suite(.timeLimit(.minutes(5))) struct CredentialsCacheTests {
    private func made() -> (TestClock, Source, CredentialsCache) {
        let clock = TestClock(), source = Source(clock)
        return (clock, source, CredentialsCache(source.provider, now: { clock.now }))
    }

    private func keyID(_ cache: CredentialsCache) async throws -> String {
        try await cache.credentials().credentials.accessKeyID
    }

    @Test func `Credentials are renewed five minutes before they end, and not before`() async throws {
        let (clock, source, cache) = self.made()
        source.set(lifetime: 3600)
        var id = try await self.keyID(cache)
        #expect(id == "ak1")
        clock.advance(seconds: 3299)
        id = try await self.keyID(cache)
        #expect(id == "ak1")
        clock.advance(seconds: 1)
        id = try await self.keyID(cache)
        #expect(id == "ak2")
        id = try await self.keyID(cache)
        #expect(id == "ak2")
        #expect(source.loads == 2)
    }

    @Test func `A renewal that fails leaves good credentials in use, and is tried again`() async throws {
        let (clock, source, cache) = self.made()
        source.set(lifetime: 3600)
        _ = try await self.keyID(cache)
        clock.advance(seconds: 3400)
        source.set(lifetime: 3600, fails: true)
        for _ in 1...3 {
            let id = try await self.keyID(cache)
            #expect(id == "ak1")
        }
        // The second and third did not ask again so soon.
        #expect(source.loads == 2)
        clock.advance(seconds: 30)
        var id = try await self.keyID(cache)
        #expect(id == "ak1")
        #expect(source.loads == 3)
        source.set(lifetime: 3600)
        clock.advance(seconds: 30)
        id = try await self.keyID(cache)
        #expect(id == "ak4")
    }

    @Test func `Credentials that have ended are not used, and a failure is not kept`() async throws {
        let (clock, source, cache) = self.made()
        source.set(lifetime: 3600)
        _ = try await self.keyID(cache)
        clock.advance(seconds: 3600)
        source.set(fails: true)
        for _ in 1...2 {
            let error = try await failure { _ = try await self.keyID(cache) }
            #expect(error.code == .missingCredentials)
            #expect(error.underlying is Source.Refusal)
        }
        #expect(source.loads == 3)
        source.set(lifetime: 3600)
        let id = try await self.keyID(cache)
        #expect(id == "ak4")
    }

    @Test func `A hundred who ask at once are served by one load, and one who is cancelled by none`() async throws {
        let gate = Gate(), loads = Mutex(0)
        let provider = OSSCredentialsProvider.refreshing {
            loads.withLock { $0 += 1 }
            await gate.wait()
            return try OSSCredentials(accessKeyID: "ak", accessKeySecret: "s")
        }
        let cache = CredentialsCache(provider, now: { 0 })
        try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 1...100 { group.addTask { try await cache.credentials().credentials.accessKeyID } }
            while cache.waitingCount < 100 { try await Task.sleep(for: .milliseconds(2)) }
            let cancelled = Task { try await cache.credentials().credentials.accessKeyID }
            while cache.waitingCount < 101 { try await Task.sleep(for: .milliseconds(2)) }
            cancelled.cancel()
            // It ends though the load has not.
            await #expect(throws: CancellationError.self) { try await cancelled.value }
            let late = Task {
                unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
                return try await cache.credentials().credentials.accessKeyID
            }
            await #expect(throws: CancellationError.self) { try await late.value }
            gate.open()
            for try await id in group { #expect(id == "ak") }
        }
        #expect(loads.withLock { $0 } == 1)
    }

    @Test func `Newer credentials are asked for once for all whose own were refused`() async throws {
        let (_, source, cache) = self.made()
        let first = try await cache.credentials()
        let renewed = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 1...20 { group.addTask { try await cache.credentials(after: first.version).version } }
            return try await group.reduce(into: Set<Int>()) { $0.insert($1) }
        }
        #expect(renewed == [first.version + 1])
        #expect(source.loads == 2)
    }

    @Test func `One whose own were refused just before others have come takes those`() async throws {
        let (_, source, cache) = self.made()
        var version = try await cache.credentials().version
        // Now and then one asks in the moment in which what another one has asked for comes.
        for _ in 1...50_000 {
            let refused = version
            async let one = cache.credentials(after: refused).version
            async let other = cache.credentials(after: refused).version
            (version, _) = try await (one, other)
        }
        #expect(version == 50_001)
        #expect(source.loads == 50_001)
    }
}

/// Something that opens once.
private final class Gate: Sendable {
    private let state = Mutex<(isOpen: Bool, waiting: [CheckedContinuation<Void, Never>])>((false, []))

    func wait() async {
        await withCheckedContinuation { continuation in
            let isOpen = self.state.withLock { state in
                if !state.isOpen { state.waiting.append(continuation) }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
    }

    func open() {
        let waiting = self.state.withLock { state in
            defer { state = (true, []) }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }
}
