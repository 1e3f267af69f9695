// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

public import FoundationEssentials
internal import SystemIO

/// What a client takes from the world around it, so that tests can give it another: clock, wait and random source.
public struct OSSSurroundings: Sendable {
    /// Milliseconds since 1970.
    package var now: @Sendable () -> Int64
    /// Waits; throws `CancellationError` where the task is cancelled meanwhile.
    package var wait: @Sendable (Duration) async throws -> Void
    /// A number from 0 up to and without 1.
    package var random: @Sendable () -> Double
    /// Whether these are functions of the caller's, which may take as long as they like.
    package private(set) var areForeign = false

    package init(
        now: @escaping @Sendable () -> Int64, wait: @escaping @Sendable (Duration) async throws -> Void,
        random: @escaping @Sendable () -> Double
    ) {
        self.now = now
        self.wait = wait
        self.random = random
    }

    /// Makes surroundings of functions of yours.
    ///
    /// - Parameters:
    ///   - clock: tells the time; signatures and refreshes of credentials go by it.
    ///   - wait: waits between attempts; throws `CancellationError` where the task is cancelled meanwhile.
    ///   - random: gives a number from 0 up to and without 1; waits are drawn with it.
    public init(
        clock: @escaping @Sendable () -> Date, wait: @escaping @Sendable (Duration) async throws -> Void,
        random: @escaping @Sendable () -> Double
    ) {
        self.init(now: { Int64((clock().timeIntervalSince1970 * 1000).rounded(.down)) }, wait: wait, random: random)
        self.areForeign = true
    }

    /// The machine's clock and random source.
    public static let live = OSSSurroundings(
        now: { WallClock.milliseconds }, wait: { try await Task.sleep(for: $0) }, random: { .random(in: 0..<1) }
    )
}

package typealias Surroundings = OSSSurroundings
