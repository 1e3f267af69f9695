// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// A tag of an object.
///
/// OSS document: Object tagging: at most ten tags of an object, names of 1 to 128 characters, each once, values of up to 256,
/// of letters, digits, blanks and `+-=._:/`.
public struct OSSTag: Sendable, Hashable {
    /// The tag's name.
    public var name: String
    /// The tag's value; it may be empty.
    public var value: String

    /// Makes a tag.
    public init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }

    /// Why the service would refuse a set of tags; nil where it would not.
    static func problem(with tags: [OSSTag]) -> String? {
        if tags.count > Limits.maximumTags { return "there are \(tags.count) tags; an object has at most ten" }
        if Set(tags.map(\.name)).count != tags.count { return "two tags have the same name; leave one out" }
        for tag in tags {
            guard (1...128).contains(tag.name.unicodeScalars.count) else {
                return "the tag name \"\(tag.name.prefix(64))\" is empty or longer than 128 characters"
            }
            guard tag.value.unicodeScalars.count <= 256 else {
                return "the value of the tag \(tag.name) is longer than 256 characters"
            }
            guard (tag.name + tag.value).unicodeScalars.allSatisfy(self.isAllowed) else {
                return "the tag \(tag.name) holds a character other than letters, digits, blanks and +-=._:/"
            }
        }
        return nil
    }

    private static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isAlphabetic || scalar.properties.numericType != nil
            || " +-=._:/".unicodeScalars.contains(scalar)
    }
}

extension [OSSTag] {
    /// The value of `x-oss-tagging`.
    var encoded: String { self.map { QueryItem($0.name, $0.value) }.encoded }
}
