// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// A middleware that tells of each attempt when it is over, without anything secret.
public struct OSSEventLog: OSSMiddleware {
    private let sink: @Sendable (OSSLogEvent) -> Void

    /// Makes a log.
    ///
    /// - Parameter sink: takes each event; it is called by the task that waits for the request, and holds it up.
    public init(_ sink: @escaping @Sendable (OSSLogEvent) -> Void) { self.sink = sink }

    /// Carries the attempt on and tells of it.
    public func intercept(
        _ attempt: OSSAttempt, next: (OSSAttempt) async throws -> OSSReply
    ) async throws -> OSSReply {
        let start = ContinuousClock.now
        do {
            let reply = try await next(attempt)
            self.sink(OSSLogEvent(attempt, reply: reply, failure: nil, duration: .now - start))
            return reply
        } catch {
            // What a foreign error says of itself may hold anything.
            let failure = error is OSSError || error is CancellationError ? "\(error)" : "\(type(of: error))"
            self.sink(OSSLogEvent(attempt, reply: nil, failure: failure, duration: .now - start))
            throw error
        }
    }
}

/// What became of an attempt.
public struct OSSLogEvent: Sendable, CustomStringConvertible {
    /// The operation's documented name.
    public let operation: String
    /// Which attempt of the request it was, from 1 on.
    public let attempt: Int
    /// The HTTP method.
    public let method: String
    /// The bucket.
    public let bucket: String
    /// The key; nil for operations on the bucket.
    public let key: String?
    /// The part's number, for operations on a part.
    public let partNumber: Int?
    /// Bytes of the body that was to be sent.
    public let bodyLength: Int64
    /// The reply's status; nil where there was none.
    public let status: Int?
    /// The service's ID of the request.
    public let requestID: String?
    /// Why there was no reply.
    public let failure: String?
    /// How long it took.
    public let duration: Duration

    init(_ attempt: OSSAttempt, reply: OSSReply?, failure: String?, duration: Duration) {
        self.operation = attempt.operation.name
        self.attempt = attempt.number
        self.method = attempt.method
        self.bucket = attempt.bucket
        self.key = attempt.key
        self.partNumber = attempt.partNumber
        self.bodyLength = attempt.bodyLength
        self.status = reply?.status
        self.requestID = reply?.requestID
        self.failure = failure
        self.duration = duration
    }

    /// Name and value of what is known, in the order in which it is written.
    private var fields: [(name: String, value: String, isNumber: Bool)] {
        var fields = [("operation", self.operation, false), ("attempt", String(self.attempt), true)]
        fields += [("method", self.method, false), ("bucket", self.bucket, false)]
        if let key { fields.append(("key", key, false)) }
        if let partNumber { fields.append(("part", String(partNumber), true)) }
        fields.append(("bytes", String(self.bodyLength), true))
        if let status { fields.append(("status", String(status), true)) }
        if let requestID { fields.append(("requestID", requestID, false)) }
        if let failure { fields.append(("failure", failure, false)) }
        fields.append(("milliseconds", String(Int64(self.duration / .milliseconds(1))), true))
        return fields
    }

    /// One line: `operation=UploadPart attempt=1 …`; texts with other characters than a word's stand in quotes.
    public var description: String {
        self.fields.map { field in
            let isWord = field.value.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\"") }
            return "\(field.name)=\(isWord && !field.value.isEmpty ? field.value : Self.quoted(field.value))"
        }.joined(separator: " ")
    }

    /// One object of JSON, on one line.
    public var json: String {
        "{"
            + self.fields.map { "\"\($0.name)\":\($0.isNumber ? $0.value : Self.quoted($0.value))" }
            .joined(separator: ",") + "}"
    }

    private static func quoted(_ text: String) -> String { JSONString.quoted(text, isForTerminals: true) }
}
