// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import CCurl
internal import OSSWire

/// A handle of curl for one transfer at a time; it is freed when the last reference goes.
///
/// It is set up once and used for one request after another, so it keeps its buffers. It belongs to the loop's thread.
/// The corresponding C functions are those of `curl_easy_*`.
@safe final class CurlEasyHandle {
    /// Size of the buffer that a body is read into, in bytes.
    ///
    /// It is all the memory that a body takes: one MiB with four requests in flight. Half as large a one was measured to cost an
    /// eighth more time where there is no MD5, for each buffer is a read, a write and two polls.
    private static let uploadBufferSize = 256 * 1024
    /// Size of the buffer for replies, in bytes.
    ///
    /// Replies to the multipart operations are short; a list of 1,000 parts is the longest.
    private static let replyBufferSize = 16 * 1024

    // Owned: made in init, freed in deinit, used on the loop's thread.
    let pointer: UnsafeMutableRawPointer
    private let errorBuffer: UnsafeMutablePointer<CChar>
    /// The header fields of the request under way; curl reads them until it ends.
    private var headers: UnsafeMutablePointer<curl_slist>?
    /// The transfer that the callbacks get; retained by `attach`, released by `detach`.
    private var transfer: Unmanaged<CurlTransfer>?
    /// Where the sockets that curl makes and closes are noted.
    let sockets: CurlSockets
    /// The first thing that curl said to an option but yes.
    private var refusal = CURLE_OK

    /// Makes a handle with all that is the same for every request.
    ///
    /// The sockets must be there for as long as connections are, which may be longer than the handle.
    ///
    /// - Throws: ``TransportError/Kind/configuration`` where curl does not take an option.
    init(_ configuration: CurlTransportConfiguration, sockets: CurlSockets) throws(TransportError) {
        guard let pointer = unsafe curl_easy_init() else {
            throw TransportError(.connect, "No memory for a connection.")
        }
        unsafe self.pointer = pointer
        self.sockets = sockets
        // SAFETY: curl wants that many bytes there for as long as the handle lives; deinit frees them after it.
        unsafe self.errorBuffer = .allocate(capacity: Int(CURL_ERROR_SIZE))
        unsafe self.errorBuffer.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        unsafe self.set(CURLOPT_ERRORBUFFER, pointer: self.errorBuffer)
        self.setProtocol()
        self.setNetwork(configuration)
        self.setFunctions()
        // A connection keeps this for its own end; see above.
        unsafe self.set(CURLOPT_CLOSESOCKETDATA, pointer: Unmanaged.passUnretained(sockets).toOpaque())
        try self.checkOptions()
    }

    deinit {
        // SAFETY: nothing uses them any more; the handle goes first, since it may look at the others.
        unsafe curl_easy_cleanup(self.pointer)
        unsafe curl_slist_free_all(self.headers)
        unsafe self.errorBuffer.deallocate()
        unsafe self.transfer?.release()
    }

    // MARK: What is the same for every request

