// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

public import FoundationEssentials
internal import SystemIO

extension OSSCredentialsProvider {
    /// The configuration file of ossutil: INI, with `accessKeyID`, `accessKeySecret` and perhaps `stsToken`.
    ///
    /// It is read again when the service says that the credentials have expired.
    ///
    /// - Parameters:
    ///   - file: the file; nil is `~/.ossutilconfig`.
    ///   - profile: the section: `NAME`, or `profile NAME`; nil is `Credentials`, or else `default`.
    public static func ossutilConfigFile(_ file: URL? = nil, profile: String? = nil) -> OSSCredentialsProvider {
        let path = file?.filePath
        return OSSCredentialsProvider(
            load: {
                let path = try path ?? Self.inHome(".ossutilconfig")
                let sections = INIFile(try await Self.read(path))
                let names = profile.map { [$0, "profile \($0)"] } ?? ["Credentials", "default"]
                guard let section = names.lazy.compactMap({ sections[$0] }).first else {
                    throw Self.missing(
                        "the file \(path) has no section \(names.map { "[\($0)]" }.joined(separator: " or "))")
                }
                guard let id = section["accesskeyid"], let secret = section["accesskeysecret"] else {
                    throw Self.missing("the file \(path) has no accessKeyID or no accessKeySecret")
                }
                let token = section["ststoken"].flatMap { $0.isEmpty ? nil : $0 }
                return try OSSCredentials(accessKeyID: id, accessKeySecret: secret, securityToken: token)
            }, canRefresh: true, description: "ossutil configuration file"
        )
    }

    /// The configuration file of the aliyun command line: JSON, with profiles of the modes `AK`, `StsToken`, `RamRoleArn`,
    /// `EcsRamRole`, `OIDC` and `External`.
    ///
    /// - Parameters:
    ///   - file: the file; nil is `~/.aliyun/config.json`.
    ///   - profile: the profile's name; nil is the one that the file calls current.
    ///   - metadataService: the address of the metadata service, for `EcsRamRole`.
    ///   - stsEndpoint: the address of the token service, for `RamRoleArn` and `OIDC`; nil is the one of the profile's
    ///     region, or else `https://sts.aliyuncs.com`.
    public static func aliyunConfigFile(
        _ file: URL? = nil, profile: String? = nil, metadataService: String = "http://100.100.100.200",
        stsEndpoint: String? = nil
    ) -> OSSCredentialsProvider {
        let path = file?.filePath
        return OSSCredentialsProvider(
            load: {
                let path = try path ?? Self.inHome(".aliyun/config.json")
                let text = try await Self.read(path)
                let config: AliyunConfig
                do { config = try JSONDecoder().decode(AliyunConfig.self, from: Data(text.utf8)) } catch {
                    // What the decoder says could quote the file.
                    throw Self.missing("the file \(path) is no configuration of the aliyun command line")
                }
                let name = profile ?? config.current ?? "default"
                guard let found = config.profiles.first(where: { $0.name == name }) else {
                    throw Self.missing("the file \(path) has no profile \(name)")
                }
                return try await found.provider(path, metadataService: metadataService, stsEndpoint: stsEndpoint)
                    .load()
            }, canRefresh: true, description: "aliyun configuration file"
        )
    }

    static func missing(_ message: String, underlying: (any Error)? = nil) -> OSSError {
        OSSError(.missingCredentials, message, underlying: underlying)
    }

    private static func inHome(_ name: String) throws(OSSError) -> String {
        guard let home = EnvironmentVariable.value(of: "HOME"), !home.isEmpty else {
            throw self.missing("the environment variable HOME is not set, so there is no ~/\(name); name the file")
        }
        return "\(home)/\(name)"
    }

    /// Reads a file of at most 1 MiB on a thread that may block.
    static func read(_ path: String) async throws(OSSError) -> String {
        let executor = BlockingExecutor(threads: 1)
        let result: Result<String, SystemError> = await executor.run {
            do throws(SystemError) {
                let file = try PosixFile(path: path, [.read, .nonBlocking])
                var bytes = [UInt8](repeating: 0, count: Int(min(try file.status().size, 1 << 20)))
                let count = try file.read(at: 0, into: &bytes)
                return .success(String(decoding: bytes[..<count], as: UTF8.self))
            } catch { return .failure(error) }
        }
        await executor.shutDown()
        switch result {
        case .success(let text): return text
        case .failure(let error): throw self.missing("the file cannot be read: \(error)", underlying: error)
        }
    }
}

