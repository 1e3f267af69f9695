// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import FoundationEssentials
internal import OSSWire

/// What PostObject needs.
public struct PostObjectRequest: Sendable {
    /// The bucket's name: 3 to 63 lower-case letters, digits and hyphens.
    public var bucket: String
    /// The object's key: 1 to 1023 bytes of UTF-8, without a leading slash or backslash.
    public var key: String
    /// The object's bytes: at most 5 GiB.
    public var body: OSSBody
    /// What is stored with the object.
    ///
    /// Default: nothing.
    public var headers = OSSObjectHeaders()
    /// What the service posts to an application's server when the object is stored.
    ///
    /// Default: nothing.
    public var callback: OSSCallback?

    /// Makes a request.
    public init(bucket: String, key: String, body: OSSBody) {
        self.bucket = bucket
        self.key = key
        self.body = body
    }
}

/// What a signed form allows: an upload by somebody who has no access key, a browser for example.
public struct OSSPostFormRequest: Sendable {
    /// The bucket's name.
    public var bucket: String
    /// The key that the object gets, or how it must begin where ``allowsLongerKeys`` says so.
    public var key: String
    /// Whether the one who uploads may choose the rest of the key.
    ///
    /// Default: false.
    public var allowsLongerKeys = false
    /// Sizes in bytes that are taken.
    ///
    /// Default: 0 to 5 GiB.
    public var sizes: ClosedRange<Int64> = 0...Limits.maximumPartSize
    /// How long the form is good.
    ///
    /// Default: one hour.
    public var lifetime: Duration = .seconds(3600)
    /// What is stored with the object; the form cannot be used with other values.
    ///
    /// Default: nothing.
    public var headers = OSSObjectHeaders()
    /// What the service posts to an application's server when the object is stored.
    ///
    /// Default: nothing.
    public var callback: OSSCallback?

    /// Makes a request for a form.
    public init(bucket: String, key: String) {
        self.bucket = bucket
        self.key = key
    }
}

/// A signed form: where it is posted, and its fields.
///
/// They are sent as `multipart/form-data`, in this order, with a field `file` behind them that has the object's bytes.
public struct OSSPostForm: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// A field of the form; only its name has a printable form.
    public struct Field: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
        /// The field's name.
        public let name: String
        /// The field's value.
        public let value: String

        /// The name; the value may be secret.
        public var description: String { self.name }
        /// The name; the value may be secret.
        public var debugDescription: String { self.name }
        /// What reflection sees: the name alone.
        public var customMirror: Mirror { Mirror(self, children: ["name": self.name]) }
    }

    /// Where it is posted.
    public let url: String
    /// The fields before `file`; the signature among them lets anybody upload what the form allows.
    public let fields: [Field]

    /// The address and the fields' names; values may be secret.
    public var description: String { "\(self.url) \(self.fields.map(\.name).joined(separator: " "))" }
    /// The address and the fields' names; values may be secret.
    public var debugDescription: String { self.description }
    /// What reflection sees: no value of a field.
    public var customMirror: Mirror { Mirror(self, children: ["url": self.url, "fields": self.fields]) }
}

extension OSSClient {
    /// Makes a form for somebody who uploads without an access key; nothing is sent.
    ///
    /// - Throws: `OSSError` with `invalidArgument` or `missingCredentials`.
    ///
    /// OSS document: PostObject.
    public func postForm(_ request: OSSPostFormRequest) async throws -> OSSPostForm {
        try ObjectName.validate(bucket: request.bucket, key: request.key, operation: .postObject)
        guard request.sizes.lowerBound >= 0, request.sizes.upperBound <= Limits.maximumPartSize else {
            throw OSSError(
                .invalidArgument, "a form takes 0 to \(Limits.maximumPartSize) bytes (5 GiB)", operation: .postObject)
        }
        guard request.lifetime > .zero else {
            throw OSSError(.invalidArgument, "the form's lifetime is not above zero", operation: .postObject)
        }
        var fields = [OSSPostForm.Field(name: "key", value: request.key)]
        var conditions = [
            #"{"bucket":\#(JSONString.quoted(request.bucket))}"#,
            "[\"\(request.allowsLongerKeys ? "starts-with" : "eq")\",\"$key\",\(JSONString.quoted(request.key))]",
            "[\"content-length-range\",\(request.sizes.lowerBound),\(request.sizes.upperBound)]",
        ]
        func add(_ name: String, _ value: String) {
            fields.append(.init(name: name, value: value))
            conditions.append("[\"eq\",\(JSONString.quoted("$" + name)),\(JSONString.quoted(value))]")
        }
        try request.headers.validate(.postObject)
        for field in request.headers.fields(withACL: true).all { add(field.name, field.value) }
        // The fields of a form have names of their own for these.
        if let callback = try request.callback?.fields(.postObject) {
            if let text = callback["x-oss-callback"] { add("callback", text) }
            for (name, value) in (request.callback?.variables ?? [:]).sorted(by: { $0.key < $1.key }) {
                add(name, value)
            }
        }
        // Without it the reply has no body, and a callback's answer would be lost.
        add("success_action_status", "200")
        try await self.sign(&fields, &conditions, lifetime: request.lifetime)
        let url = self.address.address(
            bucket: request.bucket, key: nil, addressing: self.configuration.addressing)
        return OSSPostForm(url: url, fields: fields)
    }

