// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

/// The operations of a client, each as a future that begins at once.
///
/// They throw what the operations of the same name throw. The client lives at least as long as its futures.
public struct OSSClientTasks: Sendable {
    let client: OSSClient
    let priority: TaskPriority?

    /// The same operations with another priority.
    public func withPriority(_ priority: TaskPriority) -> OSSClientTasks {
        OSSClientTasks(client: self.client, priority: priority)
    }

    /// Begins what the client does in `operation`.
    ///
    /// For what has no method of its own: several operations in a row, say.
    public func start<Success: Sendable>(
        _ operation: @escaping @concurrent @Sendable (OSSClient) async throws -> Success
    ) -> OSSTask<Success> {
        let client = self.client
        return OSSTask(priority: self.priority) { try await operation(client) }
    }

    /// ``OSSClient/initiateMultipartUpload(_:)`` as a future.
    public func initiateMultipartUpload(_ request: InitiateMultipartUploadRequest) -> OSSTask<OSSMultipartUpload> {
        self.start { try await $0.initiateMultipartUpload(request) }
    }

    /// ``OSSClient/uploadPart(_:)`` as a future.
    public func uploadPart(_ request: UploadPartRequest) -> OSSTask<UploadPartResult> {
        self.start { try await $0.uploadPart(request) }
    }

    /// ``OSSClient/listParts(_:)`` as a future.
    public func listParts(_ request: ListPartsRequest) -> OSSTask<ListPartsResult> {
        self.start { try await $0.listParts(request) }
    }

    /// ``OSSClient/listMultipartUploads(_:)`` as a future.
    public func listMultipartUploads(_ request: ListMultipartUploadsRequest) -> OSSTask<ListMultipartUploadsResult> {
        self.start { try await $0.listMultipartUploads(request) }
    }

    /// ``OSSClient/completeMultipartUpload(_:)`` as a future.
    public func completeMultipartUpload(
        _ request: CompleteMultipartUploadRequest
    ) -> OSSTask<CompleteMultipartUploadResult> {
        self.start { try await $0.completeMultipartUpload(request) }
    }

    /// ``OSSClient/abortMultipartUpload(_:)`` as a future.
    public func abortMultipartUpload(_ request: AbortMultipartUploadRequest) -> OSSTask<Void> {
        self.start { try await $0.abortMultipartUpload(request) }
    }

    /// ``OSSClient/headObject(_:)`` as a future.
    public func headObject(_ request: HeadObjectRequest) -> OSSTask<HeadObjectResult> {
        self.start { try await $0.headObject(request) }
    }

    /// ``OSSClient/putObject(_:)`` as a future.
    public func putObject(_ request: PutObjectRequest) -> OSSTask<PutObjectResult> {
        self.start { try await $0.putObject(request) }
    }

    /// ``OSSClient/appendObject(_:)`` as a future.
    public func appendObject(_ request: AppendObjectRequest) -> OSSTask<AppendObjectResult> {
        self.start { try await $0.appendObject(request) }
    }

    /// ``OSSClient/copyObject(_:)`` as a future.
    public func copyObject(_ request: CopyObjectRequest) -> OSSTask<CopyObjectResult> {
        self.start { try await $0.copyObject(request) }
    }

    /// ``OSSClient/uploadPartCopy(_:)`` as a future.
    public func uploadPartCopy(_ request: UploadPartCopyRequest) -> OSSTask<UploadPartCopyResult> {
        self.start { try await $0.uploadPartCopy(request) }
    }

    /// ``OSSClient/postObject(_:)`` as a future.
    public func postObject(_ request: PostObjectRequest) -> OSSTask<PutObjectResult> {
        self.start { try await $0.postObject(request) }
    }

    /// ``OSSClient/getObject(_:)`` as a future.
    public func getObject(_ request: GetObjectRequest) -> OSSTask<GetObjectResult> {
        self.start { try await $0.getObject(request) }
    }

    /// ``OSSClient/deleteObject(_:)`` as a future.
    public func deleteObject(_ request: DeleteObjectRequest) -> OSSTask<DeleteObjectResult> {
        self.start { try await $0.deleteObject(request) }
    }

    /// ``OSSClient/deleteMultipleObjects(_:)`` as a future.
    public func deleteMultipleObjects(_ request: DeleteMultipleObjectsRequest) -> OSSTask<DeleteMultipleObjectsResult> {
        self.start { try await $0.deleteMultipleObjects(request) }
    }

    /// ``OSSClient/listObjectsV2(_:)`` as a future.
    public func listObjectsV2(_ request: ListObjectsV2Request) -> OSSTask<ListObjectsV2Result> {
        self.start { try await $0.listObjectsV2(request) }
    }

    /// ``OSSClient/putObjectTagging(_:)`` as a future.
    public func putObjectTagging(_ request: PutObjectTaggingRequest) -> OSSTask<Void> {
        self.start { try await $0.putObjectTagging(request) }
    }

    /// ``OSSClient/getObjectTagging(_:)`` as a future.
    public func getObjectTagging(_ request: GetObjectTaggingRequest) -> OSSTask<[OSSTag]> {
        self.start { try await $0.getObjectTagging(request) }
    }

    /// ``OSSClient/deleteObjectTagging(_:)`` as a future.
    public func deleteObjectTagging(_ request: DeleteObjectTaggingRequest) -> OSSTask<Void> {
        self.start { try await $0.deleteObjectTagging(request) }
    }

    /// ``OSSClient/putObjectACL(_:)`` as a future.
    public func putObjectACL(_ request: PutObjectACLRequest) -> OSSTask<Void> {
        self.start { try await $0.putObjectACL(request) }
    }

    /// ``OSSClient/getObjectACL(_:)`` as a future.
    public func getObjectACL(_ request: GetObjectACLRequest) -> OSSTask<GetObjectACLResult> {
        self.start { try await $0.getObjectACL(request) }
    }

    /// ``OSSClient/putBucket(_:)`` as a future.
    public func putBucket(_ request: PutBucketRequest) -> OSSTask<Void> {
        self.start { try await $0.putBucket(request) }
    }

    /// ``OSSClient/deleteBucket(_:)`` as a future.
    public func deleteBucket(_ request: DeleteBucketRequest) -> OSSTask<Void> {
        self.start { try await $0.deleteBucket(request) }
    }

    /// ``OSSClient/getBucketLocation(_:)`` as a future.
    public func getBucketLocation(_ request: GetBucketLocationRequest) -> OSSTask<String> {
        self.start { try await $0.getBucketLocation(request) }
    }
}

extension OSSClient {
    /// The operations as futures.
    ///
    /// ```swift
    /// let future = client.tasks.listParts(.init(upload: upload))
    /// let numbers = try await future.continueWith { try $0.get().parts.map(\.info.partNumber) }.value
    /// ```
    public var tasks: OSSClientTasks { OSSClientTasks(client: self, priority: nil) }
}
