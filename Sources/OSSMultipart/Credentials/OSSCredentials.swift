// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

public import FoundationEssentials
internal import OSSWire

/// An access key, and the security token of temporary credentials.
///
/// It has no printable secret: `description` shows the access key ID alone.
///
/// OSS document: Configure access credentials.
public struct OSSCredentials: Sendable, Equatable {
    /// The access key ID.
    public let accessKeyID: String
    /// The access key secret; it is never sent, only used to sign.
    public let accessKeySecret: String
    /// The token of temporary credentials (STS).
    public let securityToken: String?
    /// When temporary credentials expire; nil where that is not known, or never.
    public let expiration: Date?

    /// Makes credentials.
    ///
    /// With an expiration, and from a source that can give others, they are renewed ahead of it.
    ///
    /// - Throws: `OSSError.missingCredentials` where ID or secret is empty or holds white space or control characters.
    public init(accessKeyID: String, accessKeySecret: String, securityToken: String? = nil, expiration: Date? = nil)
        throws
    {
        func check(_ text: String, _ name: String) throws(OSSError) {
            guard !text.isEmpty else {
                throw OSSError(
                    .missingCredentials, "the \(name) is empty; give the credentials of an Alibaba Cloud user")
            }
            guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
                throw OSSError(
                    .missingCredentials,
                    "the \(name) holds a blank, a line end or another character that none has; "
                        + "check how it was copied"
                )
            }
        }
        try check(accessKeyID, "access key ID")
        try check(accessKeySecret, "access key secret")
        if let securityToken { try check(securityToken, "security token") }
        self.accessKeyID = accessKeyID
        self.accessKeySecret = accessKeySecret
        self.securityToken = securityToken
        self.expiration = expiration
    }
}

extension OSSCredentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The access key ID, and whether there is a token; never a secret.
    public var description: String {
        "credentials of \(self.accessKeyID)\(self.securityToken == nil ? "" : " with a security token")"
    }
    /// The access key ID, and whether there is a token; never a secret.
    public var debugDescription: String { self.description }
    // Without this, `dump` and test failures would print the stored properties.
    /// What reflection sees: the access key ID alone.
    public var customMirror: Mirror { Mirror(self, children: ["accessKeyID": self.accessKeyID]) }
}
