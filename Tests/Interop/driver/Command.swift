// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import OSSMultipart

/// One line of input: what to do, and what of it needs saying.
struct Command: Decodable, Sendable {
    /// The command's name; what it does not need of the rest is left out.
    var `do`: String
    var endpoint: String?
    var region: String?
    var signatureVersion: String?
    /// Without it the client is given a signer.
    var accessKeyID: String?
    var accessKeySecret: String?
    var securityToken: String?
    var checkpoints: String?

    var bucket: String?
    var key: String?
    var sourceKey: String?
    /// The path of the file that is sent, or written.
    var file: String?
    var contentType: String?
    var metadata: [String: String]?
    var acl: String?
    var tags: [String: String]?
    var position: Int64?
    var uploadID: String?
    var partNumber: Int?
    /// First byte, and the one behind the last.
    var range: [Int64]?
    var keys: [String]?
    var prefix: String?
    var delimiter: String?
    /// What a URL is for.
    var operation: String?
    var eTags: [String]?
    var storageClass: String?
}

/// One line of output: what came of a command.
struct Answer: Encodable, Sendable {
    var error: String?
    var code: String?
    var eTag: String?
    var crc64: String?
    var size: Int64?
    var position: Int64?
    var uploadID: String?
    var contentType: String?
    var metadata: [String: String]?
    var tags: [String: String]?
    var acl: String?
    var location: String?
    var keys: [String]?
    var prefixes: [String]?
    var method: String?
    var url: String?
    var headers: [String: String]?
    var fields: [[String]]?
    var partsSent: Int?
    var partsResumed: Int?
    var proof: String?
}
