// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

/// The transport over the network: HTTP/1.1 with libcurl, on one thread of its own.
///
/// The thread begins with the first request. It ends with ``shutDown()``, or when the transport is let go; a request
/// that is under way then ends with ``TransportError/Kind/shutDown``.
package final class CurlTransport: HTTPTransport {
    private let loop: CurlMultiLoop

    /// Makes a transport; nothing is opened before the first request.
    package init(configuration: CurlTransportConfiguration = .init()) {
        self.loop = CurlMultiLoop(configuration: configuration)
    }

    deinit { self.loop.stop() }

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
        let loop = self.loop
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                guard call.begin(continuation) else { return }
                loop.submit(call)
            }
        } onCancel: {
            if call.cancel() { loop.cancel(call) }
        }
    }

    /// Ends what is under way with ``TransportError/Kind/shutDown``, closes all connections, ends the thread and returns
    /// when that is done.
    ///
    /// It may be called more than once and by several tasks at a time.
    package func shutDown() async { await self.loop.shutDown() }
}
