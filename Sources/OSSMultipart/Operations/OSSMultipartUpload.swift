// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

/// An upload that was begun: where it goes, and the ID that names it.
///
/// `initiateMultipartUpload` returns one; an ID that was kept makes one as well.
public struct OSSMultipartUpload: Sendable, Hashable {
    /// The bucket's name.
    public let bucket: String
    /// The object's key.
    public let key: String
    /// The ID that the service gave to the upload.
    public let uploadID: String

    /// Makes an upload from an ID that was kept.
    public init(bucket: String, key: String, uploadID: String) {
        self.bucket = bucket
        self.key = key
        self.uploadID = uploadID
    }

    /// What every operation on an upload checks before it sends anything.
    func validate(_ operation: OSSError.Operation) throws(OSSError) {
        try ObjectName.validate(bucket: self.bucket, key: self.key, operation: operation)
        guard !self.uploadID.isEmpty else {
            throw OSSError(
                .invalidArgument, "the upload ID is empty; take it from initiateMultipartUpload", operation: operation
            )
        }
    }
}
