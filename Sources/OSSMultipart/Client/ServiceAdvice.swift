// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

/// What to do about the service's refusals.
enum ServiceAdvice {
    /// The service's sentence as a quotation, and what to do where that is known.
    static func message(on service: OSSError.Service) -> String {
        let said =
            service.message.isEmpty ? "the service refused without a reason" : "the service says \"\(service.message)\""
        guard let advice = self.advice(on: service) else { return said }
        return "\(said); \(advice)"
    }

    private static func advice(on service: OSSError.Service) -> String? {
        switch service.code {
        case .accessDenied:
            "check the policy of this user or token (an upload needs oss:PutObject; going on with one oss:ListParts, giving one up "
                + "oss:AbortMultipartUpload, finding out what a lost reply hid oss:GetObject), and that bucket and endpoint belong "
                + "together"
        case .signatureDoesNotMatch: "check the access key secret and the region"
        case .invalidAccessKeyID: "check the access key ID; keys that begin with STS. need their security token"
        case .securityTokenExpired, .invalidSecurityToken: "get new temporary credentials, then run again"
        case .requestTimeTooSkewed: "set this machine's clock"
        case .noSuchBucket: "check the bucket's name and the endpoint's region"
        case .invalidDigest: "the bytes changed on the way or while they were read: run again"
        case .fileAlreadyExists: "overwriting was forbidden: choose another key or allow it"
        case .notModified: "the object is the one that the condition names"
        case _ where (300...399).contains(service.status):
            "redirects are not followed: give the endpoint that the bucket is at"
        default: nil
        }
    }
}
