// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import CurlTransport
import OSSWire
import SystemIO
import Testing

@testable import OSSMultipart

@Suite struct RetryClassifierTests {
    private static func service(_ status: Int, _ code: String, _ message: String = "", details: [String: String] = [:])
        -> OSSError.Service
    {
        OSSError.Service(
            status: status, code: OSSError.ServiceCode(code), message: message, requestID: nil, hostID: nil, ec: nil,
            details: details
        )
    }

    private func verdict(_ status: Int, _ code: String = "", headers: HTTPFields = [:], message: String = "") -> String
    {
        let response = TransportResponse(status: status, headers: headers)
        let service = code.isEmpty ? nil : Self.service(status, code, message)
        return "\(RetryClassifier.verdict(on: response, service: service, now: 0))"
    }

    @Test(arguments: [
        (500, ""), (502, ""), (504, ""), (408, ""), (520, ""), (599, ""), (500, "InternalError"),
        (400, "RequestTimeout"),
        (400, "IncompleteBody"),
        (200, "InternalError"),
    ])
    func `A failure that passes is tried again`(status: Int, code: String) {
        #expect(self.verdict(status, code) == "again(after: nil)")
    }

    @Test(arguments: [
        (503, ""), (429, ""), (503, "SlowDown"), (503, "UploadTrafficRateLimitExceeded"),
        (403, "TotalQpsLimitExceeded"),
    ])
    func `Throttling is heeded with the wait that it asks for`(status: Int, code: String) {
        #expect(self.verdict(status, code) == "again(after: nil)")
        #expect(self.verdict(status, code, headers: ["Retry-After": "2"]).contains("2.0 seconds"))
        #expect(self.verdict(status, code, headers: ["x-oss-qos-delay-time": "1500"]).contains("1.5 seconds"))
        #expect(self.verdict(status, code, headers: ["Retry-After": "86400"]).contains("60.0 seconds"))
        #expect(self.verdict(status, code, headers: ["Retry-After": "soon"]) == "again(after: nil)")
        let dates: HTTPFields = [
            "Date": "Sat, 16 Dec 2023 16:20:57 GMT", "Retry-After": "Sat, 16 Dec 2023 16:21:00 GMT",
        ]
        #expect(self.verdict(status, code, headers: dates).contains("3.0 seconds"))
    }

    @Test(arguments: [
        (403, "AccessDenied"), (404, "NoSuchBucket"), (403, "SignatureDoesNotMatch"), (400, "InvalidArgument"),
        (307, ""),
        (409, "FileAlreadyExists"), (404, "NoSuchUpload"), (501, ""), (400, "EntityTooSmall"),
    ])
    func `A refusal is final`(status: Int, code: String) {
        #expect(self.verdict(status, code) == "hopeless")
    }

    @Test(arguments: [
        (403, "SecurityTokenExpired"), (403, "InvalidSecurityToken"), (403, "InvalidAccessKeyId"), (401, ""),
    ])
    func `Credentials that are not taken are renewed`(status: Int, code: String) {
        #expect(self.verdict(status, code) == "againWithNewCredentials")
    }

    @Test func `A digest that differs makes the source be read anew`() {
        #expect(self.verdict(400, "InvalidDigest") == "againFromSource")
    }

    @Test func `The clock's offset comes from the document, else from the header, and never from 1970`() {
        func verdict(_ details: [String: String], _ headers: HTTPFields) -> String {
            let response = TransportResponse(status: 403, headers: headers)
            let service = Self.service(403, "RequestTimeTooSkewed", details: details)
            return "\(RetryClassifier.verdict(on: response, service: service, now: 1_702_743_657_000))"
        }
        #expect(
            verdict(["ServerTime": "2023-12-16T18:20:57.000Z"], [:]) == "againWithClockOffset(milliseconds: 7200000)"
        )
        #expect(
            verdict([:], ["Date": "Sat, 16 Dec 2023 14:20:57 GMT"]) == "againWithClockOffset(milliseconds: -7200000)"
        )
        #expect(verdict([:], ["Date": "Thu, 01 Jan 1970 00:00:00 GMT"]) == "hopeless")
        #expect(verdict([:], [:]) == "hopeless")
        #expect(
            self.verdict(
                400, "InvalidArgument", headers: ["Date": "Sat, 16 Dec 2023 14:20:57 GMT"],
                message: "Invalid signing date in Authorization header."
            ).hasPrefix("againWithClockOffset")
        )
    }

    @Test func `A broken connection is tried again, a broken configuration is not`() {
        let passing: [TransportError.Kind] = [
            .resolve, .connect, .connectTimeout, .send, .receive, .idleTimeout, .totalTimeout, .malformedReply,
        ]
        for kind in passing {
            #expect("\(RetryClassifier.verdict(on: TransportError(kind, "")))" == "again(after: nil)")
        }
        let lasting: [TransportError.Kind] = [
            .tls, .replyTooLarge, .configuration, .shutDown, .sourceTooShort,
            .source(SystemError(call: "pread", number: 5)),
        ]
        for kind in lasting { #expect("\(RetryClassifier.verdict(on: TransportError(kind, "")))" == "hopeless") }
    }

    @Test func `A request counts as perhaps applied from the moment its bytes went out`() {
        for kind: TransportError.Kind in [.send, .receive, .idleTimeout, .totalTimeout, .malformedReply] {
            #expect(RetryClassifier.mayHaveBeenApplied(TransportError(kind, "")))
        }
        for kind: TransportError.Kind in [.resolve, .connect, .connectTimeout, .tls] {
            #expect(!RetryClassifier.mayHaveBeenApplied(TransportError(kind, "")))
        }
        #expect(RetryClassifier.mayHaveBeenApplied(TransportResponse(status: 500), nil))
        #expect(RetryClassifier.mayHaveBeenApplied(TransportResponse(status: 200), Self.service(200, "InternalError")))
        #expect(!RetryClassifier.mayHaveBeenApplied(TransportResponse(status: 503), nil))
        #expect(!RetryClassifier.mayHaveBeenApplied(TransportResponse(status: 403), Self.service(403, "AccessDenied")))
    }

    @Test func `Waits double from the base to the longest`() {
        let policy = OSSRetryPolicy()
        #expect(policy.delayCap(afterAttempts: 1) == .milliseconds(200))
        #expect(policy.delayCap(afterAttempts: 2) == .milliseconds(400))
        #expect(policy.delayCap(afterAttempts: 5) == .milliseconds(3200))
        #expect(policy.delayCap(afterAttempts: 9) == .seconds(20))
        #expect(policy.delayCap(afterAttempts: 1000) == .seconds(20))
    }
}
