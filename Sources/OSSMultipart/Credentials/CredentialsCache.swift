// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import FoundationEssentials

/// The credentials in use: loaded once, and renewed once for all that ask at the same time.
actor CredentialsCache {
    /// Credentials, and which load they came from.
    struct Versioned: Sendable {
        let credentials: OSSCredentials
        let version: Int
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
    private var current: Versioned?
    /// Those who wait for the load under way.
    private var waiting: [Int: CheckedContinuation<Versioned, any Error>] = [:]
    private var isLoading = false
    private var nextTicket = 0
    private var nextRenewal = Int64.min

    init(_ provider: OSSCredentialsProvider, now: @escaping @Sendable () -> Int64) {
        self.provider = provider
        self.now = now
    }

    /// Whether a refresh may give other credentials.
    nonisolated var canRefresh: Bool { self.provider.canRefresh }

    /// How many wait for the load under way.
    var waitingCount: Int { self.waiting.count }

    /// The credentials in use; loads them the first time, and renews them ahead of their end.
    func credentials() async throws -> Versioned {
        guard let current else { return try await self.load() }
        guard self.canRefresh, let end = current.credentials.expiration else { return current }
        let now = self.now(), expiration = Int64(end.timeIntervalSince1970 * 1000)
        guard now >= expiration - Self.lead else { return current }
        guard now < expiration else { return try await self.load() }
        guard now >= self.nextRenewal else { return current }
        self.nextRenewal = now + Self.pause
        do { return try await self.load() } catch let error as CancellationError { throw error } catch {
            // They are good for a while yet; what is wrong shows when they no longer are.
            return current
        }
    }

    /// Credentials newer than those of `version`: loaded by the first that asks, shared by all that ask meanwhile.
    func credentials(after version: Int) async throws -> Versioned {
        if let current, current.version > version { return current }
        return try await self.load()
    }

    private func load() async throws -> Versioned {
        if !self.isLoading {
            self.isLoading = true
            // A task of its own: it serves several callers, and the cancellation of one must not take it from the others.
            Task {
                let result: Result<OSSCredentials, any Error>
                do { result = .success(try await Self.ask(self.provider)) } catch { result = .failure(error) }
                self.finish(result)
            }
        }
        let ticket = self.nextTicket
        self.nextTicket += 1
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                if Task.isCancelled {
                    continuation.resume(throwing: CancellationError())
                } else {
                    self.waiting[ticket] = continuation
                }
            }
        } onCancel: {
            // Without a wait: the one who was cancelled waits for it.
            Task { await self.giveUp(ticket) }
        }
    }

    private func finish(_ result: Result<OSSCredentials, any Error>) {
        self.isLoading = false
        let version = (self.current?.version ?? 0) + 1
        // A failure is told to all who waited and then forgotten: the next to ask tries again.
        let loaded = result.map { Versioned(credentials: $0, version: version) }
        if case .success(let versioned) = loaded { self.current = versioned }
        let waiting = self.waiting
        self.waiting = [:]
        for continuation in waiting.values { continuation.resume(with: loaded) }
    }

    private func giveUp(_ ticket: Int) {
        self.waiting.removeValue(forKey: ticket)?.resume(throwing: CancellationError())
    }

    private static func ask(_ provider: OSSCredentialsProvider) async throws -> OSSCredentials {
        do { return try await provider.load() } catch let error as OSSError { throw error } catch {
            throw OSSError(
                .missingCredentials, "the credentials could not be loaded; see the error beneath", underlying: error
            )
        }
    }
}
