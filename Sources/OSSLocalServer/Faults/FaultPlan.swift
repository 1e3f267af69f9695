// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// What the rules in force do to one request.
struct FaultPlan: Sendable {
    private typealias Kind = OSSServer.Fault.Action.Kind

    /// What happens instead of the reply, or to it.
    enum Outcome: Sendable {
        case respond(Reply)
        case dropBeforeReply
        case commitThenDrop
        case commitThenRespond(ServiceError)
        case cut(afterBodyBytes: Int64)
        case respondEarly(ServiceError)
    }

    /// The first rule that decides the outcome; nil where none does.
    var outcome: Outcome?
    /// Time to wait before the body is read.
    var delay: Duration = .zero
    /// Time to wait before the reply.
    var stall: Duration = .zero
    /// The rate of bodies; nil: as fast as can be.
    var bytesPerSecond: Int?
    private var edits: [Kind] = []

    /// Whether any rule met the request.
    let isEmpty: Bool

    init(_ actions: [OSSServer.Fault.Action.Kind]) {
        self.isEmpty = actions.isEmpty
        for action in actions {
            switch action {
            case .delay(let duration): self.delay += duration
            case .stall(let duration): self.stall += duration
            case .slow(let rate): self.bytesPerSecond = min(max(1, rate), self.bytesPerSecond ?? Int.max)
            case .editReplyHeader, .replaceReplyBody, .editReplyBody: self.edits.append(action)
            case .respond(let status, let code, let message, let headers):
                self.decide(.respond(Reply(Self.error(status, code, message, headers))))
            case .respondRaw(let status, let headers, let body):
                var reply = Reply(status: status, body: .bytes(body))
                for header in headers { reply.headers.append(name: header.name, value: header.value) }
                reply.isRaw = true
                self.decide(.respond(reply))
            case .dropBeforeReply: self.decide(.dropBeforeReply)
            case .commitThenDrop: self.decide(.commitThenDrop)
            case .commitThenRespond(let status, let code, let message, let headers):
                self.decide(.commitThenRespond(Self.error(status, code, message, headers)))
            case .cut(let count): self.decide(.cut(afterBodyBytes: count))
            case .respondEarly(let status, let code, let message, let headers):
                self.decide(.respondEarly(Self.error(status, code, message, headers)))
            }
        }
    }

    /// Changes a reply as the rules want it.
    func edit(_ reply: inout Reply) {
        for edit in self.edits {
            switch edit {
            case .editReplyHeader(let name, let value): reply.headers[name] = value
            case .replaceReplyBody(let body): reply.body = .bytes(body)
            case .editReplyBody(let target, let replacement):
                guard case .bytes(let bytes) = reply.body, !target.isEmpty else { continue }
                reply.body = .bytes(bytes.replacing(Array(target.utf8), with: Array(replacement.utf8)))
            default: break
            }
        }
    }

    private mutating func decide(_ outcome: Outcome) { if self.outcome == nil { self.outcome = outcome } }

    private static func error(
        _ status: Int, _ code: String, _ message: String, _ headers: [OSSServer.Fault.Action.Header]
    ) -> ServiceError {
        var error = ServiceError(status, code, message)
        for header in headers { error.headers.append(name: header.name, value: header.value) }
        return error
    }
}
