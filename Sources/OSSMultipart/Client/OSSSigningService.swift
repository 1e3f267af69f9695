// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// Signs requests for clients that hold no secret: the part of ``OSSRequestSigner`` that runs where the access key is.
///
/// ```swift
/// let signing = try OSSSigningService(region: "cn-hangzhou", credentials: .environment)
/// let allowed = ["InitiateMultipartUpload", "UploadPart", "ListParts", "CompleteMultipartUpload", "HeadObject"]
/// // For each request that comes in from a client of yours; nil is for "forbidden".
/// func answer(_ body: Data, of user: String) async throws -> Data? {
///     let request = try JSONDecoder().decode(OSSSigningRequest.self, from: body)
///     guard request.bucket == "media", request.key?.hasPrefix("users/\(user)/") == true,
///         allowed.contains(request.operation?.name ?? "")
///     else { return nil }
///     return try JSONEncoder().encode(try await signing.sign(request))
/// }
/// ```
///
/// It sends nothing itself. Whether the one who asks may have what it asks for is for you to say, see ``OSSSigningRequest``.
public struct OSSSigningService: OSSRequestSigner {
    /// How requests are signed.
    ///
    /// Default: ``OSSClient/SignatureVersion/v4``.
    public var signatureVersion: OSSClient.SignatureVersion {
        get { self.signer.version }
        set { self.signer = AccessKeySigner(newValue, region: self.signer.region) }
    }
    /// How long the URLs are good that it answers with; nil to answer with header fields, which are good for fifteen minutes.
    ///
    /// From one second; with signature V4 seven days at most. Default: nil.
    public var urlLifetime: Duration?

    private var signer: AccessKeySigner
    private let credentials: CredentialsCache
    private let surroundings: OSSSurroundings

    /// Makes a service.
    ///
    /// - Parameters:
    ///   - region: the region to sign for, for example `cn-hangzhou`.
    ///   - credentials: where the access key comes from.
    ///   - surroundings: the clock that signatures bear the time of.
    /// - Throws: `OSSError.invalidConfiguration` where the region cannot be one.
    public init(region: String, credentials: OSSCredentialsProvider, surroundings: OSSSurroundings = .live) throws {
        try OSSEndpoint.validate(region: region)
        self.signer = AccessKeySigner(.v4, region: region)
        self.credentials = CredentialsCache(credentials, now: surroundings.now)
        self.surroundings = surroundings
    }

    /// Signs a request, with the credentials and the clock of this machine.
    ///
    /// All of its header fields are signed as far as the signature covers them, in a URL of signature V4 without exception, and
    /// all are to be sent. The URL's scheme, host and path are the asked ones, which no signature covers.
    ///
    /// - Throws: `OSSError` with `invalidArgument` where ``OSSSigningRequest/operation`` is nil, or a name or a value cannot be
    ///   one; `missingCredentials`. `CancellationError` where the task is cancelled.
    public func sign(_ request: OSSSigningRequest) async throws -> OSSSignedRequest {
        guard let operation = request.operation else {
            throw OSSError(
                .invalidArgument,
                "the request to sign, \(request.method.prefix(16)) with the parameters "
                    + "\(request.query.keys.sorted().joined(separator: ", ").prefix(200)), is none of those that are known here"
            )
        }
        // It comes from outside: what could make a line of its own in the text that is signed is refused.
        if let key = request.key {
            try ObjectName.validate(bucket: request.bucket, key: key, operation: operation)
        } else {
            try ObjectName.validate(bucket: request.bucket, operation: operation)
        }
        for (name, value) in request.headers
        where !name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: ":") }) || name.isEmpty
            || value.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) || Self.isOfSignature(name)
        {
            throw OSSError(
                .invalidArgument,
                "the header field \(String(name.prefix(64)).replacingControlCharacters) cannot be signed",
                operation: operation
            )
        }
        if self.signatureVersion == .v1,
            request.key?.utf8.contains(UInt8(ascii: "?")) == true
                || request.query.values.contains(where: { $0.utf8.contains(UInt8(ascii: "&")) })
        {
            throw OSSError(
                .invalidArgument,
                "a signature V1 does not tell where key and values end: with \"?\" in the key or \"&\" in a value it could "
                    + "be another request's; sign with V4",
                operation: operation
            )
        }
        let date = Timestamp(milliseconds: self.surroundings.now())
        let credentials = try await self.credentials(after: request.refusal)
        var signable = SignableRequest(method: request.method, bucket: request.bucket, key: request.key)
        signable.query = request.query.sorted { $0.key < $1.key }
            .map { QueryItem($0.key, $0.value.isEmpty ? nil : $0.value) }
        for (name, value) in request.headers.sorted(by: { $0.key < $1.key }) { signable.headers[name] = value }
        if let urlLifetime {
            let seconds = try self.signer.seconds(of: urlLifetime, for: operation)
            try self.signer.presign(&signable, date: date, seconds: seconds, with: credentials, for: operation)
        } else {
            try self.signer.sign(&signable, date: date, with: credentials, for: operation)
        }
        var url = String(request.url.prefix { $0 != "?" })
        if !signable.query.isEmpty { url += "?" + signable.query.encoded }
        return OSSSignedRequest(
            url: url, headers: Dictionary(signable.headers.all.map { ($0.name, $0.value) }) { first, _ in first })
    }

    /// The credentials in use, or others where the service refused these.
    private func credentials(after refusal: String?) async throws -> OSSCredentials {
        let current = try await self.credentials.credentials()
        guard let refusal, RetryClassifier.isOfCredentials(refusal), self.credentials.canRefresh else {
            return current.credentials
        }
        return try await self.credentials.credentials(after: current.version).credentials
    }

    /// Whether a header field is the signature's own, and nobody else's to set.
    private static func isOfSignature(_ name: String) -> Bool {
        ["authorization", "date", "x-oss-date", "x-oss-security-token", "x-oss-content-sha256"].contains {
            $0.equalsIgnoringASCIICase(name)
        }
    }
}
