// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import CurlTransport
internal import SystemIO

/// How far an upload is.
public struct OSSUploadSnapshot: Sendable, Hashable {
    /// Bytes of the source; 0 until it has been opened; of a stream of unknown length those that were read so far.
    public internal(set) var bytesTotal: Int64 = 0
    /// Whether `bytesTotal` and `partsTotal` are final: false for a stream of unknown length until it has ended.
    public internal(set) var isSizeKnown = true
    /// Bytes that are stored or handed to the network; `bytesTotal` only when every part is stored.
    ///
    /// It never falls, except where the source is another one after a pause.
    public internal(set) var bytesDone: Int64 = 0
    /// Bytes that an earlier run had stored.
    public internal(set) var bytesResumed: Int64 = 0
    /// Parts of the plan; 0 until there is one.
    public internal(set) var partsTotal = 0
    /// Parts that are stored.
    public internal(set) var partsDone = 0
    /// Parts that an earlier run had stored.
    public internal(set) var partsResumed = 0
    /// Parts that are on their way.
    public internal(set) var partsInFlight = 0
    /// Bytes a second since the first byte of this run; nil before there is one.
    public internal(set) var bytesPerSecond: Double?
    /// Time left at that rate; nil where there is none yet.
    public internal(set) var timeRemaining: Duration?
    /// Whether the upload is paused.
    public internal(set) var isPaused = false
    /// Whether the upload has ended, well or not.
    public internal(set) var hasEnded = false

    /// How much is done, 0 to 1; an empty source is done when its upload has ended, a stream of unknown length not before it
    /// has been read.
    public var fractionCompleted: Double {
        guard self.isSizeKnown, self.bytesTotal > 0 else { return self.hasEnded ? 1 : 0 }
        return Double(self.bytesDone) / Double(self.bytesTotal)
    }
}

/// Something that happened to an upload.
public struct OSSUploadEvent: Sendable, Hashable {
    /// The kinds of events.
    public struct Kind: Sendable, Hashable, CustomStringConvertible {
        private enum Name: String {
            case snapshot, resumed, partBegan, partStored, partFailed, completing, paused, warning, notice
        }
        private let name: Name

        /// How things stand: the first event of every reader.
        public static let snapshot = Kind(name: .snapshot)
        /// Parts of an earlier run count.
        public static let resumed = Kind(name: .resumed)
        /// A part is on its way.
        public static let partBegan = Kind(name: .partBegan)
        /// A part is stored.
        public static let partStored = Kind(name: .partStored)
        /// A part has failed for good, or was stopped.
        public static let partFailed = Kind(name: .partFailed)
        /// The upload was paused: no part is on its way any more.
        public static let paused = Kind(name: .paused)
        /// All parts are stored; they are being joined.
        public static let completing = Kind(name: .completing)
        /// Something that the user should know; see ``OSSUploadEvent/message``.
        public static let warning = Kind(name: .warning)

        /// Something worth knowing that needs no action; see ``OSSUploadEvent/message``.
        public static let notice = Kind(name: .notice)

        /// The name, for example `partStored`.
        public var description: String { self.name.rawValue }
    }

    /// What happened.
    public let kind: Kind
    /// The part it happened to.
    public let partNumber: Int?
    /// What to tell the user.
    public let message: String?
    /// How far the upload is.
    public let snapshot: OSSUploadSnapshot
}

/// Where a part of an upload is.
public struct OSSPartState: Sendable, Hashable, CustomStringConvertible {
    private enum State: String { case pending, inFlight, stored, failed }
    private let state: State

    /// It has not been sent yet, or was stopped on its way.
    public static let pending = OSSPartState(state: .pending)
    /// It is on its way.
    public static let inFlight = OSSPartState(state: .inFlight)
    /// The service has it.
    public static let stored = OSSPartState(state: .stored)
    /// It has failed for good; the upload ends.
    public static let failed = OSSPartState(state: .failed)

    /// The name: `pending`, `inFlight`, `stored` or `failed`.
    public var description: String { self.state.rawValue }
}

