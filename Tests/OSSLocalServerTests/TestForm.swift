// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import OSSLocalServer
import OSSWire
import SystemIO

/// An HTML form as a browser sends it.
struct TestForm: Sendable {
    /// How a form proves who signed it.
    enum Signing: Sendable, CaseIterable {
        case v4, v1
    }

    /// The fields before the file, in order.
    var fields: [(name: String, value: String)] = []
    /// The header lines of the file's part; nil: there is no file.
    var fileHead: String? = "Content-Disposition: form-data; name=\"file\"; filename=\"a.txt\""
    /// The file.
    var file: [UInt8] = Array("content".utf8)
    /// What follows the file's part.
    var tail = ""

    static let boundary = "----WebKitFormBoundary7MA4YWxk"

    init(_ fields: [(name: String, value: String)] = [("key", "k")]) { self.fields = fields }

    /// The body.
    var body: [UInt8] {
        var bytes: [UInt8] = []
        for field in self.fields {
            bytes += Array(
                ("--\(Self.boundary)\r\nContent-Disposition: form-data; name=\"\(field.name)\"\r\n\r\n\(field.value)\r\n")
                    .utf8)
        }
        if let fileHead {
            bytes += Array("--\(Self.boundary)\r\n\(fileHead)\r\n\r\n".utf8) + self.file + Array("\r\n".utf8)
        }
        return bytes + Array("\(self.tail)--\(Self.boundary)--\r\n".utf8)
    }

    /// A policy of these conditions, as its field has it.
    static func policy(_ conditions: String, expiresIn seconds: Int64 = 600) -> String {
        let end = Timestamp(milliseconds: WallClock.milliseconds + seconds * 1000).iso8601
        return Base64.encode(Array("{\"expiration\": \"\(end)\", \"conditions\": \(conditions)}".utf8))
    }

    /// Adds the fields of a signature.
    mutating func sign(
        _ signing: Signing = .v4, conditions: String = "[[\"starts-with\", \"$key\", \"\"]]", policy: String? = nil,
        account: OSSServer.Account = .test, region: String = "cn-hangzhou", age: Int64 = 0
    ) throws {
        let policy = policy ?? Self.policy(conditions)
        self.fields.append(("policy", policy))
        switch signing {
        case .v1:
            self.fields.append(("OSSAccessKeyId", account.accessKeyID))
            self.fields.append(
                ("Signature", try SignatureV1.signature(ofStringToSign: policy, secret: account.accessKeySecret)))
        case .v4:
            let date = Timestamp(milliseconds: WallClock.milliseconds - age * 1000)
            let signer = SignatureV4(date: date, region: region)
            self.fields += [
                ("x-oss-signature-version", SignatureV4.algorithm),
                ("x-oss-credential", "\(account.accessKeyID)/\(signer.scope)"), ("x-oss-date", date.compact),
                ("x-oss-signature", try signer.signature(ofStringToSign: policy, secret: account.accessKeySecret)),
            ]
        }
        if let token = account.securityToken { self.fields.append(("x-oss-security-token", token)) }
    }

    /// Gives a field another value, or takes it away.
    func with(_ name: String, _ value: String?) -> TestForm {
        var form = self
        form.fields.removeAll { $0.name == name }
        if let value { form.fields.append((name, value)) }
        return form
    }
}

extension TestClient {
    /// Sends a form; nothing but its fields tells who sends it.
    func post(
        _ form: TestForm, contentType: String = "multipart/form-data; boundary=\(TestForm.boundary)",
        headers: HTTPFields = [:], target: String? = nil, host: String? = nil
    ) async throws -> TestReply {
        var client = self
        client.signing = .none
        var headers = headers
        headers["Content-Type"] = contentType
        return try await client.send("POST", headers: headers, body: form.body, target: target, host: host)
    }
}
