// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

/// What to do about the service's refusals.
enum ServiceAdvice {
    /// The service's sentence with advice behind it, where there is some.
    static func message(_ said: String, _ service: OSSError.Service) -> String {
        guard let advice = self.advice(on: service) else { return said }
        let end = said.last == "." || said.last == "!" ? "" : "."
        return "\(said)\(end) \(advice)"
    }

    private static func advice(on service: OSSError.Service) -> String? {
        switch service.code {
        case .accessDenied:
            "Check the policy of this user or token (an upload needs oss:PutObject; going on with one needs oss:ListParts, "
                + "giving one up oss:AbortMultipartUpload), and that bucket and endpoint belong together"
        case .signatureDoesNotMatch: "Check the access key secret and the region"
        case .invalidAccessKeyID: "Check the access key ID; keys that begin with STS. need their security token"
        case .securityTokenExpired, .invalidSecurityToken: "Get new temporary credentials, then run again"
        case .requestTimeTooSkewed: "Set this machine's clock"
        case .noSuchBucket: "Check the bucket's name and the endpoint's region"
        case .invalidDigest: "The bytes changed on the way or while they were read; run again"
        case .fileAlreadyExists: "Overwriting was forbidden; choose another key or allow it"
        default: nil
        }
    }
}
