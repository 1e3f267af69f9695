// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// What is stored with an object beside its bytes.
///
/// OSS documents: InitiateMultipartUpload, PutObject.
public struct OSSObjectHeaders: Sendable, Hashable {
    /// The type of the content, for example `video/mp4`; nil leaves it to the service.
    ///
    /// Default: nil.
    public var contentType: String?
    /// How the object may be cached.
    ///
    /// Default: nil.
    public var cacheControl: String?
    /// How a browser presents the object, for example `attachment; filename="a.mp4"`.
    ///
    /// Default: nil.
    public var contentDisposition: String?
    /// How the content is encoded, for example `gzip`.
    ///
    /// Default: nil.
    public var contentEncoding: String?
    /// When the cached object expires, as an HTTP date.
    ///
    /// Default: nil.
    public var expires: String?
    /// Metadata of yours: names without `x-oss-meta-`, of letters, digits and hyphens; at most 8 KiB in all.
    ///
    /// Default: none.
    public var metadata: [String: String] = [:]
    /// `Standard`, `IA`, `Archive`, `ColdArchive` or `DeepColdArchive`; nil is the bucket's.
    ///
    /// Default: nil.
    public var storageClass: String?
    /// `default`, `private`, `public-read` or `public-read-write`; nil is the bucket's.
    ///
    /// Default: nil.
    public var acl: String?
    /// Tags as `name=value&…`, URL-encoded, at most ten.
    ///
    /// Default: nil.
    public var tagging: String?
    /// Whether an object of that key must not be replaced.
    ///
    /// Default: false.
    ///
    /// The service ignores it in a bucket with versioning.
    public var forbidsOverwrite = false

    /// Makes headers with nothing set.
    public init() {}

    /// The fields for InitiateMultipartUpload; with `withACL` also the one that PutObject takes here.
    func fields(withACL: Bool) -> HTTPFields {
        var fields: HTTPFields = [:]
        fields["Content-Type"] = self.contentType
        fields["Cache-Control"] = self.cacheControl
        fields["Content-Disposition"] = self.contentDisposition
        fields["Content-Encoding"] = self.contentEncoding
        fields["Expires"] = self.expires
        for (name, value) in self.metadata.sorted(by: { $0.key < $1.key }) { fields["x-oss-meta-" + name] = value }
        fields["x-oss-storage-class"] = self.storageClass
        fields["x-oss-tagging"] = self.tagging
        if self.forbidsOverwrite { fields["x-oss-forbid-overwrite"] = "true" }
        if withACL { fields["x-oss-object-acl"] = self.acl }
        return fields
    }

    /// What every operation that takes these checks before it sends anything.
    func validate(_ operation: OSSError.Operation) throws(OSSError) {
        func invalid(_ message: String) -> OSSError { OSSError(.invalidArgument, message, operation: operation) }
        var size = 0
        for (name, value) in self.metadata {
            guard !name.isEmpty, name.utf8.allSatisfy(Self.isNameCharacter) else {
                throw invalid(
                    "the metadata name \"\(name)\" cannot be used: it holds letters, digits and hyphens of ASCII"
                )
            }
            size += name.utf8.count + value.utf8.count
        }
        guard size <= 8 * 1024 else {
            throw invalid("the metadata takes \(size) bytes; the service takes 8192 at most")
        }
        for field in self.fields(withACL: true).all {
            guard field.value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
                throw invalid("the value of \(field.name) holds a line end or another control character; leave it out")
            }
            guard field.value.utf8.first != 0x20, field.value.utf8.last != 0x20 else {
                throw invalid(
                    "the value of \(field.name) begins or ends with a blank, which HTTP would drop; leave it out")
            }
        }
    }

    private static func isNameCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}