    private func setProtocol() {
        self.set(CURLOPT_PROTOCOLS_STR, text: "http,https")
        self.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        self.set(CURLOPT_HTTP09_ALLOWED, 0)
        self.set(CURLOPT_FOLLOWLOCATION, 0)
        // Object keys may hold `../`, and a signature covers the path as it is.
        self.set(CURLOPT_PATH_AS_IS, 1)
        self.set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1)
        self.set(CURLOPT_HTTP_CONTENT_DECODING, 0)
        self.set(CURLOPT_NETRC, Int(CURL_NETRC_IGNORED.rawValue))
        self.set(CURLOPT_PIPEWAIT, 0)
        // A proxy sees neither our header fields, nor do we see its answer to CONNECT as a reply.
        self.set(CURLOPT_HEADEROPT, Int(CURLHEADER_SEPARATE))
        self.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    }

    private func setNetwork(_ configuration: CurlTransportConfiguration) {
        self.set(CURLOPT_NOSIGNAL, 1)
        self.set(CURLOPT_TCP_NODELAY, 1)
        self.set(CURLOPT_TCP_KEEPALIVE, 1)
        self.set(CURLOPT_TCP_KEEPIDLE, 30)
        self.set(CURLOPT_TCP_KEEPINTVL, 15)
        self.set(CURLOPT_BUFFERSIZE, Self.replyBufferSize)
        self.set(CURLOPT_UPLOAD_BUFFERSIZE, Self.uploadBufferSize)
        // A look-up that is cancelled is left to end by itself: waiting for it would stop all other transfers. A library
        // older than its header may not know the option; then it waits.
        _ = unsafe ccurl_easy_set_quick_exit(self.pointer)
        if let proxy = configuration.proxy {
            self.set(CURLOPT_PROXY, text: proxy)
            // What is asked for by name holds whatever the environment says.
            self.set(CURLOPT_NOPROXY, text: configuration.proxyExceptions?.joined(separator: ",") ?? "")
        } else if let exceptions = configuration.proxyExceptions {
            self.set(CURLOPT_NOPROXY, text: exceptions.joined(separator: ","))
        }
        if let (user, password) = configuration.proxyCredentials {
            self.set(CURLOPT_PROXYUSERNAME, text: user)
            self.set(CURLOPT_PROXYPASSWORD, text: password)
        }
        if let address = configuration.localAddress { self.set(CURLOPT_INTERFACE, text: address) }
        if configuration.maximumIdleConnections <= 0 { self.set(CURLOPT_FORBID_REUSE, 1) }
        self.setCertificates(configuration)
    }

    private func setCertificates(_ configuration: CurlTransportConfiguration) {
        if configuration.caFile != nil || configuration.caDirectory != nil {
            // What is named stands alone: the system's certificates are not taken beside it.
            for (file, folder) in [(CURLOPT_CAINFO, CURLOPT_CAPATH), (CURLOPT_PROXY_CAINFO, CURLOPT_PROXY_CAPATH)] {
                self.set(file, text: configuration.caFile)
                self.set(folder, text: configuration.caDirectory)
            }
        }
        if let (certificate, key, password) = configuration.clientCertificate {
            self.set(CURLOPT_SSLCERT, text: certificate)
            self.set(CURLOPT_SSLKEY, text: key)
            self.set(CURLOPT_KEYPASSWD, text: password)
        }
        let verifies = !configuration.acceptsAnyCertificate
        for (peer, host) in [
            (CURLOPT_SSL_VERIFYPEER, CURLOPT_SSL_VERIFYHOST),
            (CURLOPT_PROXY_SSL_VERIFYPEER, CURLOPT_PROXY_SSL_VERIFYHOST),
        ] {
            self.set(peer, verifies ? 1 : 0)
            self.set(host, verifies ? 2 : 0)
        }
    }

    // MARK: What belongs to one request

    /// Sets the handle up for a request and hands the transfer to the callbacks, until `detach()`.
    func attach(_ transfer: CurlTransfer) throws(TransportError) {
        self.detach()
        let request = transfer.call.request
        unsafe self.errorBuffer.pointee = 0
        self.setMethod(request)
        self.set(CURLOPT_URL, text: request.url)
        self.setHeaders(request)
        let connect = max(1, request.timeouts.connect / .milliseconds(1))
        self.set(CURLOPT_CONNECTTIMEOUT_MS, Int(min(connect, 1e9).rounded(.up)))
        self.set(CURLOPT_FRESH_CONNECT, 0)

        let context = unsafe Unmanaged.passRetained(transfer)
        unsafe self.transfer = context
        for option in [
            CURLOPT_READDATA, CURLOPT_SEEKDATA, CURLOPT_HEADERDATA, CURLOPT_WRITEDATA, CURLOPT_PREREQDATA,
            CURLOPT_SOCKOPTDATA, CURLOPT_PRIVATE,
        ] {
            unsafe self.set(option, pointer: context.toOpaque())
        }
        try self.checkOptions()
    }

    /// Lets the request be carried by a new connection, whatever has been kept.
    func takeNewConnection() { self.set(CURLOPT_FRESH_CONNECT, 1) }

    /// Takes the transfer from the callbacks; the handle must be in no multi handle.
    func detach() {
        unsafe self.transfer?.release()
        unsafe self.transfer = nil
        unsafe self.set(CURLOPT_HTTPHEADER, list: nil)
        unsafe curl_slist_free_all(self.headers)
        unsafe self.headers = nil
    }

    private func setMethod(_ request: TransportRequest) {
        // Undoes what an earlier request said of body and method.
        self.set(CURLOPT_HTTPGET, 1)
        self.set(CURLOPT_CUSTOMREQUEST, text: nil)
        // SAFETY: a number passed by value.
        let size = unsafe ccurl_easy_set_offset(
            self.pointer, CURLOPT_INFILESIZE_LARGE, curl_off_t(request.body.length ?? -1))
        self.note(size)
        if request.body.length != nil {
            // For POST too: curl's own POST adds a Content-Type that nobody asked for.
            self.set(CURLOPT_UPLOAD, 1)
            if request.method != "PUT" { self.set(CURLOPT_CUSTOMREQUEST, text: request.method) }
        } else if request.method == "HEAD" {
            self.set(CURLOPT_NOBODY, 1)
        } else if request.method != "GET" {
            self.set(CURLOPT_CUSTOMREQUEST, text: request.method)
        }
    }

    private func setHeaders(_ request: TransportRequest) {
        // A name with nothing behind the colon takes away what curl would add by itself.
        // SAFETY: curl copies each text within the call.
        unsafe self.addHeader("Expect:")
        unsafe self.addHeader("Transfer-Encoding:")
        if request.headers["Accept"] == nil { unsafe self.addHeader("Accept:") }
        // Where each field is put together.
        var line: [UInt8] = []
        line.reserveCapacity(256)
        for field in request.headers.all where !field.name.equalsIgnoringASCIICase("Content-Length") {
            let value = field.value.trimmedBlanks
            line.removeAll(keepingCapacity: true)
            line.append(utf8: field.name)
            if value.isEmpty {
                // A semicolon instead of the colon is curl's way to say that the value is empty.
                line.append(UInt8(ascii: ";"))
            } else {
                line.append(UInt8(ascii: ":"))
                line.append(UInt8(ascii: " "))
                line.append(utf8: value)
            }
            line.append(0)
            // SAFETY: as above; the line ends with a zero.
            unsafe line.withUnsafeBytes { bytes in
                unsafe bytes.baseAddress.map { unsafe self.addHeader($0.assumingMemoryBound(to: CChar.self)) }
            }
        }
        unsafe self.set(CURLOPT_HTTPHEADER, list: self.headers)
    }

    private func addHeader(_ line: UnsafePointer<CChar>) {
        // SAFETY: the list's head stays where it is, and is freed by `detach` or deinit.
        guard let list = unsafe curl_slist_append(self.headers, line) else { return self.note(CURLE_OUT_OF_MEMORY) }
        unsafe self.headers = list
    }

    // MARK: What curl tells

    /// Bytes of the body that were handed to the system.
    var bytesSent: Int64 {
        var count: curl_off_t = 0
        return unsafe ccurl_easy_get_offset(self.pointer, CURLINFO_SIZE_UPLOAD_T, &count) == CURLE_OK ? Int64(count) : 0
    }

    /// The status of a proxy's answer to CONNECT; 0 where there was none.
    var proxyStatus: Int {
        var status = 0
        return unsafe ccurl_easy_get_long(self.pointer, CURLINFO_HTTP_CONNECTCODE, &status) == CURLE_OK ? status : 0
    }

    /// What curl says of the failure; empty where it says nothing.
    // SAFETY: curl ends the text with a zero within the buffer.
    var errorText: String { unsafe String(cString: self.errorBuffer) }

    /// Lets a paused transfer go on.
    func resume() -> CURLcode { unsafe curl_easy_pause(self.pointer, CURLPAUSE_CONT) }

    // MARK: Options

    private func checkOptions() throws(TransportError) {
        guard self.refusal != CURLE_OK else { return }
        // SAFETY: curl returns a text that lives for ever.
        let reason = unsafe String(cString: curl_easy_strerror(self.refusal))
        self.refusal = CURLE_OK
        throw TransportError(.configuration, "libcurl does not take an option: \(reason).")
    }

    func note(_ code: CURLcode) {
        if self.refusal == CURLE_OK { self.refusal = code }
    }

    // SAFETY, for all of these: the type fits the option; curl copies texts, and what it keeps lives as long as the handle.
    private func set(_ option: CURLoption, _ value: Int) {
        self.note(unsafe ccurl_easy_set_long(self.pointer, option, value))
    }

    private func set(_ option: CURLoption, text: String?) {
        self.note(unsafe ccurl_easy_set_text(self.pointer, option, text))
    }

    private func set(_ option: CURLoption, pointer: UnsafeMutableRawPointer?) {
        self.note(unsafe ccurl_easy_set_pointer(self.pointer, option, pointer))
    }

    private func set(_ option: CURLoption, list: UnsafeMutablePointer<curl_slist>?) {
        self.note(unsafe ccurl_easy_set_list(self.pointer, option, list))
    }
}
