// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// What the one who signed a form allows it to upload.
///
/// OSS document: PostObject, Appendix: Policy.
struct PostPolicy: Sendable {
    private enum Condition: Sendable {
        case equal(String)
        case startsWith(String)
        case oneOf([String])
        case noneOf([String])
    }

    /// A condition on a form field, and how the policy wrote it.
    private struct Rule: Sendable {
        let field: String
        let condition: Condition
        let text: String
    }

    /// From when on it is no longer good.
    let expiration: Timestamp
    /// Sizes that the object may have, in bytes; all have to hold.
    private(set) var sizes: [ClosedRange<Int64>] = []
    private var rules: [Rule] = []

    /// Longest policy taken.
    ///
    /// *Source:* own choice. *Applies to:* the decoded policy, in bytes.
    private static let maximumSize = 64 * 1024

    /// Reads the value of the form field `policy`.
    ///
    /// - Throws: `InvalidPolicyDocument` where it is none.
    init(_ text: String) throws(ServiceError) {
        guard let bytes = Base64.decode(text), bytes.count <= Self.maximumSize,
            let members = JSONValue(Self.withoutEscapedDollars(bytes))?.members
        else { throw Self.invalid("Invalid Policy: Invalid JSON.", ec: "0006-00000201") }
        switch (members["expiration"], members["conditions"]) {
        case (nil, nil):
            throw Self.invalid("Invalid Policy: Policy missing expiration and conditions.", ec: "0006-00000209")
        case (_, nil): throw Self.invalid("Invalid Policy: Policy missing conditions.", ec: "0006-00000207")
        case (nil, _): throw Self.invalid("Invalid Policy: Policy missing expiration.", ec: "0006-00000208")
        default: break
        }
        guard members.count == 2 else {
            throw Self.invalid("Invalid Policy: Unexpected member in policy.", ec: "0006-00000206")
        }
        guard let expiration = members["expiration"]?.text.flatMap({ Timestamp(iso8601: $0) }) else {
            throw Self.invalid("Invalid Policy: Invalid 'expiration' value.")
        }
        guard case .list(let conditions) = members["conditions"] else {
            throw Self.invalid("Invalid Policy: Invalid 'conditions' value: must be a List.", ec: "0006-00000214")
        }
        guard !conditions.isEmpty else {
            throw Self.invalid("Invalid Policy: Invalid 'conditions' value: must not be empty.", ec: "0006-00000215")
        }
        self.expiration = expiration
        for condition in conditions { try self.add(condition) }
    }

    /// Refuses a form that a condition does not allow.
    ///
    /// - Parameter value: the value of a form field, whose name is in lower case; empty where there is none.
    /// - Throws: `AccessDenied`.
    func check(_ value: (String) -> String) throws(ServiceError) {
        for rule in self.rules {
            let value = Array(value(rule.field).utf8)
            let holds =
                switch rule.condition {
                case .equal(let wanted): value.elementsEqual(wanted.utf8)
                case .startsWith(let prefix): value.starts(with: prefix.utf8)
                case .oneOf(let list): list.contains { value.elementsEqual($0.utf8) }
                case .noneOf(let list): !list.contains { value.elementsEqual($0.utf8) }
                }
            guard holds else {
                var error = ServiceError.accessDenied(
                    "Invalid according to Policy: Policy Condition failed: \(rule.text)")
                error.ec = "0006-00000227"
                throw error
            }
        }
    }

    private mutating func add(_ condition: JSONValue) throws(ServiceError) {
        switch condition {
        case .object(let members):
            guard members.count == 1, let (name, value) = members.first else {
                throw Self.invalid(
                    "Invalid Policy: Invalid Simple-Condition: Simple-Conditions must have exactly one property"
                        + " specified.")
            }
            guard let text = value.text else {
                throw Self.invalid("Invalid Policy: Invalid Simple-Condition: value must be a string.")
            }
            self.addRule(name, .equal(text), #"["eq", \#(JSONString.quoted("$" + name)), \#(JSONString.quoted(text))]"#)
        case .list(let list): try self.add(list)
        default: throw Self.invalid("Invalid Policy: Invalid Condition: must be a List or an Object.")
        }
    }

    private mutating func add(_ list: [JSONValue]) throws(ServiceError) {
        guard let mode = list.first?.text?.loweredASCII, list.count >= 2 else {
            throw Self.invalid("Invalid Policy: Invalid Condition: no matching mode.", ec: "0006-00000216")
        }
        guard list.count == 3 else {
            throw Self.invalid("Invalid Policy: Invalid Condition: wrong number of arguments.", ec: "0006-00000218")
        }
        if mode == "content-length-range" {
            guard let least = Self.size(list[1]), let most = Self.size(list[2]), least <= most else {
                throw Self.invalid("Invalid Policy: Invalid content-length-range.")
            }
            self.sizes.append(least...most)
            return
        }
        guard let name = list[1].text else {
            throw Self.invalid("Invalid Policy: Invalid Condition: the field must be a string.", ec: "0006-00000218")
        }
        let condition: Condition
        let written: String
        switch (mode, list[2]) {
        case ("eq", .text(let text)): (condition, written) = (.equal(text), JSONString.quoted(text))
        case ("starts-with", .text(let text)): (condition, written) = (.startsWith(text), JSONString.quoted(text))
        case ("in", .list(let values)), ("not-in", .list(let values)):
            let texts = values.compactMap(\.text)
            guard texts.count == values.count else {
                throw Self.invalid("Invalid Policy: Invalid Condition: values must be strings.", ec: "0006-00000224")
            }
            condition = mode == "in" ? .oneOf(texts) : .noneOf(texts)
            written = "[" + texts.map { JSONString.quoted($0) }.joined(separator: ", ") + "]"
        case ("eq", _), ("starts-with", _), ("in", _), ("not-in", _):
            throw Self.invalid("Invalid Policy: Invalid Condition: value of the wrong type.", ec: "0006-00000224")
        default:
            throw Self.invalid("Invalid Policy: Invalid Condition: unknown matching mode \(mode).", ec: "0006-00000216")
        }
        self.addRule(name, condition, "[\"\(mode)\", \(JSONString.quoted(name)), \(written)]")
    }

    /// A field is named with or without a dollar sign, in any case.
    private mutating func addRule(_ name: String, _ condition: Condition, _ text: String) {
        let field = name.hasPrefix("$") ? String(name.dropFirst()) : name
        self.rules.append(Rule(field: field.loweredASCII, condition: condition, text: text))
    }

    private static func size(_ value: JSONValue) -> Int64? {
        (value.integer.map(Int64.init) ?? value.text.flatMap { Int64($0) }).flatMap { $0 < 0 ? nil : $0 }
    }

    /// The document with `\$` written as `$`: OSS has this escape, JSON has not.
    private static func withoutEscapedDollars(_ bytes: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        var rest = bytes[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\"), let next = rest.popFirst() else {
                result.append(byte)
                continue
            }
            if next != UInt8(ascii: "$") { result.append(byte) }
            result.append(next)
        }
        return result
    }

    private static func invalid(_ message: String, ec: String? = nil) -> ServiceError {
        ServiceError(400, "InvalidPolicyDocument", message, ec: ec)
    }
}
