// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import CurlTransport
internal import OSSWire

extension OSSClient.Configuration {
    /// The schemes of proxies.
    private static let proxySchemes = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"]
    /// What the service takes as a traffic limit, in bits a second.
    ///
    /// *Source:* OSS document Single-connection bandwidth throttling. *Applies to:* `x-oss-traffic-limit`.
    private static let trafficLimits = 245_760...838_860_800

    /// Checks what can be checked before anything is opened.
    func validate() throws(OSSError) {
        func invalid(_ message: String) -> OSSError { OSSError(.invalidConfiguration, message) }
        if let proxy, let end = proxy.range(ofText: "://") {
            let scheme = proxy[..<end].loweredASCII
            guard Self.proxySchemes.contains(scheme) else {
                throw invalid(
                    "the proxy has the scheme \(scheme.replacingControlCharacters), not one of "
                        + Self.proxySchemes.joined(separator: ", ")
                )
            }
        }
        if let trafficLimit, !Self.trafficLimits.contains(trafficLimit) {
            throw invalid(
                "the trafficLimit is \(trafficLimit); the service takes 245760 to 838860800 bits a second (30 KiB to 100 MiB)"
            )
        }
        if let uploadRateLimit, uploadRateLimit < 1 {
            throw invalid("the uploadRateLimit is \(uploadRateLimit); leave it nil for no limit")
        }
        guard self.maximumIdleConnections >= 0 else { throw invalid("maximumIdleConnections is negative") }
        guard (1...64).contains(self.networkThreads) else {
            throw invalid("networkThreads is \(self.networkThreads); it is from 1 to 64")
        }
        if let userAgentSuffix {
            guard userAgentSuffix.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) else {
                throw invalid("the userAgentSuffix holds a character that is not printable ASCII")
            }
        }
    }

    /// The options of the transport.
    func transport(_ rateLimit: UploadRateLimit) -> CurlTransportConfiguration {
        var options = CurlTransportConfiguration()
        options.maximumIdleConnections = self.maximumIdleConnections
        options.threads = self.networkThreads
        options.proxy = self.proxy
        options.proxyExceptions = self.proxyExceptions
        options.proxyCredentials = self.proxyCredentials.map { ($0.user, $0.password) }
        options.caFile = self.caFile
        options.caDirectory = self.caDirectory
        options.clientCertificate = self.clientCertificate.map { ($0.certificateFile, $0.keyFile, $0.keyPassword) }
        options.localAddress = self.localAddress
        options.acceptsAnyCertificate = self.acceptsAnyCertificate
        options.uploadRateLimit = rateLimit
        return options
    }

    /// The value of `User-Agent`.
    var userAgent: String {
        guard let suffix = self.userAgentSuffix?.trimmedBlanks, !suffix.isEmpty else {
            return OSSMultipartVersion.userAgent
        }
        return "\(OSSMultipartVersion.userAgent) \(suffix)"
    }
}

extension String {
    /// The first place of a text; nil where it does not occur.
    fileprivate func range(ofText text: String) -> Index? {
        var start = self.startIndex
        while start < self.endIndex {
            if self[start...].hasPrefix(text) { return start }
            start = self.index(after: start)
        }
        return nil
    }
}
