// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

/// The service's limits that the client checks before it sends and the local server enforces.
package enum Limits {
    /// Smallest part that is not the last one: 100 KiB.
    ///
    /// *Source:* OSS document UploadPart. *Applies to:* every part but the last, checked by the service at Complete.
    package static let minimumPartSize: Int64 = 102_400

    /// Largest part, and largest object of one PutObject: 5 GiB.
    ///
    /// *Source:* OSS document Limits. *Applies to:* UploadPart, PutObject.
    package static let maximumPartSize: Int64 = 5 * 1024 * 1024 * 1024

    /// Part numbers run from 1 to this.
    ///
    /// *Source:* OSS document UploadPart. *Applies to:* part numbers, parts of one upload.
    package static let maximumPartNumber = 10_000

    /// Largest object, 48.8 TiB: 10,000 parts of 5 GiB.
    ///
    /// *Source:* OSS document Limits. *Applies to:* CompleteMultipartUpload.
    package static let maximumObjectSize = maximumPartSize * Int64(maximumPartNumber)

    /// Longest object key in bytes of UTF-8.
    ///
    /// *Source:* OSS document Object naming. *Applies to:* object keys.
    package static let maximumKeyLength = 1023

    /// Lengths of a bucket name.
    ///
    /// *Source:* OSS document Bucket naming. *Applies to:* bucket names.
    package static let bucketNameLength = 3...63

    /// Most entries of one page of a listing.
    ///
    /// *Source:* OSS documents ListParts and ListMultipartUploads. *Applies to:* `max-parts`, `max-uploads`.
    package static let maximumPageSize = 1000

    /// Most tags of an object.
    ///
    /// *Source:* OSS document Object tagging. *Applies to:* `x-oss-tagging`, PutObjectTagging.
    package static let maximumTags = 10

    /// Why `bucket` cannot be a bucket name, or nil where it can.
    ///
    /// OSS document: Bucket naming (3 to 63 characters of a-z, 0-9 and -, a letter or digit at both ends).
    package static func problem(withBucketName bucket: String) -> String? {
        let bytes = Array(bucket.utf8)
        guard Self.bucketNameLength.contains(bytes.count) else {
            return "a bucket name has 3 to 63 characters, this one has \(bytes.count)"
        }
        func isLetterOrDigit(_ byte: UInt8) -> Bool {
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
        }
        guard bytes.allSatisfy({ isLetterOrDigit($0) || $0 == UInt8(ascii: "-") }) else {
            return "a bucket name holds only lower-case letters, digits and hyphens"
        }
        guard let first = bytes.first, let last = bytes.last, isLetterOrDigit(first), isLetterOrDigit(last) else {
            return "a bucket name begins and ends with a lower-case letter or a digit"
        }
        return nil
    }

    /// Why `key` cannot be an object key, or nil where it can.
    ///
    /// OSS document: Object naming (1 to 1023 bytes of UTF-8, no leading slash or backslash).
    package static func problem(withObjectKey key: String) -> String? {
        let length = key.utf8.count
        if length == 0 { return "an object key has at least one character" }
        if length > Self.maximumKeyLength {
            return "an object key has at most 1023 bytes of UTF-8, this one has \(length)"
        }
        if key.utf8.first == UInt8(ascii: "/") { return "an object key does not begin with a slash; leave it out" }
        if key.utf8.first == UInt8(ascii: "\\") { return "an object key does not begin with a backslash; leave it out" }
        return nil
    }
}
