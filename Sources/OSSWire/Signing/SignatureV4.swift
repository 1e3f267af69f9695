// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

/// What a signature covers of a request.
package struct SignableRequest: Sendable {
    /// `GET`, `PUT`, `POST`, `HEAD` or `DELETE`.
    package var method: String
    /// The bucket, whatever the addressing style; nil for calls on the service.
    package var bucket: String?
    /// The key, decoded; nil for calls on the bucket.
    package var key: String?
    /// The query's parameters, decoded.
    package var query: [QueryItem]
    /// The header fields as they are sent.
    package var headers: HTTPFields

    package init(
        method: String, bucket: String? = nil, key: String? = nil, query: [QueryItem] = [], headers: HTTPFields = [:]
    ) {
        self.method = method
        self.bucket = bucket
        self.key = key
        self.query = query
        self.headers = headers
    }
}

/// Signature version 4, OSS4-HMAC-SHA256.
///
/// OSS document: Include a V4 signature in the Authorization header; Include a V4 signature in a URL.
package struct SignatureV4: Sendable {
    /// The algorithm's name as the wire carries it.
    package static let algorithm = "OSS4-HMAC-SHA256"
    /// What stands in for the payload's digest: the payload is not signed.
    package static let unsignedPayload = "UNSIGNED-PAYLOAD"
    private static let terminator = "aliyun_v4_request"

    /// The moment that is signed.
    package var date: Timestamp
    /// The region, for example `cn-hangzhou`.
    package var region: String
    /// The product: `oss`, or `oss-cloudbox`.
    package var product: String
    /// Headers to sign beside those that are always signed; names that are always signed or missing are left out.
    package var additionalHeaders: [String]

    package init(date: Timestamp, region: String, product: String = "oss", additionalHeaders: [String] = []) {
        self.date = date
        self.region = region
        self.product = product
        self.additionalHeaders = additionalHeaders
    }

    /// Day, region, product and terminator, as the credential carries them behind the access key ID.
    package var scope: String { "\(self.date.compactDay)/\(self.region)/\(self.product)/\(Self.terminator)" }

    /// A key derived from a secret: it signs all requests of one day to one region and product.
    package struct Key: Sendable {
        /// The day, in days since 1970-01-01.
        fileprivate let day: Int64
        fileprivate let region: String
        fileprivate let product: String
        fileprivate let scope: String
        fileprivate let hmac: HMACKey
    }

    /// Derives the key for this day, region and product, which takes longer than to sign with it: keep it.
    package func makeKey(secret: String) throws(DigestError) -> Key {
        var key = Array("aliyun_v4\(secret)".utf8)
        for step in [self.date.compactDay, self.region, self.product, Self.terminator] {
            key = try HMAC.authenticationCode(for: Array(step.utf8), key: key, .sha256)
        }
        return Key(
            day: self.date.day, region: self.region, product: self.product, scope: self.scope,
            hmac: try HMACKey(key, .sha256))
    }

    /// Whether a key is for this day, region and product.
    package func canUse(_ key: Key) -> Bool {
        key.day == self.date.day && key.region == self.region && key.product == self.product
    }

    /// The text whose digest is signed.
    package func canonicalRequest(_ request: SignableRequest) -> String {
        String(decoding: self.canonicalBytes(request), as: UTF8.self)
    }

    private func canonicalBytes(_ request: SignableRequest) -> [UInt8] {
        let additional = self.additionalNames(in: request.headers)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(512)
        func append(_ text: String) { bytes.append(utf8: text) }
        append(request.method)
        append("\n/")
        if let bucket = request.bucket {
            PercentEncoding.append(bucket, to: &bytes, keepingSlash: true)
            append("/")
        }
        if let key = request.key { PercentEncoding.append(key, to: &bytes, keepingSlash: true) }
        append("\n")
        var query: [(name: String, value: String)] = []
        query.reserveCapacity(request.query.count)
        for item in request.query where item.name != "x-oss-signature" {
            query.append((PercentEncoding.encode(item.name), PercentEncoding.encode(item.value ?? "")))
        }
        // By bytes: Swift's own order of strings is that of Unicode scalars, the same for ASCII.
        query.sort { ($0.name, $0.value) < ($1.name, $1.value) }
        for (index, item) in query.enumerated() {
            if index > 0 { append("&") }
            append(item.name)
            guard !item.value.isEmpty else { continue }
            append("=")
            append(item.value)
        }
        append("\n")
        var headers: [HTTPFields.Field] = []
        headers.reserveCapacity(request.headers.all.count)
        for field in request.headers.all {
            let name = field.name.loweredASCII
            guard Self.isAlwaysSigned(name) || !additional.isEmpty && additional.contains(name) else { continue }
            headers.append(.init(name: name, value: field.value))
        }
        headers.sort { $0.name < $1.name }
        for header in headers {
            append(header.name)
            append(":")
            append(header.value.trimmedBlanks)
            append("\n")
        }
        append("\n")
        if !additional.isEmpty { append(additional.joined(separator: ";")) }
        append("\n")
        append(Self.unsignedPayload)
        return bytes
    }

    /// The text that the signature is computed over.
    package func stringToSign(canonicalRequest: String) throws(DigestError) -> String {
        let bytes = try Self.bytesToSign(
            canonicalRequest: Array(canonicalRequest.utf8), date: self.date.compact, scope: self.scope)
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func bytesToSign(
        canonicalRequest: [UInt8], date: String, scope: String
    ) throws(DigestError) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(192)
        for line in [Self.algorithm, date, scope] {
            bytes.append(utf8: line)
            bytes.append(0x0A)
        }
        Hex.appendLower(try MessageDigest.of(canonicalRequest, .sha256), to: &bytes)
        return bytes
    }

    /// The signature of a string to sign, in lower-case hexadecimal digits.
    package func signature(ofStringToSign text: String, secret: String) throws(DigestError) -> String {
        try Self.signature(ofBytesToSign: Array(text.utf8), key: self.makeKey(secret: secret))
    }

    private static func signature(ofBytesToSign bytes: [UInt8], key: Key) throws(DigestError) -> String {
        Hex.lower(try key.hmac.authenticationCode(for: bytes))
    }

    /// Adds `x-oss-date`, `x-oss-content-sha256` and, with a token, `x-oss-security-token`, then signs: the value of
    /// `Authorization` is set.
    package func sign(
        _ request: inout SignableRequest, accessKeyID: String, secret: String, securityToken: String?
    ) throws(DigestError) {
        try self.sign(
            &request, accessKeyID: accessKeyID, key: self.makeKey(secret: secret), securityToken: securityToken)
    }

    /// The same with a key that was derived before.
    ///
    /// - Precondition: the key is for this day, region and product.
    package func sign(
        _ request: inout SignableRequest, accessKeyID: String, key: Key, securityToken: String?
    ) throws(DigestError) {
        precondition(self.canUse(key), "the key is another day's, region's or product's")
        let date = self.date.compact
        request.headers["x-oss-date"] = date
        request.headers["x-oss-content-sha256"] = Self.unsignedPayload
        request.headers["x-oss-security-token"] = securityToken
        let bytes = try Self.bytesToSign(
            canonicalRequest: self.canonicalBytes(request), date: date, scope: key.scope)
        let signature = try key.hmac.authenticationCode(for: bytes)
        let additional = self.additionalNames(in: request.headers)
        // An empty list would be refused by the service: the field is left out.
        let list = additional.isEmpty ? "" : ",AdditionalHeaders=" + additional.joined(separator: ";")
        // Byte by byte: a text made of texts is as many copies.
        var value: [UInt8] = []
        value.reserveCapacity(256)
        for text in [Self.algorithm, " Credential=", accessKeyID, "/", key.scope, list, ",Signature="] {
            value.append(utf8: text)
        }
        Hex.appendLower(signature, to: &value)
        request.headers["Authorization"] = String(decoding: value, as: UTF8.self)
    }

    /// Adds the parameters of a presigned URL to the query, the signature among them.
    ///
    /// - Parameter expires: seconds for which the URL is good, 1 to 604,800.
    package func presign(
        _ request: inout SignableRequest, accessKeyID: String, secret: String, securityToken: String?, expires: Int
    ) throws(DigestError) {
        let additional = self.additionalNames(in: request.headers)
        request.query.append(QueryItem("x-oss-signature-version", Self.algorithm))
        request.query.append(QueryItem("x-oss-credential", "\(accessKeyID)/\(self.scope)"))
        request.query.append(QueryItem("x-oss-date", self.date.compact))
        request.query.append(QueryItem("x-oss-expires", String(expires)))
        if let securityToken { request.query.append(QueryItem("x-oss-security-token", securityToken)) }
        if !additional.isEmpty {
            request.query.append(QueryItem("x-oss-additional-headers", additional.joined(separator: ";")))
        }
        let text = try self.stringToSign(canonicalRequest: self.canonicalRequest(request))
        request.query.append(QueryItem("x-oss-signature", try self.signature(ofStringToSign: text, secret: secret)))
    }

    /// The additional headers that count: present, lower-case, sorted, once each, and not signed anyway.
    private func additionalNames(in headers: HTTPFields) -> [String] {
        guard !self.additionalHeaders.isEmpty else { return [] }
        return Set(self.additionalHeaders.map(\.loweredASCII))
            .filter { !Self.isAlwaysSigned($0) && headers[$0] != nil }
            .sorted()
    }

    /// Whether a header is signed unasked.
    ///
    /// - Parameter name: in lower case.
    private static func isAlwaysSigned(_ name: String) -> Bool {
        name.hasPrefix("x-oss-") || name == "content-type" || name == "content-md5"
    }
}
