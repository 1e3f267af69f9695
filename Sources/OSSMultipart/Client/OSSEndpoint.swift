// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// Where the service is, and how a bucket is named to it.
///
/// OSS document: Regions and endpoints.
struct OSSEndpoint: Sendable, Equatable {
    /// `https` or `http`.
    let scheme: String
    /// Host name or address, lower-case; an IPv6 address in brackets.
    let host: String
    /// The port; nil for the scheme's own.
    let port: Int?
    /// The endpoint in one spelling, for messages and checkpoints: scheme, host, and the port where one is given.
    let text: String
    /// Whether a bucket cannot become part of the host name: an address, `localhost`, or a name of one label.
    private let needsPathStyle: Bool

    /// Reads an endpoint: a host, or a host with scheme and port.
    ///
    /// Without a scheme it is `https`.
    ///
    /// - Throws: `OSSError.invalidConfiguration` with what is wrong and what would be right.
    init(_ text: String) throws(OSSError) {
        func invalid(_ reason: String) -> OSSError {
            OSSError(
                .invalidConfiguration,
                "the endpoint \"\(text.replacingControlCharacters)\" \(reason); "
                    + "give a host such as https://oss-cn-hangzhou.aliyuncs.com"
            )
        }
        var rest = Substring(text.trimmedBlanks)
        var scheme = "https"
        if let end = rest.firstRange(ofText: "://") {
            scheme = rest[..<end.lowerBound].loweredASCII
            rest = rest[end.upperBound...]
        }
        guard scheme == "https" || scheme == "http" else {
            throw invalid("has the scheme \(scheme), not http or https")
        }
        while rest.last == "/" { rest.removeLast() }
        guard !rest.isEmpty else { throw invalid("has no host") }
        guard !rest.contains("@") else { throw invalid("holds a user name; credentials are given apart from it") }
        guard !rest.contains(where: { "/?#".contains($0) }) else { throw invalid("has a path or a query") }

        var host = rest
        var port: Int?
        let colon: Substring.Index? =
            if rest.first == "[" {
                rest.lastIndex(of: "]").flatMap { end in
                    let next = rest.index(after: end)
                    return next < rest.endIndex && rest[next] == ":" ? next : nil
                }
            } else { rest.lastIndex(of: ":") }
        if let colon {
            let digits = rest[rest.index(after: colon)...]
            guard let number = Int(digits), (1...65_535).contains(number), digits.allSatisfy(\.isNumber) else {
                throw invalid("has a port that is no number from 1 to 65535")
            }
            host = rest[..<colon]
            port = number
        }
        // Two colons or more, and no brackets: an IPv6 address whose port nobody could tell from it.
        if rest.first != "[", rest.utf8.count(where: { $0 == UInt8(ascii: ":") }) > 1,
            rest.utf8.allSatisfy({ "0123456789abcdefABCDEF:.%".utf8.contains($0) })
        {
            throw invalid("is an IPv6 address without brackets, give [\(rest.loweredASCII)] and the port behind it")
        }
        let lowered = host.loweredASCII
        guard Self.isHost(lowered) else { throw invalid("has a host with characters that no host name has") }
        self.scheme = scheme
        self.host = lowered
        self.port = port
        self.text = "\(scheme)://\(Self.authority(lowered, port))"
        self.needsPathStyle = Self.needsPathStyle(lowered)
    }

    /// Makes the endpoint of a region.
    ///
    /// - Throws: `OSSError.invalidConfiguration` where the region is none.
    init(region: String, network: OSSClient.Network) throws(OSSError) {
        try Self.validate(region: region)
        try self.init(network.host(region: region))
    }

    /// Checks that a text can be a region.
    static func validate(region: String) throws(OSSError) {
        if region.hasPrefix("oss-") {
            throw OSSError(
                .invalidConfiguration,
                "the region \"\(region.replacingControlCharacters)\" is the name of a location; leave out oss-, for example "
                    + "cn-hangzhou"
            )
        }
        guard !region.isEmpty, region.utf8.allSatisfy({ "abcdefghijklmnopqrstuvwxyz0123456789-".utf8.contains($0) })
        else {
            throw OSSError(
                .invalidConfiguration,
                "the region \"\(region.replacingControlCharacters)\" is none; "
                    + "it holds lower-case letters, digits and hyphens, for example cn-hangzhou"
            )
        }
    }

