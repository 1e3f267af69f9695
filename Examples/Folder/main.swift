// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

// A folder with many files: a queue sends several at a time; a run that was stopped is gone on with file by file.

import ExampleSupport
import FoundationEssentials
import OSSMultipart

await Example.run { example in
    let folder = example.folder.appending(path: "photos")
    try FileManager.default.createDirectory(at: folder.appending(path: "2026"), withIntermediateDirectories: true)
    for number in 1...20 { _ = try example.file("photos/2026/photo \(number).raw", size: 10_000 * number) }
    _ = try example.file("photos/film.mp4", size: 5 << 20)
    _ = try example.file("photos/notes.tmp", size: 100)

    var selection = OSSFolder(folder)
    selection.exclude = ["*.tmp"]
    var configuration = OSSUploader.Configuration()
    configuration.partSize = 1 << 20
    let uploader = OSSUploader(
        client: example.client, checkpointDirectory: example.folder.appending(path: "checkpoints"),
        configuration: configuration)
    var options = OSSUploadQueue.Configuration()
    options.maximumFilesAtWork = 4
    let queue = OSSUploadQueue(uploader: uploader, configuration: options)

    let items = try await selection.items(bucket: example.bucket, prefix: example.prefix)
    let manifest = OSSUploadQueue.manifestName(folder: folder.path, bucket: example.bucket, prefix: example.prefix)

    // The first run is stopped when five files are stored.
    example.client.uploadRateLimit = 1 << 20
    let task = queue.start(items, manifest: manifest)
    for await event in task.events where event.kind == .fileEnded && event.snapshot.filesStored >= 5 {
        print("stopped: \(event.snapshot.filesStored) of \(event.snapshot.filesTotal) files are stored")
        task.cancel()
        break
    }
    do {
        _ = try await task.value
        throw Example.Failure("the queue was over before it could be stopped")
    } catch is CancellationError {}

    // The second run passes over them. Every file is in its result, failed ones too: one does not stop the others.
    example.client.uploadRateLimit = nil
    let result = try await queue.upload(items, manifest: manifest)
    for file in result.failed { print("\(file.source): \(file.error?.message ?? "")") }
    let before = result.files.count { $0.wasStoredBefore }
    print("stored: \(result.files.count) files, \(before) of them before, \(result.bytesSent) bytes sent now")
    try example.expect(result.failed.isEmpty, "\(result.failed.count) files failed")
    try example.expect(before >= 5, "only \(before) files were passed over")

    for item in items { try await example.expect(item.destination.key, isFile: URL(filePath: "\(item.source)")) }
    var keys: [String] = []
    var request = ListObjectsV2Request(bucket: example.bucket)
    request.prefix = example.prefix
    for try await entry in example.client.listObjectsV2Pages(request) { keys.append(entry.name) }
    try example.expect(keys.count == 21, "there are \(keys.count) objects, not 21")
    print("every object is its file, and notes.tmp stayed at home")
}
