// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import Glibc
import OSSMultipart

/// Shows how far an upload is: a bar on a terminal, a line for each tenth elsewhere.
struct ProgressBar {
    /// What the bar shows, of one upload or of many.
    struct State {
        var bytesDone: Int64
        var bytesTotal: Int64
        /// 0 to 1; nil where the end is not known.
        var fraction: Double?
        var bytesPerSecond: Double?
        var timeRemaining: Duration?
        /// What counts beside the bytes.
        var label = ""

        init(_ snapshot: OSSUploadSnapshot) {
            self.bytesDone = snapshot.bytesDone
            self.bytesTotal = snapshot.bytesTotal
            self.fraction = snapshot.isSizeKnown ? snapshot.fractionCompleted : nil
            self.bytesPerSecond = snapshot.bytesPerSecond
            self.timeRemaining = snapshot.timeRemaining
        }

        init(_ snapshot: OSSQueueSnapshot) {
            self.bytesDone = snapshot.bytesDone
            self.bytesTotal = snapshot.bytesTotal
            let ended = snapshot.filesStored + snapshot.filesFailed
            self.fraction = snapshot.filesTotal > 0 ? Double(ended) / Double(snapshot.filesTotal) : nil
            self.bytesPerSecond = snapshot.bytesPerSecond
            self.label = "\(ended) of \(snapshot.filesTotal) files"
        }
    }

    private let name: String
    private let isTerminal: Bool
    private var lastTenth = 0
    private var hasDrawn = false

    /// How often the bar is drawn.
    static let interval: Duration = .milliseconds(100)

    init(name: String) {
        self.name = name
        self.isTerminal = isatty(STDERR_FILENO) == 1
    }

    /// Shows the present state.
    mutating func show(_ state: State) {
        guard state.bytesTotal > 0 else { return }
        if self.isTerminal {
            Console.draw("\r" + Self.line(state, name: self.name, columns: Self.columns) + "\u{1B}[K")
            self.hasDrawn = true
            return
        }
        guard let fraction = state.fraction else { return }
        let tenth = Int(fraction * 10)
        guard tenth > self.lastTenth else { return }
        self.lastTenth = tenth
        let what =
            state.label.isEmpty ? "\(state.bytesDone) of \(state.bytesTotal) bytes" : state.label
        Console.note(
            "\(tenth * 10) % (\(what))" + (state.bytesPerSecond.map { ", \(ByteSize.rate($0))" } ?? "")
        )
    }

    /// Takes the bar away, so that a line can be written.
    mutating func clear() {
        if self.hasDrawn { Console.draw("\r\u{1B}[K") }
        self.hasDrawn = false
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

    /// One line of at most `columns` characters, what matters most first.
    static func line(_ state: State, name: String, columns: Int) -> String {
        let percent = state.fraction.map { "\(Int($0 * 100))%" } ?? "?%"
        var tail = state.label.isEmpty ? "" : " \(state.label),"
        tail += " \(ByteSize.text(state.bytesDone))"
        if state.fraction != nil, state.label.isEmpty { tail += " of \(ByteSize.text(state.bytesTotal))" }
        if let rate = state.bytesPerSecond { tail += " \(ByteSize.rate(rate))" }
        if let left = state.timeRemaining { tail += " \(self.clock(left)) left" }
        // A terminal of unknown width is taken for a narrow one; the last column stays free, or the line would wrap.
        let width = max(4, columns - 1)
        let head = String(repeating: " ", count: max(0, 4 - percent.count)) + percent
        let barWidth = width - head.count - tail.count - 3
        guard barWidth >= 8 else { return String((head + tail).prefix(width)) }
        let inner = min(barWidth, 30)
        let filled = Int(Double(inner) * (state.fraction ?? 0))
        let bar = String(repeating: "=", count: filled) + String(repeating: " ", count: inner - filled)
        let room = width - head.count - tail.count - 3 - inner - 1
        let shown = room >= 4 ? String(name.prefix(room)) + " " : ""
        return "\(shown)\(head) [\(bar)]\(tail)"
    }

    private static func clock(_ duration: Duration) -> String {
        let seconds = duration.components.seconds
        let pad = { (number: Int64) in number < 10 ? "0\(number)" : "\(number)" }
        return seconds >= 3600
            ? "\(seconds / 3600):\(pad(seconds / 60 % 60)):\(pad(seconds % 60))"
            : "\(seconds / 60):\(pad(seconds % 60))"
    }

    private static var columns: Int {
        var size = winsize()
        // SAFETY: the pointer is to this frame's value.
        guard unsafe ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }
}
