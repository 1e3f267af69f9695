// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import FoundationEssentials
import OSSMultipart

/// A client, and what it is told to do.
struct Session: Sendable {
    struct Unclear: Error, CustomStringConvertible {
        let description: String
    }

    private let client: OSSClient
    private let uploader: OSSUploader

    init(_ command: Command) throws {
        guard let endpoint = command.endpoint else { throw Unclear(description: "no endpoint") }
        var configuration = OSSClient.Configuration()
        configuration.proxy = ""
        configuration.signatureVersion = command.signatureVersion == "v1" ? .v1 : .v4
        if let id = command.accessKeyID, let secret = command.accessKeySecret {
            let credentials = try OSSCredentials(
                accessKeyID: id, accessKeySecret: secret, securityToken: command.securityToken)
            self.client = try OSSClient(
                endpoint: endpoint, region: command.region, credentials: .fixed(credentials),
                configuration: configuration)
        } else {
            self.client = try OSSClient(endpoint: endpoint, signer: signatures, configuration: configuration)
        }
        var options = OSSUploader.Configuration()
        options.partSize = 102_400
        self.uploader = OSSUploader(
            client: self.client, checkpoints: command.checkpoints.map { .directory(URL(filePath: $0)) } ?? .none,
            configuration: options)
    }

    /// Does what a line says.
    func perform(_ command: Command) async throws -> Answer {
        switch command.do {
        case "putBucket", "deleteBucket", "location", "list", "deleteMultiple":
            try await self.performOnBucket(command)
        case "initiate", "uploadPart", "uploadPartCopy", "complete", "upload", "presign":
            try await self.performOnUpload(command)
        default: try await self.performOnObject(command)
        }
    }

    // MARK: Buckets

    private func performOnBucket(_ command: Command) async throws -> Answer {
        let bucket = try need(command.bucket)
        var answer = Answer()
        switch command.do {
        case "putBucket":
            var request = PutBucketRequest(bucket: bucket)
            request.acl = command.acl
            request.storageClass = command.storageClass
            try await self.client.putBucket(request)
        case "deleteBucket": try await self.client.deleteBucket(.init(bucket: bucket))
        case "location": answer.location = try await self.client.getBucketLocation(.init(bucket: bucket))
        case "list":
            var request = ListObjectsV2Request(bucket: bucket)
            request.prefix = command.prefix
            request.delimiter = command.delimiter
            request.maxKeys = 3
            var keys: [String] = [], prefixes: [String] = []
            for try await entry in self.client.listObjectsV2Pages(request) {
                switch entry {
                case .object(let object): keys.append(object.key)
                case .commonPrefix(let prefix): prefixes.append(prefix)
                }
            }
            (answer.keys, answer.prefixes) = (keys, prefixes)
        default:
            let request = DeleteMultipleObjectsRequest(bucket: bucket, keys: try need(command.keys))
            answer.keys = try await self.client.deleteMultipleObjects(request).deleted.map(\.key)
        }
        return answer
    }

    // MARK: Objects

    private func performOnObject(_ command: Command) async throws -> Answer {
        let bucket = try need(command.bucket), key = try need(command.key)
        var answer = Answer()
        switch command.do {
        case "put":
            var request = PutObjectRequest(bucket: bucket, key: key, body: try self.body(command))
            request.headers = self.headers(command)
            let result = try await self.client.putObject(request)
            (answer.eTag, answer.crc64) = (result.eTag, result.crc64.map { String($0) })
        case "post":
            var request = PostObjectRequest(bucket: bucket, key: key, body: try self.body(command))
            request.headers = self.headers(command)
            let result = try await self.client.postObject(request)
            (answer.eTag, answer.crc64) = (result.eTag, result.crc64.map { String($0) })
        case "postForm":
            var request = OSSPostFormRequest(bucket: bucket, key: key)
            request.allowsLongerKeys = true
            request.headers = self.headers(command)
            let form = try await self.client.postForm(request)
            (answer.url, answer.fields) = (form.url, form.fields.map { [$0.name, $0.value] })
        case "append":
            var request = AppendObjectRequest(
                bucket: bucket, key: key, position: try need(command.position), body: try self.body(command))
            request.headers = self.headers(command)
            let result = try await self.client.appendObject(request)
            (answer.position, answer.crc64) = (result.nextPosition, result.crc64.map { String($0) })
        case "copy":
            let source = OSSCopySource(bucket: bucket, key: try need(command.sourceKey))
            var request = CopyObjectRequest(source: source, bucket: bucket, key: key)
            request.headers = self.headers(command)
            request.replacesMetadata = command.metadata != nil
            request.replacesTagging = command.tags != nil
            let result = try await self.client.copyObject(request)
            (answer.eTag, answer.crc64) = (result.eTag, result.crc64.map { String($0) })
        case "head":
            let object = try await self.client.headObject(.init(bucket: bucket, key: key))
            (answer.size, answer.eTag, answer.contentType) = (object.size, object.eTag, object.contentType)
            (answer.crc64, answer.metadata) = (object.crc64.map { String($0) }, object.metadata)
            answer.position = object.nextAppendPosition
        case "get":
            let file = URL(filePath: try need(command.file))
            var request = GetObjectRequest(bucket: bucket, key: key)
            if let range = command.range { request.range = .bytes(range[0]..<range[1]) }
            let object = try await self.client.getObject(request, toFile: file)
            (answer.size, answer.eTag) = (object.size, object.eTag)
        case "delete": _ = try await self.client.deleteObject(.init(bucket: bucket, key: key))
        case "putTags":
            let tags = try need(command.tags).sorted { $0.key < $1.key }.map { OSSTag($0.key, $0.value) }
            try await self.client.putObjectTagging(.init(bucket: bucket, key: key, tags: tags))
        case "getTags":
            let tags = try await self.client.getObjectTagging(.init(bucket: bucket, key: key))
            answer.tags = Dictionary(tags.map { ($0.name, $0.value) }) { first, _ in first }
        case "deleteTags": try await self.client.deleteObjectTagging(.init(bucket: bucket, key: key))
        case "putACL":
            try await self.client.putObjectACL(.init(bucket: bucket, key: key, acl: try need(command.acl)))
        case "getACL": answer.acl = try await self.client.getObjectACL(.init(bucket: bucket, key: key)).acl
        default: throw Unclear(description: "nothing is called \(command.do)")
        }
        return answer
    }

