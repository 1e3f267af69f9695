// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

// The library without the tool, for `make bench`: uploads one file, uploads many, or cancels one and says how long that took.
//
//     bench-driver upload|many|cancel ENDPOINT PATH [--NAME VALUE ...]
//
// `many` takes a folder and uploads every file in it. Names: part-size, parallel, adaptive (the most parts in flight of a
// window that adapts), integrity, checkpoint-dir, ca-file, files-at-once (of `many`, default 4), cancel-after (of `cancel`,
// milliseconds, default 300).

import FoundationEssentials
import OSSMultipart

/// What the command line asks for.
struct Arguments {
    let command: String
    let endpoint: String
    let path: String
    private var values: [String: String] = [:]

    init?(_ words: [String]) {
        guard words.count >= 4, words.count.isMultiple(of: 2) else { return nil }
        (self.command, self.endpoint, self.path) = (words[1], words[2], words[3])
        for index in stride(from: 4, to: words.count, by: 2) {
            guard words[index].hasPrefix("--") else { return nil }
            self.values[String(words[index].dropFirst(2))] = words[index + 1]
        }
    }

    subscript(name: String) -> String? { self.values[name] }

    func number(_ name: String, default value: Int) -> Int { self[name].flatMap { Int($0) } ?? value }
}

/// Makes the uploader that the arguments describe.
func makeUploader(_ arguments: Arguments) throws -> OSSUploader {
    var options = OSSClient.Configuration()
    options.caFile = arguments["ca-file"]
    options.proxy = ""
    if let threads = arguments["threads"].flatMap({ Int($0) }) { options.networkThreads = threads }
    let client = try OSSClient(
        endpoint: arguments.endpoint, region: "cn-hangzhou",
        credentials: .fixed(OSSCredentials(accessKeyID: "bench-id", accessKeySecret: "bench-secret")),
        configuration: options
    )
    var configuration = OSSUploader.Configuration()
    configuration.partSize = arguments["part-size"].flatMap { Int64($0) }
    if let parallel = arguments["parallel"].flatMap({ Int($0) }) { configuration.partsInFlight = .fixed(parallel) }
    if let most = arguments["adaptive"].flatMap({ Int($0) }) {
        configuration.partsInFlight = .adaptive(upTo: most)
    }
    if let mode = OSSIntegrity.all.first(where: { $0.description == arguments["integrity"] }) {
        configuration.integrity = mode
    }
    let checkpoints = arguments["checkpoint-dir"].map { OSSCheckpoints.directory(URL(filePath: $0)) } ?? .none
    return OSSUploader(client: client, checkpoints: checkpoints, configuration: configuration)
}

/// Uploads every file of a folder, several at a time.
func uploadMany(_ arguments: Arguments, _ uploader: OSSUploader) async throws {
    var names = try FileManager.default.contentsOfDirectory(atPath: arguments.path)[...]
    try await withThrowingTaskGroup(of: Void.self) { group in
        func add() {
            guard let name = names.popFirst() else { return }
            let url = URL(filePath: "\(arguments.path)/\(name)")
            group.addTask { _ = try await uploader.upload(.file(url), to: .init(bucket: "bench", key: name)) }
        }
        for _ in 0..<arguments.number("files-at-once", default: 4) { add() }
        while try await group.next() != nil { add() }
    }
}

/// Cancels an upload in its midst and returns how long it took until nothing of it was under way any more.
func cancelUpload(_ arguments: Arguments, _ uploader: OSSUploader) async throws -> Duration {
    let task = uploader.start(.file(URL(filePath: arguments.path)), to: .init(bucket: "bench", key: "cancelled"))
    try await Task.sleep(for: .milliseconds(arguments.number("cancel-after", default: 300)))
    let start = ContinuousClock.now
    task.cancel()
    do {
        _ = try await task.value
        fatalError("the upload had ended before it was cancelled")
    } catch is CancellationError {
        return start.duration(to: .now)
    }
}

guard let arguments = Arguments(CommandLine.arguments) else {
    fatalError("usage: bench-driver upload|many|cancel ENDPOINT PATH [--NAME VALUE ...]")
}
let uploader = try makeUploader(arguments)
switch arguments.command {
case "upload":
    _ = try await uploader.upload(.file(URL(filePath: arguments.path)), to: .init(bucket: "bench", key: "object"))
case "many": try await uploadMany(arguments, uploader)
case "cancel":
    let quiet = try await cancelUpload(arguments, uploader)
    print("{\"cancelToQuiet\": \(quiet / .seconds(1))}")
default: fatalError("there are upload, many and cancel")
}
await uploader.client.shutDown()
