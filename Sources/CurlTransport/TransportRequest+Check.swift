// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

extension TransportRequest {
    /// Looks whether the request can be written as HTTP/1.1 without harm, and returns its host and port for messages.
    ///
    /// No message says more of the address than that, nor a header's value: both may hold secrets.
    ///
    /// - Throws: ``TransportError/Kind/configuration``.
    func checkedOrigin() throws(TransportError) -> String {
        let origin = try self.originOfURL()
        guard Self.isToken(self.method) else {
            throw TransportError(.configuration, "The method is not an HTTP method.")
        }
        if self.method == "HEAD", self.body.length != nil {
            throw TransportError(.configuration, "A HEAD request has no body.")
        }
        if let length = self.body.length, length < 0 {
            throw TransportError(.configuration, "The body's length is negative.")
        }
        for field in self.headers.all {
            guard Self.isToken(field.name) else {
                throw TransportError(.configuration, "A header's name holds characters that no name may have.")
            }
            guard field.value.utf8.allSatisfy({ $0 != 0 && $0 != 0x0A && $0 != 0x0D }) else {
                throw TransportError(.configuration, "The value of header \(field.name) holds a line break or a NUL.")
            }
            switch field.name.loweredASCII {
            case "content-length":
                guard let length = self.body.length, field.value.trimmedBlanks == String(length) else {
                    throw TransportError(.configuration, "The header Content-Length contradicts the body.")
                }
            case "transfer-encoding", "expect", "trailer", "upgrade":
                throw TransportError(.configuration, "The header \(field.name) is the transport's business.")
            default: break
            }
        }
        return origin
    }

    /// `host:port` of the address, after a look at its characters.
    private func originOfURL() throws(TransportError) -> String {
        // A fragment is never sent, so a bare `#` is a key that somebody forgot to escape.
        guard self.url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "#") }) else {
            throw TransportError(.configuration, "The address holds characters that must be escaped.")
        }
        let scheme = self.url.prefix { $0 != ":" }
        let rest = self.url.dropFirst(scheme.count)
        let isSecure = scheme.equalsIgnoringASCIICase("https")
        guard isSecure || scheme.equalsIgnoringASCIICase("http"), rest.hasPrefix("://") else {
            throw TransportError(.configuration, "The address begins neither with http:// nor with https://.")
        }
        let authority = rest.dropFirst(3).prefix { $0 != "/" && $0 != "?" }
        guard !authority.isEmpty, !authority.contains("@") else {
            throw TransportError(.configuration, "The address has no host, or a user name before it.")
        }
        let hasPort = authority.lastIndex(of: ":").map { !authority[$0...].contains("]") } ?? false
        return hasPort ? String(authority) : "\(authority):\(isSecure ? 443 : 80)"
    }

    /// Whether the text is a token of RFC 9110, section 5.6.2.
    private static func isToken(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "a")...UInt8(ascii: "z"):
                    true
                default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
                }
            }
    }
}
