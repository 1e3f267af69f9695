// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

public import FoundationEssentials
internal import OSSWire

/// A request that others may send without credentials, as long as its URL is good.
public struct OSSPresignedOperation: Sendable {
    let operation: OSSError.Operation
    let method: String
    let bucket: String
    let key: String
    var query: [QueryItem] = []
    var headers: HTTPFields = [:]
    let check: @Sendable () throws -> Void

    private init(
        _ operation: OSSError.Operation, _ method: String, bucket: String, key: String, query: [QueryItem] = [],
        headers: HTTPFields = [:], check: @escaping @Sendable () throws -> Void
    ) {
        self.operation = operation
        self.method = method
        self.bucket = bucket
        self.key = key
        self.query = query
        self.headers = headers
        self.check = check
    }

    /// Stores an object: the request's body is its bytes.
    ///
    /// - Parameters:
    ///   - bucket: the bucket's name.
    ///   - key: the object's key.
    ///   - headers: what is stored with it; the one who sends the request must send them as they are returned.
    public static func putObject(
        bucket: String, key: String, headers: OSSObjectHeaders = .init()
    ) -> OSSPresignedOperation {
        .init(.putObject, "PUT", bucket: bucket, key: key, headers: headers.fields(withACL: true)) {
            try headers.validate(.putObject)
        }
    }

    /// Gets an object, or a region of one.
    public static func getObject(_ request: GetObjectRequest) -> OSSPresignedOperation {
        var headers = request.conditions.fields()
        headers["Range"] = request.range?.text
        return .init(
            .getObject, "GET", bucket: request.bucket, key: request.key,
            query: request.replyHeaders.query + Self.version(request.versionID), headers: headers
        ) {
            try request.range?.validate(.getObject)
            try request.conditions.validate(.getObject)
        }
    }

    /// Looks at an object.
    public static func headObject(_ request: HeadObjectRequest) -> OSSPresignedOperation {
        .init(
            .headObject, "HEAD", bucket: request.bucket, key: request.key, query: Self.version(request.versionID),
            headers: request.conditions.fields()
        ) { try request.conditions.validate(.headObject) }
    }

    /// Uploads a part: the request's body is its bytes.
    public static func uploadPart(_ upload: OSSMultipartUpload, partNumber: Int) -> OSSPresignedOperation {
        .init(
            .uploadPart, "PUT", bucket: upload.bucket, key: upload.key,
            query: [QueryItem("partNumber", String(partNumber)), QueryItem("uploadId", upload.uploadID)]
        ) {
            try upload.validate(.uploadPart)
            try PartRules.validate(partNumber: partNumber, .uploadPart)
        }
    }

    /// Joins the parts of an upload: the request's body is the list of parts that the service's document describes.
    public static func completeMultipartUpload(_ upload: OSSMultipartUpload) -> OSSPresignedOperation {
        .init(
            .completeMultipartUpload, "POST", bucket: upload.bucket, key: upload.key,
            query: [QueryItem("uploadId", upload.uploadID)], headers: ["Content-Type": "application/xml"]
        ) { try upload.validate(.completeMultipartUpload) }
    }

    /// Gives up an upload.
    public static func abortMultipartUpload(_ upload: OSSMultipartUpload) -> OSSPresignedOperation {
        .init(
            .abortMultipartUpload, "DELETE", bucket: upload.bucket, key: upload.key,
            query: [QueryItem("uploadId", upload.uploadID)]
        ) { try upload.validate(.abortMultipartUpload) }
    }

    private static func version(_ versionID: String?) -> [QueryItem] {
        versionID.map { [QueryItem("versionId", $0)] } ?? []
    }
}

/// A URL that is good for one kind of request, for a while.
///
/// It is a secret as long as it is good: `description` leaves its query out.
public struct OSSPresignedRequest: Sendable, Hashable {
    /// The HTTP method to send it with.
    public let method: String
    /// The URL, with the signature.
    public let url: String
    /// The header fields to send as they are: the signature covers them.
    public let headers: [String: String]
    /// The moment from which on it is no longer good.
    public let expiration: Date
}

extension OSSPresignedRequest: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Method and URL without the query, which holds the signature.
    public var description: String { "\(self.method) \(self.url.prefix { $0 != "?" })?…" }
    /// Method and URL without the query, which holds the signature.
    public var debugDescription: String { self.description }
    /// What reflection sees: no query.
    public var customMirror: Mirror { Mirror(self, children: ["request": self.description]) }
}

extension OSSClient {
    /// Makes a URL with which others can send a request without credentials.
    ///
    /// Nothing is sent. With temporary credentials the URL is good no longer than they are.
    ///
    /// - Parameters:
    ///   - operation: what the URL is for.
    ///   - lifetime: how long it is good: from one second; with signature V4 seven days at most.
    /// - Throws: `OSSError` with `invalidArgument` where the service would refuse the request, or the lifetime is out of
    ///   range; `missingCredentials`. `CancellationError` where the task is cancelled.
    ///
    /// OSS documents: Include a V4 signature in a URL; Include a V1 signature in a URL.
    public func presign(
        _ operation: OSSPresignedOperation, lifetime: Duration = .seconds(900)
    ) async throws -> OSSPresignedRequest {
        try ObjectName.validate(bucket: operation.bucket, key: operation.key, operation: operation.operation)
        try operation.check()
        try self.address.validate(
            bucket: operation.bucket, self.configuration.addressing, operation.operation)
        let seconds = try self.signer.seconds(of: lifetime, for: operation.operation)
        let credentials = try await self.authority.credentials(for: operation.operation)
        var signable = SignableRequest(
            method: operation.method, bucket: operation.bucket, key: operation.key, query: operation.query,
            headers: operation.headers
        )
        if self.configuration.paysForRequests { signable.query.append(QueryItem("x-oss-request-payer", "requester")) }
        let date = Timestamp(milliseconds: self.surroundings.now() + self.clockOffset.value)
        let expires = Timestamp(seconds: date.seconds + seconds)
        try self.signer.presign(
            &signable, date: date, seconds: seconds, with: credentials, for: operation.operation)
        let address = self.address.address(
            bucket: operation.bucket, key: operation.key, addressing: self.configuration.addressing)
        return OSSPresignedRequest(
            method: operation.method, url: "\(address)?\(signable.query.encoded)",
            headers: Dictionary(operation.headers.all.map { ($0.name, $0.value) }) { first, _ in first },
            expiration: min(expires.date, credentials.expiration ?? .distantFuture)
        )
    }
}
