// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import SystemIO

/// Where credentials come from.
public struct OSSCredentialsProvider: Sendable, CustomStringConvertible {
    let load: @Sendable () async throws -> OSSCredentials
    /// Whether asking again may give other credentials.
    let canRefresh: Bool
    /// Where the credentials come from, without anything secret.
    public let description: String

    /// The same credentials for ever.
    public static func fixed(_ credentials: OSSCredentials) -> OSSCredentialsProvider {
        OSSCredentialsProvider(load: { credentials }, canRefresh: false, description: "fixed \(credentials)")
    }

    /// The environment's `OSS_ACCESS_KEY_ID`, `OSS_ACCESS_KEY_SECRET` and, for temporary credentials, `OSS_SESSION_TOKEN`.
    ///
    /// Asking throws `OSSError.missingCredentials` where the first two are not set.
    public static let environment = OSSCredentialsProvider(
        load: {
            func variable(_ name: String) throws(OSSError) -> String {
                guard let value = EnvironmentVariable.value(of: name), !value.isEmpty else {
                    throw OSSError(
                        .missingCredentials,
                        "there are no credentials: the environment variable \(name) is not set; "
                            + "set OSS_ACCESS_KEY_ID and OSS_ACCESS_KEY_SECRET, with temporary credentials also "
                            + "OSS_SESSION_TOKEN"
                    )
                }
                return value
            }
            let token = EnvironmentVariable.value(of: "OSS_SESSION_TOKEN")
            return try OSSCredentials(
                accessKeyID: variable("OSS_ACCESS_KEY_ID"), accessKeySecret: variable("OSS_ACCESS_KEY_SECRET"),
                securityToken: token?.isEmpty == true ? nil : token
            )
        }, canRefresh: false, description: "environment"
    )

    /// Credentials that a function of yours gives.
    ///
    /// It is asked again five minutes before the credentials that it gave expire, and when the service says that they have
    /// expired; never twice at the same time. A failure is told to all who wait for it and then forgotten: credentials that are
    /// still good stay in use, and the next request but those of the same half minute asks again. What it throws comes out as
    /// `OSSError.missingCredentials`, with the error beneath.
    public static func refreshing(
        _ load: @escaping @Sendable () async throws -> OSSCredentials
    ) -> OSSCredentialsProvider {
        OSSCredentialsProvider(load: load, canRefresh: true, description: "refreshing")
    }

    /// The first of these that gives credentials; they are asked in turn, each time from the first.
    ///
    /// Where none does, the error tells what each one said.
    public static func chain(_ providers: [OSSCredentialsProvider]) -> OSSCredentialsProvider {
        OSSCredentialsProvider(
            load: {
                var reasons: [String] = []
                for provider in providers {
                    do { return try await provider.load() } catch let error as CancellationError {
                        throw error
                    } catch let error as OSSError {
                        reasons.append("\(provider): \(error.message)")
                    } catch {
                        // What a foreign error says of itself may hold anything.
                        reasons.append("\(provider): \(type(of: error))")
                    }
                }
                throw OSSError(
                    .missingCredentials,
                    "none of \(providers.count) sources gave credentials; give them in one: "
                        + reasons.joined(separator: " | ")
                )
            }, canRefresh: providers.contains(where: \.canRefresh),
            description: "the first of " + providers.map(\.description).joined(separator: ", ")
        )
    }
}
