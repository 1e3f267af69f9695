// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

public import FoundationEssentials
internal import OSSWire

/// What has to be true of an object for a request to be carried out.
///
/// A condition that does not hold is thrown as `OSSError.service`: with the service code `PreconditionFailed` where the object
/// is not the wanted one, with `NotModified` where it is the one that the caller has already.
///
/// OSS documents: GetObject, HeadObject, CopyObject.
public struct OSSConditions: Sendable, Hashable {
    /// The object has this ETag.
    ///
    /// Default: nil.
    public var ifMatch: String?
    /// The object has another ETag than this.
    ///
    /// Default: nil.
    public var ifNoneMatch: String?
    /// The object was stored after this, to the second.
    ///
    /// Default: nil.
    public var ifModifiedSince: Date?
    /// The object was not stored after this, to the second.
    ///
    /// Default: nil.
    public var ifUnmodifiedSince: Date?

    /// Makes conditions that always hold.
    public init() {}

    /// The header fields, their names begun with `prefix` and written in lower case behind one.
    func fields(prefix: String = "") -> HTTPFields {
        var fields: HTTPFields = [:]
        func set(_ name: String, _ value: String?) {
            fields[prefix.isEmpty ? name : prefix + name.loweredASCII] = value
        }
        set("If-Match", self.ifMatch.map(Self.quoted))
        set("If-None-Match", self.ifNoneMatch.map(Self.quoted))
        set("If-Modified-Since", self.ifModifiedSince.map { Timestamp($0).httpDate })
        set("If-Unmodified-Since", self.ifUnmodifiedSince.map { Timestamp($0).httpDate })
        return fields
    }

    /// What every operation that takes these checks before it sends anything.
    func validate(_ operation: OSSError.Operation) throws(OSSError) {
        for eTag in [self.ifMatch, self.ifNoneMatch].compactMap(\.self) {
            guard !eTag.isEmpty, eTag.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
                throw OSSError(
                    .invalidArgument,
                    "the ETag of a condition is empty or holds a character that none has; take it from headObject",
                    operation: operation
                )
            }
        }
    }

    /// An ETag as HTTP writes it; one that has its quotes, and the star, stay as they are.
    private static func quoted(_ eTag: String) -> String {
        eTag == "*" || eTag.hasPrefix("\"") ? eTag : "\"\(eTag)\""
    }
}

extension Timestamp {
    /// The moment of a date, to the millisecond.
    init(_ date: Date) {
        // Bounds that every calendar here can write: the years 1 to 9999.
        let seconds = min(max(date.timeIntervalSince1970, -62_135_596_800), 253_402_300_799)
        self.init(milliseconds: Int64((seconds * 1000).rounded(.down)))
    }
}
