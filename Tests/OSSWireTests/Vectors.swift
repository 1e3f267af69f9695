// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import FoundationEssentials
import OSSWire
import Testing

/// The rows of `vectors.json`: published test vectors of signatures, CRC-64 and multipart ETags.
struct Vectors: Decodable {
    struct V4: Decodable, Sendable, CustomTestStringConvertible {
        let mode: String
        let unixTime: Int64
        let expiresSeconds: Int?
        let securityToken: String?
        let additionalHeaders: [String]
        let region: String
        let product: String
        let contentType: String
        let signature: String
        let canonicalRequest: String
        let stringToSign: String

        var testDescription: String { "\(self.mode) \(self.unixTime) \(self.product) \(self.additionalHeaders)" }
        var accessKeyID: String { Vectors.all.v4common.ak }
        var secret: String { Vectors.all.v4common.sk }

        /// The request of the vector before it is signed, and its signer.
        var input: (request: SignableRequest, signer: SignatureV4) {
            let common = Vectors.all.v4common
            var request = SignableRequest(method: common.method, bucket: common.bucket, key: common.key)
            // Dictionaries have no order; a signature must not depend on one.
            request.query = common.query.map { QueryItem($0.key, $0.value) }
            for (name, value) in common.headers { request.headers.append(name: name, value: value) }
            request.headers["content-type"] = self.contentType
            let signer = SignatureV4(
                date: Timestamp(seconds: self.unixTime), region: self.region, product: self.product,
                additionalHeaders: self.additionalHeaders
            )
            return (request, signer)
        }
    }

    struct Common: Decodable, Sendable {
        let method: String, bucket: String, key: String, ak: String, sk: String
        let query: [String: String]
        let headers: [String: String]
    }

    struct V1: Decodable, Sendable {
        let secret: String, stringToSign: String, signature: String
    }

    struct CRC: Decodable, Sendable {
        let data: String, decimal: String

        /// The bytes: `zeros:n` stands for n zero bytes, `hex:` for bytes in hexadecimal digits.
        var bytes: [UInt8] {
            if self.data.hasPrefix("zeros:") { return Array(repeating: 0, count: Int(self.data.dropFirst(6)) ?? 0) }
            if self.data.hasPrefix("hex:") { return Hex.decode(self.data.dropFirst(4)) ?? [] }
            return Array(self.data.utf8)
        }
    }

    struct ETag: Decodable, Sendable {
        let parts: [String]
        let etag: String
    }

    let v4common: Common
    let v4: [V4]
    let v1: [V1]
    let crc64: [CRC]
    let multipartETag: [ETag]

    static let all: Vectors = {
        do { return try JSONDecoder().decode(Vectors.self, from: Data(PackageResources.vectors_json)) } catch {
            fatalError("vectors.json cannot be read: \(error)")
        }
    }()
}
