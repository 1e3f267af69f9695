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
            guard Self.isValue(field.value) else {
                throw TransportError(.configuration, "The value of header \(field.name) holds a line break or a NUL.")
            }
            if field.name.equalsIgnoringASCIICase("Content-Length") {
                guard let length = self.body.length, field.value.trimmedBlanks == String(length) else {
                    throw TransportError(.configuration, "The header Content-Length contradicts the body.")
                }
            } else if Self.transportFields.contains(where: { $0.equalsIgnoringASCIICase(field.name) }) {
                throw TransportError(.configuration, "The header \(field.name) is the transport's business.")
            }
        }
        return origin
    }

    /// Fields that say how the body is framed, which libcurl does.
    private static let transportFields = ["Transfer-Encoding", "Expect", "Trailer", "Upgrade"]

    /// `host:port` of the address, after a look at its characters.
    private func originOfURL() throws(TransportError) -> String {
        let outcome = self.url.withUTF8Bytes { bytes -> Result<String, TransportError> in
            func flawed(_ flaw: String) -> Result<String, TransportError> {
                .failure(TransportError(.configuration, flaw))
            }
            for index in bytes.indices {
                // A fragment is never sent, so a bare `#` is a key that somebody forgot to escape.
                guard bytes[index] > 0x20, bytes[index] < 0x7F, bytes[index] != UInt8(ascii: "#") else {
                    return flawed("The address holds characters that must be escaped.")
                }
            }
            let isSecure = Self.has(bytes, prefix: "https://")
            guard isSecure || Self.has(bytes, prefix: "http://") else {
                return flawed("The address begins neither with http:// nor with https://.")
            }
            let start = isSecure ? 8 : 7
            var end = start, hasPort = false
            while end < bytes.count, bytes[end] != UInt8(ascii: "/"), bytes[end] != UInt8(ascii: "?") {
                switch bytes[end] {
                case UInt8(ascii: "@"): return flawed("The address has no host, or a user name before it.")
                case UInt8(ascii: ":"): hasPort = true
                // The colons before it are those of an IPv6 address.
                case UInt8(ascii: "]"): hasPort = false
                default: break
                }
                end += 1
            }
            guard end > start else { return flawed("The address has no host, or a user name before it.") }
            let authority = String(utf8: bytes.extracting(start..<end))
            return .success(hasPort ? authority : "\(authority):\(isSecure ? 443 : 80)")
        }
        return try outcome.get()
    }

    private static func has(_ bytes: Span<UInt8>, prefix: String) -> Bool {
        prefix.withUTF8Bytes { bytes.extracting(first: $0.count).equalsIgnoringASCIICase($0) }
    }

    /// Whether the text can be a field's value: it breaks no line.
    private static func isValue(_ text: String) -> Bool {
        text.withUTF8Bytes { bytes in
            // To the end, whatever is found: so the processor looks at many bytes at once.
            var breaks = false
            for index in bytes.indices {
                breaks = breaks || bytes[index] == 0 || bytes[index] == 0x0A || bytes[index] == 0x0D
            }
            return !breaks
        }
    }

    /// Whether the text is a token of RFC 9110, section 5.6.2.
    private static func isToken(_ text: String) -> Bool {
        text.withUTF8Bytes { bytes in
            for index in bytes.indices {
                switch bytes[index] {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"):
                    continue
                case let byte where "!#$%&'*+.^_`|~".utf8.contains(byte): continue
                default: return false
                }
            }
            return !bytes.isEmpty
        }
    }
}
