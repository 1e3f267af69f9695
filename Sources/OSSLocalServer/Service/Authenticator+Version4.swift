// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

extension Authenticator {
    /// Seconds that a presigned URL may be good for: seven days.
    ///
    /// *Source:* OSS document, V4 signature in a URL. *Applies to:* `x-oss-expires`.
    private static let lifetimes = 1...604_800

    /// Checks the header's signature.
    func checkV4(_ request: Request, header: String) throws(ServiceError) {
        let authorization = try V4Authorization(header: header)
        guard let text = request.headers["x-oss-date"] ?? request.headers["Date"],
            let date = Timestamp(compact: text) ?? Timestamp(httpDate: text), date.compactDay == authorization.day
        else { throw ServiceError.invalidArgument("Invalid signing date in Authorization header.") }
        guard request.headers["x-oss-content-sha256"] == SignatureV4.unsignedPayload else {
            throw ServiceError.invalidArgument(
                "x-oss-content-sha256 must be UNSIGNED-PAYLOAD.", name: "x-oss-content-sha256",
                value: request.headers["x-oss-content-sha256"] ?? "")
        }
        let account = try self.check(request, authorization, date)
        try self.checkTime(date, request)
        try self.checkToken(account, request.headers["x-oss-security-token"], request)
    }

    /// Checks the query's signature.
    func checkPresignedV4(_ request: Request) throws(ServiceError) {
        let authorization = try V4Authorization(query: request.query)
        guard let date = request.query.value(of: "x-oss-date").flatMap({ Timestamp(compact: $0) }),
            date.compactDay == authorization.day
        else { throw ServiceError.invalidArgument("Invalid signing date in the query.") }
        guard let lifetime = request.query.value(of: "x-oss-expires").flatMap({ Int($0) }),
            Self.lifetimes.contains(lifetime)
        else {
            throw ServiceError.invalidArgument(
                "x-oss-expires must be a number of seconds from 1 to 604800.", name: "x-oss-expires",
                value: request.query.value(of: "x-oss-expires") ?? "")
        }
        let account = try self.check(request, authorization, date)
        try self.checkExpiration(Timestamp(seconds: date.seconds + Int64(lifetime)), request)
        // Only a URL from the future can be too far from the server's time; an old one is good until it expires.
        if date > request.received { try self.checkTime(date, request) }
        try self.checkToken(account, request.query.value(of: "x-oss-security-token"), request)
    }

    private func check(
        _ request: Request, _ authorization: V4Authorization, _ date: Timestamp
    ) throws(ServiceError) -> OSSServer.Account {
        let account = try self.account(authorization.accessKeyID)
        let signer = try self.signer(authorization, date)
        let canonical = signer.canonicalRequest(request.signable)
        let toSign: String
        do throws(DigestError) { toSign = try signer.stringToSign(canonicalRequest: canonical) } catch {
            throw ServiceError.internalError(error)
        }
        try self.check(authorization, signer, account, stringToSign: toSign, canonicalRequest: canonical)
        return account
    }

    /// The signer of what an authorization says; its region and product have to be ones that there are.
    func signer(_ authorization: V4Authorization, _ date: Timestamp) throws(ServiceError) -> SignatureV4 {
        switch authorization.product {
        case "oss" where authorization.region == self.region: break
        case "oss": throw ServiceError.invalidArgument("Invalid signing region in Authorization header.")
        // There a cloud box's ID stands for the region; any will do.
        case "oss-cloudbox": break
        default: throw ServiceError.invalidArgument("Invalid signing product in Authorization header.")
        }
        return SignatureV4(
            date: date, region: authorization.region, product: authorization.product,
            additionalHeaders: authorization.additionalHeaders
        )
    }

    /// Refuses a signature that is not the one of a text.
    func check(
        _ authorization: V4Authorization, _ signer: SignatureV4, _ account: OSSServer.Account, stringToSign: String,
        canonicalRequest: String?
    ) throws(ServiceError) {
        let expected: String
        do throws(DigestError) {
            expected = try signer.signature(ofStringToSign: stringToSign, secret: account.accessKeySecret)
        } catch {
            throw ServiceError.internalError(error)
        }
        guard equalInConstantTime(Array(expected.utf8), Array(authorization.signature.utf8)) else {
            throw Self.mismatch(
                authorization.accessKeyID, authorization.signature, stringToSign: stringToSign,
                canonicalRequest: canonicalRequest)
        }
    }
}

/// What a request says about its signature of version 4.
struct V4Authorization: Sendable {
    var accessKeyID: String
    var day: String
    var region: String
    var product: String
    var additionalHeaders: [String] = []
    var signature: String

    /// Reads the value of `Authorization`.
    init(header: String) throws(ServiceError) {
        var fields: [String: String] = [:]
        for pair in header.dropFirst(SignatureV4.algorithm.count).split(separator: ",") {
            let halves = pair.trimmedBlanks.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard halves.count == 2 else { throw Self.invalid }
            fields[halves[0].trimmedBlanks] = halves[1].trimmedBlanks
        }
        try self.init(
            credential: fields["Credential"], signature: fields["Signature"],
            additionalHeaders: fields["AdditionalHeaders"])
    }

    /// Reads the parameters of a presigned URL.
    init(query: [QueryItem]) throws(ServiceError) {
        guard query.value(of: "x-oss-signature-version") == SignatureV4.algorithm else {
            throw ServiceError.invalidArgument(
                "Unsupported signature version.", name: "x-oss-signature-version",
                value: query.value(of: "x-oss-signature-version") ?? "")
        }
        try self.init(
            credential: query.value(of: "x-oss-credential"), signature: query.value(of: "x-oss-signature"),
            additionalHeaders: query.value(of: "x-oss-additional-headers"))
    }

    /// Reads what a header, a query or a form tells one by one.
    init(credential: String?, signature: String?, additionalHeaders: String?) throws(ServiceError) {
        // The access key ID may hold slashes in theory; the other four fields cannot.
        let scope = (credential ?? "").split(separator: "/", omittingEmptySubsequences: false)
        guard scope.count >= 5, scope[scope.count - 1] == "aliyun_v4_request", let signature else {
            throw Self.invalid
        }
        self.accessKeyID = scope.dropLast(4).joined(separator: "/")
        self.day = String(scope[scope.count - 4])
        self.region = String(scope[scope.count - 3])
        self.product = String(scope[scope.count - 2])
        self.signature = signature
        if let additionalHeaders {
            self.additionalHeaders = additionalHeaders.split(separator: ";").map { $0.trimmedBlanks }
            if self.additionalHeaders.isEmpty {
                throw ServiceError.invalidArgument("Authorization header is invalid.", ec: "0002-00000209")
            }
        }
    }

    private static var invalid: ServiceError { ServiceError.invalidArgument("Authorization header is invalid.") }
}
