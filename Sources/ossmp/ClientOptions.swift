// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import FoundationEssentials
import Glibc
import OSSMultipart

/// What the options and the environment say of the service and of the credentials.
enum ClientOptions {
    /// What `--credentials` may begin with.
    static let sources = ["env", "ossutil", "aliyun", "ecs", "oidc", "process:"]

    /// The client that is described.
    static func client(_ options: Options) throws -> OSSClient {
        guard let endpoint = options.value("endpoint") ?? Self.environment("OSS_ENDPOINT") else {
            throw UsageError(
                "which service? give --endpoint https://oss-cn-hangzhou.aliyuncs.com, or set OSS_ENDPOINT"
            )
        }
        var configuration = OSSClient.Configuration()
        if let addressing = try options.choice("addressing", OSSClient.Addressing.all) {
            configuration.addressing = addressing
        }
        if let version = try options.choice("sign-version", OSSClient.SignatureVersion.all) {
            configuration.signatureVersion = version
        }
        if let retries = try options.number("retries", in: 0...100) {
            configuration.retryPolicy.maximumAttempts = retries + 1
        }
        if let rate = options.value("limit-rate") {
            let bytes = try ByteSize.parse(rate, option: "--limit-rate")
            guard bytes > 0 else {
                throw UsageError("--limit-rate 0: give at least one byte a second, or leave it out")
            }
            configuration.uploadRateLimit = bytes
        }
        configuration.proxy = options.value("proxy")
        configuration.proxyExceptions = options.value("no-proxy").map { hosts in
            hosts.split(separator: ",").map { String($0.filter { $0 != " " }) }
        }
        configuration.caFile = options.value("ca-file")
        configuration.acceptsAnyCertificate = options.has("insecure")
        if options.has("insecure") {
            Console.note("--insecure: certificates are not checked; others can read and change what is sent")
        }
        return try OSSClient(
            endpoint: endpoint, region: options.value("region") ?? Self.environment("OSS_REGION"),
            credentials: try self.credentials(options), configuration: configuration
        )
    }

    private static func credentials(_ options: Options) throws -> OSSCredentialsProvider {
        let profile = options.value("profile")
        guard let text = options.value("credentials") else {
            if let profile {
                throw UsageError("--profile \(profile): say of which file, with --credentials ossutil or aliyun")
            }
            // Half of a key in the environment is a mistake to be told, no reason to take another key from elsewhere.
            let isInEnvironment = ["OSS_ACCESS_KEY_ID", "OSS_ACCESS_KEY_SECRET"].contains {
                self.environment($0) != nil
            }
            return isInEnvironment ? .environment : .chain([.environment, .ossutilConfigFile()])
        }
        let halves = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map { String($0) }
        let detail = halves.count > 1 && !halves[1].isEmpty ? halves[1] : nil
        let file = detail.map { URL(filePath: $0) }
        if let profile, halves[0] != "ossutil", halves[0] != "aliyun" {
            throw UsageError("--profile \(profile): only the files of ossutil and aliyun have profiles")
        }
        switch (halves[0], detail) {
        case ("env", nil): return .environment
        case ("ossutil", _): return .ossutilConfigFile(file, profile: profile)
        case ("aliyun", _): return .aliyunConfigFile(file, profile: profile)
        case ("ecs", _): return .ecsRAMRole(detail)
        case ("oidc", nil): return .oidc()
        case ("process", let command?): return .process(command.split(separator: " ").map { String($0) })
        default:
            // Not what was written: somebody may have put the key itself there.
            throw UsageError(
                "--credentials: there are env, ossutil, ossutil:FILE, aliyun, aliyun:FILE, ecs, ecs:ROLE, oidc and "
                    + "process:COMMAND; the key itself goes into OSS_ACCESS_KEY_ID and OSS_ACCESS_KEY_SECRET"
            )
        }
    }

    /// A variable of the environment; an empty one counts as not set.
    static func environment(_ name: String) -> String? {
        // SAFETY: the text is copied at once, and nothing in this process sets variables.
        guard let value = unsafe getenv(name) else { return nil }
        let text = unsafe String(cString: value)
        return text.isEmpty ? nil : text
    }
}
