// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// A URL that a callback is posted to.
struct CallbackURL: Sendable, Equatable {
    /// The host without port.
    let host: String
    /// The port.
    let port: UInt16
    /// Path and query.
    let target: String
    /// Host and port as the URL has them.
    let authority: String

    /// Reads a URL; nil where it is none of `http`, whose scheme may be left out.
    init?(_ text: String) {
        var rest = text[...]
        if let end = rest.firstRange(of: "://") {
            guard rest[..<end.lowerBound].loweredASCII == "http" else { return nil }
            rest = rest[end.upperBound...]
        }
        let slash = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
        let authority = String(rest[..<slash])
        let path = String(rest[slash...])
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), !authority.contains("@") else { return nil }
        let host: Substring, port: Substring?
        if authority.hasPrefix("["), let end = authority.firstIndex(of: "]") {
            host = authority[authority.index(after: authority.startIndex)..<end]
            let tail = authority[authority.index(after: end)...]
            guard tail.isEmpty || tail.hasPrefix(":") else { return nil }
            port = tail.isEmpty ? nil : tail.dropFirst()
        } else {
            let halves = authority.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            host = halves.first ?? ""
            port = halves.count == 2 ? halves[1] : nil
        }
        guard !host.isEmpty, let number = port.map({ UInt16($0) }) ?? 80, number > 0 else { return nil }
        self.host = String(host)
        self.port = number
        self.authority = authority
        self.target = path.hasPrefix("/") ? path : "/" + path
    }

    /// Whether it leads to this host.
    var isLoopback: Bool {
        if self.host.loweredASCII == "localhost" || self.host == "::1" { return true }
        let numbers = self.host.split(separator: ".", omittingEmptySubsequences: false)
        return numbers.count == 4 && numbers[0] == "127" && numbers.allSatisfy { UInt8($0) != nil }
    }
}
