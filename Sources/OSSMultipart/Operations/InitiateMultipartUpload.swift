// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// What InitiateMultipartUpload needs.
public struct InitiateMultipartUploadRequest: Sendable {
    /// The bucket's name: 3 to 63 lower-case letters, digits and hyphens.
    public var bucket: String
    /// The object's key: 1 to 1023 bytes of UTF-8, without a leading slash or backslash.
    public var key: String
    /// What is stored with the object.
    ///
    /// Its ACL is for CompleteMultipartUpload, not sent here. Default: nothing.
    public var headers = OSSObjectHeaders()
    /// Whether the parts come one after the other, in order and each once: the object then has a `Content-MD5`.
    ///
    /// The service refuses a part that is out of order (`PartNotSequential`) or sent a second time (`PartAlreadyExist`).
    /// Default: false.
    public var isSequential = false

    /// Makes a request.
    public init(bucket: String, key: String) {
        self.bucket = bucket
        self.key = key
    }
}

extension OSSClient {
    /// Begins an upload in parts and returns its ID.
    ///
    /// A repeated request begins another upload: when a reply is lost, an empty upload may stay behind. `OSSUploader` finds
    /// and ends such; others can use `listMultipartUploads`.
    ///
    /// - Throws: `OSSError` with `invalidArgument` before anything is sent; `service`, `connection`, `timeout` or
    ///   `malformedReply` after. `CancellationError` where the task is cancelled.
    ///
    /// OSS document: InitiateMultipartUpload.
    public func initiateMultipartUpload(_ request: InitiateMultipartUploadRequest) async throws -> OSSMultipartUpload {
        try await self.initiate(request).upload
    }

    /// Begins an upload, and says whether a request before the one that was answered may have begun another.
    func initiate(
        _ request: InitiateMultipartUploadRequest
    ) async throws -> (upload: OSSMultipartUpload, mayHaveSiblings: Bool) {
        let operation = OSSError.Operation.initiateMultipartUpload
        try ObjectName.validate(bucket: request.bucket, key: request.key, operation: operation)
        try request.headers.validate(operation)
        var call = ServiceRequest(operation: operation, method: "POST", bucket: request.bucket, key: request.key)
        // Keys come back URL-encoded, for XML cannot hold every character of a key.
        call.query = [QueryItem("uploads"), QueryItem("encoding-type", "url")]
        if request.isSequential { call.query.append(QueryItem("sequential")) }
        call.headers = await self.completed(request.headers, key: request.key).fields(withACL: false)
        call.body = .bytes([])
        call.isIdempotent = false
        return try await self.perform(call) { (reply) throws(OSSError) in
            let root = try Document.read(reply, root: "InitiateMultipartUploadResult", operation)
            let uploadID = try Document.value(operation) { () throws(XMLError) in try root.requiredString("UploadId") }
            guard !uploadID.isEmpty else { throw Document.malformed("its UploadId is empty", operation) }
            let upload = OSSMultipartUpload(bucket: request.bucket, key: request.key, uploadID: uploadID)
            return (upload, reply.followsLostReply)
        }
    }
}
