// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

/// One parameter of a query, decoded; a nil or empty value is written as the bare name.
package struct QueryItem: Sendable, Equatable {
    package var name: String
    package var value: String?

    /// Makes a parameter; leave out the value for a bare name such as `uploads`.
    package init(_ name: String, _ value: String? = nil) {
        self.name = name
        self.value = value
    }
}

extension [QueryItem] {
    /// The value of the first parameter of that name: nil where it is missing, empty where it is bare.
    package func value(of name: String) -> String? {
        self.first { $0.name == name }.map { $0.value ?? "" }
    }

    /// The query as it stands in a URL behind the question mark: each name and value escaped, in order.
    package var encoded: String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(128)
        for (index, item) in self.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: "&")) }
            PercentEncoding.append(item.name, to: &bytes)
            guard let value = item.value, !value.isEmpty else { continue }
            bytes.append(UInt8(ascii: "="))
            PercentEncoding.append(value, to: &bytes)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Reads a raw query; nil where an escape is malformed or not UTF-8.
    package init?(encoded query: some StringProtocol) {
        self = []
        for pair in query.split(atEach: "&") where !pair.isEmpty {
            let halves = pair.split(atEach: "=", most: 2)
            guard let name = PercentEncoding.decode(halves[0], plusIsBlank: true) else { return nil }
            guard halves.count == 2 else {
                self.append(QueryItem(name))
                continue
            }
            guard let value = PercentEncoding.decode(halves[1], plusIsBlank: true) else { return nil }
            self.append(QueryItem(name, value))
        }
    }
}
