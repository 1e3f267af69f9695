// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import CurlTransport
internal import OSSWire

/// The readers of what others have written, each as a function of bytes: for fuzzing, which must find no bytes that make one
/// crash, hang or grow.
package enum ForeignBytes: String, CaseIterable, Sendable {
    /// A checkpoint.
    case journal
    /// A checkpoint whose lines have right checksums, whatever they say: else hardly any made-up line would be read.
    case journalLines
    /// A document of any kind.
    case xml
    /// An error document, in a body or in `x-oss-err`.
    case error
    /// The header fields of a reply that decide what is done next.
    case headers

    /// Reads the bytes, whatever they are; that they are refused is as good as that they are taken.
    package func read(_ bytes: [UInt8]) {
        switch self {
        case .journal: self.readJournal(bytes)
        case .journalLines:
            self.readJournal(bytes.split(separator: 0x0A).flatMap { JournalLine.guarded(Array($0)) })
        case .xml: _ = try? XMLElement.parse(bytes)
        case .error:
            _ = ServiceErrorDocument.read(TransportResponse(status: 400, body: bytes))
            let headers: HTTPFields = ["x-oss-err": Base64.encode(bytes)]
            _ = ServiceErrorDocument.read(TransportResponse(status: 400, headers: headers))
        case .headers:
            let text = String(decoding: bytes, as: UTF8.self)
            var headers: HTTPFields = [:]
            for name in [
                "Date", "Retry-After", "x-oss-qos-delay-time", "ETag", "x-oss-hash-crc64ecma", "Content-Length",
            ] {
                headers[name] = text
            }
            for status in [200, 403, 503] {
                let service = OSSError.Service(
                    status: status, code: .requestTimeTooSkewed, message: text, requestID: text, hostID: nil, ec: nil,
                    details: ["ServerTime": text]
                )
                let response = TransportResponse(status: status, headers: headers)
                _ = RetryClassifier.verdict(on: response, service: status == 200 ? nil : service, now: 0)
            }
            _ = PercentEncoding.decode(text, plusIsBlank: true)
            _ = [QueryItem](encoded: text)
            _ = Base64.decode(text)
        }
    }

    private func readJournal(_ bytes: [UInt8]) {
        guard case .journal(let journal) = Journal.read(bytes) else { return }
        precondition(journal.length <= bytes.count)
        precondition(journal.parts.allSatisfy { (1...10_000).contains($0.number) })
    }
}
