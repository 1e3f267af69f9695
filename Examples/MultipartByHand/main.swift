// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

// The five multipart operations as async functions: initiate, parts side by side, list, complete; abort where one fails.

import ExampleSupport
import FoundationEssentials
import OSSMultipart

await Example.run { example in
    let client = example.client
    let size: Int64 = 10 << 20, partSize: Int64 = 1 << 20
    let file = try example.file("film.bin", size: Int(size))
    let key = example.destination("film.bin").key

    let upload = try await client.initiateMultipartUpload(.init(bucket: example.bucket, key: key))
    print("begun: upload \(upload.uploadID)")
    do {
        let parts = try await sendParts(of: file, size: size, partSize: partSize, to: upload, client)
        var stored: Int64 = 0
        for try await part in client.listPartsPages(.init(upload: upload)) { stored += part.size }
        try example.expect(stored == size, "the service has \(stored) bytes of \(size)")
        print("sent: \(parts.count) parts, \(stored) bytes by the service's own list")

        let object = try await client.completeMultipartUpload(.init(upload: upload, parts: parts))
        print("completed: ETag \(object.eTag ?? "none")")
    } catch {
        // Parts of an upload that nobody completes are paid for until it is aborted.
        do { try await client.abortMultipartUpload(.init(upload: upload)) } catch let failure {
            // Told, and not in the place of what went wrong first.
            print("the upload could not be aborted: \(failure)")
        }
        throw error
    }
    try await example.expect(key, isFile: file)

    // An upload that is not wanted any more.
    let unwanted = try await client.initiateMultipartUpload(.init(bucket: example.bucket, key: key + ".draft"))
    try await client.abortMultipartUpload(.init(upload: unwanted))
    let open = try await example.openUploads()
    try example.expect(open.isEmpty, "\(open.count) uploads are still open")
    print("the object is the file, and no upload is open")
}

/// Sends a file's parts, three at a time, and returns them in order.
func sendParts(
    of file: URL, size: Int64, partSize: Int64, to upload: OSSMultipartUpload, _ client: OSSClient
) async throws -> [OSSPartInfo] {
    let count = Int((size + partSize - 1) / partSize)
    return try await withThrowingTaskGroup(of: OSSPartInfo.self) { group in
        var parts: [OSSPartInfo] = []
        for number in 1...count {
            if number > 3, let part = try await group.next() { parts.append(part) }
            let start = Int64(number - 1) * partSize
            let range = start..<min(start + partSize, size)
            group.addTask {
                try await client.uploadPart(
                    .init(
                        upload: upload, partNumber: number, body: .file(file, range: range), isLastPart: number == count
                    )
                ).info
            }
        }
        for try await part in group { parts.append(part) }
        return parts.sorted { $0.partNumber < $1.partNumber }
    }
}
