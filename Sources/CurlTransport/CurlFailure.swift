// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import CCurl

/// What a code of curl means: the one table from `CURLcode` to ``TransportError/Kind``.
enum CurlFailure {
    /// What is known of a transfer when it fails.
    struct Circumstances {
        /// Whether the connection stood and the request was begun.
        var isConnected: Bool
        /// Whether any byte of a reply came.
        var hasReply: Bool
        /// The status of a proxy's answer to CONNECT; 0 where there was none.
        var proxyStatus: Int
        /// What curl says of it; empty where it says nothing.
        var text: String
    }

    /// The kind of failure that a code stands for.
    ///
    /// Codes that are not named here cannot come from HTTP; they count as a broken connection.
    static func kind(of code: CURLcode, _ circumstances: Circumstances) -> TransportError.Kind {
        // A proxy that refuses the tunnel is reported as an error of receiving.
        if !circumstances.isConnected, circumstances.proxyStatus >= 300 { return .connect }
        switch code {
        case CURLE_COULDNT_RESOLVE_HOST:
            return .resolve
        case CURLE_COULDNT_RESOLVE_PROXY:
            return circumstances.text.hasPrefix(Self.badProxy) ? .configuration : .resolve
        case CURLE_COULDNT_CONNECT:
            return circumstances.text.hasPrefix(Self.badProxy) ? .configuration : .connect
        case CURLE_PROXY, CURLE_INTERFACE_FAILED, CURLE_NO_CONNECTION_AVAILABLE:
            return .connect
        case CURLE_OPERATION_TIMEDOUT:
            // curl is told of no other time-out.
            return .connectTimeout
        case CURLE_SSL_CONNECT_ERROR:
            // The network broke within the handshake: nothing is wrong with TLS itself.
            return Self.brokenHandshakes.contains { circumstances.text.contains($0) } ? .connect : .tls
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CIPHER, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_CERTPROBLEM,
            CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_PINNEDPUBKEYNOTMATCH, CURLE_SSL_CLIENTCERT, CURLE_USE_SSL_FAILED,
            CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_ENGINE_SETFAILED, CURLE_SSL_ENGINE_INITFAILED,
            CURLE_SSL_SHUTDOWN_FAILED:
            return .tls
        case CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CRL_BADFILE, CURLE_URL_MALFORMAT, CURLE_BAD_FUNCTION_ARGUMENT,
            CURLE_UNKNOWN_OPTION, CURLE_NOT_BUILT_IN, CURLE_FAILED_INIT, CURLE_LOGIN_DENIED:
            return .configuration
        case CURLE_UNSUPPORTED_PROTOCOL:
            // Also the version of a reply that is not HTTP/1.
            return circumstances.isConnected ? .malformedReply : .configuration
        case CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING, CURLE_FILESIZE_EXCEEDED:
            return .malformedReply
        case CURLE_WRITE_ERROR:
            return .replyTooLarge
        case CURLE_SEND_ERROR, CURLE_GOT_NOTHING, CURLE_SEND_FAIL_REWIND:
            return .send
        default:
            // CURLE_RECV_ERROR, CURLE_PARTIAL_FILE and what nobody expects.
            if circumstances.hasReply { return .receive }
            return circumstances.isConnected ? .send : .connect
        }
    }

    /// Whether the code says that the connection ended before the transfer did.
    static func isBrokenConnection(_ code: CURLcode) -> Bool {
        switch code {
        case CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_PARTIAL_FILE, CURLE_GOT_NOTHING: true
        default: false
        }
    }

    /// Whether the kind says that there was no connection to send anything on.
    static func isOfConnecting(_ kind: TransportError.Kind) -> Bool {
        switch kind {
        case .resolve, .connect, .connectTimeout, .tls: true
        default: false
        }
    }

    /// One sentence about a failure, with nothing in it but the origin and what curl says.
    static func message(
        _ kind: TransportError.Kind, code: CURLcode, origin: String, _ circumstances: Circumstances
    ) -> String {
        var text = circumstances.text
        // curl repeats the proxy's text there, and that may hold a password.
        if text.isEmpty || text.hasPrefix(Self.badProxy) {
            // SAFETY: curl returns a text that lives for ever.
            text = unsafe String(cString: curl_easy_strerror(code))
        }
        while text.last == "." || text.last?.isWhitespace == true { text.removeLast() }
        return "\(Self.subject(kind)) (\(origin)): \(text)."
    }

    private static func subject(_ kind: TransportError.Kind) -> String {
        switch kind {
        case .resolve: "The host's name, or the proxy's, has no address"
        case .connect: "No connection came about"
        case .connectTimeout: "The connection did not stand in time"
        case .tls: "TLS failed"
        case .send: "The connection broke before any reply came"
        case .receive: "The connection broke within the reply"
        case .idleTimeout: "No byte moved for too long"
        case .totalTimeout: "The attempt took too long"
        case .replyTooLarge: "The reply is too long"
        case .malformedReply: "The reply is not HTTP"
        case .source: "The source cannot be read"
        case .sourceTooShort: "The source is too short"
        case .brokenBody: "The body is not whole"
        case .configuration: "An option cannot be used"
        case .shutDown: "The transport has been shut down"
        }
    }

    private static let badProxy = "Unsupported proxy"
    /// What OpenSSL's errors look like where the system or the other side ended the connection.
    private static let brokenHandshakes = ["SSL_connect: ", "unexpected eof", "Recv failure", "Send failure"]
}