/// Keeps count of an upload for those who watch it.
///
/// Every method may be called from any thread.
final class UploadProgress: Sendable {
    private struct State {
        var snapshot = OSSUploadSnapshot()
        var bytesStored: Int64 = 0
        /// By number less one.
        var parts: [OSSPartState] = []
        var inFlight: [Int: TransferProgress] = [:]
        var start: ContinuousClock.Instant?
        var warnings: [String] = []
        var readers = EventReaders<OSSUploadEvent, OSSUploadEvent.Kind>()
    }

    /// Events kept for a reader that is slow; older ones are dropped, and every event carries a whole snapshot.
    private static let bufferedEvents = 256
    private let state = Lock(State())

    /// What was said to the user so far.
    var warnings: [String] { self.state.withLock(\.warnings) }

    /// Bytes of parts that are stored.
    var bytesStored: Int64 { self.state.withLock(\.bytesStored) }

    /// Where each part is, by number less one; empty until there is a plan.
    var partStates: [OSSPartState] { self.state.withLock(\.parts) }

    /// How far the upload is.
    var snapshot: OSSUploadSnapshot { self.state.withLock { Self.refresh(&$0) } }

    /// A stream of events for one reader, a snapshot and the warnings so far first; it ends with the upload.
    ///
    /// - Parameter kinds: what it hears of beside the snapshot; nil is everything.
    func events(of kinds: Set<OSSUploadEvent.Kind>? = nil) -> AsyncStream<OSSUploadEvent> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: OSSUploadEvent.self, bufferingPolicy: .bufferingNewest(Self.bufferedEvents)
        )
        let number: Int? = self.state.withLock { state in
            let snapshot = Self.refresh(&state)
            continuation.yield(OSSUploadEvent(kind: .snapshot, partNumber: nil, message: nil, snapshot: snapshot))
            // A reader that comes late has not missed what the user should know.
            for warning in state.warnings where kinds?.contains(.warning) ?? true {
                continuation.yield(
                    OSSUploadEvent(kind: .warning, partNumber: nil, message: warning, snapshot: snapshot))
            }
            guard !snapshot.hasEnded else { return nil }
            return state.readers.add(continuation, kinds: kinds)
        }
        if let number {
            // The circle of references ends with the reader or with the upload, whichever comes first: `end` lets go of all.
            continuation.onTermination = { _ in self.state.withLock { $0.readers.remove(number) } }
        } else {
            continuation.finish()
        }
        return stream
    }

    func begin(bytesTotal: Int64, partsTotal: Int) {
        self.state.withLock {
            // Another size is another source: what was counted is not its.
            if $0.snapshot.bytesTotal != bytesTotal { $0.snapshot.bytesDone = 0 }
            $0.snapshot.bytesTotal = bytesTotal
            $0.snapshot.partsTotal = partsTotal
            $0.snapshot.isSizeKnown = true
            $0.parts = Array(repeating: .pending, count: partsTotal)
        }
    }

    /// A stream of unknown length is begun: it grows with each part that is read.
    func beginOpenEnded() {
        self.begin(bytesTotal: 0, partsTotal: 0)
        self.state.withLock { $0.snapshot.isSizeKnown = false }
    }

    /// A part of a stream of unknown length has been read; nothing changes where it was known already.
    func partRead(_ number: Int, bytes: Int64) {
        self.state.withLock {
            guard !$0.snapshot.isSizeKnown, number > $0.parts.count else { return }
            $0.parts.append(.pending)
            $0.snapshot.partsTotal = number
            $0.snapshot.bytesTotal += bytes
        }
    }

    /// A stream has ended: what was read is all.
    func streamEnded() { self.state.withLock { $0.snapshot.isSizeKnown = true } }

    /// A part of an earlier run turned out to be the source's while it was read.
    func partKept(_ number: Int, bytes: Int64) {
        self.state.withLock {
            $0.bytesStored += bytes
            $0.snapshot.bytesResumed += bytes
            $0.snapshot.partsResumed += 1
            $0.snapshot.partsDone += 1
            $0.parts[number - 1] = .stored
        }
        self.tell(.resumed, part: number)
    }

    func resumed(parts: some Sequence<Int>, bytes: Int64) {
        let count = self.state.withLock { state in
            var count = 0
            for number in parts {
                state.parts[number - 1] = .stored
                count += 1
            }
            state.bytesStored = bytes
            state.snapshot.bytesResumed = bytes
            state.snapshot.partsResumed = count
            state.snapshot.partsDone = count
            return count
        }
        if count > 0 { self.tell(.resumed) }
    }

    func paused() {
        self.state.withLock { $0.snapshot.isPaused = true }
        self.tell(.paused)
    }

    /// It goes on after a pause.
    func goesOn() { self.state.withLock { $0.snapshot.isPaused = false } }

    /// A part is about to be sent; the counter says how much of it was handed to the network.
    func partBegan(_ number: Int) -> TransferProgress {
        let progress = TransferProgress()
        self.state.withLock {
            if $0.start == nil { $0.start = .now }
            $0.inFlight[number] = progress
            $0.parts[number - 1] = .inFlight
        }
        self.tell(.partBegan, part: number)
        return progress
    }

    func partStored(_ number: Int, bytes: Int64) {
        self.state.withLock {
            $0.inFlight[number] = nil
            $0.bytesStored += bytes
            $0.snapshot.partsDone += 1
            $0.parts[number - 1] = .stored
        }
        self.tell(.partStored, part: number)
    }

    /// A part has failed for good, or was stopped because another one had.
    func partFailed(_ number: Int, wasStopped: Bool) {
        self.state.withLock {
            $0.inFlight[number] = nil
            $0.parts[number - 1] = wasStopped ? .pending : .failed
        }
        self.tell(.partFailed, part: number)
    }

    /// Parts that counted as stored are not there any more.
    func partsLost(_ numbers: some Collection<Int>, bytes: Int64) {
        self.state.withLock {
            $0.bytesStored -= bytes
            $0.snapshot.partsDone -= numbers.count
            for number in numbers { $0.parts[number - 1] = .pending }
        }
    }

    func completing() { self.tell(.completing) }

    /// Tells the user something that needs no action.
    func note(_ message: String) { self.tell(.notice, message: message) }

    /// Tells the user something, once.
    func warn(_ message: String) {
        let isNew = self.state.withLock { state in
            guard !state.warnings.contains(message) else { return false }
            state.warnings.append(message)
            return true
        }
        if isNew { self.tell(.warning, message: message) }
    }

    func end() {
        let readers = self.state.withLock { state in
            state.snapshot.hasEnded = true
            state.inFlight = [:]
            return state.readers.takeAll()
        }
        for reader in readers { reader.finish() }
    }

    private func tell(_ kind: OSSUploadEvent.Kind, part: Int? = nil, message: String? = nil) {
        // Within the lock, so that events come in the order of their snapshots; a stream takes them without waiting.
        self.state.withLock { state in
            // A small part takes hardly longer to send than to tell of: where nobody listens nothing is told.
            guard state.readers.want(kind) else { return }
            let snapshot = Self.refresh(&state)
            let event = OSSUploadEvent(kind: kind, partNumber: part, message: message, snapshot: snapshot)
            state.readers.tell(event, of: kind)
        }
    }

    private static func refresh(_ state: inout State) -> OSSUploadSnapshot {
        let moving = state.inFlight.values.reduce(0) { $0 + $1.bytesSent }
        // Bytes on their way are not stored yet: the last one is kept back until every part is.
        let isStored = state.snapshot.partsDone >= state.snapshot.partsTotal
        let most = isStored ? state.snapshot.bytesTotal : max(0, state.snapshot.bytesTotal - 1)
        let done = min(most, state.bytesStored + moving)
        // An attempt that is made again counts from 0; the bar waits until it has caught up.
        state.snapshot.bytesDone = max(state.snapshot.bytesDone, done)
        state.snapshot.partsInFlight = state.inFlight.count
        if let start = state.start {
            let seconds = start.duration(to: .now) / .seconds(1)
            let sent = state.snapshot.bytesDone - state.snapshot.bytesResumed
            if seconds > 0, sent > 0 {
                let rate = Double(sent) / seconds
                state.snapshot.bytesPerSecond = rate
                state.snapshot.timeRemaining =
                    !state.snapshot.isSizeKnown
                    ? nil
                    : .seconds(
                        Double(state.snapshot.bytesTotal - state.snapshot.bytesDone) / rate
                    )
            }
        }
        return state.snapshot
    }
}
