// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import FoundationEssentials

/// A JSON document of any shape.
enum JSONValue: Sendable, Equatable {
    case null
    case truth(Bool)
    case number(Double)
    case text(String)
    case list([JSONValue])
    case object([String: JSONValue])

    /// Deepest nesting taken.
    ///
    /// *Source:* own choice; the decoder takes its stack from the connection's thread. *Applies to:* lists and objects.
    private static let maximumDepth = 64

    /// Reads a document; nil where it is none, or nests deeper than 64 lists and objects.
    init?(_ bytes: [UInt8]) {
        guard Self.depth(of: bytes) <= Self.maximumDepth else { return nil }
        // What is wrong with it is told by the callers in their own words.
        guard let value = try? JSONDecoder().decode(Self.self, from: Data(bytes)) else { return nil }
        self = value
    }

    /// How deep lists and objects nest; of bytes that are no document, no less than a reader would go.
    private static func depth(of bytes: [UInt8]) -> Int {
        var depth = 0, deepest = 0, isInText = false, isEscaped = false
        for byte in bytes {
            switch byte {
            case _ where isEscaped: isEscaped = false
            case UInt8(ascii: "\\") where isInText: isEscaped = true
            case UInt8(ascii: "\""): isInText.toggle()
            case _ where isInText: break
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                depth += 1
                deepest = max(deepest, depth)
            case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
            default: break
            }
        }
        return deepest
    }

    /// The text; nil where it is none.
    var text: String? { if case .text(let text) = self { text } else { nil } }

    /// The whole number; nil where it is none.
    var integer: Int? { if case .number(let number) = self { Int(exactly: number) } else { nil } }

    /// The members by name; nil where it is no object.
    var members: [String: JSONValue]? { if case .object(let members) = self { members } else { nil } }
}

extension JSONValue: Decodable {
    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let truth = try? container.decode(Bool.self) {
            // Each kind is tried in turn: that it is not this one is no failure.
            self = .truth(truth)
        } else if let number = try? container.decode(Double.self) {
            self = .number(number)
        } else if let text = try? container.decode(String.self) {
            self = .text(text)
        } else if let list = try? container.decode([JSONValue].self) {
            self = .list(list)
        } else {
            self = .object(try container.decode([String: JSONValue].self))
        }
    }
}
