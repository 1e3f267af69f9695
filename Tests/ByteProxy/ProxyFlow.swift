// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

/// The bytes of one direction of a connection, on their way through a proxy.
struct ProxyFlow {
    /// Read, and not yet looked at: what is sought may begin in its last bytes.
    var unseen: [UInt8] = []
    /// When bytes came last.
    var lastTaken = ContinuousClock.now
    /// To be sent.
    var pending: [UInt8] = []
    /// Kept until the filling bytes of a pause have been sent.
    var kept: [UInt8] = []
    /// How many bytes have gone into `pending`.
    var passed = 0
    /// Whether whoever sends has told that nothing more comes.
    var isAtEnd = false
    /// Whether whoever gets the bytes has been told so.
    var endWasTold = false
    /// How many bytes may pass in all; nil: all.
    var limit: Int?
    /// Behind which bytes nothing passes.
    var limitMark: [UInt8]?
    /// What happens when nothing more may pass; nil: nothing.
    var end: ByteProxy.End?
    /// Whether nothing more may pass: what comes is dropped.
    var isCut = false
    /// Which byte is changed, counted as `passed` is.
    var flip: Int?
    var pace: ByteProxy.Pace?
    /// Before when nothing is sent.
    var rest: ContinuousClock.Instant?
    var pause: Pause?

    /// A pause in the midst of a reply.
    struct Pause {
        let mark: [UInt8]
        let filling: UInt8
        var times: Int
        let pause: Duration
        /// When the next filling byte goes; nil: the mark has not been seen.
        var next: ContinuousClock.Instant?
    }

    /// Whether there is room to read more into.
    var takesMore: Bool { !self.isAtEnd && self.pending.count + self.kept.count < 65_536 }

    /// Whether something could be sent now.
    func isReady(at now: ContinuousClock.Instant) -> Bool {
        !self.pending.isEmpty && self.rest.map { $0 <= now } ?? true
    }

    /// When what was held back is let go, for the bytes that would have followed do not come.
    var quietMoment: ContinuousClock.Instant? { self.unseen.isEmpty ? nil : self.lastTaken + .milliseconds(20) }

    func isQuiet(at now: ContinuousClock.Instant) -> Bool { self.quietMoment.map { $0 <= now } ?? true }

    /// Lets bytes pass, as far as they may.
    mutating func release(_ bytes: [UInt8]) {
        guard !self.isCut, !bytes.isEmpty else { return }
        if self.pause?.next != nil {
            self.kept += bytes
            return
        }
        var bytes = bytes
        if let pause = self.pause, let start = ProxySocket.firstIndex(of: pause.mark, in: bytes, from: 0) {
            self.kept = Array(bytes[(start + pause.mark.count)...])
            bytes.removeLast(bytes.count - start - pause.mark.count)
            self.pause?.next = .now + pause.pause
        }
        if let mark = self.limitMark, let start = ProxySocket.firstIndex(of: mark, in: bytes, from: 0) {
            self.limit = self.passed + start + mark.count
            self.limitMark = nil
        }
        if let flip = self.flip, (self.passed..<self.passed + bytes.count).contains(flip) {
            bytes[flip - self.passed] ^= 1
            self.flip = nil
        }
        if let limit = self.limit, self.passed + bytes.count >= limit {
            bytes.removeLast(self.passed + bytes.count - limit)
            self.isCut = true
        }
        self.passed += bytes.count
        self.pending += bytes
    }

    /// Sends the filling bytes whose time has come, and in the end what was kept.
    mutating func fill(at now: ContinuousClock.Instant) {
        while let pause = self.pause, let next = pause.next, next <= now {
            if pause.times > 0 {
                self.pending.append(pause.filling)
                self.pause?.times -= 1
                self.pause?.next = next + pause.pause
            } else {
                self.pause = nil
                let kept = self.kept
                self.kept = []
                self.release(kept)
            }
        }
    }

    /// How many bytes at the end of `unseen` could be the beginning of one of these.
    func heldBack(for targets: [[UInt8]]) -> Int {
        var most = 0
        for target in targets {
            var length = min(target.count - 1, self.unseen.count)
            while length > most {
                if self.unseen[(self.unseen.count - length)...].elementsEqual(target[..<length]) { most = length }
                length -= 1
            }
        }
        return most
    }
}
