// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

// A resumable upload that is paused in its midst and goes on; and one that is given up.

import ExampleSupport
import FoundationEssentials
import OSSMultipart

await Example.run { example in
    let file = try example.file("film.bin", size: 16 << 20)
    var configuration = OSSUploader.Configuration()
    configuration.partSize = 1 << 20
    let uploader = OSSUploader(
        client: example.client, checkpointDirectory: example.folder.appending(path: "checkpoints"),
        configuration: configuration)
    let destination = example.destination("film.bin")

    // Slow enough to be paused in its midst; the limit may be changed while the upload runs.
    example.client.uploadRateLimit = 4 << 20
    let task = uploader.start(.file(file), to: destination)
    var isToPause = true, wasPaused = false
    for await event in task.events {
        switch event.kind {
        case .partStored where isToPause && event.snapshot.partsDone >= 3:
            print("\(event.snapshot.partsDone) of \(event.snapshot.partsTotal) parts are stored: pause")
            isToPause = false
            task.pause()
        case .paused:
            wasPaused = true
            print("paused at \(event.snapshot.bytesDone) bytes; nothing is on its way, the record is kept")
            example.client.uploadRateLimit = nil
            task.resume()
        case .resumed:
            print("resumed: \(event.snapshot.partsResumed) parts need not be sent again")
        default: break
        }
    }
    let result = try await task.value
    print("stored: \(result.size) bytes, \(result.partsResumed) of \(result.partsTotal) parts from before the pause")
    try example.expect(wasPaused, "the upload was over before it could be paused")
    try example.expect(result.partsResumed >= 3, "only \(result.partsResumed) parts were gone on with")
    try await example.expect(destination.key, isFile: file)

    // Given up for good: neither the upload nor its record stays.
    example.client.uploadRateLimit = 4 << 20
    let unwanted = uploader.start(.file(file), to: example.destination("unwanted.bin"))
    for await event in unwanted.events where event.kind == .partStored { break }
    try await unwanted.abort()
    if case .success = await unwanted.result { throw Example.Failure("the upload was over before it could be aborted") }
    let open = try await example.openUploads()
    try example.expect(open.isEmpty, "\(open.count) uploads are still open")
    print("the object is the file; the other upload was aborted, and none is open")
}
