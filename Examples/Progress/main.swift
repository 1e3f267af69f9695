// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

// Progress in a terminal: one line that is drawn anew; without a terminal, a line for each tenth.

import ExampleSupport
import Glibc
import OSSMultipart

/// Draws an upload's progress.
struct ProgressLine {
    private let isTerminal = isatty(1) == 1
    private var lastTenth = -1

    mutating func show(_ snapshot: OSSUploadSnapshot) {
        let tenth = Int(snapshot.fractionCompleted * 10)
        guard self.isTerminal || tenth > self.lastTenth else { return }
        self.lastTenth = tenth
        let width = 30
        let filled = Int(snapshot.fractionCompleted * Double(width))
        let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: width - filled)
        let percent = Int(snapshot.fractionCompleted * 100)
        let rate = snapshot.bytesPerSecond.map { "  \((10 * $0 / 1_048_576).rounded() / 10) MiB/s" } ?? ""
        let left = snapshot.timeRemaining.map { "  \($0.components.seconds + 1) s left" } ?? ""
        let line = "[\(bar)] \(percent) %\(rate)\(snapshot.hasEnded ? "" : left)"
        // The carriage return goes to the line's beginning, `ESC [ K` clears what an older line left behind.
        print(self.isTerminal ? "\r\(line)\u{1B}[K" : line, terminator: self.isTerminal ? "" : "\n")
        fflush(nil)
    }

    /// Goes to the next line.
    func end() { if self.isTerminal { print() } }
}

await Example.run { example in
    let file = try example.file("film.bin", size: 24 << 20)
    var configuration = OSSUploader.Configuration()
    configuration.partSize = 2 << 20
    let uploader = OSSUploader(client: example.client, checkpoints: .memory(), configuration: configuration)
    let destination = example.destination("film.bin")

    // So that there is something to see.
    example.client.uploadRateLimit = 12 << 20
    let task = uploader.start(.file(file), to: destination)
    var line = ProgressLine(), largest = 0.0
    while true {
        // A snapshot may be taken as often as one likes; `task.events` tells of each part instead.
        let snapshot = task.snapshot
        try example.expect(snapshot.fractionCompleted >= largest, "the progress went back")
        largest = snapshot.fractionCompleted
        line.show(snapshot)
        if snapshot.hasEnded { break }
        try await Task.sleep(for: .milliseconds(50))
    }
    line.end()
    let result = try await task.value
    try example.expect(largest == 1, "the progress ended at \(largest)")
    try await example.expect(destination.key, isFile: file)
    print("stored: \(result.size) bytes; the object is the file")
}
