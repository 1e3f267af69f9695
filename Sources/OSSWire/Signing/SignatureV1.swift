// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

/// Signature version 1, HMAC-SHA1.
///
/// OSS document: Include a V1 signature in the Authorization header; Include a V1 signature in a URL.
package enum SignatureV1 {
    /// The text that the signature is computed over.
    ///
    /// - Parameters:
    ///   - request: the request; `Content-MD5`, `Content-Type` and every `x-oss-*` header are signed.
    ///   - date: the value of `Date` as sent, or for a presigned URL the value of `Expires`.
    ///   - additionalSubresources: parameters to sign beside the documented ones.
    package static func stringToSign(
        _ request: SignableRequest, date: String, additionalSubresources: Set<String> = []
    ) -> String {
        let headers = request.headers.all
            .map { (name: $0.name.loweredASCII, value: $0.value.trimmedBlanks) }
            .filter { $0.name.hasPrefix("x-oss-") }
            .sorted { $0.name < $1.name }
            .map { "\($0.name):\($0.value)\n" }
            .joined()
        var resource = "/"
        if let bucket = request.bucket { resource += bucket + "/" }
        if let key = request.key { resource += key }
        let subresources = request.query
            .filter {
                Self.subresources.contains($0.name) || additionalSubresources.contains($0.name)
                    || $0.name.hasPrefix("x-oss-")
            }
            .sorted { $0.name < $1.name }
            .map { item in
                guard let value = item.value, !value.isEmpty else { return item.name }
                return "\(item.name)=\(value)"
            }
        if !subresources.isEmpty { resource += "?" + subresources.joined(separator: "&") }
        return [
            request.method, request.headers["Content-MD5"] ?? "", request.headers["Content-Type"] ?? "", date,
            headers + resource,
        ].joined(separator: "\n")
    }

    /// The signature of a string to sign, in Base64.
    package static func signature(ofStringToSign text: String, secret: String) throws(DigestError) -> String {
        Base64.encode(try HMAC.authenticationCode(for: Array(text.utf8), key: Array(secret.utf8), .sha1))
    }

    /// Adds `Date` and, with a token, `x-oss-security-token`, then signs: the value of `Authorization` is set.
    package static func sign(
        _ request: inout SignableRequest, date: Timestamp, accessKeyID: String, secret: String, securityToken: String?
    ) throws(DigestError) {
        request.headers["Date"] = date.httpDate
        request.headers["x-oss-security-token"] = securityToken
        let text = self.stringToSign(request, date: date.httpDate)
        request.headers["Authorization"] =
            "OSS \(accessKeyID):\(try self.signature(ofStringToSign: text, secret: secret))"
    }

    /// Adds the parameters of a presigned URL to the query, the signature among them.
    ///
    /// - Parameter expires: the moment from which on the URL is no longer good.
    package static func presign(
        _ request: inout SignableRequest, accessKeyID: String, secret: String, securityToken: String?,
        expires: Timestamp
    ) throws(DigestError) {
        if let securityToken { request.query.append(QueryItem("security-token", securityToken)) }
        let text = self.stringToSign(request, date: String(expires.seconds))
        request.query.append(QueryItem("OSSAccessKeyId", accessKeyID))
        request.query.append(QueryItem("Expires", String(expires.seconds)))
        request.query.append(QueryItem("Signature", try self.signature(ofStringToSign: text, secret: secret)))
    }

    /// The parameters that are signed.
    ///
    /// *Source:* OSS document, the list of sub-resources. *Applies to:* signature V1.
    private static let subresources: Set<String> = [
        "acl", "append", "bucketInfo", "callback", "callback-var", "cleanRestoredObject", "cloudboxes",
        "continuation-token", "delete", "location", "objectMeta", "partNumber", "position", "regionList",
        "response-cache-control", "response-content-disposition", "response-content-encoding",
        "response-content-language", "response-content-type", "response-expires", "restore", "security-token",
        "sequential", "stat", "symlink", "tagging", "uploadId", "uploads", "versionId", "versioning", "versions",
    ]
}
