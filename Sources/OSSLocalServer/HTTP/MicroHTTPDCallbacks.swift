// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import CMicroHTTPD
internal import OSSWire

// What libmicrohttpd calls, each on the thread of the connection that it is about. Nothing here throws; an exchange is
// retained when the request line is there and released once, when libmicrohttpd says that the request is completed.

/// The request line is there: an exchange begins.
func microHTTPDRequestLine(
    _ context: UnsafeMutableRawPointer?, _ uri: UnsafePointer<CChar>, _ connection: OpaquePointer
) -> UnsafeMutableRawPointer? {
    guard let context = unsafe context else { return nil }
    // SAFETY: the context is retained until the daemon has stopped; the text is copied.
    let owner = unsafe Unmanaged<MicroHTTPDContext>.fromOpaque(context).takeUnretainedValue()
    let target = unsafe MicroHTTPDText.target(uri)
    let number = unsafe Int(bitPattern: cmhd_socket_context(connection))
    let socket = unsafe cmhd_socket(connection)
    let exchange = MicroHTTPDExchange(owner, target: target, connectionID: number, socket: socket)
    return unsafe Unmanaged.passRetained(exchange).toOpaque()
}

/// Header fields, a piece of the body, or the body's end are there.
func microHTTPDAccess(
    _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer, _ url: UnsafePointer<CChar>,
    _ method: UnsafePointer<CChar>, _ version: UnsafePointer<CChar>, _ data: UnsafePointer<CChar>?,
    _ size: UnsafeMutablePointer<Int>, _ request: UnsafeMutablePointer<UnsafeMutableRawPointer?>
) -> MHD_Result {
    guard let pointer = unsafe request.pointee else { return .NO }
    // SAFETY: the exchange was retained for the request and lives until `microHTTPDCompleted`.
    let exchange = unsafe Unmanaged<MicroHTTPDExchange>.fromOpaque(pointer).takeUnretainedValue()
    if !exchange.hasBegun {
        let headers = unsafe MicroHTTPDText.headers(connection)
        return unsafe exchange.begin(connection, method: String(cString: method), headers: headers)
    }
    let count = unsafe size.pointee
    guard count > 0, let data = unsafe data else { return unsafe exchange.finish(connection) }
    // SAFETY: libmicrohttpd's buffer holds `count` bytes for the length of this call.
    let bytes = unsafe UnsafeRawBufferPointer(start: data, count: count).bindMemory(to: UInt8.self)
    let result = unsafe exchange.receive(connection, bytes.span)
    unsafe size.pointee = 0
    return result
}

/// The request is over, in whatever way.
func microHTTPDCompleted(
    _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer,
    _ request: UnsafeMutablePointer<UnsafeMutableRawPointer?>, _ code: MHD_RequestTerminationCode
) {
    guard let pointer = unsafe request.pointee else { return }
    unsafe request.pointee = nil
    // SAFETY: this is the one place that gives the request's retain back.
    let exchange = unsafe Unmanaged<MicroHTTPDExchange>.fromOpaque(pointer).takeRetainedValue()
    exchange.end()
}

/// A connection begins or ends: its number stands where libmicrohttpd keeps a pointer.
func microHTTPDConnection(
    _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer,
    _ socketContext: UnsafeMutablePointer<UnsafeMutableRawPointer?>, _ code: MHD_ConnectionNotificationCode
) {
    guard code == .CONNECTION_NOTIFY_STARTED, let context = unsafe context else { return }
    // SAFETY: as in `microHTTPDRequestLine`; the number is never followed as a pointer.
    let owner = unsafe Unmanaged<MicroHTTPDContext>.fromOpaque(context).takeUnretainedValue()
    unsafe socketContext.pointee = UnsafeMutableRawPointer(bitPattern: owner.nextConnection())
}

/// Copies libmicrohttpd's texts.
private enum MicroHTTPDText {
    /// The request line's target in ASCII: bytes that should have been escaped are.
    static func target(_ uri: UnsafePointer<CChar>) -> String {
        var bytes: [UInt8] = []
        var next = unsafe uri
        // SAFETY: the text ends with zero.
        while unsafe next.pointee != 0 {
            let byte = unsafe UInt8(bitPattern: next.pointee)
            if byte < 0x80 { bytes.append(byte) } else { bytes += Array("%\(Hex.upper([byte]))".utf8) }
            unsafe next += 1
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The header fields in order.
    static func headers(_ connection: OpaquePointer) -> HTTPFields {
        var headers: HTTPFields = [:]
        // SAFETY: the function calls back before it returns, with texts that are copied.
        _ = unsafe withUnsafeMutablePointer(to: &headers) { pointer in
            unsafe MHD_get_connection_values(
                connection, .HEADER_KIND,
                { context, _, name, value in
                    guard let context = unsafe context, let name = unsafe name else { return .YES }
                    let text = unsafe value.map { unsafe String(cString: $0) } ?? ""
                    unsafe context.assumingMemoryBound(to: HTTPFields.self).pointee.append(
                        name: String(cString: name), value: text)
                    return .YES
                }, pointer)
        }
        return headers
    }
}
