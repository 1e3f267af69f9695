// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import FoundationEssentials
internal import OSSWire
internal import SystemIO

extension OSSCredentialsProvider {
    /// What a program prints: a JSON object with `AccessKeyId`, `AccessKeySecret`, and perhaps `SecurityToken` and
    /// `Expiration`, or with the names that the aliyun command line gives them (`access_key_id` and so on).
    ///
    /// No shell is between. The program is run again ahead of the expiration, and when the service says that the credentials
    /// have expired.
    ///
    /// - Parameters:
    ///   - command: the program, looked for in `PATH` where it has no slash, and its arguments.
    ///   - timeLimit: how long it may take; then it is killed.
    public static func process(
        _ command: [String], timeLimit: Duration = .seconds(60)
    ) -> OSSCredentialsProvider {
        OSSCredentialsProvider(
            load: {
                let program = command.first ?? ""
                guard !program.isEmpty else { throw Self.missing("the command that prints credentials is empty") }
                let executor = BlockingExecutor(threads: 1)
                let result: Result<ChildProcess.Outcome, SystemError> = await executor.run {
                    do throws(SystemError) {
                        return .success(
                            try ChildProcess.run(command, outputLimit: 64 * 1024, timeLimit: timeLimit))
                    } catch { return .failure(error) }
                }
                await executor.shutDown()
                let outcome: ChildProcess.Outcome
                do { outcome = try result.get() } catch {
                    throw Self.missing("the program that prints credentials cannot be run: \(error)", underlying: error)
                }
                guard outcome.exitStatus == 0 else {
                    let end = outcome.exitStatus.map { "ended with status \($0)" } ?? "was killed"
                    throw Self.missing("the program that prints credentials, \(program), \(end)")
                }
                guard let document = CredentialsDocument(outcome.output) else {
                    throw Self.missing(
                        "the program that prints credentials, \(program), printed no JSON with AccessKeyId and "
                            + "AccessKeySecret"
                    )
                }
                return try document.credentials()
            }, canRefresh: true, description: "process"
        )
    }
}

/// Credentials as services and programs write them in JSON.
struct CredentialsDocument {
    private let accessKeyID: String
    private let accessKeySecret: String
    private let securityToken: String?
    private let expiration: String?

    /// Reads an object; nil where it is none, or has no key.
    init?(_ json: some Sequence<UInt8>) {
        // What the decoder says could quote a secret; that it is none is all that is told.
        guard let object = try? JSONDecoder().decode(JSONText.self, from: Data(json)) else { return nil }
        self.init(object)
    }

    init?(_ object: JSONText) {
        func text(_ names: String...) -> String? { names.lazy.compactMap { object[$0]?.text }.first { !$0.isEmpty } }
        guard let id = text("AccessKeyId", "access_key_id"), let secret = text("AccessKeySecret", "access_key_secret")
        else { return nil }
        self.accessKeyID = id
        self.accessKeySecret = secret
        self.securityToken = text("SecurityToken", "sts_token")
        self.expiration = text("Expiration", "expiration")
    }

    func credentials() throws -> OSSCredentials {
        var end: Date?
        if let expiration {
            guard let time = Timestamp(iso8601: expiration) else {
                throw OSSCredentialsProvider.missing(
                    "the credentials' Expiration is no time such as 2030-01-31T12:00:00Z")
            }
            end = time.date
        }
        return try OSSCredentials(
            accessKeyID: self.accessKeyID, accessKeySecret: self.accessKeySecret, securityToken: self.securityToken,
            expiration: end
        )
    }
}

/// The texts of a JSON document, by their names; whatever else it holds is passed over.
enum JSONText: Decodable {
    case text(String)
    case object([String: JSONText])
    case other

    init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if let text = try? value.decode(String.self) {
            self = .text(text)
        } else if let object = try? value.decode([String: JSONText].self) {
            self = .object(object)
        } else {
            self = .other
        }
    }

    var text: String? {
        if case .text(let text) = self { return text }
        return nil
    }

    subscript(name: String) -> JSONText? {
        if case .object(let object) = self { return object[name] }
        return nil
    }
}
