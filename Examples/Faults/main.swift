// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

// A test of a program that uploads: a local server that misbehaves, and a look at what it holds afterwards.
//
// It needs faults, so it runs against a local server of its own always.

import ExampleSupport
import FoundationEssentials
import OSSLocalServer
import OSSMultipart

/// The program under test: it is given a client and knows nothing of a test.
func backUp(_ file: URL, as key: String, with client: OSSClient) async throws {
    var configuration = OSSUploader.Configuration()
    configuration.partSize = 1 << 20
    let uploader = OSSUploader(client: client, checkpoints: .memory(), configuration: configuration)
    _ = try await uploader.upload(.file(file), to: .init(bucket: "backups", key: key))
}

await Example.run { example in
    var configuration = OSSServer.Configuration()
    configuration.buckets = ["backups"]
    let server = try await OSSServer.start(configuration)
    let client = try Example.client(of: server, credentials: .fixed(OSSServer.Account.test.credentials()))
    let file = try example.file("data.bin", size: 5 << 20)

    // A bad day: the service is overloaded, the network breaks, a reply is lost.
    server.faults.add(
        .init(
            .respond(status: 503, code: "ServiceUnavailable", headers: ["Retry-After": "0"]), operation: "UploadPart",
            partNumber: 2, occurrences: 1...2),
        .init(.cut(afterBodyBytes: 100_000), operation: "UploadPart", partNumber: 3, occurrences: 1...1),
        .init(.commitThenDrop, operation: "CompleteMultipartUpload", occurrences: 1...1))
    try await backUp(file, as: "good.bin", with: client)

    let stored = try await server.objectData(bucket: "backups", key: "good.bin") ?? []
    try example.expect(try Data(stored) == Data(contentsOf: file), "the object is not the file")
    let tries = Dictionary(grouping: server.requests.filter { $0.operation == "UploadPart" }) { $0.partNumber ?? 0 }
    try example.expect(tries[2]?.count == 3, "part 2 was sent \(tries[2]?.count ?? 0) times, not 3")
    try example.expect(tries[1]?.count == 1, "part 1 was sent \(tries[1]?.count ?? 0) times, not once")
    print("a bad day: stored all the same; part 2 was sent 3 times, the lost reply of Complete was found out")

    // A day on which it cannot work: the program has to say so, and must not leave half an object.
    server.faults.removeAll()
    server.faults.add(.init(.respond(status: 403, code: "AccessDenied"), operation: "UploadPart", partNumber: 4))
    do {
        try await backUp(file, as: "bad.bin", with: client)
        throw Example.Failure("an upload that was refused ended well")
    } catch let error as OSSError {
        try example.expect(error.service?.code == .accessDenied, "another error than the service's: \(error)")
        print("a refusal: \(error)")
    }
    try example.expect(server.keys(bucket: "backups") == ["good.bin"], "an object was left that is not whole")
    print("after it: the bucket holds \(server.keys(bucket: "backups"))")
    await client.shutDown()
    await server.stop()
}
