// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import CurlTransport
internal import OSSWire

/// What follows from an attempt: the retry table as one pure function.
enum RetryVerdict {
    /// The reply is a success.
    case success
    /// Send it again after the back-off, or after the wait that the server asked for.
    case again(after: Duration?)
    /// Send it again at once, with the clock corrected by so many milliseconds.
    case againWithClockOffset(milliseconds: Int64)
    /// Ask for newer credentials, or the signer for another signature, then send it again at once.
    case againWithNewCredentials
    /// Read the source anew, then send it again after the back-off.
    case againFromSource
    /// It is of no use to send it again.
    case hopeless
}

/// Judges replies and transport errors.
enum RetryClassifier {
    /// The longest wait that a server may ask for; longer ones are cut to this.
    ///
    /// *Source:* our own choice. *Applies to:* `Retry-After`, `x-oss-qos-delay-time`.
    static let longestAskedWait: Duration = .seconds(60)

    private static let throttlingCodes: Set<String> = [
        "ServiceUnavailable", "SlowDown", "UploadTrafficRateLimitExceeded", "DownloadTrafficRateLimitExceeded",
        "MetaOperationQpsLimitExceeded", "TotalQpsLimitExceeded", "ActiveRequestLimitExceeded", "CpuLimitExceeded",
        "QpsLimitExceeded", "RequestRateLimitExceeded", "Throttling",
    ]
    private static let transientCodes: Set<String> = ["InternalError", "RequestTimeout", "IncompleteBody"]
    /// A failure of the service, or of a gateway before it, that may pass: all of 5xx but "not implemented" and "version not
    /// supported", and a request that took the service too long.
    private static func isTransient(_ status: Int) -> Bool {
        status == 408 || ((500...599).contains(status) && status != 501 && status != 505)
    }
    private static let credentialCodes: Set<String> = [
        "SecurityTokenExpired", "InvalidSecurityToken", "InvalidAccessKeyId",
    ]

    /// Whether an error code says that the credentials are not, or no longer, good.
    static func isOfCredentials(_ code: String) -> Bool { self.credentialCodes.contains(code) }

    /// Judges a reply.
    ///
    /// - Parameters:
    ///   - response: the reply.
    ///   - service: its error document, where it has one.
    ///   - now: our clock, uncorrected, in milliseconds since 1970.
    static func verdict(
        on response: TransportResponse, service: OSSError.Service?, now: Int64
    ) -> RetryVerdict {
        let code = service?.code.name ?? ""
        // Some gateways answer 200 with an error document.
        if (200...299).contains(response.status), service == nil { return .success }
        if self.throttlingCodes.contains(code) || response.status == 503 || response.status == 429 {
            return .again(after: self.askedWait(response.headers, now: now))
        }
        if self.transientCodes.contains(code) || self.isTransient(response.status) {
            return .again(after: nil)
        }
        if code == "InvalidDigest" { return .againFromSource }
        if code == "RequestTimeTooSkewed"
            || (code == "InvalidArgument" && service?.message.contains("signing date") == true)
        {
            guard let time = self.serverTime(response, service) else { return .hopeless }
            return .againWithClockOffset(milliseconds: time.milliseconds - now)
        }
        if self.isOfCredentials(code) || response.status == 401 { return .againWithNewCredentials }
        // So says the service of a URL: of one that a signer gave, for none other are sent from here.
        if code == "AccessDenied", service?.message.contains("Request has expired") == true {
            return .againWithNewCredentials
        }
        return .hopeless
    }

    /// Judges a failure to get a reply.
    static func verdict(on error: TransportError) -> RetryVerdict {
        switch error.kind {
        case .resolve, .connect, .connectTimeout, .send, .receive, .idleTimeout, .totalTimeout, .malformedReply:
            .again(after: nil)
        case .tls, .replyTooLarge, .source, .sourceTooShort, .brokenBody, .configuration, .shutDown: .hopeless
        }
    }

    /// Whether the request may have been applied although no reply came.
    static func mayHaveBeenApplied(_ error: TransportError) -> Bool {
        switch error.kind {
        case .resolve, .connect, .connectTimeout, .tls, .source, .sourceTooShort, .brokenBody, .configuration: false
        case .send, .receive, .idleTimeout, .totalTimeout, .malformedReply, .replyTooLarge, .shutDown: true
        }
    }

    /// Whether the request may have been applied although its reply says that it failed: the service failed in the midst of
    /// it, or somebody between us and the service answered.
    static func mayHaveBeenApplied(_ response: TransportResponse, _ service: OSSError.Service?) -> Bool {
        (response.status != 503 && self.isTransient(response.status)) || service?.code == .internalError
    }

    private static func serverTime(_ response: TransportResponse, _ service: OSSError.Service?) -> Timestamp? {
        if let text = service?.details["ServerTime"] {
            if let time = self.plausible(Timestamp(iso8601: text) ?? Timestamp(httpDate: text)) { return time }
        }
        return self.date(of: response.headers)
    }

    /// The service's time as the `Date` of a reply tells it; nil where it tells none.
    static func date(of headers: HTTPFields) -> Timestamp? {
        self.plausible(headers["Date"].flatMap { Timestamp(httpDate: $0) })
    }

    /// A clock before 2010 is no clock of the service: a gateway's, say, that has just been switched on.
    private static func plausible(_ time: Timestamp?) -> Timestamp? {
        time.flatMap { $0.seconds > 1_262_304_000 ? $0 : nil }
    }

    private static func askedWait(_ headers: HTTPFields, now: Int64) -> Duration? {
        if let date = headers["Retry-After"].flatMap({ Timestamp(httpDate: $0) }) {
            // By the server's own clock, where it tells the time.
            let present = self.date(of: headers) ?? Timestamp(milliseconds: now)
            return min(.milliseconds(max(0, date.milliseconds - present.milliseconds)), self.longestAskedWait)
        }
        if let seconds = headers["Retry-After"].flatMap({ Int64($0) }), seconds >= 0 {
            return min(.seconds(seconds), self.longestAskedWait)
        }
        if let milliseconds = headers["x-oss-qos-delay-time"].flatMap({ Int64($0) }), milliseconds >= 0 {
            return min(.milliseconds(milliseconds), self.longestAskedWait)
        }
        return nil
    }
}
