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
        switch request.method {
        case "GET" where request.has("uploads"): ListMultipartUploads.self
        case "GET" where request.query.value(of: "list-type") == "2": ListObjectsV2.self
        case "GET" where self.hasSubresource(request): nil
        case "GET": ListObjects.self
        case "PUT" where !self.hasSubresource(request): PutBucket.self
        case "DELETE" where !self.hasSubresource(request): DeleteBucket.self
        default: nil
        }
    }

    private static func objectOperation(_ request: Request) -> (any OperationHandler.Type)? {
        switch request.method {
        case "POST" where request.has("uploads"): InitiateMultipartUpload.self
        case "POST" where request.has("uploadId"): CompleteMultipartUpload.self
        case "PUT" where request.headers["x-oss-copy-source"] != nil: nil
        case "PUT" where request.has("partNumber") || request.has("uploadId"): UploadPart.self
        case "GET" where request.has("uploadId"): ListParts.self
        case "DELETE" where request.has("uploadId"): AbortMultipartUpload.self
        case "PUT" where !self.hasSubresource(request): PutObject.self
        case "GET" where !self.hasSubresource(request): GetObject.self
        case "HEAD": HeadObject.self
        case "DELETE" where !self.hasSubresource(request): DeleteObject.self
        default: nil
        }
    }

    /// Whether the query names a part of a bucket or object that has operations of its own.
    private static func hasSubresource(_ request: Request) -> Bool {
        request.query.contains { self.subresources.contains($0.name) }
    }

    private static let subresources: Set<String> = [
        "acl", "append", "bucketInfo", "cors", "delete", "encryption", "inventory", "lifecycle", "location", "logging",
        "objectMeta", "policy", "referer", "replication", "restore", "stat", "symlink", "tagging", "versioning",
        "versions", "website", "x-oss-process",
    ]
}
