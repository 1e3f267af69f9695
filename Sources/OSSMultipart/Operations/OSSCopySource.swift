// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// The object that a copy is made of.
public struct OSSCopySource: Sendable, Hashable {
    /// Its bucket, in the region of the copy.
    public var bucket: String
    /// Its key.
    public var key: String
    /// Its version; nil is the newest.
    ///
    /// Default: nil.
    public var versionID: String?

    /// Names a source.
    public init(bucket: String, key: String, versionID: String? = nil) {
        self.bucket = bucket
        self.key = key
        self.versionID = versionID
    }

    /// The value of `x-oss-copy-source`.
    var text: String {
        let path = "/\(self.bucket)/\(PercentEncoding.encode(self.key, keepingSlash: true))"
        return self.versionID.map { "\(path)?versionId=\(PercentEncoding.encode($0))" } ?? path
    }

    func validate(_ operation: OSSError.Operation) throws(OSSError) {
        do throws(OSSError) {
            try ObjectName.validate(bucket: self.bucket, key: self.key, operation: operation)
        } catch {
            throw OSSError(.invalidArgument, "of the copy's source: \(error.message)", operation: operation)
        }
    }
}
