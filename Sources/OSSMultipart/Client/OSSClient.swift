// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

package import CurlTransport
internal import OSSWire
import Synchronization
internal import SystemIO

/// A client of Alibaba Cloud OSS, or of a store that speaks its API.
///
/// Its operations are async functions named as the service names them. One client serves any number of tasks at once and
/// reuses its connections; make one and keep it. Cancelling the task that waits for an operation ends the request at once:
/// when the call has thrown `CancellationError`, nothing of it is under way.
///
/// ```swift
/// let client = try OSSClient(
///     endpoint: "https://oss-cn-hangzhou.aliyuncs.com", region: "cn-hangzhou", credentials: .environment)
/// let upload = try await client.initiateMultipartUpload(.init(bucket: "media", key: "v/1.mp4"))
/// ```
public final class OSSClient: Sendable {
    /// The options of a client.
    public struct Configuration: Sendable {
        /// How the bucket is named to the service.
        ///
        /// Default: ``Addressing/automatic``.
        public var addressing: Addressing = .automatic
        /// How requests are signed.
        ///
        /// Default: ``SignatureVersion/v4``.
        public var signatureVersion: SignatureVersion = .v4
        /// How often a request is sent again.
        ///
        /// Default: 8 attempts, waits from 200 ms to 20 s.
        public var retryPolicy = OSSRetryPolicy()
        /// How long a connection may take to come about.
        ///
        /// Default: 5 s.
        public var connectTimeout: Duration = .seconds(5)
        /// How long no byte may move.
        ///
        /// Default: 30 s.
        public var idleTimeout: Duration = .seconds(30)
        /// How long one attempt may take as a whole; nil is no limit.
        ///
        /// Default: nil.
        public var totalTimeout: Duration?
        /// The proxy's address, `scheme://host:port`; empty for none; nil for what the environment says (`http_proxy`,
        /// `https_proxy`, `all_proxy`, `no_proxy`).
        ///
        /// The schemes are `http`, `https`, `socks4`, `socks4a`, `socks5`, and `socks5h`, where the proxy looks up the names.
        /// Default: nil.
        public var proxy: String?
        /// Hosts and domains that are reached without the proxy, `*` for all.
        ///
        /// Default: nil, what the environment says where it names the proxy, else none.
        public var proxyExceptions: [String]?
        /// User and password for the proxy.
        ///
        /// Default: nil.
        public var proxyCredentials: ProxyCredentials?
        /// The path of a file of CA certificates in PEM, which are trusted and no others; nil for the system's.
        ///
        /// Default: nil.
        public var caFile: String?
        /// The path of a folder of CA certificates in PEM, named by the hash of their subjects (`openssl rehash`), which are
        /// trusted and no others but those of ``caFile``.
        ///
        /// Default: nil.
        public var caDirectory: String?
        /// The certificate that the client shows.
        ///
        /// Default: nil.
        public var clientCertificate: ClientCertificate?
        /// The address of this machine, or the name of its network interface, that connections come from.
        ///
        /// Default: nil, what the system takes.
        public var localAddress: String?
        /// Most connections that are kept for later requests; 0 closes each one after its request.
        ///
        /// Default: 16.
        public var maximumIdleConnections = 16
        /// Most threads that carry requests, from 1 to 64; each has its own share of the connections.
        ///
        /// A second one begins when two requests are under way. One is enough for a network of some gigabits a second. Up to four
        /// parts at a time are carried by the threads that read them instead, where the endpoint's scheme is `http`. Default: 2, or
        /// 1 on a machine with one processor.
        public var networkThreads = min(2, ProcessorCount.available)
        /// What stands behind this package's name in `User-Agent`, for example `media-service/2.1`.
        ///
        /// Default: nil.
        public var userAgentSuffix: String?
        /// Bytes of bodies that all requests of the client together send in a second, at most; nil is no limit.
        ///
        /// ``OSSClient/uploadRateLimit`` changes it later. Default: nil.
        public var uploadRateLimit: Int64?
        /// The rate that the service itself holds each transfer to (`x-oss-traffic-limit`), in bits a second, from 245,760 to
        /// 838,860,800; nil is no limit.
        ///
        /// Default: nil. It is sent with everything that carries an object's bytes.
        public var trafficLimit: Int?
        /// Whether requests to buckets whose owners let the requester pay are paid by this user.
        ///
        /// Default: false. With it each request has `x-oss-request-payer: requester`.
        public var paysForRequests = false
        /// What each attempt of each request goes through, the first one outermost.
        ///
        /// Default: none.
        public var middlewares: [any OSSMiddleware] = []
        /// The clock, the wait and the random source.
        ///
        /// Default: the machine's.
        public var surroundings: OSSSurroundings = .live
        /// Whether every certificate is taken: the connection can then be read and changed by others.
        ///
        /// Default: false.
        public var acceptsAnyCertificate = false

