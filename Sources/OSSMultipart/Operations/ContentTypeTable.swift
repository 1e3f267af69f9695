// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire
internal import SystemIO

/// The system's table of content types by extensions.
///
/// It is read each time: a tenth of a millisecond, against memory that would stay.
struct ContentTypeTable: Sendable {
    /// How a table is written.
    enum Format: Sendable {
        /// A type and its extensions on each line, as in `/etc/mime.types`.
        case mimeTypes
        /// Weight, type and pattern with colons between them, as in shared-mime-info's `globs2`.
        case globs
    }

    /// The tables that are looked at, the first one first.
    let files: [(path: String, format: Format)]

    /// The tables of this system.
    static let system = ContentTypeTable(files: [
        ("/etc/mime.types", .mimeTypes), ("/usr/local/share/mime/globs2", .globs), ("/usr/share/mime/globs2", .globs),
    ])

    /// Longest table that is read, in bytes.
    ///
    /// *Source:* our own choice; those of Debian have 75,000 and 40,000. *Applies to:* each of the files.
    private static let sizeLimit = 1024 * 1024

    /// The type for a key's extension, or for its last two (`tar.gz`); nil where no table names one.
    ///
    /// Blocks.
    func type(forKey key: String) -> String? {
        let dot = UInt8(ascii: ".")
        let name = key.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).last ?? key.utf8[...]
        // A dot at the front hides a file and begins no extension.
        let labels = name.drop { $0 == dot }.split(separator: dot, omittingEmptySubsequences: false).dropFirst()
        guard let last = labels.last, !last.isEmpty else { return nil }
        var extensions = [last.map(\.loweredASCII)]
        if labels.count > 1, let both = labels.dropLast().last {
            extensions.insert(both.map(\.loweredASCII) + [dot] + extensions[0], at: 0)
        }
        for file in self.files {
            // A table that is not there or cannot be read is no table.
            guard let table = try? Self.read(file.path) else { continue }
            for suffix in extensions {
                if let type = Self.type(for: suffix, in: table, file.format) { return type }
            }
        }
        return nil
    }

    private static func read(_ path: String) throws(SystemError) -> [UInt8] {
        let file = try PosixFile(path: path, [.read, .nonBlocking])
        let size = Int(min(try file.status().size, Int64(self.sizeLimit)))
        var bytes = [UInt8](repeating: 0, count: size)
        let count = try file.read(at: 0, into: &bytes)
        return Array(bytes[..<count])
    }

    static func type(for suffix: [UInt8], in table: [UInt8], _ format: Format) -> String? {
        for line in table.split(separator: 0x0A) where line.first != UInt8(ascii: "#") {
            let type: ArraySlice<UInt8>
            switch format {
            case .mimeTypes:
                let words = line.split { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
                guard words.dropFirst().contains(where: { $0.map(\.loweredASCII) == suffix }) else { continue }
                type = words[0]
            case .globs:
                // Sorted by weight: the first one counts.
                let fields = line.split(separator: UInt8(ascii: ":"))
                guard fields.count >= 3, fields[2].starts(with: "*.".utf8),
                    fields[2].dropFirst(2).map(\.loweredASCII) == suffix
                else { continue }
                type = fields[1]
            }
            if self.isType(type) { return String(decoding: type, as: UTF8.self) }
        }
        return nil
    }

    /// Whether the text can be the value of `Content-Type`.
    private static func isType(_ text: ArraySlice<UInt8>) -> Bool {
        text.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).count == 2
            && text.allSatisfy { $0 > 0x20 && $0 < 0x7F } && text.first != UInt8(ascii: "/")
            && text.last != UInt8(ascii: "/")
    }
}

extension OSSClient {
    /// The headers with a content type, where none was given and one can be guessed.
    func completed(_ headers: OSSObjectHeaders, key: String) async -> OSSObjectHeaders {
        guard headers.contentType == nil, self.configuration.guessesContentType else { return headers }
        var headers = headers
        headers.contentType = await self.blocking.run { ContentTypeTable.system.type(forKey: key) }
        return headers
    }
}
