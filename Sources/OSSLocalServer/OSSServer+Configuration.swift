// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

extension OSSServer {
    /// An account that may use the server.
    public struct Account: Sendable, Hashable, CustomStringConvertible {
        /// The access key's ID.
        public var accessKeyID: String
        /// The access key's secret.
        public var accessKeySecret: String
        /// For temporary credentials: the token that each request has to carry.
        ///
        /// Default: nil, permanent credentials.
        public var securityToken: String?
        /// When the token expires, in seconds since 1970; nil, the default: never.
        public var expiration: Int64?

        /// Makes an account.
        public init(
            accessKeyID: String, accessKeySecret: String, securityToken: String? = nil, expiration: Int64? = nil
        ) {
            self.accessKeyID = accessKeyID
            self.accessKeySecret = accessKeySecret
            self.securityToken = securityToken
            self.expiration = expiration
        }

        /// The access key's ID; never the secret or the token.
        public var description: String { "Account(\(self.accessKeyID))" }

        /// The account of a server that is not told of others: `test-access-key-id`, `test-access-key-secret`.
        public static let test = Account(
            accessKeyID: "test-access-key-id", accessKeySecret: "test-access-key-secret")
    }

    /// The options of a server; all have a default that suits tests.
    public struct Configuration: Sendable {
        /// The folder that holds the data; nil, the default: a fresh temporary one that is removed at the stop.
        public var directory: String?
        /// The address to listen on, in digits; `localhost` stands for 127.0.0.1.
        ///
        /// Default: 127.0.0.1, which nobody else on the network reaches.
        public var host = "127.0.0.1"
        /// The port to listen on; 0, the default, takes a free one.
        public var port: UInt16 = 0
        /// Who may use the server.
        ///
        /// Default: ``Account/test`` alone.
        public var accounts: [Account] = [.test]
        /// Buckets that are made at the start where they are missing.
        ///
        /// Default: none.
        public var buckets: [String] = []
        /// The region that signatures have to name.
        ///
        /// Default: `cn-hangzhou`.
        public var region = "cn-hangzhou"
        /// Names that are the service's own: in front of them stands a bucket, alone they have none.
        ///
        /// Hosts such as `oss-cn-hangzhou.aliyuncs.com` and addresses in digits need not be listed. Default: `localhost`.
        public var serviceHosts = ["localhost"]
        /// How far a request's time may be from the server's.
        ///
        /// Default: 15 minutes, as OSS has it.
        public var maximumClockSkew: Duration = .seconds(15 * 60)
        /// How far the server's clock is ahead of the system's, for tests; it may be negative.
        ///
        /// Default: 0.
        public var clockOffset: Duration = .zero
        /// The least size of a part that is not the last, in bytes, checked at Complete.
        ///
        /// Default: 102,400, as OSS has it.
        public var minimumPartSize = Limits.minimumPartSize
        /// Whether requests without a signature are served, whatever they ask for.
        ///
        /// Default: false; then they may do what the access control lists of buckets and objects allow everybody.
        public var allowsAnonymous = false
        /// Whether data is synced to the disk before it is acknowledged, so that it survives a power failure too.
        ///
        /// Default: false. A killed process loses nothing that was acknowledged either way.
        public var isDurable = false
        /// Most bytes that all objects and parts may have together; nil, the default: as many as the disk holds.
        ///
        /// What does not fit is refused with status 507.
        public var capacity: Int64?
        /// Age at which an upload that is neither completed nor aborted ends by itself; nil, the default: never.
        public var uploadLifetime: Duration?
        /// Whether callbacks are posted to hosts other than this one.
        ///
        /// Default: false; a callback to such a host is refused before anything is stored.
        public var allowsRemoteCallbacks = false
        /// Most connections at a time; each costs a thread, and up to 400 KiB while it is in use.
        ///
        /// Default: 2,000.
        public var maximumConnections = 2000
        /// How long a connection may be silent before it is closed.
        ///
        /// Default: 60 seconds; range: from 1 second.
        public var idleTimeout: Duration = .seconds(60)
        /// Most requests that ``OSSServer/requests`` remembers: the latest ones.
        ///
        /// 0 remembers none. Default: 50,000.
        public var rememberedRequests = 50_000
        /// A file that gets one line of JSON for each request, without secrets; nil, the default: none.
        public var requestLogPath: String?

        /// Makes the default configuration.
        public init() {}
    }
}

extension OSSServer.Configuration {
    func check() throws(OSSServer.Error) {
        if self.accounts.isEmpty, !self.allowsAnonymous {
            throw OSSServer.Error("nobody could use the server: name an account, or allow anonymous requests")
        }
        for account in self.accounts where account.accessKeyID.isEmpty || account.accessKeySecret.isEmpty {
            throw OSSServer.Error("an account has an empty access key ID or secret; give both a value")
        }
        if Set(self.accounts.map(\.accessKeyID)).count != self.accounts.count {
            throw OSSServer.Error("two accounts have the same access key ID; leave one out")
        }
        for bucket in self.buckets {
            if let problem = Limits.problem(withBucketName: bucket) {
                throw OSSServer.Error("\(bucket) cannot be a bucket: \(problem)")
            }
        }
        if self.region.isEmpty { throw OSSServer.Error("the region is empty; cn-hangzhou would do") }
        if self.directory == "" { throw OSSServer.Error("the folder's name is empty; name one, or none at all") }
        if self.maximumConnections < 1 { throw OSSServer.Error("maximumConnections is below 1") }
        if self.idleTimeout < .seconds(1) { throw OSSServer.Error("idleTimeout is below one second") }
        if let capacity = self.capacity, capacity < 0 { throw OSSServer.Error("capacity is negative") }
        if let lifetime = self.uploadLifetime, lifetime <= .zero {
            throw OSSServer.Error("uploadLifetime is not above zero")
        }
        if self.minimumPartSize < 0 { throw OSSServer.Error("minimumPartSize is negative") }
        if self.rememberedRequests < 0 { throw OSSServer.Error("rememberedRequests is negative") }
        if self.maximumClockSkew < .zero { throw OSSServer.Error("maximumClockSkew is negative") }
    }
}
