// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import CurlTransport
public import FoundationEssentials
internal import OSSWire
internal import SystemIO

/// A role to take on for a while.
///
/// OSS document: Use temporary access credentials provided by STS.
public struct OSSAssumedRole: Sendable {
    /// The role, for example `acs:ram::123456789012****:role/uploader`.
    public var arn: String
    /// What the session is called in the account's records.
    ///
    /// Default: `swift-oss-multipart`.
    public var sessionName = "swift-oss-multipart"
    /// How long the credentials are good, from 15 minutes to the role's longest.
    ///
    /// Default: one hour.
    public var duration: Duration = .seconds(3600)
    /// A policy in JSON that narrows what the role may do; nil narrows nothing.
    ///
    /// Default: nil.
    public var policy: String?
    /// The address of the token service.
    ///
    /// Default: `https://sts.aliyuncs.com`; those of the regions are nearer, for example
    /// `https://sts.cn-hangzhou.aliyuncs.com`.
    public var endpoint = Self.defaultEndpoint

    static let defaultEndpoint = "https://sts.aliyuncs.com"

    /// Names a role.
    public init(arn: String) { self.arn = arn }

    fileprivate var parameters: [QueryItem] {
        var parameters = [
            QueryItem("RoleArn", self.arn), QueryItem("RoleSessionName", self.sessionName),
            QueryItem("DurationSeconds", String(self.duration.components.seconds)),
        ]
        if let policy { parameters.append(QueryItem("Policy", policy)) }
        return parameters
    }
}

extension OSSCredentialsProvider {
    /// The RAM role of the ECS instance that this runs on, from its metadata service.
    ///
    /// The service is asked in its hardened mode, or where it knows none, in the plain one; never through a proxy.
    ///
    /// - Parameters:
    ///   - roleName: the role; nil is the one that the service names.
    ///   - metadataService: the address of the service.
    public static func ecsRAMRole(
        _ roleName: String? = nil, metadataService: String = "http://100.100.100.200"
    ) -> OSSCredentialsProvider {
        OSSCredentialsProvider(
            load: {
                try await CredentialsService.withService("the ECS metadata service", metadataService, proxy: "") {
                    service in
                    var fields: HTTPFields = ["X-aliyun-ecs-metadata-token-ttl-seconds": "21600"]
                    let token = try await service.send("PUT", "/latest/api/token", fields)
                    fields = [:]
                    // An older service, or one of another cloud's make, has no tokens.
                    if (200...299).contains(token.status) {
                        fields["X-aliyun-ecs-metadata-token"] =
                            String(decoding: token.body, as: UTF8.self).trimmedBlanks
                    }
                    let folder = "/latest/meta-data/ram/security-credentials/"
                    var name = roleName ?? ""
                    if name.isEmpty {
                        let reply = try await service.send("GET", folder, fields)
                        let text = String(decoding: reply.body, as: UTF8.self)
                        name = (text.split(whereSeparator: \.isNewline).first ?? "").trimmedBlanks
                        guard reply.status == 200, !name.isEmpty else {
                            throw Self.missing(
                                "the ECS metadata service names no RAM role (status \(reply.status)); give the instance one"
                            )
                        }
                    }
                    let reply = try await service.send("GET", folder + PercentEncoding.encode(name), fields)
                    guard reply.status == 200 else {
                        throw Self.missing(
                            "the ECS metadata service has no credentials of the role "
                                + "\(name.replacingControlCharacters) (status \(reply.status))"
                        )
                    }
                    guard let document = CredentialsDocument(reply.body) else {
                        throw Self.missing("the ECS metadata service's reply holds no credentials")
                    }
                    return try document.credentials()
                }
            }, canRefresh: true, description: "ECS RAM role"
        )
    }

