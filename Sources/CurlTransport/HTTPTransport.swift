// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

package import OSSWire
private import Synchronization
package import SystemIO

/// Something that carries one request to a server and brings the reply back.
///
/// There is one for the network, ``CurlTransport``, and the tests have others.
package protocol HTTPTransport: Sendable {
    /// Sends a request and returns the server's reply, whatever its status.
    ///
    /// - Throws: `TransportError` where there is no whole reply; `CancellationError` where the task is cancelled, and then
    ///   nothing of the request is under way any more.
    func execute(_ request: TransportRequest) async throws -> TransportResponse

    /// Ends what is under way with ``TransportError/Kind/shutDown``, closes all connections and returns when that is done.
    func shutDown() async
}

/// One attempt of one request, as it goes over the wire.
package struct TransportRequest: Sendable {
    /// `GET`, `PUT`, `POST`, `HEAD` or `DELETE`.
    package var method: String
    /// The whole address, escaped.
    package var url: String
    /// The header fields to send; `Content-Length` comes from the body, `Host` from the address unless given here.
    package var headers: HTTPFields
    /// What is sent.
    package var body: TransportBody
    /// Whether sending it twice is the same as sending it once; a POST is not taken to be so.
    ///
    /// On a connection that was used before, libcurl sends a request again by itself where the connection ends before any of
    /// the reply has come. One that is not idempotent ends with ``TransportError/Kind/send`` instead: whoever sent it must
    /// know that the first may have been applied.
    package var isIdempotent: Bool
    /// Whether the CRC-64 of the body is computed while it is sent, for ``TransportResponse/sentCRC64``.
    package var computesCRC64 = false
    /// Whether the MD5 of the body is computed while it is sent, for ``TransportResponse/sentMD5``.
    package var computesMD5 = false
    /// Whether the body of a reply of success is handed over while it comes in: the reply is then returned as soon as its
    /// head is there, with ``TransportResponse/stream`` in the place of ``TransportResponse/body``.
    ///
    /// Other replies come whole as ever. Default: false.
    package var streamsReply = false
    /// Longest reply body taken, in bytes; not for one that is handed over while it comes in.
    package var replyLimit = 16 * 1024 * 1024
    /// How long to wait for what.
    package var timeouts = TransportTimeouts()
    /// Where the number of bytes sent so far can be seen by others.
    package var progress: TransferProgress?

    package init(method: String, url: String, headers: HTTPFields = [:], body: TransportBody = .none) {
        self.method = method
        self.isIdempotent = method != "POST"
        self.url = url
        self.headers = headers
        self.body = body
    }
}

extension TransportRequest {
    /// Whether the thread that asks for it may carry it, where that is one that may block.
    ///
    /// Not with TLS: each loop would read the certificates, and shake hands. Not where others make the body or take the reply
    /// meanwhile: they might wait for the same threads.
    package var mayBeCarriedByThread: Bool {
        if case .pipe = self.body { return false }
        return !self.streamsReply && self.isPlain
    }

    /// Whether the address is one of `http`, not `https`.
    var isPlain: Bool { self.url.utf8.prefix(5).last == UInt8(ascii: ":") }
}

/// What a request sends.
package enum TransportBody: Sendable {
    /// No body and no `Content-Length`: GET, HEAD, DELETE.
    case none
    /// These bytes; none of them is a body of length 0 with `Content-Length: 0`.
    case memory(ArraySlice<UInt8>)
    /// `length` bytes of an open file from `offset` on, read while they are sent.
    case file(PosixFile, offset: Int64, length: Int64)
    /// Bytes that a task makes while they are sent; it is good for one attempt.
    case pipe(BodyPipe)

    /// These bytes; none of them is a body of length 0.
    package static func bytes(_ bytes: [UInt8]) -> TransportBody { .memory(bytes[...]) }

    /// Length in bytes; nil where there is no body.
    package var length: Int64? {
        switch self {
        case .none: nil
        case .memory(let bytes): Int64(bytes.count)
        case .file(_, _, let length): length
        case .pipe(let pipe): pipe.length
        }
    }
}

/// How long a request may take.
package struct TransportTimeouts: Sendable, Equatable {
    /// Until the connection stands, name look-up and TLS included.
    ///
    /// Default: 5 s.
    package var connect: Duration = .seconds(5)
    /// Without a byte moving in either direction, as far as the system can tell.
    ///
    /// Default: 30 s.
    package var idle: Duration = .seconds(30)
    /// For the whole attempt; nil, the default, is no limit.
    package var total: Duration?

    package init() {}
}

/// How many bytes of a body have been handed to the network, for others to look at.
package final class TransferProgress: Sendable {
    private let bytes = Atomic<Int64>(0)

    package init() {}

    /// Bytes of the current attempt, at most the body's length; it falls back to 0 when an attempt begins.
    package var bytesSent: Int64 {
        get { self.bytes.load(ordering: .relaxed) }
        set { self.bytes.store(newValue, ordering: .relaxed) }
    }
}

/// A server's whole reply.
package struct TransportResponse: Sendable {
    /// The status, 200 to 599; interim replies (1xx) are passed over.
    package var status: Int
    /// The header fields of the reply.
    package var headers: HTTPFields
    /// The reply's body; empty where ``stream`` has it.
    package var body: [UInt8]
    /// The reply's body while it comes in, where that was asked for.
    package var stream: TransportReplyStream?
    /// CRC-64 of the bytes that were sent as the body, where it was asked for and the whole body was sent.
    package var sentCRC64: UInt64?
    /// MD5 of the bytes that were sent as the body, 16 bytes, where it was asked for and the whole body was sent.
    package var sentMD5: [UInt8]?
    /// Bytes of the body that were handed to the network.
    package var bytesSent: Int64

    package init(
        status: Int, headers: HTTPFields = [:], body: [UInt8] = [], sentCRC64: UInt64? = nil, bytesSent: Int64 = 0
    ) {
        self.status = status
        self.headers = headers
        self.body = body
        self.sentCRC64 = sentCRC64
        self.bytesSent = bytesSent
    }
}

/// Why there is no whole reply.
package struct TransportError: Error, Sendable, CustomStringConvertible {
    /// What kind of failure it was.
    package enum Kind: Sendable, Equatable {
        /// The host's name, or the proxy's, has no address.
        case resolve
        /// No connection came about.
        case connect
        /// The connection did not stand in time.
        case connectTimeout
        /// TLS failed: an untrusted certificate, a wrong host name, no common version.
        case tls
        /// The connection broke while sending, or before any of the reply came.
        case send
        /// The connection broke within the reply.
        case receive
        /// No byte moved for too long.
        case idleTimeout
        /// The attempt as a whole took too long.
        case totalTimeout
        /// The reply's body is longer than the limit.
        case replyTooLarge
        /// What came back is not HTTP.
        case malformedReply
        /// The file cannot be read.
        case source(SystemError)
        /// The file ended before the body did.
        case sourceTooShort
        /// The task that makes the body has given up.
        case brokenBody
        /// An option cannot be used: proxy, CA file, address.
        case configuration
        /// The transport has been shut down.
        case shutDown
    }

    /// What kind of failure it was.
    package let kind: Kind
    /// What happened, in one sentence, without anything secret.
    package let message: String

    package init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = message
    }

    package var description: String { self.message }
}
