// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// Tells who may use a bucket.
///
/// OSS document: GetBucketAcl.
struct GetBucketACL: OperationHandler {
    static let name = "GetBucketAcl"

    private let bucket: Bucket

    init(_ request: Request, _ service: Service) throws(ServiceError) {
        self.bucket = try service.store.bucket(request.bucket)
    }

    func respond(to body: ReceivedBody) throws(ServiceError) -> Reply {
        .document(AccessControlPolicy.document(self.bucket.acl))
    }
}

/// Changes who may use a bucket.
///
/// OSS document: PutBucketAcl.
struct PutBucketACL: OperationHandler {
    static let name = "PutBucketAcl"

    private let service: Service
    private let bucket: Bucket
    private let acl: AccessControl

    init(_ request: Request, _ service: Service) throws(ServiceError) {
        self.service = service
        self.bucket = try service.store.bucket(request.bucket)
        self.acl = try AccessControlPolicy.ofBucket(request) ?? .private
    }

    func planBody() throws(ServiceError) -> BodyPlan { .document(limit: 64 * 1024) }

    func respond(to body: ReceivedBody) throws(ServiceError) -> Reply {
        try self.service.store.setAccessControl(self.acl, ofBucket: self.bucket.name)
        return Reply()
    }
}

/// Tells where a bucket is.
///
/// OSS document: GetBucketLocation.
struct GetBucketLocation: OperationHandler {
    static let name = "GetBucketLocation"

    private let region: String

    init(_ request: Request, _ service: Service) throws(ServiceError) {
        _ = try service.store.bucket(request.bucket)
        self.region = service.configuration.region
    }

    func respond(to body: ReceivedBody) throws(ServiceError) -> Reply {
        var writer = XMLWriter()
        writer.element("LocationConstraint", "oss-\(self.region)")
        return .document(writer)
    }
}

/// Tells about a bucket.
///
/// OSS document: GetBucketInfo.
struct GetBucketInfo: OperationHandler {
    static let name = "GetBucketInfo"

    private let region: String
    private let bucket: Bucket

    init(_ request: Request, _ service: Service) throws(ServiceError) {
        self.bucket = try service.store.bucket(request.bucket)
        self.region = service.configuration.region
    }

    func respond(to body: ReceivedBody) throws(ServiceError) -> Reply {
        var writer = XMLWriter()
        writer.element("BucketInfo") { writer in
            writer.element("Bucket") { writer in
                writer.element("CreationDate", self.bucket.created.inDocuments)
                writer.element("ExtranetEndpoint", "oss-\(self.region).aliyuncs.com")
                writer.element("IntranetEndpoint", "oss-\(self.region)-internal.aliyuncs.com")
                writer.element("Location", "oss-\(self.region)")
                writer.element("StorageClass", self.bucket.storageClass)
                writer.element("DataRedundancyType", "LRS")
                writer.element("TransferAcceleration", "Disabled")
                writer.element("CrossRegionReplication", "Disabled")
                writer.element("AccessMonitor", "Disabled")
                writer.element("Name", self.bucket.name)
                Owner.write(to: &writer)
                AccessControlPolicy.write(self.bucket.acl, to: &writer)
                writer.element("Comment", "")
            }
        }
        return .document(writer)
    }
}

/// Counts what is in a bucket.
///
/// OSS document: GetBucketStat.
struct GetBucketStat: OperationHandler {
    static let name = "GetBucketStat"

    private let request: Request
    private let service: Service

    init(_ request: Request, _ service: Service) throws(ServiceError) {
        self.request = request
        self.service = service
    }

    func respond(to body: ReceivedBody) throws(ServiceError) -> Reply {
        let usage = try self.service.store.usage(ofBucket: self.request.bucket)
        var writer = XMLWriter()
        writer.element("BucketStat") { writer in
            writer.element("Storage", usage.bytes)
            writer.element("ObjectCount", usage.objects)
            writer.element("MultipartUploadCount", usage.uploads)
        }
        return .document(writer)
    }
}

/// The document that tells who may use something.
enum AccessControlPolicy {
    /// The whole document.
    static func document(_ acl: AccessControl) -> XMLWriter {
        var writer = XMLWriter()
        writer.element("AccessControlPolicy") { writer in
            Owner.write(to: &writer)
            self.write(acl, to: &writer)
        }
        return writer
    }

    /// The element that names the list.
    static func write(_ acl: AccessControl, to writer: inout XMLWriter) {
        writer.element("AccessControlList") { $0.element("Grant", acl.rawValue) }
    }

    /// What a request wants a bucket's list to be; nil where it does not say.
    static func ofBucket(_ request: Request) throws(ServiceError) -> AccessControl? {
        guard let text = request.headers["x-oss-acl"] else { return nil }
        guard let acl = AccessControl.ofBucket(text) else { throw self.invalid("x-oss-acl", text) }
        return acl
    }

    /// What a request wants an object's list to be; nil where it does not say.
    static func ofObject(_ request: Request) throws(ServiceError) -> AccessControl? {
        guard let text = request.headers["x-oss-object-acl"] else { return nil }
        guard let acl = AccessControl(rawValue: text) else { throw self.invalid("x-oss-object-acl", text) }
        return acl
    }

    private static func invalid(_ name: String, _ value: String) -> ServiceError {
        ServiceError.invalidArgument("no such bucket access control exists", name: name, value: value)
    }
}
