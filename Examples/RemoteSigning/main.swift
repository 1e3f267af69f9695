// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

// An upload by a machine that holds no secret: a service of yours signs each request, by presigned URLs that are good for a
// minute. One of them runs out before it is used, and another is asked for.

import ExampleSupport
import FoundationEssentials
import OSSLocalServer
import OSSMultipart

/// Stands for your own service, which has the access key: JSON comes in, JSON goes out.
///
/// An actor, for it is asked from any task.
actor Backend {
    private let signing: OSSSigningService
    private let bucket: String
    private let key: String
    private(set) var signed = 0
    private(set) var refused: [String] = []
    /// The part whose first URL is over by the time it is used.
    private let latePart = "3"
    private let late: OSSSigningService

    init(region: String, credentials: OSSCredentialsProvider, bucket: String, key: String) throws {
        var signing = try OSSSigningService(region: region, credentials: credentials)
        signing.urlLifetime = .seconds(60)
        self.signing = signing
        // Made an hour ago, for a minute.
        let anHourAgo = OSSSurroundings(
            clock: { Date.now - 3600 }, wait: { try await Task.sleep(for: $0) }, random: { .random(in: 0..<1) })
        var late = try OSSSigningService(region: region, credentials: credentials, surroundings: anHourAgo)
        late.urlLifetime = .seconds(60)
        self.late = late
        (self.bucket, self.key) = (bucket, key)
    }

    func post(_ body: Data) async throws -> Data? {
        let request = try JSONDecoder().decode(OSSSigningRequest.self, from: body)
        // What this user may do: make this one object, and nothing else.
        let allowed = [
            "InitiateMultipartUpload", "UploadPart", "ListParts", "CompleteMultipartUpload", "AbortMultipartUpload",
            "HeadObject",
        ]
        guard request.bucket == self.bucket, request.key == self.key,
            allowed.contains(request.operation?.name ?? ""), request.headers["x-oss-object-acl"] == nil
        else {
            self.refused.append(request.operation?.name ?? request.method)
            return nil
        }
        self.signed += 1
        let isLate = request.query["partNumber"] == self.latePart && request.refusal == nil
        if let refusal = request.refusal { print("backend: the URL was refused with \(refusal), here is a new one") }
        return try JSONEncoder().encode(try await (isLate ? self.late : self.signing).sign(request))
    }
}

await Example.run { example in
    let destination = example.destination("film.bin")
    let credentials: OSSCredentialsProvider =
        example.server == nil ? .environment : .fixed(try OSSServer.Account.test.credentials())
    let backend = try Backend(
        region: example.client.region, credentials: credentials, bucket: destination.bucket, key: destination.key)

    // From here on no secret is known.
    var configuration = OSSClient.Configuration()
    configuration.proxy = example.server == nil ? nil : ""
    let client = try OSSClient(
        endpoint: example.client.endpoint,
        signer: OSSSignerFunction { request in
            guard let answer = try await backend.post(JSONEncoder().encode(request)) else {
                throw OSSSigningRefusal("this user may only upload to its own key")
            }
            return try JSONDecoder().decode(OSSSignedRequest.self, from: answer)
        }, configuration: configuration)

    let file = try example.file("film.bin", size: 5 << 20)
    var options = OSSUploader.Configuration()
    options.partSize = 1 << 20
    let uploader = OSSUploader(client: client, checkpoints: .memory(), configuration: options)
    let result = try await uploader.upload(.file(file), to: destination)
    try await example.expect(destination.key, isFile: file)

    do {
        _ = try await client.deleteObject(.init(bucket: destination.bucket, key: destination.key))
        try example.expect(false, "the backend let the object be deleted")
    } catch let error as OSSError where error.code == .signerFailed {
        print("refused, as it should be: \(error.message)")
    }
    let signed = await backend.signed, refused = await backend.refused
    try example.expect(refused == ["DeleteObject"], "refused: \(refused)")
    // Initiate, five parts and one of them again, Complete, and the look at the object.
    try example.expect(signed >= 8, "only \(signed) requests were signed")
    print("stored: \(result.size) bytes, proof \(result.proof), \(signed) requests signed by the backend")
    await client.shutDown()
}
