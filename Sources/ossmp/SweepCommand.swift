// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import FoundationEssentials
import OSSMultipart

/// `ossmp abort --older-than`: gives up uploads that nobody will go on with.
struct SweepCommand {
    private let uploader: OSSUploader
    private let address: ObjectAddress
    private let age: Duration
    private let options: Options

    init(_ options: Options) throws {
        self.address = try options.prefix(of: .abort)
        for name in ["all", "upload-id"] { try options.exclude("older-than", name) }
        guard let age = try options.time("older-than") else { throw UsageError("--older-than needs an age") }
        self.age = age
        let checkpoints = try CopySettings.checkpoints(options)
        if let folder = options.value("checkpoint-dir") {
            // A folder of a wrong name would name no upload, and protect none.
            try CopySettings.requireFolder(folder)
        }
        self.uploader = OSSUploader(client: try ClientOptions.client(options), checkpoints: checkpoints)
        self.options = options
    }

    func run() async throws {
        let isDryRun = self.options.has("dry-run")
        var (aborted, kept, failed) = (0, 0, 0)
        let sweep = self.uploader.sweep(
            bucket: self.address.bucket, prefix: self.address.key, olderThan: self.age, isDryRun: isDryRun)
        for try await swept in sweep {
            self.tell(swept)
            if swept.error != nil { failed += 1 } else if swept.reasonKept != nil { kept += 1 } else { aborted += 1 }
        }
        await self.uploader.client.shutDown()
        if !self.options.has("quiet"), !self.options.has("json") {
            let verb = isDryRun ? "would be given up" : "given up"
            Console.note("\(aborted) \(verb), \(kept) kept, \(failed) failed")
        }
        if failed > 0 { throw ToolExit(code: .failed) }
    }

    private func tell(_ swept: OSSSweptUpload) {
        let upload = swept.open.upload
        let initiated = swept.open.initiated?.formatted(.iso8601)
        if self.options.has("json") {
            var document = JSONObject()
            document.add("bucket", upload.bucket)
            document.add("key", upload.key)
            document.add("uploadId", upload.uploadID)
            document.add("initiated", initiated)
            document.add("aborted", literal: swept.wasAborted ? "true" : "false")
            document.add("kept", swept.reasonKept)
            if let error = swept.error { document.add("failure", error.description) }
            Console.output(document.text)
            return
        }
        let name = "upload \(upload.uploadID) of oss://\(upload.bucket)/\(upload.key), begun \(initiated ?? "-"),"
        if let error = swept.error {
            Console.note("\(name) could not be given up: \(error)")
        } else if !self.options.has("quiet") {
            let what = swept.wasAborted ? "is given up" : "would be given up"
            Console.note("\(name) \(swept.reasonKept.map { "is kept: \($0)" } ?? what)")
        }
    }
}
