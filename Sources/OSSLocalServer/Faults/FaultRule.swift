// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// A rule as a file writes it.
struct FaultRule {
    /// What is wrong with it.
    struct Problem: Error {
        let message: String
    }

    private var members: [String: JSONValue]

    private static let conditions: Set<String> = [
        "action", "operation", "bucket", "key", "keyPrefix", "partNumber", "from", "to",
    ]
    private static let errorDocument: Set<String> = ["status", "code", "message", "headers"]
    /// What each action takes beside the conditions.
    private static let parameters: [String: Set<String>] = [
        "respond": Self.errorDocument, "commitThenRespond": Self.errorDocument, "respondEarly": Self.errorDocument,
        "respondRaw": ["status", "headers", "body"], "dropBeforeReply": [], "commitThenDrop": [],
        "cut": ["afterBodyBytes"], "stall": ["milliseconds"], "delay": ["milliseconds"], "slow": ["bytesPerSecond"],
        "editReplyHeader": ["name", "value"], "replaceReplyBody": ["body"], "editReplyBody": ["replace", "with"],
    ]

    /// Takes a rule.
    init(_ value: JSONValue) throws(Problem) {
        guard let members = value.members else { throw Problem(message: "it is no object") }
        self.members = members
    }

    /// The rule as the server has it.
    func fault() throws(Problem) -> OSSServer.Fault {
        let name = try self.required("action", self.text("action"))
        guard let parameters = Self.parameters[name] else {
            let known = Self.parameters.keys.sorted().joined(separator: ", ")
            throw Problem(message: "there is no action \(name); there are \(known)")
        }
        let unknown = Set(self.members.keys).subtracting(parameters).subtracting(Self.conditions)
        if let first = unknown.sorted().first { throw Problem(message: "the action \(name) has no \(first)") }
        var fault = OSSServer.Fault(OSSServer.Fault.Action(kind: try self.kind(name)))
        fault.operation = try self.text("operation")
        fault.bucket = try self.text("bucket")
        fault.key = try self.text("key")
        fault.keyPrefix = try self.text("keyPrefix")
        fault.partNumber = try self.number("partNumber", least: 1)
        let first = try self.number("from", least: 1) ?? 1, last = try self.number("to", least: 1) ?? Int.max
        guard first <= last else { throw Problem(message: "from is above to") }
        fault.occurrences = first...last
        return fault
    }

    private func kind(_ name: String) throws(Problem) -> OSSServer.Fault.Action.Kind {
        switch name {
        case "respond", "commitThenRespond", "respondEarly":
            let status = try self.required("status", self.number("status", least: 100, most: 999))
            let code = try self.required("code", self.text("code"))
            let message = try self.text("message") ?? "This error was asked for by a fault rule."
            let headers = try self.headers()
            return switch name {
            case "respond": .respond(status: status, code: code, message: message, headers: headers)
            case "respondEarly": .respondEarly(status: status, code: code, message: message, headers: headers)
            default: .commitThenRespond(status: status, code: code, message: message, headers: headers)
            }
        case "respondRaw":
            let status = try self.required("status", self.number("status", least: 100, most: 999))
            return .respondRaw(
                status: status, headers: try self.headers(), body: Array((try self.text("body") ?? "").utf8))
        case "dropBeforeReply": return .dropBeforeReply
        case "commitThenDrop": return .commitThenDrop
        case "cut":
            let count = try self.required("afterBodyBytes", self.number("afterBodyBytes", least: 0))
            return .cut(afterBodyBytes: Int64(count))
        case "stall": return .stall(try self.duration())
        case "delay": return .delay(try self.duration())
        case "slow":
            let rate = try self.required("bytesPerSecond", self.number("bytesPerSecond", least: 1))
            return .slow(bytesPerSecond: rate)
        case "editReplyHeader":
            let name = try self.required("name", self.text("name"))
            return .editReplyHeader(name: name, value: try self.text("value"))
        case "replaceReplyBody":
            return .replaceReplyBody(Array(try self.required("body", self.text("body")).utf8))
        default:
            return .editReplyBody(
                target: try self.required("replace", self.text("replace")),
                replacement: try self.required("with", self.text("with")))
        }
    }

    // MARK: Members

    private func required<Value>(_ name: String, _ value: Value?) throws(Problem) -> Value {
        guard let value else { throw Problem(message: "\(name) is missing") }
        return value
    }

    private func text(_ name: String) throws(Problem) -> String? {
        guard let value = self.members[name], value != .null else { return nil }
        guard let text = value.text else { throw Problem(message: "\(name) is no text") }
        return text
    }

    private func number(_ name: String, least: Int, most: Int = .max) throws(Problem) -> Int? {
        guard let value = self.members[name], value != .null else { return nil }
        guard let number = value.integer, number >= least, number <= most else {
            let range = most == .max ? "\(least) on" : "\(least) to \(most)"
            throw Problem(message: "\(name) is no whole number from \(range)")
        }
        return number
    }

    private func duration() throws(Problem) -> Duration {
        .milliseconds(try self.required("milliseconds", self.number("milliseconds", least: 0)))
    }

    private func headers() throws(Problem) -> [OSSServer.Fault.Action.Header] {
        guard let value = self.members["headers"] else { return [] }
        guard let members = value.members else { throw Problem(message: "headers is no object") }
        var headers: [OSSServer.Fault.Action.Header] = []
        for (name, value) in members.sorted(by: { $0.key < $1.key }) {
            guard let text = value.text else { throw Problem(message: "the header \(name) is no text") }
            headers.append(OSSServer.Fault.Action.Header(name: name, value: text))
        }
        return headers
    }
}
