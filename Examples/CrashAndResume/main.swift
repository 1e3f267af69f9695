// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

// A program that is killed in the midst of an upload, and a new process that goes on where it broke.
//
// The program starts itself as a child; the child uploads slowly and kills itself once four parts are stored.

import ExampleSupport
import Foundation
import OSSMultipart

/// The same uploader in both processes: what makes an upload go on is the folder of checkpoints.
func makeUploader(_ client: OSSClient, _ checkpoints: URL) -> OSSUploader {
    var configuration = OSSUploader.Configuration()
    configuration.partSize = 1 << 20
    return OSSUploader(client: client, checkpointDirectory: checkpoints, configuration: configuration)
}

/// What the child does; it never comes to the end.
func uploadAndDie(_ words: [String]) async throws {
    let client = try OSSClient(endpoint: words[0], region: words[1], credentials: .environment)
    client.uploadRateLimit = 4 << 20
    let task = makeUploader(client, URL(filePath: words[2])).start(
        .file(URL(filePath: words[3])), to: .init(bucket: words[4], key: words[5]))
    for await event in task.events where event.kind == .partStored && event.snapshot.partsDone >= 4 {
        print("child: \(event.snapshot.partsDone) of \(event.snapshot.partsTotal) parts are stored: kill -9")
        fflush(nil)
        kill(getpid(), SIGKILL)
    }
    _ = try await task.value
}

/// Starts this program once more and waits for its end.
func runChild(_ arguments: [String], of example: Example) async throws -> Process {
    let child = Process()
    child.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
    child.arguments = arguments
    var environment = ProcessInfo.processInfo.environment
    if example.server != nil {
        environment["OSS_ACCESS_KEY_ID"] = "test-access-key-id"
        environment["OSS_ACCESS_KEY_SECRET"] = "test-access-key-secret"
        environment["no_proxy"] = "*"
    }
    child.environment = environment
    fflush(nil)
    try await withCheckedThrowingContinuation { continuation in
        child.terminationHandler = { _ in continuation.resume() }
        do { try child.run() } catch { continuation.resume(throwing: error) }
    }
    return child
}

let words = Array(CommandLine.arguments.dropFirst())
if !words.isEmpty {
    try await uploadAndDie(words)
    exit(1)
}
await Example.run { example in
    let file = try example.file("film.bin", size: 16 << 20)
    let checkpoints = example.folder.appending(path: "checkpoints")
    let destination = example.destination("film.bin")

    let words = [checkpoints.path, file.path, destination.bucket, destination.key]
    let child = try await runChild([example.client.endpoint, example.client.region] + words, of: example)
    try example.expect(
        child.terminationReason == .uncaughtSignal && child.terminationStatus == SIGKILL,
        "the child ended with \(child.terminationStatus) and was not killed")
    print("the child is dead; a record of its upload is left: the same call again")

    let result = try await makeUploader(example.client, checkpoints).upload(.file(file), to: destination)
    print("stored: \(result.partsResumed) parts from before the crash, \(result.partsSent) sent now")
    try example.expect(result.partsResumed >= 4, "only \(result.partsResumed) parts were gone on with")
    try await example.expect(destination.key, isFile: file)
    print("the object is the file")
}