    // MARK: Uploads

    private func performOnUpload(_ command: Command) async throws -> Answer {
        let bucket = try need(command.bucket), key = try need(command.key)
        var answer = Answer()
        func upload() throws -> OSSMultipartUpload {
            OSSMultipartUpload(bucket: bucket, key: key, uploadID: try need(command.uploadID))
        }
        switch command.do {
        case "initiate":
            var request = InitiateMultipartUploadRequest(bucket: bucket, key: key)
            request.headers = self.headers(command)
            answer.uploadID = try await self.client.initiateMultipartUpload(request).uploadID
        case "uploadPart":
            let result = try await self.client.uploadPart(
                .init(
                    upload: try upload(), partNumber: try need(command.partNumber), body: try self.body(command),
                    isLastPart: true))
            answer.eTag = result.info.eTag
        case "uploadPartCopy":
            let source = OSSCopySource(bucket: bucket, key: try need(command.sourceKey))
            var request = UploadPartCopyRequest(
                upload: try upload(), partNumber: try need(command.partNumber), source: source)
            request.range = command.range.map { $0[0]..<$0[1] }
            request.isLastPart = true
            answer.eTag = try await self.client.uploadPartCopy(request).info.eTag
        case "complete":
            let parts = try need(command.eTags).enumerated().map { OSSPartInfo(partNumber: $0 + 1, eTag: $1) }
            let result = try await self.client.completeMultipartUpload(.init(upload: try upload(), parts: parts))
            (answer.eTag, answer.crc64) = (result.eTag, result.crc64.map { String($0) })
        case "presign":
            let request = try await self.client.presign(try self.operation(command, upload))
            (answer.method, answer.url, answer.headers) = (request.method, request.url, request.headers)
        default:
            var destination = OSSUploader.Destination(bucket: bucket, key: key)
            destination.headers = self.headers(command)
            let result = try await self.uploader.upload(
                .file(URL(filePath: try need(command.file))), to: destination)
            (answer.partsSent, answer.partsResumed) = (result.partsSent, result.partsResumed)
            (answer.size, answer.eTag, answer.proof) = (result.size, result.eTag, "\(result.proof)")
        }
        return answer
    }

    private func operation(
        _ command: Command, _ upload: () throws -> OSSMultipartUpload
    ) throws -> OSSPresignedOperation {
        let bucket = try need(command.bucket), key = try need(command.key)
        switch command.operation {
        case "put": return .putObject(bucket: bucket, key: key, headers: self.headers(command))
        case "get": return .getObject(.init(bucket: bucket, key: key))
        case "head": return .headObject(.init(bucket: bucket, key: key))
        case "uploadPart": return .uploadPart(try upload(), partNumber: try need(command.partNumber))
        case "complete": return .completeMultipartUpload(try upload())
        case "abort": return .abortMultipartUpload(try upload())
        default: throw Unclear(description: "no URL is for \(command.operation ?? "nothing")")
        }
    }

    // MARK: Parts of a command

    private func body(_ command: Command) throws -> OSSBody {
        .file(URL(filePath: try need(command.file)), range: command.range.map { $0[0]..<$0[1] })
    }

    private func headers(_ command: Command) -> OSSObjectHeaders {
        var headers = OSSObjectHeaders()
        headers.contentType = command.contentType
        headers.metadata = command.metadata ?? [:]
        headers.acl = command.acl
        if let tags = command.tags { headers.tags = tags.sorted { $0.key < $1.key }.map { OSSTag($0.key, $0.value) } }
        return headers
    }
}

/// What a command cannot do without.
func need<Value>(_ value: Value?, _ line: UInt = #line) throws -> Value {
    guard let value else { throw Session.Unclear(description: "something is missing, asked for in line \(line)") }
    return value
}
