// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

package import SystemIO

/// The transport over the network: HTTP/1.1 with libcurl, on one thread of its own or on a few.
///
/// A few requests at a time are carried by the threads that ask for them, where these are a ``BlockingExecutor``'s: that spares
/// the way to another thread and back, which costs as much as the digests of a small part. Not with TLS, nor through a proxy
/// with TLS.
///
/// A thread begins with its first request: the second one when two are under way. All end with ``shutDown()``, or when the
/// transport is let go; a request that is under way then ends with ``TransportError/Kind/shutDown``.
package final class CurlTransport: HTTPTransport {
    private let loops: [CurlMultiLoop]
    private let threadless: CurlThreadlessLoops
    private let disk: BlockingExecutor
    /// Most requests at a time that are carried by the threads that ask for them.
    ///
    /// *Source:* our own choice: as many as an upload has in flight when it begins. *Applies to:* requests without TLS.
    private static let threadlessLoops = 4
    /// How many requests each loop has under way.
    private let loads: Lock<[Int]>

    /// Makes a transport; nothing is opened before the first request.
    ///
    /// - Parameter disk: the threads that wait for files that are not in the system's memory; they end with the transport.
    ///   Default: four, so that as many slow files hold up no other one.
    package init(
        configuration: CurlTransportConfiguration = .init(), disk: BlockingExecutor = BlockingExecutor(threads: 4)
    ) {
        self.disk = disk
        let idle = configuration.maximumIdleConnections
        let threads = max(1, idle > 0 ? min(configuration.threads, idle) : configuration.threads)
        let connections = IdleConnections(maximum: idle, threads: threads)
        let threadless = configuration.reachesProxyWithTLS() ? 0 : min(Self.threadlessLoops, max(0, idle - threads))
        self.threadless = CurlThreadlessLoops(
            configuration: configuration, count: threadless, first: threads + 1, connections: connections, disk: disk)
        self.loops = (0..<threads).map { number in
            CurlMultiLoop(
                configuration: configuration, number: number + 1, share: connections.share(ofThread: number), disk: disk
            )
        }
        self.loads = Lock([Int](repeating: 0, count: threads))
    }

    deinit {
        for loop in self.loops { loop.stop() }
        self.threadless.stop()
    }

    /// Sends a request and returns the server's reply, whatever its status.
    ///
    /// Where a connection that was kept for reuse breaks before any reply comes, the request is sent once more on another
    /// one, if it is idempotent.
    ///
    /// A reply with a status of 300 or more that comes before the whole body was sent ends the sending and is returned.
    ///
    /// - Throws: `TransportError` where there is no whole reply; `CancellationError` where the task is cancelled, and then
    ///   nothing of the request is under way any more.
    package func execute(_ request: TransportRequest) async throws -> TransportResponse {
        try Task.checkCancellation()
        let call = CurlCall(request: request, origin: try request.checkedOrigin())
        if request.mayBeCarriedByThread, let result = await self.threadless.carry(call) { return try result.get() }
        let number = self.enterLeastLoaded()
        defer { self.loads.withLock { $0[number] -= 1 } }
        let loop = self.loops[number]
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                guard call.begin(continuation) else { return }
                loop.submit(call)
            }
        } onCancel: {
            if call.cancel() { loop.cancel(call) }
        }
    }

    /// The loop with the fewest requests under way, which gets one more.
    ///
    /// The first of them where there are several, so that requests one after the other find the connection of the last.
    private func enterLeastLoaded() -> Int {
        self.loads.withLock { loads in
            var least = 0
            for number in loads.indices where loads[number] < loads[least] { least = number }
            loads[least] += 1
            return least
        }
    }

    /// Ends what is under way with ``TransportError/Kind/shutDown``, closes all connections, ends the threads and returns
    /// when that is done.
    ///
    /// It may be called more than once and by several tasks at a time.
    package func shutDown() async {
        self.threadless.stop()
        for loop in self.loops { await loop.shutDown() }
        await self.threadless.shutDown()
        await self.disk.shutDown()
    }
}
