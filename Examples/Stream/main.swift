// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

// A stream whose length nobody knows until it ends: lines of a log as they are written.

import ExampleSupport
import OSSMultipart

/// A log that is written while it is uploaded, in chunks of a thousand lines.
struct Log: AsyncSequence, Sendable {
    struct Iterator: AsyncIteratorProtocol {
        let chunks: Int
        var number = 0

        /// The next chunk is asked for when there is room for it: a slow network slows the writer, memory does not grow.
        mutating func next() async -> [UInt8]? {
            guard self.number < self.chunks else { return nil }
            self.number += 1
            let chunk = self.number
            return (0..<1_000).flatMap { "chunk \(chunk), line \($0): all is well\n".utf8 }
        }
    }

    let chunks: Int
    func makeAsyncIterator() -> Iterator { Iterator(chunks: self.chunks) }
}

await Example.run { example in
    let log = Log(chunks: 150)
    var configuration = OSSUploader.Configuration()
    configuration.partSize = 1 << 20
    // Most memory that the parts in flight take; larger objects need larger parts, up to this.
    configuration.streamBufferLimit = 32 << 20
    // What is read of a stream cannot be read again, so there is nothing that a checkpoint could help with.
    let uploader = OSSUploader(client: example.client, checkpoints: .none, configuration: configuration)
    let destination = example.destination("service.log")

    // For a pipe: `.standardInput`; for a stream that can be opened again, and then resumes: `.replayable(named:open:)`.
    let task = uploader.start(.stream(log), to: destination)
    for await event in task.events where event.kind == .partStored || event.kind == .notice {
        let size = event.snapshot.isSizeKnown ? "of \(event.snapshot.bytesTotal)" : "of who knows how many"
        print(event.message ?? "part \(event.partNumber ?? 0) is stored: \(event.snapshot.bytesDone) \(size)")
    }
    let result = try await task.value
    print("stored: \(result.size) bytes in \(result.partsTotal) parts, proof \(result.proof)")

    let object = try await example.client.getObject(.init(bucket: destination.bucket, key: destination.key))
    let bytes = try await object.body.collect(upTo: 64 << 20)
    var offset = 0
    for await chunk in log {
        try example.expect(bytes[offset...].starts(with: chunk), "the object differs behind byte \(offset)")
        offset += chunk.count
    }
    try example.expect(offset == bytes.count, "the object has \(bytes.count) bytes, the log \(offset)")
    print("the object is the log")
}
