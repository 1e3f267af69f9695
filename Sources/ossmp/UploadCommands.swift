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
        guard options.operands.count == 1 else { throw UsageError("ls-parts takes one object, oss://BUCKET/KEY") }
        guard let uploadID = options.value("upload-id") else {
            throw UsageError("ls-parts needs --upload-id; ossmp ls-uploads lists the open uploads")
        }
        let address = try ObjectAddress(options.operands[0])
        self.upload = OSSMultipartUpload(bucket: address.bucket, key: address.key, uploadID: uploadID)
        self.client = try options.client()
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
                Console.output(object.text)
            } else {
                let crc64 = part.info.crc64.map { String($0) } ?? "-"
                Console.output("\(part.info.partNumber)\t\(part.size)\t\(part.info.eTag)\t\(crc64)")
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
        guard options.operands.count == 1 else {
            throw UsageError("ls-uploads takes one bucket, oss://BUCKET[/PREFIX]")
        }
        let address = try ObjectAddress(options.operands[0])
        var request = ListMultipartUploadsRequest(bucket: address.bucket)
        request.prefix = address.key
        self.request = request
        self.client = try options.client()
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
                Console.output(object.text)
            } else {
                Console.output(
                    "\(open.upload.uploadID)\t\(initiated ?? "-")\toss://\(open.upload.bucket)/\(open.upload.key)")
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
        guard options.operands.count == 1 else { throw UsageError("abort takes one object, oss://BUCKET/KEY") }
        self.address = try ObjectAddress(options.operands[0])
        self.uploadID = options.value("upload-id")
        guard (self.uploadID != nil) != options.has("all") else {
            throw UsageError("abort needs either --upload-id ID or --all; ossmp ls-uploads lists the open uploads")
        }
        guard !self.address.key.isEmpty else { throw UsageError("the key is missing: oss://BUCKET/KEY") }
        self.client = try options.client()
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
            where open.upload.key == self.address.key {
                try await self.abort(open.upload)
                count += 1
            }
            if count == 0, !self.options.has("quiet") {
                Console.note("oss://\(self.address.bucket)/\(self.address.key) has no open upload")
            }
        }
        await self.client.shutDown()
    }

    private func abort(_ upload: OSSMultipartUpload) async throws {
        try await self.client.abortMultipartUpload(.init(upload: upload))
        if !self.options.has("quiet") { Console.note("upload \(upload.uploadID) of \(upload.key) is given up") }
    }
}
