// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import SystemIO

/// How fast all requests of a transport together send their bodies; it may be changed while they do.
package final class UploadRateLimit: Sendable {
    private struct State {
        var bytesPerSecond: Int64?
        /// Bytes that may go at once.
        var credit = 0.0
        var filled = ContinuousClock.now
    }
    private let state: Lock<State>

    /// How long the limit may be idle and then catch up.
    ///
    /// *Source:* our own choice: longer than the loop may be late, shorter than a user notices.
    /// *Applies to:* bodies of requests.
    private static let burst = 0.25

    /// Makes a limit; nil is none.
    package init(bytesPerSecond: Int64? = nil) {
        self.state = Lock(State(bytesPerSecond: bytesPerSecond.map { max(1, $0) }))
    }

    /// Bytes of bodies in a second; nil is as many as there can be.
    package var bytesPerSecond: Int64? {
        get { self.state.withLock { $0.bytesPerSecond } }
        set {
            self.state.withLock { state in
                state.bytesPerSecond = newValue.map { max(1, $0) }
                state.credit = 0
                state.filled = .now
            }
        }
    }

    /// What becomes of a wish to send.
    enum Grant: Equatable {
        /// So many bytes may go now.
        case bytes(Int)
        /// None may go before that.
        case wait(until: ContinuousClock.Instant)
    }

    /// Takes up to `count` bytes from what may go now.
    func take(_ count: Int, at now: ContinuousClock.Instant = .now) -> Grant {
        self.state.withLock { state in
            guard let rate = state.bytesPerSecond.map(Double.init) else { return .bytes(count) }
            let elapsed = max(0, (now - state.filled) / .seconds(1))
            state.credit = min(state.credit + elapsed * rate, max(1, rate * Self.burst))
            state.filled = now
            // Not byte by byte: a hundredth of a second's worth at least, where there is so much.
            let least = min(Double(count), max(1, (rate / 100).rounded(.down)))
            guard state.credit >= least else {
                // A limit that is raised meanwhile is seen soon.
                let seconds = min((least - state.credit) / rate, 0.2)
                return .wait(until: now + .seconds(max(seconds, 0.001)))
            }
            let granted = min(Double(count), state.credit.rounded(.down))
            state.credit -= granted
            return .bytes(Int(granted))
        }
    }

    /// Gives back bytes that did not go.
    func giveBack(_ count: Int) {
        self.state.withLock { if $0.bytesPerSecond != nil { $0.credit += Double(count) } }
    }
}
