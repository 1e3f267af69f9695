// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire
internal import SystemIO

/// The options of a ``CurlTransport``.
package struct CurlTransportConfiguration: Sendable {
    /// Most idle connections kept for reuse; 0 closes each after its request.
    ///
    /// Default: 16.
    package var maximumIdleConnections = 16
    /// Most threads that carry requests, at least 1; no more than there may be idle connections, where these are limited
    /// to a few.
    ///
    /// Each has connections of its own. Default: 1.
    package var threads = 1
    /// The proxy's address, `scheme://host:port` with the schemes http, https, socks4, socks4a, socks5 and socks5h; an empty
    /// text is no proxy, nil what the environment says (`http_proxy`, `https_proxy`, `all_proxy`, `no_proxy`).
    package var proxy: String?
    /// Hosts that are reached without the proxy; nil with a proxy: none, else what the environment says.
    package var proxyExceptions: [String]?
    /// User and password for the proxy.
    package var proxyCredentials: (user: String, password: String)?
    /// A file of CA certificates in PEM; nil: the system's.
    package var caFile: String?
    /// A folder of CA certificates in PEM, by the hash of their names; nil: the system's, or none beside a file.
    package var caDirectory: String?
    /// The client's certificate in PEM, and its key; nil: none.
    package var clientCertificate: (certificateFile: String, keyFile: String, keyPassword: String?)?
    /// The interface or the address that connections come from; nil: what the system takes.
    package var localAddress: String?
    /// Whether any certificate is taken.
    ///
    /// Never for real data.
    package var acceptsAnyCertificate = false
    /// How fast bodies are sent.
    ///
    /// Default: without a limit.
    package var uploadRateLimit = UploadRateLimit()

    package init() {}
}

extension CurlTransportConfiguration {
    /// Whether requests without TLS go through a proxy that is reached with it.
    ///
    /// - Parameter variable: reads the environment.
    package func reachesProxyWithTLS(variable: (String) -> String? = EnvironmentVariable.value(of:)) -> Bool {
        // In the order in which curl looks. In capitals the first would be a header field of whoever calls a CGI program.
        let proxy = self.proxy ?? ["http_proxy", "all_proxy", "ALL_PROXY"].lazy.compactMap(variable).first
        return proxy?.prefix(6).equalsIgnoringASCIICase("https:") ?? false
    }
}
