// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

/// Something that each attempt of each request goes through: for logs, metrics and tests.
///
/// It stands before the signature: what it sees holds no secret, and header fields that it sets are signed and sent.
///
/// ```swift
/// struct Meter: OSSMiddleware {
///     func intercept(
///         _ attempt: OSSAttempt, next: nonisolated(nonsending) (OSSAttempt) async throws -> OSSReply
///     ) async throws -> OSSReply {
///         let start = ContinuousClock.now
///         defer { record(attempt.operation, ContinuousClock.now - start) }
///         return try await next(attempt)
///     }
/// }
/// ```
///
/// Where the upcoming feature `NonisolatedNonsendingByDefault` is on, `nonisolated(nonsending)` may be left out.
public protocol OSSMiddleware: Sendable {
    /// Carries an attempt on, by `next`, and returns the reply; or answers it itself, or refuses it with an error.
    ///
    /// What `next` throws is an `OSSError`, or `CancellationError`; thrown on, or left alone, it is judged and the request
    /// perhaps sent again as if nobody stood between. An error of the middleware's own ends the request. `next` is called at
    /// most once.
    func intercept(
        _ attempt: OSSAttempt, next: (OSSAttempt) async throws -> OSSReply
    ) async throws -> OSSReply
}

/// One attempt of one request, before it is signed.
public struct OSSAttempt: Sendable {
    /// The operation.
    public let operation: OSSError.Operation
    /// Which attempt of the request it is, from 1 on.
    public let number: Int
    /// The HTTP method.
    public let method: String
    /// The bucket.
    public let bucket: String
    /// The key; nil for operations on the bucket.
    public let key: String?
    /// The part's number, for operations on a part.
    public let partNumber: Int?
    /// Bytes of the body.
    public let bodyLength: Int64
    /// Header fields by their names: those of the operation, to which others can be added; each is signed where the signature
    /// covers it.
    public var headers: [String: String]
}

/// The reply to an attempt.
public struct OSSReply: Sendable {
    /// The HTTP status.
    public var status: Int
    /// The header fields, names in lower case.
    public var headers: [String: String]
    /// The body; empty for an object's bytes, which come later.
    public var body: [UInt8]

    /// Makes a reply, for middlewares that answer themselves.
    public init(status: Int, headers: [String: String] = [:], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// The service's ID of the request.
    public var requestID: String? { self.headers["x-oss-request-id"] }
}