    /// A role, taken on with other credentials (AssumeRole).
    public static func assumeRole(
        _ role: OSSAssumedRole, as source: OSSCredentialsProvider
    ) -> OSSCredentialsProvider {
        OSSCredentialsProvider(
            load: {
                let credentials = try await source.load()
                return try await Self.token(role) { service in
                    var parameters = service.commonParameters("AssumeRole") + role.parameters
                    parameters += [
                        QueryItem("AccessKeyId", credentials.accessKeyID), QueryItem("SignatureMethod", "HMAC-SHA1"),
                        QueryItem("SignatureVersion", "1.0"),
                    ]
                    if let token = credentials.securityToken { parameters.append(QueryItem("SecurityToken", token)) }
                    let text = CredentialsService.stringToSign(parameters)
                    let signature: [UInt8]
                    do {
                        signature = try HMAC.authenticationCode(
                            for: Array(text.utf8), key: Array("\(credentials.accessKeySecret)&".utf8), .sha1)
                    } catch {
                        throw Self.missing(
                            "a request to the token service cannot be signed: \(error)", underlying: error)
                    }
                    parameters.append(QueryItem("Signature", Base64.encode(signature)))
                    return parameters
                }
            }, canRefresh: true, description: "role \(role.arn)"
        )
    }

    /// A role, taken on with the token of an OpenID Connect provider (AssumeRoleWithOIDC), as pods of a cluster do.
    ///
    /// - Parameters:
    ///   - role: the role; nil is that of the environment's `ALIBABA_CLOUD_ROLE_ARN`, and
    ///     `ALIBABA_CLOUD_ROLE_SESSION_NAME` where that is set.
    ///   - providerARN: the provider; nil is that of `ALIBABA_CLOUD_OIDC_PROVIDER_ARN`.
    ///   - tokenFile: the file that holds the token, read anew each time; nil is that of `ALIBABA_CLOUD_OIDC_TOKEN_FILE`.
    public static func oidc(
        _ role: OSSAssumedRole? = nil, providerARN: String? = nil, tokenFile: URL? = nil
    ) -> OSSCredentialsProvider {
        let path = tokenFile?.filePath
        return OSSCredentialsProvider(
            load: {
                func variable(_ name: String) throws(OSSError) -> String {
                    guard let value = EnvironmentVariable.value(of: name), !value.isEmpty else {
                        throw Self.missing("the environment variable \(name) is not set")
                    }
                    return value
                }
                let assumed: OSSAssumedRole
                if let role {
                    assumed = role
                } else {
                    var role = OSSAssumedRole(arn: try variable("ALIBABA_CLOUD_ROLE_ARN"))
                    if let name = EnvironmentVariable.value(of: "ALIBABA_CLOUD_ROLE_SESSION_NAME"), !name.isEmpty {
                        role.sessionName = name
                    }
                    assumed = role
                }
                let provider = try providerARN ?? variable("ALIBABA_CLOUD_OIDC_PROVIDER_ARN")
                let file = try path ?? variable("ALIBABA_CLOUD_OIDC_TOKEN_FILE")
                let token = try await Self.read(file).filter { !$0.isWhitespace }
                guard !token.isEmpty else { throw Self.missing("the token file \(file) is empty") }
                return try await Self.token(assumed) { service in
                    service.commonParameters("AssumeRoleWithOIDC") + assumed.parameters + [
                        QueryItem("OIDCProviderArn", provider), QueryItem("OIDCToken", token),
                    ]
                }
            }, canRefresh: true, description: "OIDC role"
        )
    }

    /// Asks the token service.
    private static func token(
        _ role: OSSAssumedRole, _ parameters: (CredentialsService) throws -> [QueryItem]
    ) async throws -> OSSCredentials {
        try await CredentialsService.withService("the token service", role.endpoint, proxy: nil) { service in
            let reply = try await service.send(
                "POST", "/", ["Content-Type": "application/x-www-form-urlencoded"],
                body: Array(try parameters(service).encoded.utf8)
            )
            // A reply that is no JSON has neither credentials nor a reason.
            let object = (try? JSONDecoder().decode(JSONText.self, from: Data(reply.body))) ?? .other
            guard reply.status == 200 else {
                let code = object["Code"]?.text ?? "status \(reply.status)"
                let reason = object["Message"]?.text.map { ", \"\($0.prefix(200))\"" } ?? ""
                throw self.missing(
                    ("the token service refused the role \(role.arn): \(code)\(reason) (request ID "
                        + "\(object["RequestId"]?.text ?? "none")); check the role, its trust policy and the credentials")
                        .replacingControlCharacters
                )
            }
            guard let document = object["Credentials"].flatMap({ CredentialsDocument($0) }) else {
                throw self.missing("the token service's reply holds no credentials")
            }
            return try document.credentials()
        }
    }
}

