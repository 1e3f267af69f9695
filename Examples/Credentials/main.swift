// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

// Temporary credentials (STS) that expire in the midst of an upload: the client asks for others, once, and goes on.
//
// Against a service of your own this takes on the role OSS_ROLE_ARN with the credentials of the environment.

import ExampleSupport
import FoundationEssentials
import OSSLocalServer
import OSSMultipart

/// Stands for your own service that hands out tokens; an actor, for it is asked from any task.
actor TokenService {
    private(set) var handedOut = 0
    private let accounts: [OSSServer.Account]
    init(_ accounts: [OSSServer.Account]) { self.accounts = accounts }

    func token() throws -> OSSCredentials {
        self.handedOut += 1
        print("token service: token \(self.handedOut)")
        return try self.accounts[min(self.handedOut, self.accounts.count) - 1].credentials()
    }
}

let inAnHour = Int64(Date.now.timeIntervalSince1970) + 3600
let accounts = ["one", "two"].map {
    OSSServer.Account(
        accessKeyID: "STS.\($0)", accessKeySecret: "secret-\($0)", securityToken: "token-\($0)", expiration: inAnHour)
}
await Example.run(accounts: accounts) { example in
    let service = TokenService(accounts)
    let client: OSSClient
    if let server = example.server {
        // The function is asked again five minutes before the expiration it told, and when the service refuses the token.
        client = try Example.client(of: server, credentials: .refreshing { try await service.token() })
    } else {
        guard let arn = ProcessInfo.processInfo.environment["OSS_ROLE_ARN"] else {
            return print("OSS_ROLE_ARN is not set: against a service there is nothing to show")
        }
        client = try OSSClient(
            endpoint: example.client.endpoint, region: example.client.region,
            credentials: .assumeRole(OSSAssumedRole(arn: arn), as: .environment))
    }
    client.uploadRateLimit = 4 << 20

    let file = try example.file("film.bin", size: 8 << 20)
    var configuration = OSSUploader.Configuration()
    configuration.partSize = 1 << 20
    let uploader = OSSUploader(client: client, checkpoints: .memory(), configuration: configuration)
    let destination = example.destination("film.bin")
    let task = uploader.start(.file(file), to: destination)
    for await event in task.events where event.kind == .partStored && event.snapshot.partsDone >= 2 {
        if let server = example.server {
            server.setExpiration(1, ofAccessKeyID: "STS.one")
            print(
                "the first token expires, \(event.snapshot.partsDone) of \(event.snapshot.partsTotal) parts are stored")
        }
        client.uploadRateLimit = nil
        break
    }
    let result = try await task.value
    try await example.expect(destination.key, isFile: file)
    if let server = example.server {
        let refusals = server.requests.count { $0.errorCode == "SecurityTokenExpired" }
        let tokens = await service.handedOut
        print("\(refusals) requests were refused with the old token; \(tokens) tokens were asked for in all")
        try example.expect(refusals > 0 && tokens == 2, "\(refusals) refusals, \(tokens) tokens")
    }
    print("stored: \(result.size) bytes, proof \(result.proof); the object is the file")
    await client.shutDown()
}
