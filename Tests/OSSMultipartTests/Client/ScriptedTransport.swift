// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import CurlTransport
import OSSWire
import Synchronization

@testable import OSSMultipart

/// A transport that answers from a script and keeps what was asked.
final class ScriptedTransport: HTTPTransport {
    typealias Answer = Result<TransportResponse, TransportError>

    private struct State {
        var answers: [Answer]
        var requests: [TransportRequest] = []
    }
    private let state: Mutex<State>

    init(_ answers: [Answer]) { self.state = Mutex(State(answers: answers)) }

    /// Every request so far.
    var requests: [TransportRequest] { self.state.withLock(\.requests) }

    func execute(_ request: TransportRequest) async throws -> TransportResponse {
        try Task.checkCancellation()
        let answer = self.state.withLock { state -> Answer in
            state.requests.append(request)
            return state.answers.isEmpty
                ? .failure(TransportError(.malformedReply, "the script is at its end")) : state.answers.removeFirst()
        }
        return try answer.get()
    }

    func shutDown() async {}
}

extension Result where Success == TransportResponse, Failure == TransportError {
    /// A refusal with the service's document.
    static func refusal(_ status: Int, _ code: String, extra: String = "", headers: HTTPFields = [:]) -> Self {
        let document =
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?><Error><Code>\(code)</Code><Message>Said by a script.</Message>"
            + "<RequestId>REQUEST-\(code)</RequestId><HostId>host</HostId>\(extra)</Error>"
        return .success(TransportResponse(status: status, headers: headers, body: Array(document.utf8)))
    }

    static func reply(_ body: String = "", headers: HTTPFields = [:], status: Int = 200, sentCRC64: UInt64? = nil)
        -> Self
    {
        .success(TransportResponse(status: status, headers: headers, body: Array(body.utf8), sentCRC64: sentCRC64))
    }

    static func broken(_ kind: TransportError.Kind) -> Self { .failure(TransportError(kind, "broken by a script")) }
}

/// What a scripted client waited for, with a clock that its waits alone move and a random source that gives a half.
final class Waits: Sendable {
    private let waits = Mutex<[Duration]>([])
    var all: [Duration] { self.waits.withLock { $0 } }

    var surroundings: Surroundings {
        Surroundings(
            now: { 1_702_743_657_000 + Int64(self.all.reduce(.zero, +) / .milliseconds(1)) },
            wait: { duration in self.waits.withLock { $0.append(duration) } },
            random: { 0.5 }
        )
    }
}

/// A client over a script.
func scriptedClient(
    _ transport: ScriptedTransport, waits: Waits = Waits(), credentials: OSSCredentialsProvider? = nil,
    _ configure: (inout OSSClient.Configuration) -> Void = { _ in }
) throws -> OSSClient {
    var configuration = OSSClient.Configuration()
    configure(&configuration)
    return try OSSClient(
        endpoint: "https://oss-cn-hangzhou.aliyuncs.com", region: nil,
        credentials: credentials ?? .fixed(OSSCredentials(accessKeyID: "ak", accessKeySecret: "very-secret")),
        configuration: configuration, transport: transport, surroundings: waits.surroundings
    )
}
