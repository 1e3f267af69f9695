// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import Glibc
import SystemIO

/// A terminal of a given width, and all that was written to it.
final class PseudoTerminal: Sendable {
    /// The device that a program opens.
    let path: String
    let columns: Int
    private let master: PosixFile
    private let bytes = Lock<[UInt8]>([])
    /// Kept open until the end, so that the other end does not see a terminal that everybody has left.
    private let slave: Lock<PosixFile?>
    private let executor = BlockingExecutor(threads: 1)
    private let reading: Lock<Task<Void, Never>?> = Lock(nil)

    // Linux: TIOCSPTLCK and TIOCGPTN, macros that Swift does not read.
    private static let setLock: UInt = 0x4004_5431
    private static let getNumber: UInt = 0x8004_5430

    init(columns: Int) throws {
        self.columns = columns
        // As posix_openpt, unlockpt and ptsname do, which Swift's C library module leaves out.
        self.master = try PosixFile(path: "/dev/ptmx", .init(rawValue: O_RDWR | O_NOCTTY))
        let descriptor = self.master.descriptor
        var (locked, number): (Int32, Int32) = (0, 0)
        // SAFETY: both requests read or write the one number that is handed to them.
        guard unsafe ioctl(descriptor, Self.setLock, &locked) == 0,
            unsafe ioctl(descriptor, Self.getNumber, &number) == 0
        else { throw ToolProcess.CannotRun(reason: "no pseudo terminal: \(errno)") }
        self.path = "/dev/pts/\(number)"
        var window = winsize(ws_row: 24, ws_col: UInt16(columns), ws_xpixel: 0, ws_ypixel: 0)
        // SAFETY: the pointer is to this frame's value.
        _ = unsafe ioctl(descriptor, UInt(TIOCSWINSZ), &window)
        self.slave = Lock(try PosixFile(path: self.path, .init(rawValue: O_RDWR | O_NOCTTY)))
        let task = Task { await self.read() }
        self.reading.withLock { $0 = task }
    }

    private func read() async {
        let (master, executor) = (self.master, self.executor)
        while true {
            let piece = await executor.run { () -> [UInt8] in
                var buffer = [UInt8](repeating: 0, count: 4096)
                // An error is the end: nobody has the terminal open any more.
                let count = (try? master.readNext(into: &buffer)) ?? 0
                return Array(buffer.prefix(count))
            }
            guard !piece.isEmpty else { return }
            self.bytes.withLock { $0 += piece }
        }
    }

    /// What has been written so far.
    var text: String { self.bytes.withLock { String(decoding: $0, as: UTF8.self) } }

    /// What was written, once the programs have ended.
    func end() async -> String {
        self.slave.withLock { $0 = nil }
        await self.reading.withLock { $0 }?.value
        return self.text
    }
}

/// What a terminal shows: as much of one as a progress bar needs.
struct Screen {
    let columns: Int
    /// The lines, each a text a column; the second column of a wide character is empty.
    private var cells: [[String]] = [[]]
    private var column = 0
    /// How often a line went on in the next one because it was too long.
    private(set) var wraps = 0
    /// Every state of the line that the cursor is in, before it was drawn anew.
    private(set) var drawn: [String] = []
    /// Escape sequences that are not understood here.
    private(set) var unknown: [String] = []

    init(columns: Int) { self.columns = columns }

    /// The lines as they are shown, without blanks at their ends.
    var lines: [String] { self.cells.map(Self.text) }

    private static func text(_ cells: [String]) -> String {
        var text = cells.joined()
        while text.last == " " { text.removeLast() }
        return text
    }

    mutating func feed(_ text: String) {
        var rest = text.unicodeScalars[...]
        while let scalar = rest.popFirst() {
            switch scalar {
            case "\r":
                if let line = self.cells.last, !line.isEmpty { self.drawn.append(Self.text(line)) }
                self.column = 0
            case "\n":
                self.cells.append([])
                self.column = 0
            case "\u{1B}":
                var sequence = ""
                while let next = rest.popFirst() {
                    sequence.unicodeScalars.append(next)
                    if next != "[", !("0"..."9").contains(next), next != ";" { break }
                }
                if sequence == "[K" {
                    self.cells[self.cells.count - 1].removeLast(
                        max(0, self.cells[self.cells.count - 1].count - self.column))
                } else {
                    self.unknown.append(sequence)
                }
            default: self.put(scalar)
            }
        }
    }

    private mutating func put(_ scalar: Unicode.Scalar) {
        let width = Self.width(scalar)
        if self.column + width > self.columns {
            self.wraps += 1
            self.cells.append([])
            self.column = 0
        }
        let row = self.cells.count - 1
        guard width > 0 else {
            if self.column > 0 { self.cells[row][self.column - 1] += String(scalar) }
            return
        }
        while self.cells[row].count < self.column + width { self.cells[row].append(" ") }
        self.cells[row][self.column] = String(scalar)
        if width == 2 { self.cells[row][self.column + 1] = "" }
        self.column += width
    }

    private static func width(_ scalar: Unicode.Scalar) -> Int {
        switch scalar.value {
        case 0x300...0x36F, 0x200B...0x200F, 0xFE00...0xFE0F: 0
        case 0x1100...0x115F, 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFF00...0xFF60, 0x1F300...0x1FAFF: 2
        default: 1
        }
    }
}
