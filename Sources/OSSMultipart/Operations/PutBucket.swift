// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// What PutBucket needs.
public struct PutBucketRequest: Sendable {
    /// The bucket's name: 3 to 63 lower-case letters, digits and hyphens, unlike every other bucket's.
    public var bucket: String
    /// `private`, `public-read` or `public-read-write`; nil leaves it to the service, which makes it private.
    ///
    /// Default: nil.
    public var acl: String?
    /// `Standard`, `IA`, `Archive`, `ColdArchive` or `DeepColdArchive`; nil is `Standard`.
    ///
    /// Default: nil.
    public var storageClass: String?
    /// `LRS` (one zone) or `ZRS` (several); nil is `LRS`.
    ///
    /// Default: nil.
    public var dataRedundancyType: String?

    /// Makes a request.
    public init(bucket: String) { self.bucket = bucket }
}

extension OSSClient {
    /// Makes a bucket in the endpoint's region.
    ///
    /// A bucket of one's own that is there already is no error.
    ///
    /// - Throws: `OSSError` with `invalidArgument` before anything is sent; `service` (`BucketAlreadyExists` where it is
    ///   another's), `connection` or `timeout` after. `CancellationError` where the task is cancelled; the bucket may then
    ///   have been made.
    ///
    /// OSS document: PutBucket.
    public func putBucket(_ request: PutBucketRequest) async throws {
        let operation = OSSError.Operation.putBucket
        try ObjectName.validate(bucket: request.bucket, operation: operation)
        if let acl = request.acl { try AccessControlRules.validate(acl, ofBucket: true, operation) }
        var call = ServiceRequest(operation: operation, method: "PUT", bucket: request.bucket, key: nil)
        call.headers["x-oss-acl"] = request.acl
        call.body = .bytes([])
        if request.storageClass != nil || request.dataRedundancyType != nil {
            call.headers["Content-Type"] = "application/xml"
            var writer = XMLWriter()
            writer.element("CreateBucketConfiguration") { writer in
                if let storageClass = request.storageClass { writer.element("StorageClass", storageClass) }
                if let type = request.dataRedundancyType { writer.element("DataRedundancyType", type) }
            }
            call.body = .bytes(writer.bytes)
            call.integrity = .md5
        }
        try await self.perform(call) { (_) throws(OSSError) in }
    }
}
