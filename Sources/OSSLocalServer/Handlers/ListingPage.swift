// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

/// One page of a listing by key: entries, and prefixes that stand for many.
struct ListingPage<Item> {
    /// The entries in order.
    private(set) var items: [Item] = []
    /// What the keys up to the delimiter have in common, in order.
    private(set) var commonPrefixes: [ObjectKey] = []
    /// Whether there is more.
    private(set) var isTruncated = false
    /// The last entry or prefix of the page.
    private(set) var lastName = ""
    /// The last entry, where no prefix came behind it.
    private(set) var lastItem: Item?

    /// Makes a page of items that are in the order of their keys.
    ///
    /// - Parameters:
    ///   - marker: the last entry or prefix of the page before; empty for the first page.
    ///   - isBehindMarker: whether an item whose key is the marker comes behind it all the same.
    init(
        _ sorted: [Item], prefix: String, delimiter: String, marker: String, limit: Int, key: (Item) -> ObjectKey,
        isBehindMarker: (Item) -> Bool = { _ in false }
    ) {
        let prefix = ObjectKey(prefix), delimiter = ObjectKey(delimiter), marker = ObjectKey(marker)
        // A common prefix that was the last entry stands for all that begin with it. A key may end with the delimiter too:
        // that of a folder, in a listing of what is in the folder.
        let isCommonPrefix =
            marker.hasPrefix(prefix) && marker == Self.commonPrefix(of: marker, behind: prefix, delimiter: delimiter)
        for item in sorted {
            let name = key(item)
            guard name.hasPrefix(prefix), name >= marker, !(isCommonPrefix && name.hasPrefix(marker)),
                name != marker || isBehindMarker(item)
            else { continue }
            let common = Self.commonPrefix(of: name, behind: prefix, delimiter: delimiter)
            if let common, common == self.commonPrefixes.last { continue }
            guard self.items.count + self.commonPrefixes.count < limit else {
                self.isTruncated = true
                return
            }
            if let common {
                self.commonPrefixes.append(common)
                self.lastName = common.text
                self.lastItem = nil
            } else {
                self.items.append(item)
                self.lastName = name.text
                self.lastItem = item
            }
        }
    }

    /// The key up to the first delimiter behind the prefix, with it; nil where there is none.
    private static func commonPrefix(of key: ObjectKey, behind prefix: ObjectKey, delimiter: ObjectKey) -> ObjectKey? {
        guard !delimiter.bytes.isEmpty else { return nil }
        var rest = key.bytes.dropFirst(prefix.bytes.count)
        while rest.count >= delimiter.bytes.count {
            if rest.starts(with: delimiter.bytes) {
                let end = rest.startIndex + delimiter.bytes.count
                return ObjectKey(String(decoding: key.bytes[..<end], as: UTF8.self))
            }
            rest = rest.dropFirst()
        }
        return nil
    }
}
