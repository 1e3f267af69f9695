// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

// A source that is no file but can be read at any place: here a recording whose pieces lie in the rows of a table.

import ExampleSupport
import OSSMultipart

/// Rows of one size each, the last one shorter, as a database might hold them.
struct Recording: OSSRandomAccessSource {
    static let rowSize: Int64 = 48_000
    let rows: [[UInt8]]
    let version: Int

    var name: String { "recording of \(self.rows.count) rows" }
    var size: Int64 { Int64(self.rows.count - 1) * Self.rowSize + Int64(self.rows.last?.count ?? 0) }
    /// Where this text is the same in a later run, what was stored is trusted and not read again.
    var identity: String? { "version \(self.version)" }

    /// Gives what one row has of the bytes wanted; fewer than wanted are fine.
    func read(at offset: Int64, into buffer: inout [UInt8]) async throws -> Int {
        let (row, start) = offset.quotientAndRemainder(dividingBy: Self.rowSize)
        let piece = self.rows[Int(row)].dropFirst(Int(start)).prefix(buffer.count)
        buffer.replaceSubrange(0..<piece.count, with: piece)
        return piece.count
    }
}

await Example.run { example in
    let noise = (0..<Int(Recording.rowSize) + 100).map { _ in UInt8.random(in: .min ... .max) }
    let rows = (0..<100).map { Array(noise[$0...].prefix($0 == 99 ? 1_234 : Int(Recording.rowSize))) }
    let recording = Recording(rows: rows, version: 7)
    var configuration = OSSUploader.Configuration()
    configuration.partSize = 1 << 20
    let uploader = OSSUploader(client: example.client, checkpoints: .memory(), configuration: configuration)
    let destination = example.destination("recording.pcm")

    let result = try await uploader.upload(.randomAccess(recording), to: destination)
    print("stored: \(recording.name), \(result.size) bytes in \(result.partsTotal) parts, proof \(result.proof)")
    try example.expect(result.size == recording.size, "the object has \(result.size) bytes, not \(recording.size)")

    // Compared piece by piece as it comes back; it is never in memory as a whole.
    let object = try await example.client.getObject(.init(bucket: destination.bucket, key: destination.key))
    var offset: Int64 = 0
    for try await piece in object.body {
        var rest = piece[...]
        while !rest.isEmpty {
            var expected = [UInt8](repeating: 0, count: rest.count)
            let count = try await recording.read(at: offset, into: &expected)
            try example.expect(
                rest.prefix(count) == expected.prefix(count), "the object differs from the recording behind \(offset)")
            rest = rest.dropFirst(count)
            offset += Int64(count)
        }
    }
    try example.expect(offset == recording.size, "the object ends at \(offset)")
    print("the object is the recording")
}