    /// Checks that the service can be reached by this endpoint in this style.
    ///
    /// - Throws: `OSSError.invalidConfiguration` with the endpoint or the style that would do.
    func validate(_ addressing: OSSClient.Addressing) throws(OSSError) {
        func invalid(_ message: String) -> OSSError { OSSError(.invalidConfiguration, message) }
        let labels = self.host.split(separator: ".").map(String.init)
        if self.host.hasSuffix(".aliyuncs.com") {
            if labels[0] == "s3", labels.count > 3 {
                throw invalid(
                    "the endpoint \(self.text) speaks the protocol of S3; give "
                        + "\(self.scheme)://\(labels.dropFirst().joined(separator: "."))"
                )
            }
            if let service = Self.serviceLabels(labels.dropFirst()), Self.serviceLabels(labels[...]) == nil {
                throw invalid(
                    "the endpoint \(self.text) holds the bucket \(labels[0]), which each request names itself; give "
                        + "\(self.scheme)://\(service)"
                )
            }
            if Self.serviceLabels(labels[...]) != nil {
                if addressing == .cname {
                    throw invalid(
                        "the endpoint \(self.text) is the service's own and bound to no bucket; use the addressing automatic, "
                            + "or give the domain that is bound to the bucket"
                    )
                }
                if addressing == .path {
                    throw invalid(
                        "the endpoint \(self.text) takes the bucket in the host name alone; use the addressing automatic or "
                            + "virtual"
                    )
                }
            }
        }
        if self.isAddress, addressing == .virtualHost {
            throw invalid(
                "the endpoint \(self.text) is an address, and no bucket can stand before it; use the addressing automatic or "
                    + "path"
            )
        }
        if labels.count == 1, self.port == nil, self.host.hasPrefix("oss-") {
            throw invalid(
                "the endpoint \(self.text) has no domain; give \(self.scheme)://\(self.host).aliyuncs.com")
        }
    }

    /// Checks that a bucket would stand in the host but once.
    func validate(
        bucket: String, _ addressing: OSSClient.Addressing, _ operation: OSSError.Operation
    ) throws(OSSError) {
        guard addressing == .automatic, !self.needsPathStyle, self.host.hasPrefix(bucket + ".") else { return }
        throw OSSError(
            .invalidConfiguration,
            "the endpoint \(self.text) begins with the bucket's name already; use the addressing cname if it is that bucket's "
                + "own domain, virtual if it is not",
            operation: operation
        )
    }

    /// The host of the service that the labels name; nil where they name none of its own.
    private static func serviceLabels(_ labels: ArraySlice<String>) -> String? {
        let labels = Array(labels)
        let isService =
            labels.count == 3 && labels[0].hasPrefix("oss-")
            || labels.count == 4 && labels[1] == "oss" && !labels[0].isEmpty
        return isService ? labels.joined(separator: ".") : nil
    }

    private static func isHost(_ host: String) -> Bool {
        if host.hasPrefix("["), host.hasSuffix("]") {
            return host.dropFirst().dropLast().utf8.allSatisfy { "0123456789abcdef:.%".utf8.contains($0) }
                && host.contains(":")
        }
        return !host.isEmpty && !host.hasPrefix(".") && !host.contains("..")
            && host.utf8.allSatisfy { "abcdefghijklmnopqrstuvwxyz0123456789-._".utf8.contains($0) }
    }

    /// The region that the host names, where it has one of the documented forms `oss-<region>…`, `<region>.oss…`.
    var region: String? {
        let labels = self.host.split(separator: ".", omittingEmptySubsequences: false)
        guard self.host.hasSuffix(".aliyuncs.com"), let first = labels.first else { return nil }
        if labels.count > 1, labels[1] == "oss" { return String(first) }
        guard first.hasPrefix("oss-") else { return nil }
        var region = first.dropFirst("oss-".count)
        if region.hasSuffix("-internal") { region = region.dropLast("-internal".count) }
        // Acceleration endpoints serve every region and name none.
        return region.isEmpty || region.hasPrefix("accelerate") ? nil : String(region)
    }

    /// Whether the host is an address in digits.
    private var isAddress: Bool { Self.isAddress(self.host) }

    private static func isAddress(_ host: String) -> Bool {
        host.hasPrefix("[") || host.split(separator: ".").last.map { $0.allSatisfy(\.isNumber) } == true
    }

    private static func needsPathStyle(_ host: String) -> Bool {
        if self.isAddress(host) { return true }
        let labels = host.split(separator: ".")
        return labels.count < 2 || labels.last == "localhost"
    }

    /// The address of an object, a bucket or the service, up to and without the query.
    func address(bucket: String?, key: String?, addressing: OSSClient.Addressing) -> String {
        let path = key.map { PercentEncoding.encode($0, keepingSlash: true) } ?? ""
        guard let bucket else { return "\(self.text)/" }
        switch addressing.resolved(needsPathStyle: self.needsPathStyle) {
        case .path: return "\(self.text)/\(PercentEncoding.encode(bucket))/\(path)"
        case .virtualHost: return "\(self.scheme)://\(Self.authority("\(bucket).\(self.host)", self.port))/\(path)"
        case .cname: return "\(self.text)/\(path)"
        }
    }

    private static func authority(_ host: String, _ port: Int?) -> String { port.map { "\(host):\($0)" } ?? host }
}

extension Substring {
    /// The first place of a text, without the regular expressions that the standard library's own search would bring in.
    fileprivate func firstRange(ofText text: String) -> Range<Index>? {
        var start = self.startIndex
        while start < self.endIndex {
            if self[start...].hasPrefix(text) { return start..<self.index(start, offsetBy: text.count) }
            start = self.index(after: start)
        }
        return nil
    }
}
