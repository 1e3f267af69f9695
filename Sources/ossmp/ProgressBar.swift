// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import Glibc
import OSSMultipart

/// Shows how far a transfer is: a bar on a terminal, elsewhere a line whenever another tenth is done.
struct ProgressBar {
    /// What the bar shows, of one transfer or of many.
    struct State {
        var bytesDone: Int64
        var bytesTotal: Int64
        /// 0 to 1; nil where the end is not known.
        var fraction: Double?
        /// Whole percents, rounded down, so that 100 is the end; nil where the end is not known.
        var percent: Int?
        var bytesPerSecond: Double?
        var timeRemaining: Duration?
        /// What counts beside the bytes.
        var label = ""

        init(_ snapshot: OSSUploadSnapshot) {
            self.bytesDone = snapshot.bytesDone
            self.bytesTotal = snapshot.bytesTotal
            self.fraction = snapshot.isSizeKnown ? snapshot.fractionCompleted : nil
            self.percent = snapshot.isSizeKnown ? Self.percent(snapshot.bytesDone, of: snapshot.bytesTotal) : nil
            self.bytesPerSecond = snapshot.bytesPerSecond
            self.timeRemaining = snapshot.timeRemaining
        }

        init(_ snapshot: OSSQueueSnapshot) {
            self.bytesDone = snapshot.bytesDone
            self.bytesTotal = snapshot.bytesTotal
            let ended = snapshot.filesStored + snapshot.filesFailed
            self.fraction = snapshot.filesTotal > 0 ? Double(ended) / Double(snapshot.filesTotal) : nil
            self.percent = Self.percent(Int64(ended), of: Int64(snapshot.filesTotal))
            self.bytesPerSecond = snapshot.bytesPerSecond
            self.label = "\(ended) of \(snapshot.filesTotal) files"
        }

        /// A download that has taken so long.
        init(bytesDone: Int64, bytesTotal: Int64, after elapsed: Duration) {
            self.bytesDone = bytesDone
            self.bytesTotal = bytesTotal
            self.fraction = bytesTotal > 0 ? Double(bytesDone) / Double(bytesTotal) : nil
            self.percent = Self.percent(bytesDone, of: bytesTotal)
            let seconds = elapsed / .seconds(1)
            guard seconds > 0, bytesDone > 0 else { return }
            let rate = Double(bytesDone) / seconds
            self.bytesPerSecond = rate
            self.timeRemaining = .seconds(Double(bytesTotal - bytesDone) / rate)
        }

        private static func percent(_ done: Int64, of total: Int64) -> Int? {
            guard total > 0 else { return nil }
            // Multiplied first: 29 of 100 are 29 %, and not the 28.99… that a hundred times 0.29 is.
            return done >= total ? 100 : min(99, max(0, Int(Double(done) * 100 / Double(total))))
        }
    }

    private let name: String
    private let isTerminal: Bool
    private var lastTenth = 0

    /// How often the bar is drawn.
    static let interval: Duration = .milliseconds(100)

    /// - Parameter path: what is on its way; its last component is shown.
    init(path: String) {
        self.name = DisplayText.escaped(path.split(separator: "/").last.map { String($0) } ?? path)
        // A terminal that cannot go back to a line's beginning is written to like a file.
        let kind = ClientOptions.environment("TERM") ?? "dumb"
        self.isTerminal = isatty(STDERR_FILENO) == 1 && kind != "dumb"
    }

    /// Shows the present state.
    mutating func show(_ state: State) {
        guard state.bytesTotal > 0 else { return }
        if self.isTerminal { return Console.drawBar(Self.line(state, name: self.name, columns: Self.columns)) }
        guard let percent = state.percent, percent / 10 > self.lastTenth else { return }
        self.lastTenth = percent / 10
        let what =
            state.label.isEmpty ? "\(state.bytesDone) of \(state.bytesTotal) bytes" : state.label
        Console.note(
            "\(percent) % (\(what))" + (state.bytesPerSecond.map { ", \(ByteSize.rate($0))" } ?? "")
        )
    }

    /// What makes the bar change.
    enum Moment<Event: Sendable>: Sendable {
        case tick
        case event(Event)
    }

    /// Events, and a tick whenever the bar is due; ends with the events.
    static func moments<Event: Sendable>(of events: AsyncStream<Event>) -> AsyncStream<Moment<Event>> {
        AsyncStream { continuation in
            let ticking = Task {
                while !Task.isCancelled {
                    continuation.yield(.tick)
                    // A cancelled sleep is the end of the ticking, and the loop's condition sees it.
                    try? await Task.sleep(for: ProgressBar.interval)
                }
            }
            Task {
                for await event in events { continuation.yield(.event(event)) }
                ticking.cancel()
                continuation.finish()
            }
        }
    }

    // MARK: The line

    /// The narrowest bar that tells something, and the widest that is needed, in columns between its brackets.
    private static let barWidths = 8...20

    /// One line that fits into so many columns, what matters most first: how much is done, then bytes, rate and time left as
    /// far as there is room, then the bar, then the name.
    static func line(_ state: State, name: String, columns: Int) -> String {
        // The last column stays free, or the line would wrap on some terminals.
        let width = max(0, columns - 1)
        let percent = state.percent.map { "\($0)%" } ?? "?%"
        let head = String(repeating: " ", count: max(0, 4 - percent.count)) + percent
        guard head.count <= width else { return String(percent.prefix(width)) }
        var tail = ""
        for forms in self.pieces(state) {
            let piece = forms.first { head.count + tail.count + $0.count + 1 <= width }
            if let piece { tail += " " + piece }
        }
        // Two brackets and a blank.
        let room = width - head.count - tail.count - 3
        guard room >= self.barWidths.lowerBound else { return head + tail }
        let inner = min(room, self.barWidths.upperBound)
        let filled = Int(Double(inner) * min(1, max(0, state.fraction ?? 0)))
        let bar = String(repeating: "=", count: filled) + String(repeating: " ", count: inner - filled)
        // Of a name that is cut to a letter or two nobody knows what it was.
        let shown = room - inner - 1 >= 4 ? DisplayText.cut(name, columns: room - inner - 1) + " " : ""
        return "\(shown)\(head) [\(bar)]\(tail)"
    }

    /// What stands behind the bar, what matters most first; of each the form that is wanted, then shorter ones.
    private static func pieces(_ state: State) -> [[String]] {
        var pieces = state.label.isEmpty ? [] : [[state.label + ","]]
        let size = ByteSize.text(state.bytesDone)
        let hasTotal = state.fraction != nil && state.label.isEmpty
        pieces.append((hasTotal ? ["\(size) of \(ByteSize.text(state.bytesTotal))"] : []) + [size])
        if let rate = state.bytesPerSecond { pieces.append([ByteSize.rate(rate)]) }
        if let left = state.timeRemaining { pieces.append(["\(self.clock(left)) left"]) }
        return pieces
    }

    private static func clock(_ duration: Duration) -> String {
        let seconds = duration.components.seconds
        let pad = { (number: Int64) in number < 10 ? "0\(number)" : "\(number)" }
        return seconds >= 3600
            ? "\(seconds / 3600):\(pad(seconds / 60 % 60)):\(pad(seconds % 60))"
            : "\(seconds / 60):\(pad(seconds % 60))"
    }

    /// The terminal's width; 80 where it does not say.
    private static var columns: Int {
        var size = winsize()
        // SAFETY: the pointer is to this frame's value.
        guard unsafe ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }
}
