// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire
internal import SystemIO

/// What all requests share.
final class Service: Sendable {
    /// The options.
    let configuration: OSSServer.Configuration
    /// Buckets, objects, uploads.
    let store: Store
    /// Who may use the server.
    let authenticator: Authenticator
    /// The rules of misbehaviour.
    let faults: OSSServer.Faults
    /// What was asked for.
    let log: RequestLog

    init(configuration: OSSServer.Configuration, store: Store, log: RequestLog) {
        self.configuration = configuration
        self.store = store
        self.log = log
        self.authenticator = Authenticator(configuration)
        self.faults = OSSServer.Faults()
    }

    /// Whether everybody may do what a request asks for.
    ///
    /// - Throws: `ServiceError` where there is no such bucket.
    func isPublic(_ request: Request, _ access: Access) throws(ServiceError) -> Bool {
        guard access != .owner, request.target.bucket != nil else { return false }
        let bucket = try self.store.bucket(request.bucket)
        var acl = bucket.acl
        if access != .list, let key = request.target.key,
            let object = try self.store.object(bucket: bucket.name, key: ObjectKey(key)), object.acl != .default
        {
            acl = object.acl
        }
        return access == .write ? acl.allowsWriting : acl.allowsReading
    }

    /// Ends the uploads that are older than the options allow.
    func expireUploads() throws(ServiceError) {
        guard let lifetime = self.configuration.uploadLifetime else { return }
        let limit = self.now().milliseconds - lifetime.milliseconds
        try self.store.expireUploads(begunBefore: Timestamp(milliseconds: limit))
    }

    /// The server's time.
    func now() -> Timestamp { Self.now(configuration: self.configuration) }

    static func now(configuration: OSSServer.Configuration) -> Timestamp {
        Timestamp(milliseconds: WallClock.milliseconds + configuration.clockOffset.milliseconds)
    }
}

extension Duration {
    /// Whole milliseconds, at most so many as half of what the type holds: sums of two do not overflow.
    var milliseconds: Int64 {
        let limit = Int64.max / 2
        let (seconds, attoseconds) = self.components
        let (whole, isTooLong) = seconds.multipliedReportingOverflow(by: 1000)
        guard !isTooLong else { return seconds < 0 ? -limit : limit }
        return max(-limit, min(limit, whole)) + attoseconds / 1_000_000_000_000_000
    }
}

extension Timestamp {
    /// `2012-02-24T06:38:30.000Z`: documents tell whole seconds, and the official Python SDK reads nothing else.
    var inDocuments: String { Timestamp(seconds: self.seconds).iso8601 }
}
