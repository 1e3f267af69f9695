// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

/// The credentials in use, loaded once and refreshed once for all that ask at the same time.
actor CredentialsCache {
    /// Credentials, and which load they came from.
    struct Versioned: Sendable {
        let credentials: OSSCredentials
        let version: Int
    }

    private let provider: OSSCredentialsProvider
    private var current: Versioned?
    private var loading: Task<Versioned, any Error>?

    init(_ provider: OSSCredentialsProvider) { self.provider = provider }

    /// Whether a refresh may give other credentials.
    nonisolated var canRefresh: Bool { self.provider.canRefresh }

    /// The credentials in use; loads them the first time.
    func credentials() async throws -> Versioned {
        if let current { return current }
        return try await self.load(after: 0)
    }

    /// Credentials newer than those of `version`: loaded by the first that asks, shared by all that ask meanwhile.
    func credentials(after version: Int) async throws -> Versioned {
        if let current, current.version > version { return current }
        return try await self.load(after: version)
    }

    private func load(after version: Int) async throws -> Versioned {
        let task: Task<Versioned, any Error>
        if let loading {
            task = loading
        } else {
            let provider = self.provider
            // A task of its own: it serves several callers, and the cancellation of one must not take it from the others.
            task = Task { Versioned(credentials: try await Self.ask(provider), version: version + 1) }
            self.loading = task
        }
        do {
            let loaded = try await task.value
            if self.loading == task { (self.loading, self.current) = (nil, loaded) }
            return loaded
        } catch {
            // A failure is told to all who waited and then forgotten: the next to ask tries again.
            if self.loading == task { self.loading = nil }
            throw error
        }
    }

    private static func ask(_ provider: OSSCredentialsProvider) async throws -> OSSCredentials {
        do { return try await provider.load() } catch let error as OSSError { throw error } catch {
            throw OSSError(
                .missingCredentials, "the credentials could not be loaded; see the error beneath", underlying: error
            )
        }
    }
}