    private func sign(
        _ fields: inout [OSSPostForm.Field], _ conditions: inout [String], lifetime: Duration
    ) async throws {
        let credentials = try await self.authority.credentials(for: .postObject)
        let now = self.surroundings.now() + self.clockOffset.value
        let signer = SignatureV4(date: Timestamp(milliseconds: now), region: self.region)
        func add(_ name: String, _ value: String) {
            fields.append(.init(name: name, value: value))
            conditions.append("[\"eq\",\(JSONString.quoted("$" + name)),\(JSONString.quoted(value))]")
        }
        if let token = credentials.securityToken { add("x-oss-security-token", token) }
        let isV4 = self.configuration.signatureVersion == .v4
        if isV4 {
            add("x-oss-signature-version", SignatureV4.algorithm)
            add("x-oss-credential", "\(credentials.accessKeyID)/\(signer.scope)")
            add("x-oss-date", signer.date.compact)
        }
        let end = Timestamp(milliseconds: now + Int64(lifetime / .milliseconds(1)))
        let policy = #"{"expiration":"\#(end.iso8601)","conditions":[\#(conditions.joined(separator: ","))]}"#
        let encoded = Base64.encode(Array(policy.utf8))
        fields.append(.init(name: "policy", value: encoded))
        do throws(DigestError) {
            if isV4 {
                let signature = try signer.signature(ofStringToSign: encoded, secret: credentials.accessKeySecret)
                fields.append(.init(name: "x-oss-signature", value: signature))
            } else {
                let code = try HMAC.authenticationCode(
                    for: Array(encoded.utf8), key: Array(credentials.accessKeySecret.utf8), .sha1)
                fields.append(.init(name: "OSSAccessKeyId", value: credentials.accessKeyID))
                fields.append(.init(name: "Signature", value: Base64.encode(code)))
            }
        } catch {
            throw OSSError(.invalidConfiguration, "\(error)", operation: .postObject, underlying: error)
        }
    }

    /// Stores an object as an HTML form does.
    ///
    /// For stores and gateways that take nothing else; ``putObject(_:)`` does the same with less. The CRC-64 of the object is
    /// compared.
    ///
    /// - Throws: `OSSError` with `invalidArgument` before anything is sent; `sourceUnreadable`, `sourceChanged`, `integrity`,
    ///   `service`, `connection` or `timeout` after. `CancellationError` where the task is cancelled; the object may then have
    ///   been stored.
    ///
    /// OSS document: PostObject.
    public func postObject(_ request: PostObjectRequest) async throws -> PutObjectResult {
        var asked = OSSPostFormRequest(bucket: request.bucket, key: request.key)
        asked.headers = request.headers
        asked.callback = request.callback
        let form = try await self.postForm(asked)
        let region = try await request.body.openRegion(on: self.blocking)
        guard region.length <= Limits.maximumPartSize else {
            throw OSSError(
                .invalidArgument, "the object has \(region.length) bytes, more than the 5 GiB that one form takes",
                operation: .postObject
            )
        }
        // Over the object alone: the transport would compute them over the whole form.
        let digests = try await self.digests(of: region, md5: true, crc64: true)
        let boundary = "oss-form-\(UUID().uuidString)"
        var call = ServiceRequest(operation: .postObject, method: "POST", bucket: request.bucket, key: nil)
        call.headers["Content-Type"] = "multipart/form-data; boundary=\(boundary)"
        call.isSignedInBody = true
        call.isIdempotent = !request.headers.forbidsOverwrite
        call.body = .form(
            head: Self.formHead(form.fields, boundary), region, tail: Array("\r\n--\(boundary)--\r\n".utf8))
        return try await self.perform(call) { (reply) throws(OSSError) in
            let callback = try OSSCallbackOutcome(reply, wasAsked: request.callback != nil, .postObject)
            guard reply.eTag != nil || reply.serviceCRC64 != nil || callback != nil else {
                throw Document.malformed("it has neither an ETag nor a CRC-64", .postObject)
            }
            if let theirs = reply.serviceCRC64, let ours = digests.crc64, theirs != ours {
                throw OSSError(
                    .integrity,
                    "the service stored bytes with the CRC-64 \(theirs), but those read have \(ours): they changed on the way; "
                        + "run it again",
                    operation: .postObject
                )
            }
            return PutObjectResult(
                eTag: reply.eTag, crc64: reply.serviceCRC64, sentCRC64: digests.crc64, md5: digests.md5,
                versionID: reply.headers["x-oss-version-id"], callback: callback, requestID: reply.requestID
            )
        }
    }

    private static func formHead(_ fields: [OSSPostForm.Field], _ boundary: String) -> [UInt8] {
        var text = ""
        for field in fields {
            text += "--\(boundary)\r\nContent-Disposition: form-data; name=\"\(field.name)\"\r\n\r\n\(field.value)\r\n"
        }
        text += "--\(boundary)\r\nContent-Disposition: form-data; name=\"file\"; filename=\"file\"\r\n"
        text += "Content-Type: application/octet-stream\r\n\r\n"
        return Array(text.utf8)
    }
}
