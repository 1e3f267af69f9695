// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// Makes a bucket.
///
/// OSS document: PutBucket.
struct PutBucket: OperationHandler {
    static let name = "PutBucket"

    private let request: Request
    private let service: Service
    private let acl: AccessControl?

    init(_ request: Request, _ service: Service) throws(ServiceError) {
        self.request = request
        self.service = service
        self.acl = try AccessControlPolicy.ofBucket(request)
    }

    func planBody() throws(ServiceError) -> BodyPlan { .document(limit: 64 * 1024) }

    func respond(to body: ReceivedBody) throws(ServiceError) -> Reply {
        let store = self.service.store
        let isNew = try store.createBucket(
            self.request.bucket, acl: self.acl ?? .private, storageClass: try Self.storageClass(body),
            now: self.service.now())
        // Making one's own bucket again is no error, and may change who uses it.
        if !isNew, let acl { try store.setAccessControl(acl, ofBucket: self.request.bucket) }
        return Reply(headers: ["Location": "/\(self.request.bucket)"])
    }

    private static func storageClass(_ body: ReceivedBody) throws(ServiceError) -> String {
        guard case .document(let document) = body, !document.isEmpty else { return "Standard" }
        do throws(XMLError) {
            let root = try XMLElement.parse(document, root: "CreateBucketConfiguration")
            return root.string("StorageClass") ?? "Standard"
        } catch {
            throw ServiceError.malformedXML
        }
    }
}

/// Removes an empty bucket.
///
/// OSS document: DeleteBucket.
struct DeleteBucket: OperationHandler {
    static let name = "DeleteBucket"

    private let request: Request
    private let service: Service

    init(_ request: Request, _ service: Service) throws(ServiceError) {
        self.request = request
        self.service = service
    }

    func respond(to body: ReceivedBody) throws(ServiceError) -> Reply {
        try self.service.store.deleteBucket(self.request.bucket)
        return Reply(status: 204)
    }
}

/// Lists the buckets.
///
/// OSS document: ListBuckets (GetService).
struct ListBuckets: OperationHandler {
    static let name = "ListBuckets"

    private let service: Service
    private let prefix: String
    private let marker: String
    private let maximum: Int

    init(_ request: Request, _ service: Service) throws(ServiceError) {
        self.service = service
        self.prefix = request.query.value(of: "prefix") ?? ""
        self.marker = request.query.value(of: "marker") ?? ""
        self.maximum = try request.number("max-keys", in: 1...Limits.maximumPageSize) ?? 100
    }

    func respond(to body: ReceivedBody) throws(ServiceError) -> Reply {
        let rest = self.service.store.buckets().filter { $0.name.hasPrefix(self.prefix) && $0.name > self.marker }
        let page = rest.prefix(self.maximum)
        let region = self.service.configuration.region
        var writer = XMLWriter()
        writer.element("ListAllMyBucketsResult") { writer in
            writer.element("Prefix", self.prefix)
            writer.element("Marker", self.marker)
            writer.element("MaxKeys", self.maximum)
            writer.element("IsTruncated", String(page.count < rest.count))
            if page.count < rest.count { writer.element("NextMarker", page.last?.name ?? "") }
            Owner.write(to: &writer)
            writer.element("Buckets") { writer in
                for bucket in page {
                    writer.element("Bucket") { writer in
                        writer.element("CreationDate", bucket.created.inDocuments)
                        writer.element("ExtranetEndpoint", "oss-\(region).aliyuncs.com")
                        writer.element("IntranetEndpoint", "oss-\(region)-internal.aliyuncs.com")
                        writer.element("Location", "oss-\(region)")
                        writer.element("Name", bucket.name)
                        writer.element("Region", region)
                        writer.element("StorageClass", bucket.storageClass)
                    }
                }
            }
        }
        return .document(writer)
    }
}
