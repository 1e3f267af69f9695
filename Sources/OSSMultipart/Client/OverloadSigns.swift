// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import CurlTransport
internal import OSSWire
import Synchronization

/// Counts what says that the service or the network carries too much: refusals that ask for less, and time-outs.
///
/// The requests of one upload share it.
final class OverloadSigns: Sendable {
    private let count = Atomic<Int>(0)

    /// Whether there were any since this was asked last.
    func take() -> Bool { self.count.exchange(0, ordering: .relaxed) > 0 }

    /// Notes a reply that asks for less.
    func note(_ response: TransportResponse) {
        let isSign =
            response.status == 503 || response.status == 429 || response.headers["x-oss-qos-delay-time"] != nil
        if isSign { self.count.add(1, ordering: .relaxed) }
    }

    /// Notes a request that took too long.
    func note(_ error: TransportError) {
        switch error.kind {
        case .connectTimeout, .idleTimeout, .totalTimeout: self.count.add(1, ordering: .relaxed)
        default: break
        }
    }
}
