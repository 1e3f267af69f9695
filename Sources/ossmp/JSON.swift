// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

/// One JSON object on one line, its members in the order they were added.
struct JSONObject {
    private var members: [String] = []

    /// The object's text.
    var text: String { "{\(self.members.joined(separator: ","))}" }

    mutating func add(_ name: String, _ value: String?) {
        self.members.append("\(Self.quoted(name)):\(value.map(Self.quoted) ?? "null")")
    }

    mutating func add(_ name: String, _ value: (some BinaryInteger)?) {
        self.members.append("\(Self.quoted(name)):\(value.map { "\($0)" } ?? "null")")
    }

    /// A number with three decimals.
    mutating func add(_ name: String, thousandths: Int64) {
        let fraction = String(thousandths % 1000)
        let zeros = String(repeating: "0", count: 3 - fraction.count)
        self.members.append("\(Self.quoted(name)):\(thousandths / 1000).\(zeros)\(fraction)")
    }

    mutating func add(_ name: String, objects: [JSONObject]) {
        self.members.append("\(Self.quoted(name)):[\(objects.map(\.text).joined(separator: ","))]")
    }

    /// A value that is JSON already: true, false or null.
    mutating func add(_ name: String, literal: String) { self.members.append("\(Self.quoted(name)):\(literal)") }

    mutating func add(_ name: String, _ value: JSONObject) { self.members.append("\(Self.quoted(name)):\(value.text)") }

    mutating func add(_ name: String, _ values: [String]) {
        self.members.append("\(Self.quoted(name)):[\(values.map(Self.quoted).joined(separator: ","))]")
    }

    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\n": quoted += "\\n"
            case "\r": quoted += "\\r"
            case "\t": quoted += "\\t"
            case "\u{0}"..."\u{1F}", "\u{7F}":
                let digits = String(scalar.value, radix: 16)
                quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
