// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

/// How many parts are in flight, by what the network gives: a pure value, without clocks or I/O.
///
/// Time is cut into rounds, each as many stored parts as there were in flight. A round that carried more bytes a second than
/// the one before is followed by a larger window: twice as large until that gains nothing for the first time, then by one. One
/// that gained nothing takes the growth back, and after some rounds it is tried again, for networks change. A sign that the
/// service or the network is overloaded halves the window, once for all signs of one round.
struct AdaptiveWindow: Sendable {
    /// Where it begins, in parts.
    ///
    /// *Source:* our own choice: a broken line loses little by it, and a fast one with a high latency needs two doublings.
    /// *Applies to:* uploads without a fixed number.
    static let initialSize = 4
    /// How much faster a round must be for its window to be worth its memory and connections.
    ///
    /// *Source:* our own choice. *Applies to:* growth.
    static let worthwhileGain = 1.05
    /// After how many rounds without growth it is tried again.
    ///
    /// *Source:* our own choice. *Applies to:* growth that gained nothing.
    static let roundsBeforeProbe = 8

    /// Most parts in flight at present, from 1 to ``maximum``.
    private(set) var size: Int
    /// Most parts in flight ever.
    let maximum: Int

    private var doubles = true
    /// The window and the bytes a second before the last growth; nil where the last step was none.
    private var beforeGrowth: (size: Int, rate: Double)?
    private var quietRounds = 0
    // The round under way.
    private var start: Duration
    private var parts = 0
    private var bytes: Int64 = 0
    private var isOverloaded = false

    /// Begins at a moment.
    init(maximum: Int, at start: Duration) {
        self.maximum = max(1, maximum)
        self.size = min(Self.initialSize, self.maximum)
        self.start = start
    }

    /// A part has been stored.
    ///
    /// - Parameters:
    ///   - bytes: the part's size.
    ///   - now: the moment, on the same clock as that of `init`.
    ///   - isOverloaded: whether the service asked for less, or did not answer in time, since the last part.
    mutating func stored(bytes: Int64, at now: Duration, isOverloaded: Bool) {
        self.parts += 1
        self.bytes += bytes
        if isOverloaded, !self.isOverloaded {
            self.isOverloaded = true
            self.shrink()
        }
        guard self.parts >= self.size else { return }
        let seconds = max((now - self.start) / .seconds(1), 1e-6)
        if !self.isOverloaded { self.judge(rate: Double(self.bytes) / seconds) }
        (self.start, self.parts, self.bytes, self.isOverloaded) = (now, 0, 0, false)
    }

    private mutating func shrink() {
        self.size = max(1, self.size / 2)
        self.doubles = false
        self.beforeGrowth = nil
        self.quietRounds = 0
        self.parts = 0
    }

    /// A round is over: grows, or takes the last growth back.
    private mutating func judge(rate: Double) {
        if let before = self.beforeGrowth {
            self.beforeGrowth = nil
            guard rate >= before.rate * Self.worthwhileGain else {
                self.size = before.size
                self.doubles = false
                self.quietRounds = 0
                return
            }
        } else if !self.doubles {
            self.quietRounds += 1
            guard self.quietRounds >= Self.roundsBeforeProbe else { return }
        }
        guard self.size < self.maximum else { return }
        self.beforeGrowth = (self.size, rate)
        self.quietRounds = 0
        self.size = min(self.maximum, self.doubles ? self.size * 2 : self.size + 1)
    }
}
