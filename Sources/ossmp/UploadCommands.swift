// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import FoundationEssentials
import OSSMultipart

/// `ossmp ls-parts`: lists the parts of an open upload.
struct ListPartsCommand {
    private let client: OSSClient
    private let upload: OSSMultipartUpload
    private let asJSON: Bool

    init(_ options: Options) throws {
        guard let uploadID = options.value("upload-id") else {
            throw UsageError("ls-parts needs --upload-id; ossmp ls-uploads lists the open uploads")
        }
        let address = try options.object(of: .listParts)
        self.upload = OSSMultipartUpload(bucket: address.bucket, key: address.key, uploadID: uploadID)
        self.client = try ClientOptions.client(options)
        self.asJSON = options.has("json")
    }

    func run() async throws {
        for try await part in self.client.listPartsPages(.init(upload: self.upload)) {
            if self.asJSON {
                var object = JSONObject()
                object.add("partNumber", part.info.partNumber)
                object.add("size", part.size)
                object.add("etag", part.info.eTag)
                object.add("crc64", part.info.crc64.map { String($0) })
                object.add("lastModified", part.lastModified?.formatted(.iso8601))
                guard Console.output(object.text) else { break }
            } else {
                let crc64 = part.info.crc64.map { String($0) } ?? "-"
                let line = "\(part.info.partNumber)\t\(part.size)\t\(part.info.eTag)\t\(crc64)"
                guard Console.output(line) else { break }
            }
        }
        await self.client.shutDown()
    }
}

/// `ossmp ls-uploads`: lists the open uploads of a bucket.
struct ListUploadsCommand {
    private let client: OSSClient
    private let request: ListMultipartUploadsRequest
    private let asJSON: Bool

    init(_ options: Options) throws {
        let address = try options.prefix(of: .listUploads)
        var request = ListMultipartUploadsRequest(bucket: address.bucket)
        request.prefix = address.key
        request.minimumAge = try options.time("older-than")
        self.request = request
        self.client = try ClientOptions.client(options)
        self.asJSON = options.has("json")
    }

    func run() async throws {
        for try await open in self.client.listMultipartUploadsPages(self.request) {
            let initiated = open.initiated?.formatted(.iso8601)
            if self.asJSON {
                var object = JSONObject()
                object.add("bucket", open.upload.bucket)
                object.add("key", open.upload.key)
                object.add("uploadId", open.upload.uploadID)
                object.add("initiated", initiated)
                guard Console.output(object.text) else { break }
            } else {
                let address = DisplayText.escaped("oss://\(open.upload.bucket)/\(open.upload.key)")
                guard Console.output("\(open.upload.uploadID)\t\(initiated ?? "-")\t\(address)") else { break }
            }
        }
        await self.client.shutDown()
    }
}

/// `ossmp abort`: gives up open uploads of a key.
struct AbortCommand {
    private let client: OSSClient
    private let address: ObjectAddress
    private let uploadID: String?
    private let options: Options

    init(_ options: Options) throws {
        self.address = try options.object(of: .abort)
        self.uploadID = options.value("upload-id")
        guard !options.has("checkpoint-dir") else {
            throw UsageError("--checkpoint-dir is for abort --older-than; a named upload is given up whoever names it")
        }
        guard (self.uploadID != nil) != options.has("all") else {
            throw UsageError(
                "abort needs one of --upload-id ID, --all and --older-than AGE; ossmp ls-uploads lists the open uploads"
            )
        }
        self.client = try ClientOptions.client(options)
        self.options = options
    }

    func run() async throws {
        if let uploadID = self.uploadID {
            try await self.abort(
                OSSMultipartUpload(bucket: self.address.bucket, key: self.address.key, uploadID: uploadID)
            )
        } else {
            var request = ListMultipartUploadsRequest(bucket: self.address.bucket)
            request.prefix = self.address.key
            var count = 0
            // The prefix also finds longer keys; only the key itself is meant.
            for try await open in self.client.listMultipartUploadsPages(request)
            where open.upload.key.utf8.elementsEqual(self.address.key.utf8) {
                try await self.abort(open.upload)
                count += 1
            }
            if count == 0, !self.options.has("quiet"), !self.options.has("json") {
                Console.note("\(self.address) has no open upload")
            }
        }
        await self.client.shutDown()
    }

    private func abort(_ upload: OSSMultipartUpload) async throws {
        let isDryRun = self.options.has("dry-run")
        if !isDryRun { try await self.client.abortMultipartUpload(.init(upload: upload)) }
        if self.options.has("json") {
            var document = JSONObject()
            document.add("bucket", upload.bucket)
            document.add("key", upload.key)
            document.add("uploadId", upload.uploadID)
            document.add("aborted", literal: isDryRun ? "false" : "true")
            Console.output(document.text)
        } else if !self.options.has("quiet") {
            Console.note("upload \(upload.uploadID) of \(upload.key) \(isDryRun ? "would be" : "is") given up")
        }
    }
}
