// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

/// Something that signs the requests of a client which holds no secret: a service of yours that does.
///
/// The client asks it once for each attempt of each request, just before the request is sent. It answers with header fields
/// that carry the signature, or with a presigned URL: the client sends what it is given, and nothing else. So an uploader, the
/// single operations, and URLs that were made beforehand are all served by the same method.
///
/// ```swift
/// let client = try OSSClient(
///     endpoint: "https://oss-cn-hangzhou.aliyuncs.com",
///     signer: OSSSignerFunction { request in
///         let answer = try await backend.post("/sign", JSONEncoder().encode(request))
///         return try JSONDecoder().decode(OSSSignedRequest.self, from: answer)
///     })
/// let result = try await OSSUploader(client: client, checkpointDirectory: URL(filePath: "checkpoints"))
///     .upload(.file(file), to: destination)
/// ```
///
/// On the other side stands ``OSSSigningService``, or a program in any language: ``OSSSigningRequest`` says what it gets and what
/// it has to sign.
public protocol OSSRequestSigner: Sendable {
    /// Signs one attempt of a request.
    ///
    /// It is called from any task, for several requests at once, and may take its time: nothing of the client's waits but the
    /// request itself. It ends early where its task is cancelled.
    ///
    /// - Throws: ``OSSSigningRefusal`` or an `OSSError` where the request is not to be signed, which end it at once;
    ///   `CancellationError` where the task is cancelled. Any other error is taken for one that may pass: the signer is asked
    ///   again after a wait, as often as the client's retry policy says, and then the request fails with
    ///   `OSSError.signerFailed`.
    func sign(_ request: OSSSigningRequest) async throws -> OSSSignedRequest
}

/// What has to be signed of one attempt of a request: a value that travels as JSON.
///
/// ```json
/// {
///     "method": "PUT", "bucket": "media", "key": "v/1.mp4",
///     "query": {"partNumber": "3", "uploadId": "0004B9…"}, "headers": {"Content-MD5": "ICy5YqxZB1uWSwcVLSNLcA=="},
///     "contentLength": 8388608, "url": "https://media.oss-cn-hangzhou.aliyuncs.com/v/1.mp4?partNumber=3&uploadId=0004B9…"
/// }
/// ```
///
/// `key` is missing for requests on the bucket, and `refusal` but where a signature was refused. A program in another language
/// signs method, bucket, key, `query` (decoded; an empty value stands for a bare name such as `uploads`) and `headers` as the
/// service's documents say, with the time of its own clock, and answers
/// `{"url": …, "headers": {…}}`: see ``OSSSignedRequest``.
///
/// **What may be signed.** The value comes from a machine that is not trusted with the secret, so look at it first: at the
/// bucket, at the key, at ``operation``, and at the header fields, where `x-oss-object-acl` makes an object public and
/// `x-oss-copy-source` names another. An upload in parts needs InitiateMultipartUpload, UploadPart, ListParts,
/// CompleteMultipartUpload, AbortMultipartUpload and HeadObject, on the one key, and PutObject where it is small;
/// ListMultipartUploads, on the bucket, is asked for when an Initiate's reply was lost, and may be refused.
///
/// OSS documents: Include a V4 signature in the Authorization header; Include a V4 signature in a URL.
public struct OSSSigningRequest: Sendable, Hashable, Codable {
    /// The HTTP method.
    public let method: String
    /// The bucket.
    public let bucket: String
    /// The key; nil for requests on the bucket.
    public let key: String?
    /// The parameters, decoded, each name once; an empty value stands for a bare name.
    public let query: [String: String]
    /// The header fields that the client wants to send, `Content-MD5` among them where the body's digest is sent.
    public let headers: [String: String]
    /// Bytes of the body.
    public let contentLength: Int64
    /// The URL that the request would be sent to, without a signature.
    public let url: String
    /// Why the service refused the signature that was given last: its error code, for example `AccessDenied` where a URL's time
    /// was over; nil the first time.
    ///
    /// A signer that keeps URLs or tokens makes new ones now. It is asked so once for each request.
    public let refusal: String?
}

/// A request as it is sent, with its signature.
///
/// It is a secret as long as it is good: `description` leaves header fields and query out.
public struct OSSSignedRequest: Sendable, Hashable, Codable {
    /// Where the request is sent: the asked URL where the header fields carry the signature, else a presigned one.
    public var url: String
    /// All header fields that are sent, beside `Host`, `Content-Length` and `User-Agent`: those that were asked for, as far as
    /// the signature allows, and those of the signature.
    ///
    /// What is left out is not sent: without `Content-MD5` a part is protected by its CRC-64 alone.
    public var headers: [String: String]

    /// Makes a signed request.
    public init(url: String, headers: [String: String]) {
        self.url = url
        self.headers = headers
    }

    /// Makes a signed request of a presigned one.
    public init(_ request: OSSPresignedRequest) {
        self.init(url: request.url, headers: request.headers)
    }
}

extension OSSSignedRequest: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The URL without the query, which may hold the signature.
    public var description: String { "\(self.url.prefix { $0 != "?" })?…" }
    /// The URL without the query, which may hold the signature.
    public var debugDescription: String { self.description }
    /// What reflection sees: neither query nor header fields.
    public var customMirror: Mirror { Mirror(self, children: ["request": self.description]) }
}

/// What a signer throws where a request is not to be signed: it fails at once, and is not tried again.
public struct OSSSigningRefusal: Error, Sendable, CustomStringConvertible {
    /// Why, for the error's message.
    public let reason: String

    /// Makes a refusal.
    public init(_ reason: String) { self.reason = reason }

    /// Why.
    public var description: String { self.reason }
}

/// A signer that is a function of yours: one that asks your service, or takes URLs that it has from there.
public struct OSSSignerFunction: OSSRequestSigner {
    private let body: @Sendable (OSSSigningRequest) async throws -> OSSSignedRequest

    /// Makes a signer; the function throws what ``OSSRequestSigner/sign(_:)`` throws.
    public init(_ body: @escaping @Sendable (OSSSigningRequest) async throws -> OSSSignedRequest) {
        self.body = body
    }

    /// Signs by the function.
    public func sign(_ request: OSSSigningRequest) async throws -> OSSSignedRequest { try await self.body(request) }
}
