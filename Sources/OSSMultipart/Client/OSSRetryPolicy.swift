// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

/// How often and after what waits a request is sent again.
///
/// Waits grow twofold from ``baseDelay`` to ``maximumDelay``, and each is drawn evenly from zero to that ("full jitter"),
/// so that many clients that failed together do not come back together. A server that says how long to wait is heeded.
public struct OSSRetryPolicy: Sendable, Hashable {
    /// Most attempts of one request, the first one included: 1 or more.
    ///
    /// Default: 8, which bridges an outage of about ten seconds; five would end within two.
    public var maximumAttempts = 8
    /// The first wait's upper end.
    ///
    /// Default: 200 ms.
    public var baseDelay: Duration = .milliseconds(200)
    /// The longest wait's upper end.
    ///
    /// Default: 20 s.
    public var maximumDelay: Duration = .seconds(20)

    /// Makes a policy with the defaults.
    public init() {}

    /// The upper end of the wait after the given number of failed attempts.
    func delayCap(afterAttempts attempts: Int) -> Duration {
        // Beyond 30 doublings every sensible base is over every sensible end.
        min(self.maximumDelay, self.baseDelay * (1 << min(max(0, attempts - 1), 30)))
    }
}
