// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import CMicroHTTPD
internal import Glibc
internal import OSSWire
internal import SystemIO

/// One request on a connection of libmicrohttpd; used by that connection's thread alone.
final class MicroHTTPDExchange {
    /// Whether the header fields have been there.
    private(set) var hasBegun = false
    // A reply to it has no body, whatever its header fields tell.
    private var isHead = false
    private let exchange: Exchange
    private let context: MicroHTTPDContext
    private let socket: Int32

    /// How long the rest of a body may take that is read only so that the reply arrives.
    private static let lingerTime: Duration = .seconds(2)

    init(_ context: MicroHTTPDContext, target: String, connectionID: Int, socket: Int32) {
        self.context = context
        self.socket = socket
        self.exchange = Exchange(service: context.service, rawTarget: target, connectionID: connectionID) {
            context.stopSignal.wait($0, socket: socket)
        }
    }

    func begin(_ connection: OpaquePointer, method: String, headers: HTTPFields) -> MHD_Result {
        self.hasBegun = true
        self.isHead = method == "HEAD"
        return unsafe self.carryOut(self.exchange.begin(method: method, headers: headers), connection)
    }

    func receive(_ connection: OpaquePointer, _ bytes: Span<UInt8>) -> MHD_Result {
        unsafe self.carryOut(self.exchange.receive(bytes), connection)
    }

    func finish(_ connection: OpaquePointer) -> MHD_Result {
        unsafe self.carryOut(self.exchange.finish(), connection)
    }

    func end() { self.exchange.end() }

    private func carryOut(_ step: Exchange.Step, _ connection: OpaquePointer) -> MHD_Result {
        switch step {
        case .proceed: return .YES
        case .close: return .NO
        case .reply(let reply):
            // libmicrohttpd computes the length itself; a length that a rule wants is sent past it.
            guard reply.headers["Content-Length"] == nil, reply.headers["Transfer-Encoding"] == nil else {
                self.sendAndClose(reply)
                return .NO
            }
            return unsafe self.queue(reply, connection)
        case .replyAndClose(let reply):
            self.sendAndClose(reply)
            return .NO
        }
    }

    // MARK: Through libmicrohttpd

    private func queue(_ reply: Reply, _ connection: OpaquePointer) -> MHD_Result {
        guard let response = unsafe self.response(reply) else { return .NO }
        // SAFETY: queueing takes a reference of its own; ours goes here.
        defer { unsafe MHD_destroy_response(response) }
        for field in reply.headers.all {
            // A field that libmicrohttpd refuses (a line break in it) is left out.
            _ = unsafe MHD_add_response_header(response, field.name, field.value)
        }
        return unsafe MHD_queue_response(connection, UInt32(reply.status), response)
    }

    private func response(_ reply: Reply) -> OpaquePointer? {
        switch reply.body {
        case .none: return unsafe MHD_create_response_from_buffer(0, nil, .RESPMEM_PERSISTENT)
        case .bytes(var bytes):
            // SAFETY: libmicrohttpd copies the bytes within the call.
            return unsafe MHD_create_response_from_buffer(bytes.count, &bytes, .RESPMEM_MUST_COPY)
        case .object(let object, let range):
            let body = MicroHTTPDBody(
                object, range: range, bytesPerSecond: self.exchange.bytesPerSecond,
                pause: { [context, socket] in context.stopSignal.wait($0, socket: socket) })
            let retained = unsafe Unmanaged.passRetained(body)
            let response = unsafe MHD_create_response_from_callback(
                UInt64(range.count), 256 * 1024, microHTTPDReadBody, retained.toOpaque(), microHTTPDFreeBody)
            // SAFETY: without a response nobody calls `microHTTPDFreeBody`.
            if unsafe response == nil { unsafe retained.release() }
            return unsafe response
        }
    }

    // MARK: Past libmicrohttpd

    /// Sends a reply on the socket itself, then reads what the client still sends for a while: closing at once would
    /// reset the connection, and the reply might never be seen.
    private func sendAndClose(_ reply: Reply) {
        var text = "HTTP/1.1 \(reply.status) \(MicroHTTPDExchange.reason(reply.status))\r\n"
        var headers = reply.headers
        if headers["Content-Length"] == nil, headers["Transfer-Encoding"] == nil {
            headers["Content-Length"] = String(reply.body.count)
        }
        headers["Connection"] = "close"
        for field in headers.all { text += "\(field.name): \(field.value)\r\n" }
        guard self.send(Array((text + "\r\n").utf8)), self.isHead || self.send(reply.body) else { return }
        _ = shutdown(self.socket, Int32(SHUT_WR))
        let clock = ContinuousClock()
        let end = clock.now.advanced(by: Self.lingerTime)
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        while clock.now < end, self.isReady(Int16(POLLIN), until: end) {
            // SAFETY: the buffer is ours and its length is passed.
            let count = unsafe recv(self.socket, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            if count == 0 || count < 0 && errno != EINTR && errno != EAGAIN { return }
        }
    }

    private func send(_ body: Reply.Body) -> Bool {
        switch body {
        case .none: return true
        case .bytes(let bytes): return self.send(bytes)
        case .object(let object, let range):
            var isSent = true
            do throws(ServiceError) {
                try ObjectReader.read(object, range: range) { piece throws(ServiceError) in
                    isSent = isSent && self.send(piece.indices.map { piece[$0] })
                }
            } catch {
                // The head is on its way: only the end of the connection can tell.
                return false
            }
            return isSent
        }
    }

    private func send(_ bytes: [UInt8]) -> Bool {
        let end = ContinuousClock().now.advanced(by: .seconds(10))
        var done = 0
        while done < bytes.count, self.isReady(Int16(POLLOUT), until: end) {
            // SAFETY: `done` lies within the array.
            let count = unsafe bytes.withUnsafeBytes {
                unsafe Glibc.send(
                    self.socket, $0.baseAddress?.advanced(by: done), $0.count - done,
                    Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
            }
            if count > 0 { done += count } else if errno != EINTR, errno != EAGAIN { return false }
        }
        return done == bytes.count
    }

    private func isReady(_ events: Int16, until end: ContinuousClock.Instant) -> Bool {
        while true {
            let left = (end - ContinuousClock().now).milliseconds
            guard left > 0 else { return false }
            var descriptor = pollfd(fd: self.socket, events: events, revents: 0)
            // SAFETY: one structure, ours for the length of the call.
            let count = unsafe poll(&descriptor, 1, Int32(clamping: left))
            if count > 0 { return true }
            if count == 0 || errno != EINTR { return false }
        }
    }

    private static func reason(_ status: Int) -> String {
        // SAFETY: the text is a constant of the library.
        unsafe MHD_get_reason_phrase_for(UInt32(clamping: status)).map { unsafe String(cString: $0) } ?? "Unknown"
    }
}
