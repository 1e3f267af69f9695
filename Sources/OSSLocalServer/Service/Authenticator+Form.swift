// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

extension Authenticator {
    /// How long the date of a form of signature V4 is good, in seconds: seven days.
    ///
    /// *Source:* OSS document, V4 signature in a PostObject request. *Applies to:* the form field `x-oss-date`.
    private static let formLifetime: Int64 = 604_800

    /// Checks who signed a form.
    ///
    /// - Parameter fields: the form's fields up to the file.
    /// - Returns: the policy as it was signed; nil where the form has neither a signature nor a policy.
    /// - Throws: `ServiceError` with the code that OSS has for the case.
    func checkForm(_ fields: HTTPFields, _ request: Request) throws(ServiceError) -> String? {
        let isV4 = fields["x-oss-signature-version"] != nil || fields["x-oss-signature"] != nil
        if !isV4, ["OSSAccessKeyId", "policy", "Signature"].allSatisfy({ fields[$0] == nil }) { return nil }
        let policy = try Self.required("policy", fields, ec: "0002-00000702")
        let account = isV4 ? try self.checkV4(policy, fields, request) : try self.checkV1(policy, fields)
        try self.checkToken(account, fields["x-oss-security-token"], request)
        return policy
    }

    private func checkV1(_ policy: String, _ fields: HTTPFields) throws(ServiceError) -> OSSServer.Account {
        let account = try self.account(try Self.required("OSSAccessKeyId", fields))
        let signature = try Self.required("Signature", fields, ec: "0002-00000703")
        let expected: String
        do throws(DigestError) {
            expected = try SignatureV1.signature(ofStringToSign: policy, secret: account.accessKeySecret)
        } catch {
            throw ServiceError.internalError(error)
        }
        guard equalInConstantTime(Array(expected.utf8), Array(signature.utf8)) else {
            throw Self.mismatch(account.accessKeyID, signature, stringToSign: policy, canonicalRequest: nil)
        }
        return account
    }

    private func checkV4(
        _ policy: String, _ fields: HTTPFields, _ request: Request
    ) throws(ServiceError) -> OSSServer.Account {
        let version = try Self.required("x-oss-signature-version", fields)
        guard version == SignatureV4.algorithm else {
            throw ServiceError.invalidArgument(
                "Unsupported signature version.", name: "x-oss-signature-version", value: version)
        }
        let authorization = try V4Authorization(
            credential: try Self.required("x-oss-credential", fields),
            signature: try Self.required("x-oss-signature", fields, ec: "0002-00000703"), additionalHeaders: nil)
        let text = try Self.required("x-oss-date", fields)
        guard let date = Timestamp(compact: text), date.compactDay == authorization.day else {
            throw ServiceError.invalidArgument("Invalid signing date in the form.", name: "x-oss-date", value: text)
        }
        let account = try self.account(authorization.accessKeyID)
        let signer = try self.signer(authorization, date)
        try self.check(authorization, signer, account, stringToSign: policy, canonicalRequest: nil)
        if date > request.received { try self.checkTime(date, request) }
        try self.checkExpiration(Timestamp(seconds: date.seconds + Self.formLifetime), request)
        return account
    }

    private static func required(
        _ name: String, _ fields: HTTPFields, ec: String? = nil
    ) throws(ServiceError) -> String {
        guard let value = fields[name], !value.isEmpty else {
            throw ServiceError.missingField(name, ec: ec)
        }
        return value
    }
}

extension ServiceError {
    /// A form lacks a field that it has to have before the file.
    static func missingField(_ name: String, ec: String? = nil) -> Self {
        self.invalidArgument(
            "Bucket POST must contain a field named '\(name)'. If it is specified, please check the order of the fields.",
            name: name, value: "", ec: ec)
    }
}
