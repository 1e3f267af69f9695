// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import CurlTransport
internal import OSSWire

extension OSSClient {
    /// Signs and sends one attempt, through the middlewares where there are any.
    func attempt(
        _ request: ServiceRequest, number: Int, md5: [UInt8]?, _ grant: RequestAuthority.Grant
    ) async throws -> AttemptOutcome {
        let middlewares = self.configuration.middlewares
        guard !middlewares.isEmpty else {
            return try await self.attempt(request, md5: md5, grant)
        }
        let record = AttemptRecord()
        func step(_ index: Int, _ attempt: OSSAttempt) async throws -> OSSReply {
            guard index < middlewares.count else {
                var request = request
                for (name, value) in attempt.headers.sorted(by: { $0.key < $1.key }) { request.headers[name] = value }
                for field in request.headers.all where attempt.headers[field.name] == nil {
                    request.headers[field.name] = nil
                }
                let outcome = try await self.attempt(request, md5: md5, grant)
                record.outcome = outcome
                return try record.reply(outcome.result.mapError { Self.error(for: $0, request) })
            }
            return try await middlewares[index].intercept(attempt) { try await step(index + 1, $0) }
        }
        let first = OSSAttempt(
            operation: request.operation, number: number, method: request.method, bucket: request.bucket,
            key: request.key, partNumber: request.partNumber, bodyLength: request.body.length,
            headers: Dictionary(request.headers.all.map { ($0.name, $0.value) }) { first, _ in first }
        )
        let reply: OSSReply
        do { reply = try await step(0, first) } catch {
            // The transport's or the signer's failure, passed on: it is judged like any other.
            if let outcome = record.outcome, case .failure = outcome.result, error is OSSError { return outcome }
            throw error
        }
        return record.outcome(with: reply)
    }

    private func attempt(
        _ request: ServiceRequest, md5: [UInt8]?, _ grant: RequestAuthority.Grant
    ) async throws -> AttemptOutcome {
        switch try await self.sign(request, md5: md5, grant) {
        case .success(let signed): AttemptOutcome(signed: signed, result: try await self.send(signed, request))
        case .failure(let error): AttemptOutcome(signed: nil, result: .failure(.signer(error)))
        }
    }
}

/// Why an attempt has no reply, where it may be made again.
enum AttemptFailure: Error {
    /// The request was not sent, or not answered.
    case transport(TransportError)
    /// The signer gave no signature.
    case signer(OSSError)
}

/// What came of an attempt.
struct AttemptOutcome {
    /// What was sent; nil where a middleware answered, or nothing was sent.
    let signed: SignedRequest?
    var result: Result<TransportResponse, AttemptFailure>
}

/// What the innermost step of an attempt leaves for the outermost.
private final class AttemptRecord {
    var outcome: AttemptOutcome?

    func reply(_ result: Result<TransportResponse, OSSError>) throws -> OSSReply {
        let response = try result.get()
        let headers = response.headers.all.map { ($0.name.loweredASCII, $0.value) }
        return OSSReply(
            status: response.status, headers: Dictionary(headers) { first, _ in first }, body: response.body)
    }

    /// The reply that the middlewares gave, with what the transport alone knows of it.
    func outcome(with reply: OSSReply) -> AttemptOutcome {
        var response = TransportResponse(status: reply.status, body: reply.body)
        for (name, value) in reply.headers.sorted(by: { $0.key < $1.key }) { response.headers[name] = value }
        if case .success(let own)? = self.outcome?.result {
            response.stream = own.stream
            response.sentCRC64 = own.sentCRC64
            response.bytesSent = own.bytesSent
        }
        return AttemptOutcome(signed: self.outcome?.signed, result: .success(response))
    }
}