        /// Whether an object that is given no content type gets the one that the system's table names for its key's
        /// extension.
        ///
        /// Default: true. The tables are `/etc/mime.types` and that of shared-mime-info.
        public var guessesContentType = true

        /// Makes the default configuration.
        public init() {}
    }

    /// User and password for a proxy; neither has a printable form.
    public struct ProxyCredentials: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
        /// The user's name.
        public var user: String
        /// The password.
        public var password: String

        /// Makes credentials.
        public init(user: String, password: String) {
            self.user = user
            self.password = password
        }

        /// Says that there are some.
        public var description: String { "proxy credentials" }
        /// What reflection sees: nothing.
        public var customMirror: Mirror { Mirror(self, children: []) }
    }

    /// A certificate that the client shows to the server, and its key.
    public struct ClientCertificate: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
        /// The path of the certificate in PEM.
        public var certificateFile: String
        /// The path of its key in PEM.
        public var keyFile: String
        /// What the key is encrypted with; nil where it is not.
        ///
        /// Default: nil.
        public var keyPassword: String?

        /// Names certificate and key.
        public init(certificateFile: String, keyFile: String) {
            self.certificateFile = certificateFile
            self.keyFile = keyFile
        }

        /// The certificate's path.
        public var description: String { "client certificate \(self.certificateFile)" }
        /// What reflection sees: the paths alone.
        public var customMirror: Mirror {
            Mirror(self, children: ["certificateFile": self.certificateFile, "keyFile": self.keyFile])
        }
    }

    /// The network that a region is reached by.
    ///
    /// OSS document: Regions and endpoints.
    public struct Network: Sendable, Hashable, CustomStringConvertible {
        private enum Name: String { case `public`, `internal`, accelerate, accelerateOverseas, dualStack }
        private let name: Name

        /// The internet, by IPv4.
        public static let `public` = Network(name: .public)
        /// The network within Alibaba Cloud's region.
        public static let `internal` = Network(name: .internal)
        /// Transfer acceleration, which the bucket must have been given.
        public static let accelerate = Network(name: .accelerate)
        /// Transfer acceleration outside of mainland China.
        public static let accelerateOverseas = Network(name: .accelerateOverseas)
        /// The internet, by IPv4 and IPv6.
        public static let dualStack = Network(name: .dualStack)

        /// The name, for example `internal`.
        public var description: String { self.name.rawValue }

        func host(region: String) -> String {
            switch self.name {
            case .public: "oss-\(region).aliyuncs.com"
            case .internal: "oss-\(region)-internal.aliyuncs.com"
            case .accelerate: "oss-accelerate.aliyuncs.com"
            case .accelerateOverseas: "oss-accelerate-overseas.aliyuncs.com"
            case .dualStack: "\(region).oss.aliyuncs.com"
            }
        }
    }

    /// How the bucket is named to the service.
    ///
    /// OSS document: Access OSS by using bucket domain names.
    public struct Addressing: Sendable, Hashable, CustomStringConvertible {
        enum Style: String { case automatic = "auto", path, virtualHost = "virtual", cname }
        private let style: Style

        /// In the path for an address, `localhost` and a name of one label; else in the host name.
        public static let automatic = Addressing(style: .automatic)
        /// In the path: `https://endpoint/bucket/key`.
        public static let path = Addressing(style: .path)
        /// In the host name: `https://bucket.endpoint/key`.
        public static let virtualHost = Addressing(style: .virtualHost)
        /// Nowhere: the endpoint is a domain of yours that is bound to the one bucket.
        public static let cname = Addressing(style: .cname)

        /// Every style.
        public static let all: [Addressing] = [.automatic, .path, .virtualHost, .cname]

        /// The name, as the tool takes it: `auto`, `path`, `virtual` or `cname`.
        public var description: String { self.style.rawValue }

        enum Resolved { case path, virtualHost, cname }
        func resolved(needsPathStyle: Bool) -> Resolved {
            switch self.style {
            case .automatic: needsPathStyle ? .path : .virtualHost
            case .path: .path
            case .virtualHost: .virtualHost
            case .cname: .cname
            }
        }
    }

    /// How requests are signed.
    public struct SignatureVersion: Sendable, Hashable, CustomStringConvertible {
        private enum Version: String { case v1, v4 }
        private let version: Version

        /// OSS4-HMAC-SHA256; needs the region.
        public static let v4 = SignatureVersion(version: .v4)
        /// HMAC-SHA1, for stores that know no other.
        public static let v1 = SignatureVersion(version: .v1)

        /// Every version.
        public static let all: [SignatureVersion] = [.v4, .v1]

        /// The name, as the tool takes it: `v4` or `v1`.
        public var description: String { self.version.rawValue }
    }

    /// The service's endpoint in one spelling: scheme, host, and the port where it is not the scheme's own.
    public var endpoint: String { self.address.text }
    /// The region that requests are signed for; empty with signature V1, or a signer, where none is known.
    public let region: String
    /// The options it was made with.
    public let configuration: Configuration

    let address: OSSEndpoint
    let transport: any HTTPTransport
    private let rateLimit: UploadRateLimit
    let surroundings: Surroundings
    let authority: RequestAuthority
    let signer: AccessKeySigner
    /// Threads for reading sources, digests and checkpoints, and a few more for parts that the transport lets them carry.
    let blocking = BlockingExecutor(threads: 12)
    /// The service's clock less ours, as its replies told when a request was refused for the time it bore.
    let clockOffset = ClockOffset()
    /// The same as the `Date` of a listing told it, good to a second; for comparing dates in listings with ours.
    let observedClockOffset = ClockOffset()

    /// Makes a client.
    ///
    /// Nothing is sent and no credentials are asked for until the first operation.
    ///
    /// - Parameters:
    ///   - endpoint: the service's host, with scheme and port where they are not `https` and its own, for example
    ///     `https://oss-cn-hangzhou.aliyuncs.com`; without the bucket and without a path.
    ///   - region: the region to sign for, for example `cn-hangzhou`; nil where the endpoint names it.
    ///   - credentials: where the access key comes from.
    ///   - configuration: addressing, time-outs, retries, proxy and certificates.
    /// - Throws: `OSSError.invalidConfiguration` with what to change.
    public convenience init(
        endpoint: String, region: String? = nil, credentials: OSSCredentialsProvider,
        configuration: Configuration = .init()
    ) throws {
        let rateLimit = UploadRateLimit(bytesPerSecond: configuration.uploadRateLimit)
        try self.init(
            endpoint: endpoint, region: region, credentials: credentials, configuration: configuration,
            transport: CurlTransport(configuration: configuration.transport(rateLimit)),
            surroundings: configuration.surroundings, rateLimit: rateLimit
        )
    }

    /// Makes a client of a region, with the service's own endpoint there.
    ///
    /// - Parameters:
    ///   - region: the region, for example `cn-hangzhou`.
    ///   - network: the network that it is reached by.
    ///   - credentials: where the access key comes from.
    ///   - configuration: addressing, time-outs, retries, proxy and certificates.
    /// - Throws: `OSSError.invalidConfiguration` with what to change.
    public convenience init(
        region: String, network: Network = .public, credentials: OSSCredentialsProvider,
        configuration: Configuration = .init()
    ) throws {
        let endpoint = try OSSEndpoint(region: region, network: network)
        try self.init(
            endpoint: endpoint.text, region: region, credentials: credentials, configuration: configuration)
    }

    /// Makes a client that holds no secret: each of its requests is signed by somebody else.
    ///
    /// All operations and the uploader work as with credentials; URLs and forms cannot be made. How requests are signed is the
    /// signer's to say, and the configuration's signature version counts for nothing.
    ///
    /// - Parameters:
    ///   - endpoint: the service's host, with scheme and port where they are not `https` and its own; without the bucket and
    ///     without a path.
    ///   - signer: signs, or gives presigned URLs.
    ///   - configuration: addressing, time-outs, retries, proxy and certificates.
    /// - Throws: `OSSError.invalidConfiguration` with what to change.
    public convenience init(
        endpoint: String, signer: some OSSRequestSigner, configuration: Configuration = .init()
    ) throws {
        let rateLimit = UploadRateLimit(bytesPerSecond: configuration.uploadRateLimit)
        try self.init(
            endpoint: endpoint, region: nil, authority: .signer(signer), configuration: configuration,
            transport: CurlTransport(configuration: configuration.transport(rateLimit)),
            surroundings: configuration.surroundings, rateLimit: rateLimit
        )
    }

    /// Makes a client over another transport, clock and random source.
    package convenience init(
        endpoint: String, region: String?, credentials: OSSCredentialsProvider, configuration: Configuration,
        transport: any HTTPTransport, surroundings: Surroundings, rateLimit: UploadRateLimit = .init()
    ) throws {
        try self.init(
            endpoint: endpoint, region: region,
            authority: .credentials(CredentialsCache(credentials, now: surroundings.now)),
            configuration: configuration, transport: transport, surroundings: surroundings, rateLimit: rateLimit
        )
    }

    /// Makes a client whose signatures come from somewhere.
    init(
        endpoint: String, region: String?, authority: RequestAuthority, configuration: Configuration,
        transport: any HTTPTransport, surroundings: Surroundings, rateLimit: UploadRateLimit = .init()
    ) throws {
        self.address = try OSSEndpoint(endpoint)
        try self.address.validate(configuration.addressing)
        try configuration.validate()
        guard configuration.retryPolicy.maximumAttempts >= 1 else {
            throw OSSError(
                .invalidConfiguration, "the retry policy's maximumAttempts is below 1; 1 is a single attempt")
        }
        guard configuration.connectTimeout > .zero, configuration.idleTimeout > .zero,
            configuration.totalTimeout.map({ $0 > .zero }) ?? true
        else {
            throw OSSError(.invalidConfiguration, "a time-out is not above zero; leave totalTimeout nil for no limit")
        }
        let region = region?.trimmedBlanks ?? self.address.region ?? ""
        guard !region.isEmpty || configuration.signatureVersion == .v1 || !authority.usesOwnClock else {
            throw OSSError(
                .invalidConfiguration,
                "the region is needed for signature V4, and the endpoint \(self.address.text) does not name it; "
                    + "give it, for example cn-hangzhou"
            )
        }
        if !region.isEmpty { try OSSEndpoint.validate(region: region) }
        self.region = region
        self.configuration = configuration
        self.transport = transport
        self.rateLimit = rateLimit
        self.surroundings = surroundings
        self.authority = authority
        self.signer = AccessKeySigner(configuration.signatureVersion, region: region)
    }

    /// Bytes of bodies that all requests together send in a second, at most; nil is no limit.
    ///
    /// It may be changed while they are sent. Default: the configuration's.
    public var uploadRateLimit: Int64? {
        get { self.rateLimit.bytesPerSecond }
        set { self.rateLimit.bytesPerSecond = newValue }
    }

    /// Ends what is under way with `OSSError.shutDown`, closes all connections, ends all threads, and returns then.
    ///
    /// Later operations throw `OSSError.shutDown`. A client that is let go does the same by itself, without waiting.
    public func shutDown() async {
        await self.transport.shutDown()
        await self.blocking.shutDown()
    }
}

/// By how much the service's clock is ahead of ours, in milliseconds, once a refusal has told.
final class ClockOffset: Sendable {
    private let milliseconds = Atomic<Int64>(0)

    var value: Int64 {
        get { self.milliseconds.load(ordering: .relaxed) }
        set { self.milliseconds.store(newValue, ordering: .relaxed) }
    }
}
