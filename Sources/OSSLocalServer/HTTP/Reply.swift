// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// What is sent back.
struct Reply: Sendable {
    /// What the reply carries.
    enum Body: Sendable {
        /// Nothing, not even a length where the status has none.
        case none
        /// These bytes.
        case bytes([UInt8])
        /// A region of an object; HEAD tells its length only.
        case object(StoredObject, range: Range<Int64>)

        /// How many bytes it has.
        var count: Int {
            switch self {
            case .none: 0
            case .bytes(let bytes): bytes.count
            case .object(_, let range): range.count
            }
        }
    }

    /// The HTTP status.
    var status: Int
    /// The header fields, without those that every reply has.
    var headers: HTTPFields
    /// The body.
    var body: Body
    /// The error that the reply tells, where it is one.
    var error: ServiceError?
    /// Whether it is sent as it stands, without the header fields that every reply has.
    var isRaw = false

    /// Makes a reply.
    init(status: Int = 200, headers: HTTPFields = [:], body: Body = .none) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// Tells an error.
    init(_ error: ServiceError) {
        self.init(status: error.status, headers: error.headers)
        self.error = error
    }

    /// A document.
    static func document(_ writer: XMLWriter, headers: HTTPFields = [:]) -> Reply {
        var reply = Reply(headers: headers, body: .bytes(writer.bytes))
        reply.headers["Content-Type"] = "application/xml"
        return reply
    }
}
