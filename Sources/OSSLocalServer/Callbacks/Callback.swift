// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// What a request says about the callback to an application's server, checked before anything is stored.
///
/// OSS document: Callback.
struct Callback: Sendable {
    /// How the body's variables are written.
    enum BodyType: String, Sendable {
        case form = "application/x-www-form-urlencoded"
        case json = "application/json"
    }

    /// Where it is posted: the first URL that takes it counts.
    let urls: [CallbackURL]
    /// The value of `Host`; nil: the URL's.
    let host: String?
    /// The body, with variables in it.
    let template: String
    /// How the body's variables are written.
    let bodyType: BodyType
    /// The client's own variables, names with `x:`.
    let variables: [String: String]

    /// Most URLs.
    ///
    /// *Source:* OSS document Callback. *Applies to:* `callbackUrl`.
    private static let maximumURLs = 5
    /// Longest configuration, decoded.
    ///
    /// *Source:* OSS document Callback. *Applies to:* the parameters `callback` and `callback-var`, in bytes.
    private static let maximumSize = 5 * 1024

    /// Reads a request's configuration; nil where it wants no callback.
    ///
    /// - Parameter allowsRemote: whether other hosts than this one may be called.
    /// - Throws: `ServiceError` where the configuration cannot be used.
    init?(_ request: Request, allowsRemote: Bool) throws(ServiceError) {
        guard let text = try request.value(ofHeader: "x-oss-callback", orParameter: "callback"), !text.isEmpty else {
            return nil
        }
        let members = try Self.members(text, "callback")
        let list = (members["callbackUrl"]?.text ?? "").split(separator: ";").map(\.trimmedBlanks)
            .filter { !$0.isEmpty }
        guard !list.isEmpty else { throw Self.invalid("The callback configuration has no callbackUrl.", text) }
        guard list.count <= Self.maximumURLs else {
            throw Self.invalid("The callbackUrl field holds more than five URLs.", text)
        }
        var urls: [CallbackURL] = []
        for item in list {
            guard let url = CallbackURL(item) else { throw Self.invalid("The callbackUrl field is invalid.", text) }
            guard url.isLoopback || allowsRemote else {
                // The real service refuses this host's own addresses instead; here it is the others that are out of reach.
                throw Self.invalid("This server posts callbacks to its own host only.", text)
            }
            urls.append(url)
        }
        guard let template = members["callbackBody"]?.text, !template.isEmpty else {
            throw Self.invalid("The callback configuration has no callbackBody.", text)
        }
        let type = members["callbackBodyType"]?.text ?? ""
        guard let bodyType = type.isEmpty ? .form : BodyType(rawValue: type) else {
            throw Self.invalid("The callbackBodyType field is invalid.", text)
        }
        let host = members["callbackHost"]?.text ?? ""
        // It becomes a header field.
        guard host.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw Self.invalid("The callbackHost field is invalid.", text)
        }
        self.urls = urls
        self.host = host.isEmpty ? nil : host
        self.template = template
        self.bodyType = bodyType
        self.variables = try Self.variables(request)
    }

    private static func variables(_ request: Request) throws(ServiceError) -> [String: String] {
        guard let text = try request.value(ofHeader: "x-oss-callback-var", orParameter: "callback-var"), !text.isEmpty
        else { return [:] }
        var variables: [String: String] = [:]
        for (name, value) in try Self.members(text, "callback-var") {
            guard name.hasPrefix("x:"), name == name.loweredASCII, let value = value.text else {
                throw self.invalid(
                    "The callback-var configuration has a name that does not begin with x: or is not in lower case.",
                    text, "callback-var")
            }
            variables[name] = value
        }
        return variables
    }

    private static func members(_ text: String, _ name: String) throws(ServiceError) -> [String: JSONValue] {
        guard let bytes = Base64.decode(text) else {
            throw self.invalid("The \(name) configuration is not base64 encoded.", text, name)
        }
        guard bytes.count <= self.maximumSize else {
            throw self.invalid("The \(name) configuration is longer than 5 KB.", text, name)
        }
        guard let members = JSONValue(bytes)?.members else {
            throw self.invalid("The \(name) configuration is not json format.", text, name)
        }
        return members
    }

    private static func invalid(_ message: String, _ value: String, _ name: String = "callback") -> ServiceError {
        ServiceError.invalidArgument(message, name: name, value: value)
    }

    // MARK: The body

    /// The body with the variables filled in.
    ///
    /// In a form each value is escaped. In JSON a text gets its quotes, unless the template has put them there.
    func body(_ values: [String: CallbackValue]) -> String {
        var body = ""
        var rest = self.template[...]
        while let start = rest.firstRange(of: "${") {
            body += rest[..<start.lowerBound]
            let tail = rest[start.upperBound...]
            guard let end = tail.firstIndex(of: "}") else {
                rest = rest[start.lowerBound...]
                break
            }
            let name = String(tail[..<end])
            let value = name.hasPrefix("x:") ? .text(self.variables[name] ?? "") : values[name] ?? .text("")
            rest = tail[tail.index(after: end)...]
            body += self.written(value, isQuoted: body.last == "\"" && rest.first == "\"")
        }
        return body + rest
    }

    private func written(_ value: CallbackValue, isQuoted: Bool) -> String {
        switch (self.bodyType, value) {
        case (_, .number(let number)): String(number)
        case (.form, .text(let text)): PercentEncoding.encode(text)
        case (.json, .text(let text)):
            isQuoted ? String(JSONString.quoted(text).dropFirst().dropLast()) : JSONString.quoted(text)
        }
    }
}

/// The value of a variable in a callback's body.
enum CallbackValue: Sendable {
    case text(String)
    case number(Int64)
}
