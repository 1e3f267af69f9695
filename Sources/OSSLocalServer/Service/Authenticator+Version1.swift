// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

extension Authenticator {
    /// Checks the header's signature.
    func checkV1(_ request: Request, header: String) throws(ServiceError) {
        let halves = header.dropFirst(4).split(separator: ":", maxSplits: 1)
        guard halves.count == 2 else { throw ServiceError.invalidArgument("Authorization header is invalid.") }
        let account = try self.account(halves[0].trimmedBlanks)
        // `x-oss-date` stands in for `Date`, in the text that is signed too; some clients sign the one, some the other.
        let dates = [request.headers["Date"], request.headers["x-oss-date"]].compactMap { $0 }
        guard let last = dates.last, let date = Timestamp(httpDate: last) ?? Timestamp(compact: last) else {
            throw ServiceError.accessDenied("OSS authentication requires a valid Date.")
        }
        try self.check(request, account, signature: halves[1].trimmedBlanks, dates: dates)
        try self.checkTime(date, request)
        // The official Python SDK v2 sends the token under its parameter's name.
        let token = request.headers["x-oss-security-token"] ?? request.headers["security-token"]
        try self.checkToken(account, token, request)
    }

    /// Checks the query's signature.
    func checkPresignedV1(_ request: Request) throws(ServiceError) {
        guard let id = request.query.value(of: "OSSAccessKeyId"), let signature = request.query.value(of: "Signature"),
            let expires = request.query.value(of: "Expires"), let seconds = Int64(expires), seconds >= 0,
            seconds < Int64(Int32.max) * 1000
        else {
            throw ServiceError.accessDenied(
                "Query-string authentication requires the Signature, Expires and OSSAccessKeyId parameters")
        }
        let account = try self.account(id)
        // An old URL is told so, whatever else is wrong with it.
        try self.checkExpiration(Timestamp(seconds: seconds), request)
        try self.check(request, account, signature: signature, dates: [expires])
        try self.checkToken(account, request.query.value(of: "security-token"), request)
    }

    /// Accepts a signature of any of the texts that come of the dates.
    private func check(
        _ request: Request, _ account: OSSServer.Account, signature: String, dates: [String]
    ) throws(ServiceError) {
        var first: String?
        do throws(DigestError) {
            for date in dates {
                let text = SignatureV1.stringToSign(request.signable, date: date)
                let expected = try SignatureV1.signature(ofStringToSign: text, secret: account.accessKeySecret)
                if equalInConstantTime(Array(expected.utf8), Array(signature.utf8)) { return }
                first = first ?? text
            }
        } catch {
            throw ServiceError.internalError(error)
        }
        throw Self.mismatch(account.accessKeyID, signature, stringToSign: first ?? "", canonicalRequest: nil)
    }
}
