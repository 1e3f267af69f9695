// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

// The multipart operations as futures, step by step: initiate, parts in a loop, complete with a callback, the MD5 of each
// part, the list, abort. A future begins at once; `value` waits for it, `continueWith` goes on when it has ended.

import ExampleSupport
import FoundationEssentials
import OSSLocalServer
import OSSMultipart

await Example.run { example in
    let tasks = example.client.tasks
    let partSize: Int64 = 1 << 20, count = 5
    let file = try example.file("film.bin", size: Int(partSize) * count)
    let key = example.destination("film.bin").key

    // 1. Initiate.
    let initiated = tasks.initiateMultipartUpload(.init(bucket: example.bucket, key: key))
    let upload = try await initiated.value
    print("1. begun: upload \(upload.uploadID)")

    // 2. The parts, each a future of its own; each is sent with its MD5, which the service compares.
    var sending: [OSSTask<UploadPartResult>] = []
    for number in 1...count {
        let start = Int64(number - 1) * partSize
        let body = OSSBody.file(file, range: start..<start + partSize)
        sending.append(
            tasks.uploadPart(.init(upload: upload, partNumber: number, body: body, isLastPart: number == count)))
    }
    let sent = try await OSSTask.whenAll(sending).value
    print("2. sent: \(sent.count) parts")

    // 3. The MD5 of each part: a part's ETag is the MD5 of its bytes.
    for part in sent {
        let eTag = part.md5.map { $0.map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined() }
        try example.expect(part.info.eTag == eTag, "part \(part.info.partNumber) has another MD5")
    }
    print("3. checked: every ETag is the part's MD5")

    // 4. The list of what the service has.
    let listed = tasks.listParts(.init(upload: upload)).continueWith { try $0.get().parts.map(\.info.partNumber) }
    let numbers = try await listed.value
    try example.expect(numbers == Array(1...count), "the service has the parts \(numbers)")
    print("4. listed: parts \(numbers)")

    // 5. Complete; the service posts to the application's server and hands over its reply.
    var completion = CompleteMultipartUploadRequest(upload: upload, parts: sent.map(\.info))
    completion.callback = callback(example)
    let completed = tasks.completeMultipartUpload(completion).continueWith { result in
        print("5. completed: ETag \(try result.get().eTag ?? "not told, for the callback's reply is in its place")")
        return try result.get().callback
    }
    if let outcome = try await completed.value {
        try example.expect(outcome.hasSucceeded, "the callback failed: \(outcome.failure ?? "")")
        print("   the application's server said: \(String(decoding: outcome.reply, as: UTF8.self))")
    }
    try await example.expect(key, isFile: file)

    // 6. Abort, of an upload that is not wanted any more: a future made of two steps.
    let aborted = tasks.initiateMultipartUpload(.init(bucket: example.bucket, key: key + ".draft"))
        .continueWith { begun in try await tasks.abortMultipartUpload(.init(upload: begun.get())).value }
    try await aborted.value
    let open = try await example.openUploads()
    try example.expect(open.isEmpty, "\(open.count) uploads are still open")
    print("6. aborted: no upload is open; the object is the file")
}

/// The callback to `OSS_CALLBACK_URL`; with a local server, to an application's server that one of its fault rules plays.
func callback(_ example: Example) -> OSSCallback? {
    var url = ProcessInfo.processInfo.environment["OSS_CALLBACK_URL"]
    if let server = example.server {
        url = "\(server.endpoint)/application"
        let reply = OSSServer.Fault.Action.respondRaw(
            status: 200, headers: ["Content-Type": "application/json"], body: Array(#"{"Status":"OK"}"#.utf8))
        server.faults.add(.init(reply, bucket: "application"))
    }
    return url.map { OSSCallback(url: $0, body: "bucket=${bucket}&object=${object}&size=${size}") }
}
