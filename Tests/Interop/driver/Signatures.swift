// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import FoundationEssentials
import Glibc
import OSSMultipart
import Synchronization

/// Standard output.
let output = Output()

/// Those who wait for a signature.
let signatures = Signatures()

/// Standard output, a whole line at a time.
///
/// Not by `print`: to flush it all streams have to be flushed, and that waits for the thread that reads standard input.
final class Output: Sendable {
    private let lock = Mutex(())

    func write(_ value: some Encodable) {
        var line = Array("{\"error\":\"an answer cannot be written\"}".utf8)
        if let text = try? JSONEncoder().encode(value) { line = Array(text) }
        line.append(UInt8(ascii: "\n"))
        self.lock.withLock { _ in
            var done = 0
            while done < line.count {
                // SAFETY: the pointer is used within the call; `done` lies within the array.
                let count = unsafe line.withUnsafeBytes {
                    unsafe Glibc.write(STDOUT_FILENO, $0.baseAddress?.advanced(by: done), $0.count - done)
                }
                // Whoever listened is gone.
                guard count > 0 else { exit(1) }
                done += count
            }
        }
    }
}

/// The signer of a client without a secret: it asks whoever is at the other end of standard output.
final class Signatures: OSSRequestSigner {
    /// A line of input that is a signature.
    struct Answer: Decodable, Sendable {
        let signed: Int
        let url: String?
        let headers: [String: String]?
        let refuse: String?
    }

    private struct Question: Encodable {
        let sign: Int
        let request: OSSSigningRequest
    }

    private struct State {
        var waiting: [Int: CheckedContinuation<OSSSignedRequest, any Error>] = [:]
        var count = 0
    }
    private let state = Mutex(State())

    func sign(_ request: OSSSigningRequest) async throws -> OSSSignedRequest {
        try await withCheckedThrowingContinuation { continuation in
            let number = self.state.withLock { state in
                state.count += 1
                state.waiting[state.count] = continuation
                return state.count
            }
            output.write(Question(sign: number, request: request))
        }
    }

    func resolve(_ answer: Answer) {
        let continuation = self.state.withLock { $0.waiting.removeValue(forKey: answer.signed) }
        guard let url = answer.url else {
            continuation?.resume(throwing: OSSSigningRefusal(answer.refuse ?? "no reason"))
            return
        }
        continuation?.resume(returning: OSSSignedRequest(url: url, headers: answer.headers ?? [:]))
    }
}
