// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import Glibc

/// Somebody else's descriptor, to be read from where it stands: standard input, a pipe, a socket.
///
/// It is not closed here.
package struct InputDescriptor: Sendable {
    /// The descriptor's number.
    package let number: Int32
    /// What it is called in messages.
    package let name: String

    /// Names a descriptor that is open for reading.
    package init(number: Int32, name: String) {
        self.number = number
        self.name = name
    }

    /// Standard input.
    package static let standardInput = InputDescriptor(number: STDIN_FILENO, name: "standard input")

    /// Reads what is there; 0 is the end, nil that nothing came in time.
    ///
    /// The corresponding C functions are `poll` and `read`.
    package func read(into buffer: inout [UInt8], waitingMilliseconds: Int32) throws(SystemError) -> Int? {
        var entry = pollfd(fd: self.number, events: Int16(POLLIN), revents: 0)
        let ready = try retryingOnInterrupt("poll", self.name) { unsafe poll(&entry, 1, waitingMilliseconds) }
        guard ready > 0 else { return nil }
        let size = buffer.count
        do {
            return try retryingOnInterrupt("read", self.name) { unsafe Glibc.read(self.number, &buffer, size) }
        } catch {
            // Somebody else who reads from the same descriptor was faster.
            guard error.number == EAGAIN else { throw error }
            return nil
        }
    }
}
