// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// What a request is about: read from the request line and the `Host` field, each escape resolved once.
struct RequestTarget: Sendable, Equatable {
    /// The bucket; nil for calls on the service.
    var bucket: String?
    /// The key; nil for calls on the bucket.
    var key: String?
    /// The query's parameters, decoded.
    var query: [QueryItem]
    /// The host as the client named it, with its port.
    var host: String
    /// Whether the bucket stood in the host's name.
    var isVirtualHost = false

    /// Reads a target in origin form (`/bucket/key?query`) or absolute form (`http://host/key?query`).
    init(_ raw: String, host: String, serviceHosts: [String]) throws(ServiceError) {
        var path = raw[...]
        self.host = host
        if let scheme = ["http://", "https://"].first(where: { raw.loweredASCII.hasPrefix($0) }) {
            let rest = raw.dropFirst(scheme.count)
            let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
            self.host = String(rest[..<end])
            path = rest[end...]
        }
        let halves = path.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        guard let query = [QueryItem](encoded: halves.count == 2 ? halves[1] : "") else {
            throw ServiceError.invalidArgument("The query is not properly escaped.")
        }
        self.query = query
        var names = halves.first ?? ""
        guard names.isEmpty || names.utf8.first == UInt8(ascii: "/") else {
            throw ServiceError(400, "InvalidURI", "Couldn't parse the specified URI.")
        }
        names = names.dropFirst()
        if let bucket = Self.bucket(inHost: self.host, serviceHosts: serviceHosts) {
            self.bucket = bucket
            self.isVirtualHost = true
            self.key = names.isEmpty ? nil : try Self.decode(names)
        } else if !names.isEmpty {
            let parts = names.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
            self.bucket = try Self.decode(parts[0])
            if parts.count == 2, !parts[1].isEmpty { self.key = try Self.decode(parts[1]) }
        }
    }

    /// Refuses names that no bucket and no object can have.
    func check() throws(ServiceError) {
        if let bucket, Limits.problem(withBucketName: bucket) != nil {
            throw ServiceError(
                400, "InvalidBucketName", "The specified bucket is not valid.",
                details: [("BucketName", bucket)])
        }
        if let key, Limits.problem(withObjectKey: key) != nil || key.utf8.contains(0) {
            throw Self.invalidKey(key)
        }
    }

    private static func decode(_ text: Substring) throws(ServiceError) -> String {
        guard let decoded = PercentEncoding.decode(text) else { throw self.invalidKey(String(text)) }
        return decoded
    }

    private static func invalidKey(_ key: String) -> ServiceError {
        ServiceError(
            400, "InvalidObjectName", "The specified object is not valid.",
            details: [("ObjectName", key)])
    }

    /// The bucket that stands in a host's name; nil where the host is an address or the service itself.
    private static func bucket(inHost host: String, serviceHosts: [String]) -> String? {
        if host.hasPrefix("[") { return nil }
        let name = String(host.prefix { $0 != ":" }).loweredASCII
        for service in serviceHosts.map(\.loweredASCII) {
            if name == service { return nil }
            if name.hasSuffix("." + service) { return String(name.dropLast(service.count + 1)) }
        }
        let labels = name.split(separator: ".", omittingEmptySubsequences: false)
        guard labels.count > 1, let first = labels.first else { return nil }
        if labels.count == 4, labels.allSatisfy({ UInt8($0) != nil }) { return nil }
        // oss-<region>.aliyuncs.com is the service.
        if labels.count == 3, first.hasPrefix("oss-"), name.hasSuffix(".aliyuncs.com") { return nil }
        return String(first)
    }
}

extension RequestTarget {
    /// The target of a request whose line cannot be read.
    static var none: RequestTarget { RequestTarget(bucket: nil, key: nil, query: [], host: "") }

    private init(bucket: String?, key: String?, query: [QueryItem], host: String) {
        self.bucket = bucket
        self.key = key
        self.query = query
        self.host = host
    }
}
