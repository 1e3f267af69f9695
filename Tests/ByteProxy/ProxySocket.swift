// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import Glibc
import LoopbackSockets
import SystemIO

/// The socket calls of a proxy: none waits, none raises SIGPIPE.
enum ProxySocket {
    /// Listens on a free port of 127.0.0.1.
    static func listen(receiveBuffer: Int32?) throws(SystemError) -> PosixFile {
        let descriptor = try LoopbackSocket.listen(receiveBuffer: receiveBuffer, nonBlocking: true)
        return PosixFile(adopting: descriptor, path: "proxy")
    }

    /// Connects to a port of 127.0.0.1; nil where nobody listens there.
    static func connect(port: UInt16) -> PosixFile? {
        // Nobody listening is all that a proxy can learn here; it passes that on by closing.
        (try? LoopbackSocket.connect(port: port)).map { self.file($0, "server") }
    }

    /// The next connection that waits; nil where none does.
    static func accept(_ listener: PosixFile) -> PosixFile? {
        LoopbackSocket.accept(listener.descriptor).map { self.file($0, "client") }
    }

    private static func file(_ descriptor: Int32, _ name: String) -> PosixFile {
        LoopbackSocket.sendAtOnce(descriptor)
        return PosixFile(adopting: descriptor, path: name)
    }

    /// What is there to be read.
    enum Received {
        case bytes([UInt8])
        case nothingYet
        case end
        case broken
    }

    /// Takes what is there.
    static func receive(_ socket: PosixFile, upTo count: Int) -> Received {
        var buffer = [UInt8](repeating: 0, count: count)
        while true {
            // SAFETY: the buffer is ours and its size is passed.
            let size = unsafe recv(socket.descriptor, &buffer, count, Int32(MSG_DONTWAIT))
            if size > 0 { return .bytes(Array(buffer[..<size])) }
            if size == 0 { return .end }
            if errno == EAGAIN { return .nothingYet }
            if errno != EINTR { return .broken }
        }
    }

    /// Sends what the system takes, and returns how many bytes that were; nil where the connection is broken.
    static func send(_ socket: PosixFile, _ bytes: ArraySlice<UInt8>) -> Int? {
        while true {
            // SAFETY: the pointer is used within the call.
            let count = unsafe bytes.withUnsafeBytes {
                unsafe Glibc.send(
                    socket.descriptor, $0.baseAddress, $0.count,
                    Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
            }
            if count >= 0 { return count }
            if errno == EAGAIN { return 0 }
            if errno != EINTR { return nil }
        }
    }

    /// Where the first of some bytes begins within others, from `start` on.
    static func firstIndex(of target: [UInt8], in bytes: [UInt8], from start: Int) -> Int? {
        guard bytes.count - start >= target.count, !target.isEmpty else { return nil }
        // SAFETY: both arrays live for the length of the call, and the pointers are compared within the first.
        return unsafe bytes.withUnsafeBytes { haystack in
            unsafe target.withUnsafeBytes { needle -> Int? in
                guard let base = haystack.baseAddress, let sought = needle.baseAddress else { return nil }
                var index = start
                // Where the last of them could begin.
                let last = haystack.count - needle.count
                while index <= last,
                    let found = unsafe memchr(base + index, Int32(target[0]), last - index + 1)
                {
                    index = unsafe base.distance(to: UnsafeRawPointer(found))
                    if unsafe memcmp(base + index, sought, needle.count) == 0 { return index }
                    index += 1
                }
                return nil
            }
        }
    }
}
