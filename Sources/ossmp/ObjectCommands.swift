// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import FoundationEssentials
import OSSMultipart

/// What is known of an object, as JSON and as lines.
enum ObjectReport {
    static func document(_ object: HeadObjectResult, _ address: ObjectAddress) -> JSONObject {
        var document = JSONObject()
        document.add("bucket", address.bucket)
        document.add("key", address.key)
        document.add("size", object.size)
        document.add("etag", object.eTag)
        // As text: JSON readers of many languages keep numbers as doubles, which cannot hold 64 bits.
        document.add("crc64", object.crc64.map { String($0) })
        document.add("md5", Self.md5(object))
        document.add("type", object.objectType)
        document.add("storageClass", object.storageClass)
        document.add("lastModified", object.lastModified?.formatted(.iso8601))
        document.add("versionId", object.versionID)
        document.add("contentType", object.contentType)
        document.add("contentLanguage", object.contentLanguage)
        document.add("contentEncoding", object.contentEncoding)
        document.add("contentDisposition", object.contentDisposition)
        document.add("cacheControl", object.cacheControl)
        document.add("expires", object.expires)
        document.add("serverSideEncryption", object.serverSideEncryption)
        document.add("serverSideEncryptionKeyId", object.serverSideEncryptionKeyID)
        document.add("taggingCount", object.taggingCount)
        document.add("nextAppendPosition", object.nextAppendPosition)
        document.add("restore", object.restore)
        var metadata = JSONObject()
        for (name, value) in object.metadata.sorted(by: { $0.key < $1.key }) { metadata.add(name, value) }
        document.add("metadata", metadata)
        document.add("requestId", object.requestID)
        return document
    }

    /// A line for each thing that is known.
    static func lines(_ object: HeadObjectResult, _ address: ObjectAddress) -> [String] {
        let known: [(String, String?)] = [
            ("object", address.description), ("size", "\(object.size)"), ("etag", object.eTag),
            ("crc64", object.crc64.map { String($0) }), ("md5", Self.md5(object)), ("type", object.objectType),
            ("storage class", object.storageClass), ("last modified", object.lastModified?.formatted(.iso8601)),
            ("version ID", object.versionID), ("content type", object.contentType),
            ("content language", object.contentLanguage), ("content encoding", object.contentEncoding),
            ("content disposition", object.contentDisposition), ("cache control", object.cacheControl),
            ("expires", object.expires), ("encryption", object.serverSideEncryption),
            ("encryption key ID", object.serverSideEncryptionKeyID), ("tags", object.taggingCount.map { "\($0)" }),
            ("next append position", object.nextAppendPosition.map { "\($0)" }), ("restore", object.restore),
        ]
        let metadata = object.metadata.sorted { $0.key < $1.key }.map { ("meta \($0.key)", Optional($0.value)) }
        return (known + metadata).compactMap { name, value in
            value.map { "\(name): \(DisplayText.escaped($0))" }
        }
    }

    private static func md5(_ object: HeadObjectResult) -> String? {
        object.md5.map { bytes in
            bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        }
    }
}

/// `ossmp stat`: shows what the service knows of an object.
struct StatCommand {
    private let client: OSSClient
    private let address: ObjectAddress
    private let versionID: String?
    private let asJSON: Bool

    init(_ options: Options) throws {
        self.address = try options.object(of: .stat)
        self.versionID = options.value("version-id")
        self.client = try ClientOptions.client(options)
        self.asJSON = options.has("json")
    }

    func run() async throws {
        var request = HeadObjectRequest(bucket: self.address.bucket, key: self.address.key)
        request.versionID = self.versionID
        let object = try await self.client.headObject(request)
        if self.asJSON {
            Console.output(ObjectReport.document(object, self.address).text)
        } else {
            for line in ObjectReport.lines(object, self.address) { Console.output(line) }
        }
        await self.client.shutDown()
    }
}

/// `ossmp ls`: lists objects.
struct ListCommand {
    private let client: OSSClient
    private let request: ListObjectsV2Request
    private let asJSON: Bool

    init(_ options: Options) throws {
        let address = try options.prefix(of: .ls)
        try options.exclude("recursive", "delimiter")
        guard options.value("delimiter") != "" else {
            throw UsageError("--delimiter is empty; -r lists without levels")
        }
        var request = ListObjectsV2Request(bucket: address.bucket)
        request.prefix = address.key
        if !options.has("recursive") { request.delimiter = options.value("delimiter") ?? "/" }
        self.request = request
        self.client = try ClientOptions.client(options)
        self.asJSON = options.has("json")
    }

    func run() async throws {
        for try await entry in self.client.listObjectsV2Pages(self.request) {
            guard Console.output(self.asJSON ? self.document(entry).text : self.line(entry)) else { break }
        }
        await self.client.shutDown()
    }

    private func line(_ entry: OSSListingEntry) -> String {
        let address = DisplayText.escaped("oss://\(self.request.bucket)/\(entry.name)")
        guard case .object(let object) = entry else { return "-\t-\t\(address)" }
        return "\(object.size)\t\(object.lastModified?.formatted(.iso8601) ?? "-")\t\(address)"
    }

    private func document(_ entry: OSSListingEntry) -> JSONObject {
        var document = JSONObject()
        document.add("bucket", self.request.bucket)
        switch entry {
        case .commonPrefix(let prefix): document.add("prefix", prefix)
        case .object(let object):
            document.add("key", object.key)
            document.add("size", object.size)
            document.add("etag", object.eTag)
            document.add("lastModified", object.lastModified?.formatted(.iso8601))
            document.add("storageClass", object.storageClass)
            document.add("type", object.objectType)
        }
        return document
    }
}
