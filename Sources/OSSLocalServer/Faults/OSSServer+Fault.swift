// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

extension OSSServer {
    /// A rule by which the server misbehaves: which requests, how often, and what happens to them.
    public struct Fault: Sendable, Hashable {
        /// What happens to a request.
        public struct Action: Sendable, Hashable {
            enum Kind: Sendable, Hashable {
                case respond(status: Int, code: String, message: String, headers: [Header])
                case respondRaw(status: Int, headers: [Header], body: [UInt8])
                case dropBeforeReply
                case commitThenDrop
                case commitThenRespond(status: Int, code: String, message: String, headers: [Header])
                case cut(afterBodyBytes: Int64)
                case respondEarly(status: Int, code: String, message: String, headers: [Header])
                case stall(Duration)
                case delay(Duration)
                case slow(bytesPerSecond: Int)
                case editReplyHeader(name: String, value: String?)
                case replaceReplyBody([UInt8])
                case editReplyBody(target: String, replacement: String)
            }

            struct Header: Sendable, Hashable {
                let name: String
                let value: String
            }

            let kind: Kind
        }

        /// The operation's name as OSS documents it, for example `UploadPart`; nil, the default: every one.
        public var operation: String?
        /// The bucket; nil, the default: every one.
        public var bucket: String?
        /// The key; nil, the default: every one.
        public var key: String?
        /// What the key begins with; nil, the default: anything.
        public var keyPrefix: String?
        /// The part; nil, the default: every one, and requests without one.
        public var partNumber: Int?
        /// Which of the requests that match, counted from 1.
        ///
        /// Default: ``always``.
        public var occurrences: ClosedRange<Int>
        /// What happens to them.
        public var action: Action

        /// Every request that matches.
        public static let always = 1...Int.max

        /// Makes a rule.
        public init(
            _ action: Action, operation: String? = nil, bucket: String? = nil, key: String? = nil,
            keyPrefix: String? = nil, partNumber: Int? = nil, occurrences: ClosedRange<Int> = Self.always
        ) {
            self.action = action
            self.operation = operation
            self.bucket = bucket
            self.key = key
            self.keyPrefix = keyPrefix
            self.partNumber = partNumber
            self.occurrences = occurrences
        }
    }
}

extension OSSServer.Fault.Action {
    /// Answers with an error document once the request is read; nothing is done.
    public static func respond(
        status: Int, code: String, message: String = "This error was asked for by a fault rule.",
        headers: KeyValuePairs<String, String> = [:]
    ) -> Self {
        Self(kind: .respond(status: status, code: code, message: message, headers: Self.list(headers)))
    }

    /// Answers with these very bytes and header fields once the request is read; nothing is done.
    public static func respondRaw(
        status: Int, headers: KeyValuePairs<String, String> = [:], body: [UInt8] = []
    ) -> Self {
        Self(kind: .respondRaw(status: status, headers: Self.list(headers), body: body))
    }

    /// Reads the request and closes the connection; nothing is done.
    public static var dropBeforeReply: Self { Self(kind: .dropBeforeReply) }

    /// Does what was asked and closes the connection without a reply.
    public static var commitThenDrop: Self { Self(kind: .commitThenDrop) }

    /// Does what was asked and answers with an error document all the same.
    public static func commitThenRespond(
        status: Int, code: String, message: String = "This error was asked for by a fault rule.",
        headers: KeyValuePairs<String, String> = [:]
    ) -> Self {
        Self(kind: .commitThenRespond(status: status, code: code, message: message, headers: Self.list(headers)))
    }

    /// Closes the connection once so many bytes of the body are read; nothing is done.
    public static func cut(afterBodyBytes count: Int64) -> Self { Self(kind: .cut(afterBodyBytes: count)) }

    /// Answers with an error document before the body is read, and closes the connection; nothing is done.
    public static func respondEarly(
        status: Int, code: String, message: String = "This error was asked for by a fault rule.",
        headers: KeyValuePairs<String, String> = [:]
    ) -> Self {
        Self(kind: .respondEarly(status: status, code: code, message: message, headers: Self.list(headers)))
    }

    /// Does what was asked, then keeps silent for a while before the reply.
    public static func stall(_ duration: Duration) -> Self { Self(kind: .stall(duration)) }

    /// Waits a while before the body is read.
    public static func delay(_ duration: Duration) -> Self { Self(kind: .delay(duration)) }

    /// Reads the body, and sends the reply's, no faster than that.
    public static func slow(bytesPerSecond: Int) -> Self { Self(kind: .slow(bytesPerSecond: max(1, bytesPerSecond))) }

    /// Sets a header field of the reply, or takes it away where `value` is nil.
    public static func editReplyHeader(_ name: String, _ value: String?) -> Self {
        Self(kind: .editReplyHeader(name: name, value: value))
    }

    /// Sends another body than the operation's.
    public static func replaceReplyBody(_ body: [UInt8]) -> Self { Self(kind: .replaceReplyBody(body)) }

    /// Replaces a text wherever it occurs in the reply's document.
    public static func editReplyBody(replacing target: String, with replacement: String) -> Self {
        Self(kind: .editReplyBody(target: target, replacement: replacement))
    }

    private static func list(_ headers: KeyValuePairs<String, String>) -> [Header] {
        headers.map { Header(name: $0.key, value: $0.value) }
    }
}
