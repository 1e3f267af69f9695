// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import FoundationEssentials
internal import SystemIO

/// The credentials in use: loaded once, and renewed once for all that ask at the same time.
final class CredentialsCache: Sendable {
    /// Credentials, and which load they came from.
    struct Versioned: Sendable {
        let credentials: OSSCredentials
        let version: Int
    }

    private typealias Waiter = CheckedContinuation<Versioned, any Error>

    private struct State {
        var current: Versioned?
        /// Those who wait for the load under way.
        var waiting: [Int: Waiter] = [:]
        var isLoading = false
        var nextTicket = 0
        var nextRenewal = Int64.min
    }

    /// How long before their end credentials are renewed.
    ///
    /// *Source:* our own choice: longer than a request and its retries, shorter than the life of any token.
    /// *Applies to:* credentials with an expiration.
    private static let lead: Int64 = 5 * 60 * 1000
    /// How long a renewal that failed, or gave nothing better, is not tried again while the credentials are still good.
    ///
    /// *Source:* our own choice. *Applies to:* renewals ahead of the end.
    private static let pause: Int64 = 30 * 1000

    private let provider: OSSCredentialsProvider
    /// Milliseconds since 1970.
    private let now: @Sendable () -> Int64
    private let state = Lock(State())

    init(_ provider: OSSCredentialsProvider, now: @escaping @Sendable () -> Int64) {
        self.provider = provider
        self.now = now
    }

    /// Whether a refresh may give other credentials.
    var canRefresh: Bool { self.provider.canRefresh }

    /// How many wait for the load under way.
    var waitingCount: Int { self.state.withLock(\.waiting.count) }

    /// The credentials in use; loads them the first time, and renews them ahead of their end.
    func credentials() async throws -> Versioned {
        guard let current = self.state.withLock(\.current) else { return try await self.credentials(after: 0) }
        guard self.canRefresh, let end = current.credentials.expiration else { return current }
        let now = self.now(), expiration = Int64(end.timeIntervalSince1970 * 1000)
        guard now >= expiration - Self.lead else { return current }
        guard now < expiration else { return try await self.credentials(after: current.version) }
        let renews = self.state.withLock { state in
            guard now >= state.nextRenewal else { return false }
            state.nextRenewal = now + Self.pause
            return true
        }
        guard renews else { return current }
        do { return try await self.credentials(after: current.version) } catch let error as CancellationError {
            throw error
        } catch {
            // They are good for a while yet; what is wrong shows when they no longer are.
            return current
        }
    }

    /// Credentials newer than those of `version`: loaded by the first that asks, shared by all that ask meanwhile.
    ///
    /// - Parameter version: 0 for any.
    func credentials(after version: Int) async throws -> Versioned {
        let ticket = self.state.withLock { state in
            defer { state.nextTicket += 1 }
            return state.nextTicket
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (waiter: Waiter) in
                enum Next { case begin, wait, giveUp, take(Versioned) }
                let next: Next = self.state.withLock { state in
                    // Looked at where the load is joined: one that has just ended is not begun again.
                    if let current = state.current, current.version > version { return .take(current) }
                    guard !Task.isCancelled else { return .giveUp }
                    state.waiting[ticket] = waiter
                    defer { state.isLoading = true }
                    return state.isLoading ? .wait : .begin
                }
                switch next {
                case .begin: self.beginLoad()
                case .wait: break
                case .take(let current): waiter.resume(returning: current)
                case .giveUp: waiter.resume(throwing: CancellationError())
                }
            }
        } onCancel: {
            self.state.withLock { $0.waiting.removeValue(forKey: ticket) }?.resume(throwing: CancellationError())
        }
    }

    /// Asks the provider.
    private func beginLoad() {
        // A task of its own: it serves several callers, and the cancellation of one must not take it from the others.
        Task {
            let result: Result<OSSCredentials, any Error>
            do { result = .success(try await Self.ask(self.provider)) } catch { result = .failure(error) }
            self.finish(result)
        }
    }

    private func finish(_ result: Result<OSSCredentials, any Error>) {
        let (waiting, loaded) = self.state.withLock { state in
            state.isLoading = false
            let version = (state.current?.version ?? 0) + 1
            // A failure is told to all who waited and then forgotten: the next to ask tries again.
            let loaded = result.map { Versioned(credentials: $0, version: version) }
            if case .success(let versioned) = loaded { state.current = versioned }
            defer { state.waiting = [:] }
            return (state.waiting.values, loaded)
        }
        for waiter in waiting { waiter.resume(with: loaded) }
    }

    private static func ask(_ provider: OSSCredentialsProvider) async throws -> OSSCredentials {
        do { return try await provider.load() } catch let error as OSSError { throw error } catch {
            throw OSSError(
                .missingCredentials, "the credentials could not be loaded; see the error beneath", underlying: error
            )
        }
    }
}
