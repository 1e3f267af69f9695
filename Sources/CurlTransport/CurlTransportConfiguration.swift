// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

/// The options of a ``CurlTransport``.
package struct CurlTransportConfiguration: Sendable {
    /// Most idle connections kept for reuse.
    ///
    /// Default: 16.
    package var maximumIdleConnections = 16
    /// The proxy's address, `http://host:port`; an empty text is no proxy, nil what the environment says
    /// (`http_proxy`, `https_proxy`, `all_proxy`, `no_proxy`).
    package var proxy: String?
    /// A file of CA certificates in PEM; nil: the system's.
    package var caFile: String?
    /// Whether any certificate is taken.
    ///
    /// Never for real data.
    package var acceptsAnyCertificate = false

    package init() {}
}
