// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import CMicroHTTPD
internal import Glibc
internal import OSSWire
internal import Synchronization
internal import SystemIO

/// The HTTP side of the server: GNU libmicrohttpd with a thread for each connection.
///
/// A handler may therefore wait: for the disk, or because a fault rule wants it to. Nothing of it runs on Swift's own
/// threads.
///
/// The corresponding C functions are `MHD_start_daemon` and `MHD_stop_daemon`.
@safe final class MicroHTTPDDaemon: Sendable {
    /// The port that it listens on.
    let port: UInt16
    // Set once in init; libmicrohttpd's own locks protect what it points to.
    private nonisolated(unsafe) let daemon: OpaquePointer
    private let context: MicroHTTPDContext
    private let isStopped = Lock(false)

    /// Memory of one connection: header fields and the buffer that bodies are read into.
    ///
    /// *Source:* measured; less makes bodies slow. *Applies to:* each connection in use.
    private static let connectionMemory = 320 * 1024
    /// Stack of one connection's thread; only what is used takes memory.
    ///
    /// *Source:* own choice, four times what the deepest request used. *Applies to:* each connection.
    private static let stackSize = 512 * 1024

    /// Starts to listen.
    ///
    /// - Throws: `OSSServer.Error` where the address cannot be used or the port is taken.
    init(service: Service) throws {
        let configuration = service.configuration
        let host = configuration.host == "localhost" ? "127.0.0.1" : configuration.host
        let context = try MicroHTTPDContext(service: service)
        // Released in `stop`, when no thread can use it any more.
        let retained = unsafe Unmanaged.passRetained(context)
        var callbacks = unsafe cmhd_callbacks(
            context: retained.toOpaque(), request_line: microHTTPDRequestLine, access: microHTTPDAccess,
            completed: microHTTPDCompleted, connection: microHTTPDConnection)
        // SAFETY: the function copies the callbacks; the address and the text live for the length of the call.
        let daemon = unsafe cmhd_start(
            host, configuration.port, UInt32(clamping: configuration.maximumConnections),
            UInt32(clamping: configuration.idleTimeout.components.seconds), Self.connectionMemory, Self.stackSize,
            &callbacks)
        guard let daemon = unsafe daemon else {
            let error = SystemError(call: "bind", path: "\(host):\(configuration.port)")
            unsafe retained.release()
            if error.number == EINVAL {
                throw OSSServer.Error("\(host) is no address in digits; 127.0.0.1 would do")
            }
            throw OSSServer.Error(
                "the server cannot listen on \(host):\(configuration.port): \(error.reason); name another port, or 0 for a"
                    + " free one")
        }
        unsafe self.daemon = daemon
        self.context = context
        self.port = unsafe cmhd_port(daemon)
    }

    /// Closes all connections, waits for the handlers that run, and frees everything; later calls do nothing.
    func stop() {
        let isFirst = self.isStopped.withLock { isStopped in
            defer { isStopped = true }
            return !isStopped
        }
        guard isFirst else { return }
        self.context.stopSignal.send()
        // SAFETY: called once; after it no callback runs, so the context's retain can go.
        unsafe MHD_stop_daemon(self.daemon)
        unsafe Unmanaged.passUnretained(self.context).release()
    }
}

/// What the callbacks work with.
final class MicroHTTPDContext: Sendable {
    let service: Service
    let stopSignal: MicroHTTPDStopSignal
    private let connections = Atomic<Int>(0)

    init(service: Service) throws(SystemError) {
        self.service = service
        self.stopSignal = try MicroHTTPDStopSignal()
    }

    /// The number of a new connection.
    func nextConnection() -> Int { self.connections.add(1, ordering: .relaxed).newValue }
}
