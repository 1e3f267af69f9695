// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import Glibc
import OSSMultipart

/// Shows how far an upload is: a bar on a terminal, a line for each tenth elsewhere.
struct ProgressBar {
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
    mutating func show(_ snapshot: OSSUploadSnapshot) {
        guard snapshot.bytesTotal > 0 else { return }
        if self.isTerminal {
            Console.draw("\r" + Self.line(snapshot, name: self.name, columns: Self.columns) + "\u{1B}[K")
            self.hasDrawn = true
            return
        }
        let tenth = Int(snapshot.fractionCompleted * 10)
        guard tenth > self.lastTenth else { return }
        self.lastTenth = tenth
        Console.note(
            "\(tenth * 10) % (\(snapshot.bytesDone) of \(snapshot.bytesTotal) bytes)"
                + (snapshot.bytesPerSecond.map { ", \(ByteSize.rate($0))" } ?? "")
        )
    }

    /// Takes the bar away, so that a line can be written.
    mutating func clear() {
        if self.hasDrawn { Console.draw("\r\u{1B}[K") }
        self.hasDrawn = false
    }

    /// One line of at most `columns` characters, what matters most first.
    static func line(_ snapshot: OSSUploadSnapshot, name: String, columns: Int) -> String {
        let percent = "\(Int(snapshot.fractionCompleted * 100))%"
        var tail = " \(ByteSize.text(snapshot.bytesDone)) of \(ByteSize.text(snapshot.bytesTotal))"
        if let rate = snapshot.bytesPerSecond { tail += " \(ByteSize.rate(rate))" }
        if let left = snapshot.timeRemaining { tail += " \(self.clock(left)) left" }
        // A terminal of unknown width is taken for a narrow one; the last column stays free, or the line would wrap.
        let width = max(4, columns - 1)
        let head = String(repeating: " ", count: max(0, 4 - percent.count)) + percent
        let barWidth = width - head.count - tail.count - 3
        guard barWidth >= 8 else { return String((head + tail).prefix(width)) }
        let inner = min(barWidth, 30)
        let filled = Int(Double(inner) * snapshot.fractionCompleted)
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
