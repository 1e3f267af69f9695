// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import CCurl
private import Glibc

/// The socket of one connection, which curl owns.
///
/// It belongs to the loop's thread.
final class CurlSocket {
    /// What tells one connection from another.
    struct Ends: Equatable {
        var localPort: Int32
        var remoteAddress: String
        var remotePort: Int32
    }

    /// The descriptor; -1 when curl has closed it.
    fileprivate(set) var descriptor: Int32
    /// What it connects; nil until that is known.
    fileprivate var ends: Ends?
    /// Whether what has come in is read when curl closes the socket.
    var keepsLastInput = false
    /// What had come in, unread, when curl closed the socket.
    fileprivate(set) var lastInput: [UInt8] = []

    /// Most bytes taken as last input: a head, and an error document.
    private static let lastInputLimit = 128 * 1024

    fileprivate init(_ descriptor: Int32) { self.descriptor = descriptor }

    /// Whether bytes, or the end, have come in.
    var hasInput: Bool {
        var entry = pollfd(fd: self.descriptor, events: Int16(POLLIN), revents: 0)
        // SAFETY: one entry, ours. A negative descriptor is passed over.
        return unsafe poll(&entry, 1, 0) == 1
    }

    /// Bytes that the other side has not acknowledged yet; -1 where it cannot be told.
    var sendQueue: Int32 { self.descriptor < 0 ? -1 : ccurl_send_queue(self.descriptor) }

    fileprivate var localPort: Int32 { ccurl_local_port(self.descriptor) }

    /// Closes the descriptor, after a look at what has come in where that is wanted.
    fileprivate func close() -> Int32 {
        if self.keepsLastInput { self.takeLastInput() }
        defer { self.descriptor = -1 }
        return Glibc.close(self.descriptor)
    }

    private func takeLastInput() {
        var buffer = [UInt8](repeating: 0, count: 4096)
        while self.lastInput.count < Self.lastInputLimit {
            // SAFETY: the buffer is ours, and its size is passed.
            let count = unsafe recv(self.descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            self.lastInput += buffer[..<count]
        }
    }
}

/// The sockets of a multi handle's connections, from when curl makes them until it closes them.
///
/// `CURLINFO_ACTIVESOCKET` tells nothing while a transfer is under way, so they are found by what they connect. It
/// belongs to the loop's thread.
final class CurlSockets {
    private var all: [Int32: CurlSocket] = [:]

    /// curl has made a socket.
    func add(_ descriptor: Int32) { self.all[descriptor] = CurlSocket(descriptor) }

    /// Closes a socket for curl.
    func close(_ descriptor: Int32) -> Int32 {
        self.all.removeValue(forKey: descriptor)?.close() ?? Glibc.close(descriptor)
    }

    /// The socket of a connection that stands.
    func socket(connecting ends: CurlSocket.Ends) -> CurlSocket? {
        if let known = self.all.values.first(where: { $0.ends == ends }) { return known }
        let fresh = self.all.values.first { $0.ends == nil && $0.localPort == ends.localPort }
        fresh?.ends = ends
        return fresh
    }
}
