// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// A request as far as its header fields tell it.
struct Request: Sendable {
    /// `GET`, `PUT` and so on.
    var method: String
    /// What it is about.
    var target: RequestTarget
    /// The header fields.
    var headers: HTTPFields
    /// The server's time when it came in.
    var received: Timestamp
    /// Its own identifier.
    var id: String

    /// The parameters of the query, decoded.
    var query: [QueryItem] { self.target.query }
    /// Whether a query parameter of that name is there.
    func has(_ parameter: String) -> Bool { self.target.query.contains { $0.name == parameter } }

    /// What a signature covers of it.
    var signable: SignableRequest {
        SignableRequest(
            method: self.method, bucket: self.target.bucket, key: self.target.key, query: self.query,
            headers: self.headers
        )
    }

    /// The value of `Content-Length`; nil where it is missing or no number.
    var contentLength: Int64? { self.headers["Content-Length"].flatMap { Int64($0.trimmedBlanks) } }

    /// Whether several header fields tell how long the body is.
    var hasAmbiguousLength: Bool {
        self.headers.all.count {
            $0.name.equalsIgnoringASCIICase("Content-Length") || $0.name.equalsIgnoringASCIICase("Transfer-Encoding")
        } > 1
    }

    /// Whether the body comes in chunks.
    var isChunked: Bool {
        self.headers["Transfer-Encoding"]?.loweredASCII.utf8.elementsEqual("chunked".utf8) ?? false
    }

    /// The key, decoded.
    func key() throws(ServiceError) -> ObjectKey { ObjectKey(self.target.key ?? "") }

    /// The bucket.
    var bucket: String { self.target.bucket ?? "" }

    /// Where the object is found that the request names.
    var location: String {
        let key = PercentEncoding.encode(self.target.key ?? "", keepingSlash: true)
        let host = self.target.host
        return self.target.isVirtualHost ? "http://\(host)/\(key)" : "http://\(host)/\(self.bucket)/\(key)"
    }

    /// The value of a header or, where there is none, of a query parameter.
    ///
    /// - Throws: `ServiceError` where both are there.
    func value(ofHeader header: String, orParameter parameter: String) throws(ServiceError) -> String? {
        let inHeader = self.headers[header], inQuery = self.query.value(of: parameter)
        if inHeader != nil, inQuery != nil {
            throw ServiceError.invalidArgument(
                "\(header) is in the header and in the query.", name: parameter, value: "")
        }
        return inHeader ?? inQuery
    }

    /// Bits a second at which bodies travel at most.
    ///
    /// *Source:* OSS document Single-connection bandwidth throttling; the lower bound that the SDKs name. *Applies to:*
    /// `x-oss-traffic-limit`.
    private static let trafficLimits = 245_760...838_860_800

    /// Bytes a second at which the client wants bodies to travel at most; nil where it does not say.
    func trafficLimit() throws(ServiceError) -> Int? {
        let name = "x-oss-traffic-limit"
        guard let text = try self.value(ofHeader: name, orParameter: name) else { return nil }
        guard let bits = Int(text), Self.trafficLimits.contains(bits) else {
            throw ServiceError.invalidArgument(
                "The traffic limit must be a number from 245760 to 838860800.", name: name, value: text)
        }
        return bits / 8
    }

    /// Whether a header says that nothing may be overwritten.
    var forbidsOverwrite: Bool {
        self.headers["x-oss-forbid-overwrite"]?.loweredASCII.utf8.elementsEqual("true".utf8) ?? false
    }

    /// The number in a parameter, bounded; nil where the parameter is missing or empty.
    func number(_ name: String, in range: ClosedRange<Int>) throws(ServiceError) -> Int? {
        guard let text = self.query.value(of: name), !text.isEmpty else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw ServiceError.invalidArgument(
                "Argument \(name) must be an integer between \(range.lowerBound) and \(range.upperBound).", name: name,
                value: text)
        }
        return number
    }
}
