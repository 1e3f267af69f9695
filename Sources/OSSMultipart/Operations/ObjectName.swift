// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// Checks of names before anything is sent.
enum ObjectName {
    static func validate(bucket: String, operation: OSSError.Operation) throws(OSSError) {
        if let problem = Limits.problem(withBucketName: bucket) {
            throw OSSError(
                .invalidArgument, "the bucket name \"\(bucket)\" cannot be used: \(problem)", operation: operation
            )
        }
    }

    static func validate(bucket: String, key: String, operation: OSSError.Operation) throws(OSSError) {
        try self.validate(bucket: bucket, operation: operation)
        if let problem = Limits.problem(withObjectKey: key) {
            throw OSSError(
                .invalidArgument, "the object key \"\(key.prefix(64))\" cannot be used: \(problem)",
                operation: operation
            )
        }
    }
}
