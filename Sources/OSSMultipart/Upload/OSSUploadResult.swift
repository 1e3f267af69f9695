// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

/// What an upload came to.
public struct OSSUploadResult: Sendable, Hashable {
    /// How it is known that the stored object is the source.
    public struct Proof: Sendable, Hashable, CustomStringConvertible {
        private enum Kind: String { case crc64, etag, size, none }
        private let kind: Kind

        /// The service's CRC-64 of the whole object is that of the bytes sent.
        public static let crc64 = Proof(kind: .crc64)
        /// The object's ETag is the one that the parts give; the service offers no CRC-64.
        public static let eTag = Proof(kind: .etag)
        /// The object has the right size; the service offers no more.
        public static let size = Proof(kind: .size)
        /// The service reported success and offers nothing to compare.
        public static let none = Proof(kind: .none)

        /// The name: `crc64`, `etag`, `size` or `none`.
        public var description: String { self.kind.rawValue }
    }

    /// The bucket's name.
    public let bucket: String
    /// The object's key.
    public let key: String
    /// The object's size in bytes.
    public let size: Int64
    /// The upload's ID; nil where the object went up with one PutObject.
    public let uploadID: String?
    /// The object's ETag, without quotes; nil where the service gave none.
    public let eTag: String?
    /// CRC-64 of the bytes sent; nil where it was not computed.
    public let crc64: UInt64?
    /// The object's version in a bucket with versioning.
    public let versionID: String?
    /// How it is known that the stored object is the source.
    public let proof: Proof
    /// What came of the callback; nil where none was asked for.
    ///
    /// One that failed takes nothing from the object, which is stored.
    public let callback: OSSCallbackOutcome?
    /// Parts of the object; 1 where it went up with one PutObject.
    public let partsTotal: Int
    /// Parts that this run sent.
    public let partsSent: Int
    /// Parts that an earlier run had sent.
    public let partsResumed: Int
    /// Bytes of the parts that this run sent, without those that had to be sent again.
    public let bytesSent: Int64
    /// How long this run took.
    public let duration: Duration
    /// The service's ID of the request that stored the object.
    public let requestID: String?
    /// What the user should know although the upload succeeded.
    public let warnings: [String]
    /// What the source was when it was opened.
    let sourceIdentity: SourceIdentity
}
