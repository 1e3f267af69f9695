// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import Glibc
import OSSMultipart
import Synchronization

/// What the tool writes: results on standard output, all else on standard error.
enum Console {
    private static let hasBar = Atomic(false)
    private static let outputError = Atomic<Int32>(0)

    /// Writes a result on a line of its own.
    ///
    /// - Returns: whether somebody may still read what comes; a listing need not go on where nobody does.
    @discardableResult static func output(_ text: String) -> Bool {
        let number = self.write(Array((text + "\n").utf8)[...], to: STDOUT_FILENO)
        if number != 0 { self.outputError.store(number, ordering: .relaxed) }
        return number == 0
    }

    /// Why results could not be written; nil where they were, or where the one who read them has gone away.
    static var outputFailure: String? {
        let number = self.outputError.load(ordering: .relaxed)
        return number == 0 || number == EPIPE ? nil : self.description(of: number)
    }

    /// Writes a line for the user; the progress bar makes room for it.
    static func note(_ text: String) {
        self.clearBar()
        _ = self.write(Array("ossmp: \(DisplayText.escaped(text))\n".utf8)[...], to: STDERR_FILENO)
    }

    /// Draws the progress bar in the place of the one before.
    static func drawBar(_ line: String) {
        self.hasBar.store(true, ordering: .relaxed)
        _ = self.write(Array("\r\(line)\u{1B}[K".utf8)[...], to: STDERR_FILENO)
    }

    /// Takes the progress bar away.
    static func clearBar() {
        guard self.hasBar.exchange(false, ordering: .relaxed) else { return }
        _ = self.write(Array("\r\u{1B}[K".utf8)[...], to: STDERR_FILENO)
    }

    /// Tells what failed, and how the upload can go on.
    static func report(_ error: any Error) {
        self.note("\(error)")
        if let error = error as? OSSError, let resumption = error.resumption, error.code != .integrity {
            self.note("\(ByteSize.text(resumption.bytesUploaded)) are stored; run the same command again to go on")
        }
    }

    /// Writes all bytes, and returns the number of the error that it could not; 0 where it could.
    static func write(_ bytes: ArraySlice<UInt8>, to descriptor: Int32) -> Int32 {
        var bytes = bytes
        while !bytes.isEmpty {
            // SAFETY: the pointer is used within the call.
            let count = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 { bytes.removeFirst(count) } else if errno != EINTR { return errno }
        }
        return 0
    }

    /// The system's words for an error.
    static func description(of number: Int32) -> String {
        // SAFETY: the text is copied at once.
        unsafe strerror(number).map { unsafe String(cString: $0) } ?? "error \(number)"
    }
}
