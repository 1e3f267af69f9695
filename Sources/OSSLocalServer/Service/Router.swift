// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// Finds the operation that a request asks for.
enum Router {
    /// The operation's handler; nil where OSS has none, or this server has not.
    static func operation(_ request: Request) -> (any OperationHandler.Type)? {
        switch (request.target.bucket, request.target.key) {
        case (nil, _): request.method == "GET" ? ListBuckets.self : nil
        case (_, nil): self.bucketOperation(request)
        default: self.objectOperation(request)
        }
    }

    private static func bucketOperation(_ request: Request) -> (any OperationHandler.Type)? {
        let resource = self.subresource(request)
        return switch (request.method, resource) {
        case ("GET", "uploads"): ListMultipartUploads.self
        case ("GET", "acl"): GetBucketACL.self
        case ("GET", "bucketInfo"): GetBucketInfo.self
        case ("GET", "location"): GetBucketLocation.self
        case ("GET", "stat"): GetBucketStat.self
        case ("GET", nil): request.query.value(of: "list-type") == "2" ? ListObjectsV2.self : ListObjects.self
        case ("PUT", "acl"): PutBucketACL.self
        case ("PUT", nil): PutBucket.self
        case ("POST", "delete"): DeleteMultipleObjects.self
        case ("POST", nil): PostObject.self
        case ("DELETE", nil): DeleteBucket.self
        default: nil
        }
    }

    private static func objectOperation(_ request: Request) -> (any OperationHandler.Type)? {
        let resource = self.subresource(request)
        let isCopy = request.headers["x-oss-copy-source"] != nil
        return switch (request.method, resource) {
        case ("POST", "uploads"): InitiateMultipartUpload.self
        case ("POST", "uploadId"): CompleteMultipartUpload.self
        case ("POST", "append"): AppendObject.self
        case ("PUT", "uploadId"), ("PUT", "partNumber"): isCopy ? UploadPartCopy.self : UploadPart.self
        case ("PUT", "acl"): PutObjectACL.self
        case ("PUT", "tagging"): PutObjectTagging.self
        case ("PUT", nil): isCopy ? CopyObject.self : PutObject.self
        case ("GET", "uploadId"): ListParts.self
        case ("GET", "acl"): GetObjectACL.self
        case ("GET", "tagging"): GetObjectTagging.self
        case ("GET", "objectMeta"), ("HEAD", "objectMeta"): GetObjectMeta.self
        case ("GET", nil): GetObject.self
        case ("HEAD", nil): HeadObject.self
        case ("DELETE", "uploadId"): AbortMultipartUpload.self
        case ("DELETE", "tagging"): DeleteObjectTagging.self
        case ("DELETE", nil): DeleteObject.self
        default: nil
        }
    }

    /// The part of a bucket or object that the query names and that has operations of its own; nil for the whole.
    private static func subresource(_ request: Request) -> String? {
        self.subresources.first { request.has($0) }
    }

    /// In the order in which they count where a query names several.
    private static let subresources = [
        "uploads", "uploadId", "partNumber", "acl", "append", "bucketInfo", "cors", "delete", "encryption", "inventory",
        "lifecycle", "location", "logging", "objectMeta", "policy", "referer", "replication", "restore", "stat",
        "symlink", "tagging", "versioning", "versions", "website", "x-oss-process",
    ]
}
