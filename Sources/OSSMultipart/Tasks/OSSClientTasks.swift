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
