// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// Signs requests with an access key, in header fields or in a URL.
struct AccessKeySigner: Sendable {
    let version: OSSClient.SignatureVersion
    /// The region; it counts for signature V4 alone.
    let region: String
    private let key = SigningKeyCache()

    init(_ version: OSSClient.SignatureVersion, region: String) {
        self.version = version
        self.region = region
    }

    /// Adds the header fields of the signature.
    func sign(
        _ request: inout SignableRequest, date: Timestamp, with credentials: OSSCredentials,
        for operation: OSSError.Operation
    ) throws(OSSError) {
        do throws(DigestError) {
            if self.version == .v1 {
                try SignatureV1.sign(
                    &request, date: date, accessKeyID: credentials.accessKeyID, secret: credentials.accessKeySecret,
                    securityToken: credentials.securityToken
                )
            } else {
                let signer = SignatureV4(date: date, region: self.region)
                try signer.sign(
                    &request, accessKeyID: credentials.accessKeyID,
                    key: self.key.key(for: signer, secret: credentials.accessKeySecret),
                    securityToken: credentials.securityToken
                )
            }
        } catch {
            throw OSSError(.invalidConfiguration, "\(error)", operation: operation, underlying: error)
        }
    }

    /// Checks how long a URL is to be good.
    ///
    /// - Returns: the lifetime in whole seconds.
    func seconds(of lifetime: Duration, for operation: OSSError.Operation?) throws(OSSError) -> Int64 {
        let seconds = lifetime.components.seconds
        let longest: Int64 = self.version == .v4 ? 604_800 : Int64(Int32.max)
        guard (1...longest).contains(seconds) else {
            throw OSSError(
                .invalidArgument, "the lifetime is \(lifetime); a URL is good for 1 to \(longest) seconds",
                operation: operation
            )
        }
        return seconds
    }

    /// Adds the parameters of the signature to the query; all header fields that there are have to be sent.
    func presign(
        _ request: inout SignableRequest, date: Timestamp, seconds: Int64, with credentials: OSSCredentials,
        for operation: OSSError.Operation
    ) throws(OSSError) {
        do throws(DigestError) {
            if self.version == .v1 {
                try SignatureV1.presign(
                    &request, accessKeyID: credentials.accessKeyID, secret: credentials.accessKeySecret,
                    securityToken: credentials.securityToken, expires: Timestamp(seconds: date.seconds + seconds)
                )
            } else {
                let names = request.headers.all.map(\.name)
                try SignatureV4(date: date, region: self.region, additionalHeaders: names).presign(
                    &request, accessKeyID: credentials.accessKeyID, secret: credentials.accessKeySecret,
                    securityToken: credentials.securityToken, expires: Int(seconds)
                )
            }
        } catch {
            throw OSSError(.invalidConfiguration, "\(error)", operation: operation, underlying: error)
        }
    }
}
