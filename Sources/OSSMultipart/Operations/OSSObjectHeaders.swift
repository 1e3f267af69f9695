// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// What is stored with an object beside its bytes.
///
/// OSS documents: InitiateMultipartUpload, PutObject.
public struct OSSObjectHeaders: Sendable, Hashable {
    /// The type of the content, for example `video/mp4`.
    ///
    /// Default: nil, the type that the system's table of types names for the key's extension, unless the client's
    /// configuration says that none is guessed; where there is no such table or entry the service decides.
    public var contentType: String?
    /// The language of the content, for example `zh-CN`.
    ///
    /// Default: nil.
    public var contentLanguage: String?
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
    /// Metadata of yours: names without `x-oss-meta-`, of letters, digits and hyphens, the service keeps them in lower case;
    /// values without control characters; at most 8 KiB in all.
    ///
    /// Default: none. A value with other than ASCII characters travels as UTF-8 and comes back so; programs that read header
    /// fields in another way show other characters, and for them it is better percent-encoded before it is given here.
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
    /// How the service encrypts the object: `AES256`, `KMS` or `SM4`; nil is the bucket's way.
    ///
    /// Default: nil.
    public var serverSideEncryption: String?
    /// The key of the key management service, with the encryption `KMS`; nil is the service's own.
    ///
    /// Default: nil.
    public var serverSideEncryptionKeyID: String?
    /// `SM4`, with the encryption `KMS`; nil is AES-256.
    ///
    /// Default: nil.
    public var serverSideDataEncryption: String?
    /// Whether an object of that key must not be replaced.
    ///
    /// Default: false.
    ///
    /// The service ignores it in a bucket with versioning.
    public var forbidsOverwrite = false

    /// Makes headers with nothing set.
    public init() {}

    /// The tags, in the place of ``tagging``; nil where that cannot be read.
    public var tags: [OSSTag]? {
        get {
            guard let tagging else { return [] }
            return [QueryItem](encoded: tagging)?.map { OSSTag($0.name, $0.value ?? "") }
        }
        set { self.tagging = (newValue ?? []).isEmpty ? nil : newValue?.encoded }
    }

    /// Whether something is set that a copy takes from its source unless it replaces it.
    var hasMetadata: Bool {
        let fields = [
            self.contentType, self.contentLanguage, self.cacheControl, self.contentDisposition, self.contentEncoding,
            self.expires,
        ]
        return !self.metadata.isEmpty || fields.contains { $0 != nil }
    }

    /// The fields for InitiateMultipartUpload; with `withACL` also the one that PutObject takes here.
    func fields(withACL: Bool) -> HTTPFields {
        var fields: HTTPFields = [:]
        fields["Content-Type"] = self.contentType
        fields["Content-Language"] = self.contentLanguage
        fields["Cache-Control"] = self.cacheControl
        fields["Content-Disposition"] = self.contentDisposition
        fields["Content-Encoding"] = self.contentEncoding
        fields["Expires"] = self.expires
        for (name, value) in self.metadata.sorted(by: { $0.key < $1.key }) { fields["x-oss-meta-" + name] = value }
        fields["x-oss-storage-class"] = self.storageClass
        fields["x-oss-tagging"] = self.tagging
        fields["x-oss-server-side-encryption"] = self.serverSideEncryption
        fields["x-oss-server-side-encryption-key-id"] = self.serverSideEncryptionKeyID
        fields["x-oss-server-side-data-encryption"] = self.serverSideDataEncryption
        if self.forbidsOverwrite { fields["x-oss-forbid-overwrite"] = "true" }
        if withACL { fields["x-oss-object-acl"] = self.acl }
        return fields
    }

    /// What every operation that takes these checks before it sends anything.
    func validate(_ operation: OSSError.Operation) throws(OSSError) {
        func invalid(_ message: String) -> OSSError { OSSError(.invalidArgument, message, operation: operation) }
        var size = 0, names: Set<String> = []
        for (name, value) in self.metadata {
            guard !name.isEmpty, name.utf8.allSatisfy(Self.isNameCharacter) else {
                throw invalid(
                    "the metadata name \"\(name)\" cannot be used: it holds letters, digits and hyphens of ASCII"
                )
            }
            guard names.insert(name.loweredASCII).inserted else {
                throw invalid("two metadata names differ from \"\(name)\" in case alone; the service would keep one")
            }
            size += name.utf8.count + value.utf8.count
        }
        guard size <= 8 * 1024 else {
            throw invalid("the metadata takes \(size) bytes; the service takes 8192 at most")
        }
        if self.tagging != nil {
            guard let tags else { throw invalid("the tagging is not URL-encoded; set tags, which encodes them") }
            if let problem = OSSTag.problem(with: tags) { throw invalid(problem) }
        }
        if let acl { try AccessControlRules.validate(acl, operation) }
        if self.serverSideEncryption != "KMS" {
            guard self.serverSideEncryptionKeyID == nil, self.serverSideDataEncryption == nil else {
                throw invalid("a key or a data encryption is set, which go with the serverSideEncryption KMS; set that")
            }
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
