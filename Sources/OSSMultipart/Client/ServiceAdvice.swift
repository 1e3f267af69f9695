// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// What to do about the service's refusals.
enum ServiceAdvice {
    /// What is known of a refused request beside what the service says.
    struct Circumstances {
        var operation: OSSError.Operation
        /// Milliseconds since 1970, by this machine's clock.
        var now: Int64
        /// The region that was signed for.
        var region: String
        /// How the service's signature came to be another one, where that is known.
        var signature: String?
    }

    /// The service's sentence as a quotation, and what to do where that is known.
    static func message(on service: OSSError.Service, _ circumstances: Circumstances) -> String {
        let said =
            service.message.isEmpty ? "the service refused without a reason" : "the service says \"\(service.message)\""
        guard let advice = self.advice(on: service, circumstances) else { return said }
        return "\(said); \(advice)"
    }

    private static func advice(on service: OSSError.Service, _ circumstances: Circumstances) -> String? {
        switch service.code {
        case .accessDenied: self.adviceOnDenial(service, circumstances)
        case .signatureDoesNotMatch: circumstances.signature ?? "check the access key secret and the region"
        case .invalidAccessKeyID: "check the access key ID; keys that begin with STS. need their security token"
        case .securityTokenExpired, .invalidSecurityToken: "get new temporary credentials, then run again"
        case .requestTimeTooSkewed: self.adviceOnClock(service, circumstances)
        case .noSuchBucket: "check the bucket's name and the endpoint's region"
        case .invalidDigest: "the bytes changed on the way or while they were read: run again"
        case .fileAlreadyExists: "overwriting was forbidden: choose another key or allow it"
        case .entityTooSmall: self.adviceOnSmallPart(service)
        case "SecondLevelDomainForbidden":
            "this endpoint takes the bucket in the host name: use the addressing automatic"
        case "PermanentRedirect", "TemporaryRedirect": self.adviceOnEndpoint(service)
        case "TransferAccelerationDisabled":
            "switch transfer acceleration on for the bucket, or use the endpoint of its region"
        case "UserDisable": "the account is suspended, most often for an unpaid bill"
        case "InvalidObjectState": "the object is archived: restore it, then run again"
        case "KmsServiceNotEnabled": "switch the key management service on, or choose the encryption AES256"
        case .invalidArgument where service.message.contains("signing region"):
            "the region \(circumstances.region) is not the one of this endpoint: give the bucket's region"
        case .notModified: "the object is the one that the condition names"
        case _ where (300...399).contains(service.status):
            "redirects are not followed: give the endpoint that the bucket is at"
        default: nil
        }
    }

    private static func adviceOnDenial(_ service: OSSError.Service, _ circumstances: Circumstances) -> String {
        if service.details["Endpoint"] != nil { return self.adviceOnEndpoint(service) }
        let message = service.message.lowercased()
        if message.contains("request has expired") { return "the URL was good for a time that is over: make a new one" }
        let actions = self.actions(for: circumstances.operation)
        let names = actions.joined(separator: " and ")
        if message.contains("acl") {
            return
                "the ACL of bucket or object does not allow it to this user: change it, or allow \(names) in a policy"
        }
        return
            "allow \(names) in the policy of this user, role or bucket, and check that bucket and endpoint belong together"
    }

    private static func adviceOnEndpoint(_ service: OSSError.Service) -> String {
        guard let endpoint = service.details["Endpoint"] else {
            return "the bucket is in another region: give that region's endpoint"
        }
        // The service names the host with the bucket before it.
        let host = service.details["Bucket"].map {
            endpoint.hasPrefix($0 + ".") ? endpoint.dropFirst($0.count + 1) : endpoint[...]
        }
        return "the bucket is in another region: give the endpoint https://\(host ?? endpoint[...])"
    }

    private static func adviceOnClock(_ service: OSSError.Service, _ circumstances: Circumstances) -> String {
        guard
            let time = service.details["ServerTime"].flatMap({ Timestamp(iso8601: $0) ?? Timestamp(httpDate: $0) })
        else { return "set this machine's clock" }
        let seconds = (time.milliseconds - circumstances.now) / 1000
        let difference = abs(seconds) < 120 ? "\(abs(seconds)) seconds" : "\(abs(seconds) / 60) minutes"
        return "this machine's clock is \(difference) \(seconds > 0 ? "behind" : "ahead of") the service's: set it"
    }

    private static func adviceOnSmallPart(_ service: OSSError.Service) -> String {
        let least = service.details["MinSizeAllowed"] ?? "102400"
        let part = service.details["PartNumber"].map { "part \($0)" } ?? "a part"
        let size = service.details["ProposedSize"].map { " has \($0) bytes, and" } ?? " is too small:"
        return "\(part)\(size) every part but the last has at least \(least): upload it again with larger parts"
    }

    /// The actions that a policy has to allow for an operation.
    ///
    /// OSS document: RAM policies, OSS actions.
    static func actions(for operation: OSSError.Operation) -> [String] {
        switch operation {
        case .initiateMultipartUpload, .uploadPart, .completeMultipartUpload, .putObject, .appendObject:
            ["oss:PutObject"]
        case .copyObject, .uploadPartCopy: ["oss:GetObject (of the source)", "oss:PutObject"]
        case .headObject, .getObject: ["oss:GetObject"]
        case .deleteObject, .deleteMultipleObjects: ["oss:DeleteObject"]
        case .listObjectsV2: ["oss:ListObjects"]
        case .putObjectACL: ["oss:PutObjectAcl"]
        case .getObjectACL: ["oss:GetObjectAcl"]
        // ListParts, AbortMultipartUpload and the others are named as their operations are.
        default: ["oss:\(operation.name)"]
        }
    }
}
