// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import CCurl
private import Glibc

extension CurlEasyHandle {
    /// Registers the functions that curl calls; what they work on comes with `attach`.
    ///
    /// They run on the loop's thread, within `curl_multi_perform` and the calls that end transfers and connections. They
    /// throw nothing, wait for nothing but the disk, and call nothing of the user's.
    func setFunctions() {
        // SAFETY, for all of them: the context is the transfer that `attach` retained and `detach` has not released,
        // because curl calls nothing for a handle that is in no multi handle. The memory is curl's for the call.
        self.note(
            unsafe ccurl_easy_set_data_function(self.pointer, CURLOPT_READFUNCTION) { buffer, size, count, context in
                guard let transfer = unsafe CurlTransfer.of(context) else { return Int(CURL_READFUNC_ABORT) }
                return unsafe transfer.fill(.init(start: buffer, count: size * count))
            })
        self.note(
            unsafe ccurl_easy_set_data_function(self.pointer, CURLOPT_HEADERFUNCTION) { buffer, size, count, context in
                guard let transfer = unsafe CurlTransfer.of(context) else { return 0 }
                let bytes = unsafe UnsafeRawBufferPointer(start: buffer, count: size * count)
                unsafe transfer.takeHeadLine(Span(_unsafeElements: bytes.assumingMemoryBound(to: UInt8.self)))
                return size * count
            })
        self.note(
            unsafe ccurl_easy_set_data_function(self.pointer, CURLOPT_WRITEFUNCTION) { buffer, size, count, context in
                // Not the number of bytes that came: curl stops.
                let refusal = size * count == 0 ? 1 : 0
                guard let transfer = unsafe CurlTransfer.of(context) else { return refusal }
                let bytes = unsafe UnsafeRawBufferPointer(start: buffer, count: size * count)
                switch unsafe transfer.takeBody(Span(_unsafeElements: bytes.assumingMemoryBound(to: UInt8.self))) {
                case .taken: return size * count
                case .heldBack: return Int(CURL_WRITEFUNC_PAUSE)
                case .refused: return refusal
                }
            })
        self.note(
            unsafe ccurl_easy_set_seek_function(self.pointer) { context, offset, origin in
                // curl only ever goes back to the beginning.
                guard let transfer = unsafe CurlTransfer.of(context), offset == 0, origin == SEEK_SET,
                    transfer.rewind()
                else { return CURL_SEEKFUNC_FAIL }
                return CURL_SEEKFUNC_OK
            })
        self.note(
            unsafe ccurl_easy_set_prereq_function(self.pointer) { context, remoteAddress, _, remotePort, localPort in
                guard let transfer = unsafe CurlTransfer.of(context) else { return CURL_PREREQFUNC_ABORT }
                let address = unsafe remoteAddress.map { unsafe String(cString: $0) } ?? ""
                let ends = CurlSocket.Ends(localPort: localPort, remoteAddress: address, remotePort: remotePort)
                return transfer.attemptBegins(on: ends) ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
            })
        self.note(
            unsafe ccurl_easy_set_sockopt_function(self.pointer) { context, socket, _ in
                unsafe CurlTransfer.of(context)?.connectionBegins(socket)
                return CURL_SOCKOPT_OK
            })
        // SAFETY: the context is the worker's list of sockets, which it keeps until the last connection is closed.
        self.note(
            unsafe ccurl_easy_set_close_function(self.pointer) { context, socket in
                guard let context = unsafe context else { return Glibc.close(socket) }
                return unsafe Unmanaged<CurlSockets>.fromOpaque(context).takeUnretainedValue().close(socket)
            })
    }
}

extension CurlTransfer {
    /// The transfer that a callback's context stands for.
    @unsafe static func of(_ context: UnsafeMutableRawPointer?) -> CurlTransfer? {
        guard let context = unsafe context else { return nil }
        // SAFETY: a context is only ever what `CurlEasyHandle.attach` registered and still holds.
        return unsafe Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
    }
}