/// The sections of a file of `name = value` lines; names of values are in lower case.
struct INIFile {
    private var sections: [String: [String: String]] = [:]

    init(_ text: String) {
        var section = ""
        for line in text.split(whereSeparator: \.isNewline) {
            let line = Self.trimmed(line)
            if line.hasPrefix("["), line.hasSuffix("]") {
                section = Self.trimmed(line.dropFirst().dropLast())
            } else if !line.hasPrefix("#"), !line.hasPrefix(";"), let sign = line.firstIndex(of: "=") {
                let value = Self.trimmed(line[line.index(after: sign)...])
                self.sections[section, default: [:]][Self.trimmed(line[..<sign]).lowercased()] = value
            }
        }
    }

    subscript(section: String) -> [String: String]? { self.sections[section] }

    private static func trimmed(_ text: Substring) -> String {
        var text = text
        while let first = text.first, first.isWhitespace { text.removeFirst() }
        while let last = text.last, last.isWhitespace { text.removeLast() }
        return String(text)
    }
}

/// The file of the aliyun command line.
private struct AliyunConfig: Decodable {
    var current: String?
    var profiles: [Profile]

    struct Profile: Decodable {
        var name: String
        var mode: String?
        var accessKeyID: String?
        var accessKeySecret: String?
        var stsToken: String?
        var roleName: String?
        var roleARN: String?
        var sessionName: String?
        var expiredSeconds: Int?
        var regionID: String?
        var stsRegion: String?
        var processCommand: String?
        var oidcProviderARN: String?
        var oidcTokenFile: String?

        enum CodingKeys: String, CodingKey {
            case name, mode
            case accessKeyID = "access_key_id"
            case accessKeySecret = "access_key_secret"
            case stsToken = "sts_token"
            case roleName = "ram_role_name"
            case roleARN = "ram_role_arn"
            case sessionName = "ram_session_name"
            case expiredSeconds = "expired_seconds"
            case regionID = "region_id"
            case stsRegion = "sts_region"
            case processCommand = "process_command"
            case oidcProviderARN = "oidc_provider_arn"
            case oidcTokenFile = "oidc_token_file"
        }

        func provider(
            _ path: String, metadataService: String, stsEndpoint: String?
        ) throws -> OSSCredentialsProvider {
            func required(_ value: String?, _ key: CodingKeys) throws(OSSError) -> String {
                guard let value, !value.isEmpty else {
                    throw OSSCredentialsProvider.missing(
                        "the profile \(self.name) of \(path) has no \(key.rawValue)")
                }
                return value
            }
            func key(_ token: String?) throws -> OSSCredentialsProvider {
                .fixed(
                    try OSSCredentials(
                        accessKeyID: required(self.accessKeyID, .accessKeyID),
                        accessKeySecret: required(self.accessKeySecret, .accessKeySecret), securityToken: token))
            }
            let region = self.stsRegion ?? self.regionID
            let endpoint =
                stsEndpoint ?? region.flatMap { $0.isEmpty ? nil : "https://sts.\($0).aliyuncs.com" }
                ?? OSSAssumedRole.defaultEndpoint
            func role() throws -> OSSAssumedRole {
                var role = OSSAssumedRole(arn: try required(self.roleARN, .roleARN))
                role.endpoint = endpoint
                if let sessionName, !sessionName.isEmpty { role.sessionName = sessionName }
                if let expiredSeconds, expiredSeconds > 0 { role.duration = .seconds(expiredSeconds) }
                return role
            }
            switch self.mode ?? "AK" {
            case "AK", "": return try key(nil)
            case "StsToken": return try key(try required(self.stsToken, .stsToken))
            case "RamRoleArn":
                let token = self.stsToken.flatMap { $0.isEmpty ? nil : $0 }
                return .assumeRole(try role(), as: try key(token))
            case "EcsRamRole":
                let name = self.roleName.flatMap { $0.isEmpty ? nil : $0 }
                return .ecsRAMRole(name, metadataService: metadataService)
            case "OIDC":
                return .oidc(
                    try role(), providerARN: try required(self.oidcProviderARN, .oidcProviderARN),
                    tokenFile: URL(filePath: try required(self.oidcTokenFile, .oidcTokenFile)))
            case "External":
                let words = try required(self.processCommand, .processCommand).split(separator: " ").map(String.init)
                return .process(words)
            case let mode:
                throw OSSCredentialsProvider.missing(
                    "the profile \(self.name) of \(path) has the mode \(mode), which cannot be used here; take one of AK, "
                        + "StsToken, RamRoleArn, EcsRamRole, OIDC, External"
                )
            }
        }
    }
}
