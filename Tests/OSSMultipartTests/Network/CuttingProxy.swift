// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import LoopbackSockets
import Synchronization

/// Passes bytes between clients and a server, and closes a connection when so many bytes of replies have gone over it.
///
/// It knows nothing of HTTP.
final class CuttingProxy: Sendable {
    /// The port that it listens on.
    let port: UInt16
    private let listener: TestSocket

    /// Makes a proxy.
    ///
    /// - Parameters:
    ///   - server: the server's port.
    ///   - cuts: bytes of replies after which each connection ends, in the order they come; later ones are whole.
    init(server: UInt16, cuts: [Int]) throws {
        let listener = try TestSocket.listening()
        self.listener = listener
        self.port = try listener.port
        TestThread.start {
            var number = 0
            while let client = listener.accept() {
                let limit = number < cuts.count ? cuts[number] : Int.max
                number += 1
                guard let upstream = try? TestSocket.connected(to: server) else { continue }
                TestThread.start { Self.pump(from: client, to: upstream, limit: .max) }
                TestThread.start { Self.pump(from: upstream, to: client, limit: limit) }
            }
        }
    }

    deinit { self.listener.shutDown() }

    private static func pump(from source: TestSocket, to target: TestSocket, limit: Int) {
        var left = limit
        while left > 0 {
            let bytes = source.receive().prefix(left)
            guard !bytes.isEmpty, target.send(bytes) else { break }
            left -= bytes.count
        }
        source.shutDown()
        target.shutDown()
    }
}
