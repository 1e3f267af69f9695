// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire
internal import Synchronization

/// Finds out who sends a request, by its signature.
final class Authenticator: Sendable {
    private let accounts: Mutex<[String: OSSServer.Account]>
    private let region: String
    private let maximumSkew: Int64
    private let allowsAnonymous: Bool

    init(_ configuration: OSSServer.Configuration) {
        self.region = configuration.region
        self.maximumSkew = configuration.maximumClockSkew.milliseconds
        self.allowsAnonymous = configuration.allowsAnonymous
        self.accounts = Mutex(Self.table(configuration.accounts))
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
    /// - Throws: `ServiceError` with the code that OSS has for the case.
    func authenticate(_ request: Request) throws(ServiceError) {
        guard let authorization = request.headers["Authorization"] else {
            if self.allowsAnonymous { return }
            throw ServiceError.accessDenied("You have no right to access this object because of bucket acl.")
        }
        if authorization.hasPrefix(SignatureV4.algorithm) {
            try self.checkV4(request, authorization)
        } else if authorization.hasPrefix("OSS ") {
            try self.checkV1(request, authorization)
        } else {
            throw ServiceError.invalidArgument("Unsupported authorization type.", ec: "0002-00000222")
        }
    }

    // MARK: Version 4

    private func checkV4(_ request: Request, _ authorization: String) throws(ServiceError) {
        let header = try V4Authorization(authorization)
        let account = try self.account(header.accessKeyID)
        guard let text = request.headers["x-oss-date"] ?? request.headers["Date"],
            let date = Timestamp(compact: text) ?? Timestamp(httpDate: text), date.compactDay == header.day
        else {
            throw ServiceError.invalidArgument("Invalid signing date in Authorization header.", ec: "0002-00000226")
        }
        guard header.region == self.region || header.product != "oss" else {
            throw ServiceError.invalidArgument("Invalid signing region in Authorization header.", ec: "0002-00000227")
        }
        guard request.headers["x-oss-content-sha256"] == SignatureV4.unsignedPayload else {
            throw ServiceError.invalidArgument(
                "x-oss-content-sha256 must be UNSIGNED-PAYLOAD.", name: "x-oss-content-sha256",
                value: request.headers["x-oss-content-sha256"] ?? "")
        }
        let signer = SignatureV4(
            date: date, region: header.region, product: header.product, additionalHeaders: header.additionalHeaders
        )
        let canonical = signer.canonicalRequest(request.signable)
        let toSign: String, expected: String
        do throws(DigestError) {
            toSign = try signer.stringToSign(canonicalRequest: canonical)
            expected = try signer.signature(ofStringToSign: toSign, secret: account.accessKeySecret)
        } catch {
            throw ServiceError.internalError(error)
        }
        guard equalInConstantTime(Array(expected.utf8), Array(header.signature.utf8)) else {
            throw Self.mismatch(header.accessKeyID, header.signature, stringToSign: toSign, canonicalRequest: canonical)
        }
        try self.checkTime(date, request)
        try self.checkToken(account, request.headers["x-oss-security-token"], request)
    }

    // MARK: Version 1

    private func checkV1(_ request: Request, _ authorization: String) throws(ServiceError) {
        let halves = authorization.dropFirst(4).split(separator: ":", maxSplits: 1)
        guard halves.count == 2 else {
            throw ServiceError.invalidArgument("Authorization header is invalid.", ec: "0002-00000221")
        }
        let id = halves[0].trimmedBlanks, signature = halves[1].trimmedBlanks
        let account = try self.account(id)
        // `x-oss-date` stands in for `Date`, in the text that is signed too; some clients sign the one, some the other.
        let dates = [request.headers["Date"], request.headers["x-oss-date"]].compactMap { $0 }
        guard let date = (dates.last ?? "").nonEmpty.flatMap({ Timestamp(httpDate: $0) ?? Timestamp(compact: $0) })
        else { throw ServiceError.accessDenied("OSS authentication requires a valid Date.") }
        var texts: [String] = []
        do throws(DigestError) {
            for date in dates {
                let text = SignatureV1.stringToSign(request.signable, date: date)
                texts.append(text)
                let expected = try SignatureV1.signature(ofStringToSign: text, secret: account.accessKeySecret)
                if equalInConstantTime(Array(expected.utf8), Array(signature.utf8)) {
                    texts = []
                    break
                }
            }
        } catch {
            throw ServiceError.internalError(error)
        }
        if let text = texts.first {
            throw Self.mismatch(id, signature, stringToSign: text, canonicalRequest: nil)
        }
        try self.checkTime(date, request)
        try self.checkToken(account, request.headers["x-oss-security-token"], request)
    }

    // MARK: Both

    private func account(_ id: String) throws(ServiceError) -> OSSServer.Account {
        guard let account = self.accounts.withLock({ $0[id] }) else {
            throw ServiceError(
                403, "InvalidAccessKeyId", "The OSS Access Key Id you provided does not exist in our records.",
                ec: "0002-00000902", details: [("OSSAccessKeyId", id)]
            )
        }
        return account
    }

    private func checkTime(_ date: Timestamp, _ request: Request) throws(ServiceError) {
        let now = request.received
        guard abs(now.milliseconds - date.milliseconds) > self.maximumSkew else { return }
        throw ServiceError(
            403, "RequestTimeTooSkewed",
            "The difference between the request time and the current time is too large.", ec: "0002-00000504",
            details: [
                ("MaxAllowedSkewMilliseconds", String(self.maximumSkew)), ("RequestTime", date.iso8601),
                ("ServerTime", now.iso8601),
            ]
        )
    }

    private func checkToken(
        _ account: OSSServer.Account, _ token: String?, _ request: Request
    ) throws(ServiceError) {
        guard let expected = account.securityToken else {
            guard let token, !token.isEmpty else { return }
            throw ServiceError(
                403, "SecurityTokenNotSupported", "The security token is not supported by this access key.",
                ec: "0002-00000008")
        }
        guard let token, equalInConstantTime(Array(token.utf8), Array(expected.utf8)) else {
            let isAnothers = self.accounts.withLock { $0.values.contains { $0.securityToken == token } }
            if token != nil, isAnothers {
                throw ServiceError(
                    403, "AccessKeyIdAndSecurityTokenNotMatch", "The access key ID does not match the security token.")
            }
            throw ServiceError(
                403, "InvalidSecurityToken", "The security token you provided is invalid.", ec: "0002-00000006")
        }
        if let expiration = account.expiration, request.received.seconds >= expiration {
            throw ServiceError(
                403, "SecurityTokenExpired", "The security token you provided has expired.", ec: "0002-00000007")
        }
    }

    private static func mismatch(
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

/// The fields of `Authorization` in version 4.
struct V4Authorization: Sendable {
    var accessKeyID: String
    var day: String
    var region: String
    var product: String
    var additionalHeaders: [String] = []
    var signature: String

    /// Reads the header's value.
    init(_ value: String) throws(ServiceError) {
        var fields: [String: String] = [:]
        for pair in value.dropFirst(SignatureV4.algorithm.count).split(separator: ",") {
            let halves = pair.trimmedBlanks.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard halves.count == 2 else { throw Self.invalid("0002-00000221") }
            fields[halves[0].trimmedBlanks] = halves[1].trimmedBlanks
        }
        // The access key ID may hold slashes in theory; the other four fields cannot.
        let scope = (fields["Credential"] ?? "").split(separator: "/", omittingEmptySubsequences: false)
        guard scope.count >= 5, scope[scope.count - 1] == "aliyun_v4_request", let signature = fields["Signature"]
        else {
            throw Self.invalid("0002-00000205")
        }
        self.accessKeyID = scope.dropLast(4).joined(separator: "/")
        self.day = String(scope[scope.count - 4])
        self.region = String(scope[scope.count - 3])
        self.product = String(scope[scope.count - 2])
        self.signature = signature
        if let names = fields["AdditionalHeaders"] {
            self.additionalHeaders = names.split(separator: ";").map { $0.trimmedBlanks }
            if self.additionalHeaders.isEmpty { throw Self.invalid("0002-00000209") }
        }
    }

    private static func invalid(_ ec: String) -> ServiceError {
        ServiceError.invalidArgument("Authorization header is invalid.", ec: ec)
    }
}

extension String {
    fileprivate var nonEmpty: String? { self.isEmpty ? nil : self }
}
