// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import FoundationEssentials
internal import OSSWire

/// What the service posts to an application's server once an object is stored.
///
/// The application's reply, which has to be JSON, takes the place of the service's own and comes back as
/// ``OSSCallbackOutcome``.
///
/// ```swift
/// var callback = OSSCallback(url: "https://app.example/stored", body: "key=${object}&size=${size}&user=${x:user}")
/// callback.variables["x:user"] = "42"
/// ```
///
/// OSS document: Callback.
public struct OSSCallback: Sendable, Hashable {
    /// How the body's variables are written.
    public struct BodyType: Sendable, Hashable, CustomStringConvertible {
        private enum Name: String {
            case form = "application/x-www-form-urlencoded"
            case json = "application/json"
        }
        private let name: Name

        /// As a form: each value is percent-encoded.
        public static let form = BodyType(name: .form)
        /// As JSON: each text is quoted.
        public static let json = BodyType(name: .json)

        /// The media type.
        public var description: String { self.name.rawValue }
    }

    /// Where it is posted: one to five addresses, `http` or `https`; the first that takes it counts.
    public var urls: [String]
    /// The body, with variables in it: `${bucket}`, `${object}`, `${etag}`, `${size}`, `${mimeType}`,
    /// `${imageInfo.height}`, `${imageInfo.width}`, `${imageInfo.format}` and yours, `${x:name}`.
    public var body: String
    /// How the body's variables are written.
    ///
    /// Default: as a form.
    public var bodyType: BodyType = .form
    /// The value of `Host`; nil: the address's.
    ///
    /// Default: nil.
    public var host: String?
    /// Variables of yours: names begin with `x:` and are in lower case; at most 5 KiB in all.
    ///
    /// Default: none.
    public var variables: [String: String] = [:]

    /// Makes a callback to one address.
    public init(url: String, body: String) {
        self.urls = [url]
        self.body = body
    }

    /// Reads a callback from the JSON of the OSS document: `callbackUrl`, `callbackBody`, `callbackBodyType`, `callbackHost`.
    ///
    /// - Throws: `OSSError.invalidArgument` where it is none.
    public init(json: String) throws {
        let form: Form
        do { form = try JSONDecoder().decode(Form.self, from: Data(json.utf8)) } catch {
            throw OSSError(
                .invalidArgument,
                "the callback is not the JSON that the service wants, an object with the texts callbackUrl and callbackBody",
                underlying: error
            )
        }
        self.urls = form.callbackUrl.split(separator: ";").map { String($0).trimmedBlanks }
        self.body = form.callbackBody
        self.host = form.callbackHost
        switch form.callbackBodyType ?? BodyType.form.description {
        case BodyType.form.description: self.bodyType = .form
        case BodyType.json.description: self.bodyType = .json
        case let other:
            throw OSSError(
                .invalidArgument,
                "the callback's body type is \(other); there are \(BodyType.form) and \(BodyType.json)"
            )
        }
    }

    /// The names of the OSS document.
    private struct Form: Codable {
        var callbackUrl: String
        var callbackBody: String
        var callbackBodyType: String?
        var callbackHost: String?
    }

    /// Longest configuration in bytes.
    ///
    /// *Source:* OSS document Callback. *Applies to:* both headers, before base64.
    private static let maximumSize = 5 * 1024

    /// The header fields, checked.
    ///
    /// - Throws: `OSSError.invalidArgument` for what the service would refuse.
    func fields(_ operation: OSSError.Operation) throws(OSSError) -> HTTPFields {
        func invalid(_ message: String) -> OSSError { OSSError(.invalidArgument, message, operation: operation) }
        guard (1...5).contains(self.urls.count) else {
            throw invalid("the callback has \(self.urls.count) addresses; give one to five")
        }
        for url in self.urls {
            let rest = ["http://", "https://"].first { url.loweredASCII.hasPrefix($0) }.map { url.dropFirst($0.count) }
            guard let rest, !rest.isEmpty, !rest.hasPrefix("/"), !url.contains(";"),
                url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
            else {
                throw invalid(
                    "the callback's address \(url.replacingControlCharacters) cannot be used: write http://host/path or "
                        + "https://host/path, with other characters than ASCII, blanks and semicolons escaped"
                )
            }
        }
        guard !self.body.isEmpty else { throw invalid("the callback's body is empty; write for example key=${object}") }
        for name in self.variables.keys {
            guard name.hasPrefix("x:"), name.utf8.count > 2, name == name.loweredASCII else {
                throw invalid("the callback's variable \(name) needs a name in lower case that begins with x:")
            }
        }
        let form = Form(
            callbackUrl: self.urls.joined(separator: ";"), callbackBody: self.body,
            callbackBodyType: self.bodyType.description, callbackHost: self.host
        )
        var fields: HTTPFields = [:]
        fields["x-oss-callback"] = try Self.encoded(form, "the callback", operation)
        if !self.variables.isEmpty {
            fields["x-oss-callback-var"] = try Self.encoded(self.variables, "the callback's variables", operation)
        }
        return fields
    }

    private static func encoded(
        _ value: some Encodable, _ what: String, _ operation: OSSError.Operation
    ) throws(OSSError) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let bytes: [UInt8]
        do { bytes = Array(try encoder.encode(value)) } catch {
            throw OSSError(
                .invalidArgument, "\(what) cannot be written as JSON", operation: operation, underlying: error)
        }
        guard bytes.count <= self.maximumSize else {
            throw OSSError(
                .invalidArgument,
                "\(what) takes \(bytes.count) bytes as JSON; the service takes \(self.maximumSize)",
                operation: operation
            )
        }
        return Base64.encode(bytes)
    }
}

/// What came of a callback; the object is stored in any case.
public struct OSSCallbackOutcome: Sendable, Hashable {
    /// Why it failed, as the service says, or why it is not known what came of it; nil where it succeeded.
    public let failure: String?
    /// The application server's reply, byte for byte; empty where there was none.
    public let reply: [UInt8]

    /// Whether the application's server has been told.
    public var hasSucceeded: Bool { self.failure == nil }

    /// Reads the application server's reply as JSON.
    ///
    /// - Throws: `DecodingError`.
    public func decode<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
        try JSONDecoder().decode(type, from: Data(self.reply))
    }

    /// What a reply says of the callback; nil where none was asked for and none is spoken of.
    init?(_ reply: ServiceResponse, wasAsked: Bool, _ operation: OSSError.Operation) throws(OSSError) {
        if reply.status == 203 {
            // A 203 without its document is still a 203: what matters is known from the status.
            self.failure = (try? XMLElement.parse(reply.body, root: "Error"))?.string("Message") ?? "no reason given"
            self.reply = []
            return
        }
        guard wasAsked else { return nil }
        guard Self.isJSON(reply.body) else {
            throw Document.malformed("the application server's reply to the callback is not in it", operation)
        }
        self.failure = nil
        self.reply = reply.body
    }

    /// The object is stored, and the reply that would have told of the callback was lost.
    static let unknown = OSSCallbackOutcome(
        failure: "the service's reply was lost, so it is not known whether the application's server was told"
    )

    private init(failure: String) {
        self.failure = failure
        self.reply = []
    }

    /// Whether the bytes are one JSON value: the decoder looks at all of them before it asks this type for anything.
    private static func isJSON(_ bytes: [UInt8]) -> Bool {
        struct Anything: Decodable { init(from decoder: any Decoder) {} }
        return (try? JSONDecoder().decode(Anything.self, from: Data(bytes))) != nil
    }
}
