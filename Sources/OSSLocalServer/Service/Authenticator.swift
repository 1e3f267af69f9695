// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire
internal import SystemIO

/// Finds out who sends a request, by its signature.
final class Authenticator: Sendable {
    /// The region that signatures have to name.
    let region: String
    private let accounts: Lock<[String: OSSServer.Account]>
    private let maximumSkew: Int64
    private let allowsAnonymous: Bool

    init(_ configuration: OSSServer.Configuration) {
        self.region = configuration.region
        self.maximumSkew = configuration.maximumClockSkew.milliseconds
        self.allowsAnonymous = configuration.allowsAnonymous
        self.accounts = Lock(Self.table(configuration.accounts))
    }

    /// Puts other accounts in the place of the present ones.
    func replaceAccounts(_ accounts: [OSSServer.Account]) { self.accounts.withLock { $0 = Self.table(accounts) } }

    /// Changes when a token expires; false where there is no such account.
    func setExpiration(_ expiration: Int64?, ofAccessKeyID id: String) -> Bool {
        self.accounts.withLock { accounts in
            guard accounts[id] != nil else { return false }
            accounts[id]?.expiration = expiration
            return true
        }
    }

    private static func table(_ accounts: [OSSServer.Account]) -> [String: OSSServer.Account] {
        Dictionary(accounts.map { ($0.accessKeyID, $0) }) { _, last in last }
    }

    /// Accepts a request or refuses it.
    ///
    /// - Parameter isPublic: whether the access control lists allow the request to everybody.
    /// - Throws: `ServiceError` with the code that OSS has for the case.
    func authenticate(_ request: Request, isPublic: () throws(ServiceError) -> Bool) throws(ServiceError) {
        let authorization = request.headers["Authorization"]
        let isPresigned = request.has("x-oss-signature") || request.has("Signature")
        switch authorization {
        case _? where isPresigned:
            throw ServiceError.invalidArgument("Both the Authorization header and the query carry a signature.")
        case let text? where text.hasPrefix(SignatureV4.algorithm): try self.checkV4(request, header: text)
        case let text? where text.hasPrefix("OSS "): try self.checkV1(request, header: text)
        case _?: throw ServiceError.invalidArgument("Unsupported authorization type.")
        case nil where request.has("x-oss-signature-version") || request.has("x-oss-signature"):
            try self.checkPresignedV4(request)
        case nil where request.has("OSSAccessKeyId") || request.has("Signature"): try self.checkPresignedV1(request)
        case nil:
            if self.allowsAnonymous { return }
            if try isPublic() { return }
            throw ServiceError.accessDenied("You have no right to access this object because of bucket acl.")
        }
    }

    // MARK: For both versions

    /// The account of an access key ID.
    func account(_ id: String) throws(ServiceError) -> OSSServer.Account {
        guard let account = self.accounts.withLock({ $0[id] }) else { throw Self.unknownKey(id) }
        return account
    }

    private static func unknownKey(_ id: String) -> ServiceError {
        ServiceError(
            403, "InvalidAccessKeyId", "The OSS Access Key Id you provided does not exist in our records.",
            ec: "0002-00000902", details: [("OSSAccessKeyId", id)]
        )
    }

    /// Refuses a request whose time is too far from the server's.
    func checkTime(_ date: Timestamp, _ request: Request) throws(ServiceError) {
        let now = request.received
        guard abs(now.milliseconds - date.milliseconds) > self.maximumSkew else { return }
        throw ServiceError(
            403, "RequestTimeTooSkewed",
            "The difference between the request time and the current time is too large.", ec: "0002-00000504",
            details: [
                ("MaxAllowedSkewMilliseconds", String(self.maximumSkew)), ("RequestTime", date.inDocuments),
                ("ServerTime", now.inDocuments),
            ]
        )
    }

    /// Refuses a presigned URL whose time is over.
    func checkExpiration(_ end: Timestamp, _ request: Request) throws(ServiceError) {
        guard request.received.milliseconds >= end.milliseconds else { return }
        var error = ServiceError.accessDenied("Request has expired.")
        error.details = [("Expires", end.inDocuments), ("ServerTime", request.received.inDocuments)]
        throw error
    }

    /// Refuses a token that is missing, wrong or expired.
    func checkToken(_ account: OSSServer.Account, _ token: String?, _ request: Request) throws(ServiceError) {
        guard let expected = account.securityToken else {
            guard let token, !token.isEmpty else { return }
            throw ServiceError(
                403, "SecurityTokenNotSupported", "The security token is not supported by this access key.")
        }
        // Temporary keys are known only together with their token.
        guard let token, !token.isEmpty else { throw Self.unknownKey(account.accessKeyID) }
        guard equalInConstantTime(Array(token.utf8), Array(expected.utf8)) else {
            if self.accounts.withLock({ $0.values.contains { $0.securityToken == token } }) {
                throw ServiceError(
                    403, "AccessKeyIdAndSecurityTokenNotMatch", "The access key ID does not match the security token.")
            }
            throw ServiceError(403, "InvalidSecurityToken", "The security token you provided is invalid.")
        }
        if let expiration = account.expiration, request.received.seconds >= expiration {
            throw ServiceError(
                403, "SecurityTokenExpired", "The security token you provided has expired.", ec: "0002-00000007")
        }
    }

    /// The refusal of a wrong signature, with all that helps to find out why.
    static func mismatch(
        _ id: String, _ signature: String, stringToSign: String, canonicalRequest: String?
    ) -> ServiceError {
        let bytes = stringToSign.utf8.map { Hex.upper([$0]) }.joined(separator: " ")
        var details = [
            ("OSSAccessKeyId", id), ("SignatureProvided", signature), ("StringToSign", stringToSign),
            ("StringToSignBytes", bytes),
        ]
        if let canonicalRequest { details.append(("CanonicalRequest", canonicalRequest)) }
        return ServiceError(
            403, "SignatureDoesNotMatch",
            "The request signature we calculated does not match the signature you provided. Check your key and signing"
                + " method.", ec: "0002-00000040", details: details.map { (name: $0.0, value: $0.1) }
        )
    }
}