/// A service that gives credentials over HTTP.
private struct CredentialsService {
    private let name: String
    private let address: String
    private let transport: CurlTransport

    /// Most attempts of one request.
    ///
    /// *Source:* our own choice. *Applies to:* breaks, and statuses of 500 and more.
    private static let attempts = 3

    /// Runs `body` with the service at an address, over connections of its own.
    static func withService(
        _ name: String, _ address: String, proxy: String?,
        _ body: (CredentialsService) async throws -> OSSCredentials
    ) async throws -> OSSCredentials {
        let endpoint: OSSEndpoint
        do throws(OSSError) { endpoint = try OSSEndpoint(address) } catch {
            throw OSSCredentialsProvider.missing("of \(name): \(error.message)")
        }
        var configuration = CurlTransportConfiguration()
        configuration.proxy = proxy
        let transport = CurlTransport(configuration: configuration)
        let service = CredentialsService(name: name, address: endpoint.text, transport: transport)
        let result: Result<OSSCredentials, any Error>
        do { result = .success(try await body(service)) } catch { result = .failure(error) }
        await transport.shutDown()
        return try result.get()
    }

    func send(
        _ method: String, _ path: String, _ headers: HTTPFields, body: [UInt8]? = nil
    ) async throws -> TransportResponse {
        var request = TransportRequest(
            method: method, url: self.address + path, headers: headers, body: body.map { .bytes($0) } ?? .none)
        request.headers["User-Agent"] = OSSMultipartVersion.userAgent
        request.isIdempotent = true
        request.replyLimit = 1 << 20
        request.timeouts.connect = .seconds(3)
        request.timeouts.total = .seconds(15)
        if method == "PUT", body == nil { request.body = .bytes([]) }
        var failure: TransportError?
        for attempt in 1...Self.attempts {
            if attempt > 1 { try await Task.sleep(for: .milliseconds(200 * attempt)) }
            do {
                let reply = try await self.transport.execute(request)
                if reply.status < 500 || attempt == Self.attempts { return reply }
            } catch let error as TransportError {
                failure = error
                // Nobody is there: asking again changes nothing, and a chain has others to ask.
                if error.kind == .connect || error.kind == .connectTimeout || error.kind == .resolve { break }
            }
        }
        throw OSSCredentialsProvider.missing(
            "\(self.name) does not answer: \(failure?.message ?? "no reply")", underlying: failure)
    }

    /// What every request to the token service has.
    func commonParameters(_ action: String) -> [QueryItem] {
        [
            QueryItem("Action", action), QueryItem("Format", "JSON"), QueryItem("Version", "2015-04-01"),
            QueryItem("Timestamp", String(Timestamp(milliseconds: WallClock.milliseconds).iso8601.prefix(19)) + "Z"),
            QueryItem("SignatureNonce", "\(UInt64.random(in: .min ... .max))\(UInt64.random(in: .min ... .max))"),
        ]
    }

    /// What the signature of a request is computed over.
    ///
    /// Document of the token service: Request signatures, version 1.0.
    static func stringToSign(_ parameters: [QueryItem]) -> String {
        let query = parameters.map { (PercentEncoding.encode($0.name), PercentEncoding.encode($0.value ?? "")) }
            .sorted { $0 < $1 }.map { "\($0)=\($1)" }.joined(separator: "&")
        return "POST&%2F&\(PercentEncoding.encode(query))"
    }
}
