// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

/// The service's names for who may use something, checked before anything is sent.
enum AccessControlRules {
    private static let ofObjects = ["default", "private", "public-read", "public-read-write"]

    static func validate(
        _ acl: String, ofBucket: Bool = false, _ operation: OSSError.Operation
    ) throws(OSSError) {
        let names = self.ofObjects.dropFirst(ofBucket ? 1 : 0)
        guard !names.contains(acl) else { return }
        throw OSSError(
            .invalidArgument,
            "the ACL \"\(acl.replacingControlCharacters)\" is none; it is one of \(names.joined(separator: ", "))",
            operation: operation
        )
    }
}
