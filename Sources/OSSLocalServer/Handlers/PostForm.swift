// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// The form of a PostObject: its fields are kept, its file goes to the disk as it comes.
///
/// All is checked when the file begins, for the fields come before it; used by one thread at a time.
final class PostForm: FormSink {
    /// What is to be done with the file.
    struct Order {
        /// The request as it would be for the object: its key in the target, form fields as header fields.
        let request: Request
        /// What the object is given.
        let headers: HTTPFields
        /// The callback to an application's server; nil where none is wanted.
        let callback: Callback?
        /// Where the file's bytes go.
        let file: IncomingFile
        /// Sizes that the file may have, in bytes; all have to hold.
        let sizes: [ClosedRange<Int64>]
    }

    private enum Place {
        case field(name: String, value: [UInt8])
        case file
        /// Behind the file: read and forgotten.
        case ignored
    }

    /// Longest fields taken.
    ///
    /// *Source:* own choice. *Applies to:* names and values of all fields but the file together, in bytes.
    private static let maximumFields = 256 * 1024

    /// The fields before the file, names as they were written.
    private(set) var fields: HTTPFields = [:]
    /// What is to be done with the file; nil until it begins.
    private(set) var order: Order?
    private let request: Request
    private let service: Service
    private var reader: FormReader
    private var digest: MessageDigest?
    private var place = Place.ignored
    private var fieldBytes = 0
    private var fileBytes: Int64 = 0

    /// Begins to receive a form.
    init(_ request: Request, _ service: Service) throws(ServiceError) {
        self.request = request
        self.service = service
        self.reader = try FormReader(contentType: request.headers["Content-Type"] ?? "")
        guard request.headers["Content-MD5"] != nil else { return }
        do throws(DigestError) { self.digest = try MessageDigest(.md5) } catch {
            throw ServiceError.internalError(error)
        }
    }

    /// Takes the next bytes of the body.
    func receive(_ bytes: Span<UInt8>) throws(ServiceError) {
        do throws(DigestError) { try self.digest?.update(bytes) } catch { throw ServiceError.internalError(error) }
        try self.reader.read(bytes, into: self)
    }

    /// Ends the body.
    ///
    /// - Returns: the MD5 of the whole body, where the request tells one.
    func finish() throws(ServiceError) -> [UInt8]? {
        try self.reader.finish()
        guard let order else { throw ServiceError.wrongNumberOfFiles }
        if let least = order.sizes.map(\.lowerBound).max(), self.fileBytes < least {
            throw ServiceError(
                400, "EntityTooSmall", "Your proposed upload is smaller than the minimum allowed size.",
                ec: "0006-00000004",
                details: [("MinSizeAllowed", String(least)), ("ProposedSize", String(self.fileBytes))])
        }
        guard let digest = self.digest.take() else { return nil }
        do throws(DigestError) { return try digest.finish() } catch { throw ServiceError.internalError(error) }
    }

    // MARK: Parts

    func begin(_ part: FormPart) throws(ServiceError) {
        let isFile = part.name.equalsIgnoringASCIICase("file")
        guard self.order == nil else {
            if isFile { throw ServiceError.wrongNumberOfFiles }
            self.place = .ignored
            return
        }
        if isFile {
            self.order = try self.accept(part)
            self.place = .file
        } else {
            try self.count(part.name.utf8.count)
            self.place = .field(name: part.name, value: [])
        }
    }

    func take(_ bytes: Span<UInt8>) throws(ServiceError) {
        switch self.place {
        case .ignored: break
        case .file:
            self.fileBytes += Int64(bytes.count)
            let most = self.order?.sizes.map(\.upperBound).min() ?? Limits.maximumPartSize
            guard self.fileBytes <= min(most, Limits.maximumPartSize) else {
                var error = ServiceError.entityTooLarge
                error.details = [("MaxSizeAllowed", String(min(most, Limits.maximumPartSize)))]
                throw error
            }
            try self.order?.file.write(bytes)
        case .field(let name, var value):
            try self.count(bytes.count)
            // Not copied: nobody else has it.
            self.place = .ignored
            for index in bytes.indices { value.append(bytes[index]) }
            self.place = .field(name: name, value: value)
        }
    }

    func end() throws(ServiceError) {
        guard case .field(let name, let value) = self.place else { return }
        guard let text = String(validating: value, as: UTF8.self) else { throw ServiceError.malformedForm }
        self.fields.append(name: name, value: text)
    }

    private func count(_ bytes: Int) throws(ServiceError) {
        self.fieldBytes += bytes
        guard self.fieldBytes <= Self.maximumFields else {
            throw ServiceError(400, "FieldItemTooLong", "Your form fields are too long.")
        }
    }

    // MARK: What the fields say

    /// Checks all fields; the file begins.
    private func accept(_ part: FormPart) throws(ServiceError) -> Order {
        let policyText = try self.service.authenticator.checkForm(self.fields, self.request)
        guard let key = self.fields["key"], !key.isEmpty else { throw ServiceError.missingField("key") }
        let contentType = self.fields["x-oss-content-type"] ?? self.fields["Content-Type"] ?? part.contentType
        let policy: PostPolicy?
        if let policyText {
            policy = try self.check(policyText, contentType: contentType)
        } else {
            policy = nil
        }
        var request = self.request
        // Conditions are about the key as the form has it; only then is the file's name filled in.
        let name = Array(key.utf8).replacing(Array("${filename}".utf8), with: Array((part.fileName ?? "").utf8))
        request.target.key = String(decoding: name, as: UTF8.self)
        try request.target.check()
        request.headers = try self.objectHeaders(contentType: contentType)
        if policyText == nil, !self.service.configuration.allowsAnonymous,
            try !self.service.isPublic(request, .write)
        {
            throw ServiceError.accessDenied("You have no right to access this object because of bucket acl.")
        }
        let callback = try Callback(
            request, allowsRemote: self.service.configuration.allowsRemoteCallbacks)
        if request.forbidsOverwrite,
            try self.service.store.object(bucket: request.bucket, key: try request.key()) != nil
        {
            throw ServiceError.fileAlreadyExists(ec: "0026-00000002")
        }
        return Order(
            request: request, headers: try ObjectHeaders.given(request), callback: callback,
            file: try self.service.store.receiveObject(bucket: request.bucket), sizes: policy?.sizes ?? [])
    }

    private func check(_ text: String, contentType: String?) throws(ServiceError) -> PostPolicy {
        let policy = try PostPolicy(text)
        guard policy.expiration > self.request.received else {
            throw ServiceError.accessDenied("Invalid according to Policy: Policy expired.")
        }
        try policy.check { name in
            switch name {
            case "bucket": self.request.bucket
            // What the object will have, wherever it comes from.
            case "content-type": contentType ?? ""
            default: self.fields[name] ?? ""
            }
        }
        return policy
    }

    /// The form's fields as PutObject would have them in its header fields.
    private func objectHeaders(contentType: String?) throws(ServiceError) -> HTTPFields {
        var headers: HTTPFields = [:]
        for field in self.fields.all where ObjectHeaders.isGiven(field.name) {
            headers[field.name] = field.value.trimmedBlanks
        }
        headers["Content-Type"] = contentType?.trimmedBlanks
        headers["x-oss-forbid-overwrite"] = self.fields["x-oss-forbid-overwrite"]
        headers["x-oss-callback"] = self.fields["callback"]
        let variables = self.fields.all.filter { $0.name.hasPrefix("x:") }
        if !variables.isEmpty {
            let json = variables.map { "\(JSONString.quoted($0.name)):\(JSONString.quoted($0.value))" }
            headers["x-oss-callback-var"] = Base64.encode(Array("{\(json.joined(separator: ","))}".utf8))
        }
        for field in headers.all where field.value.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
            throw ServiceError.invalidArgument(
                "A form field that becomes a header holds a control character.", name: field.name, value: "")
        }
        return headers
    }
}

extension ServiceError {
    /// A form has no file or several.
    static var wrongNumberOfFiles: Self {
        Self(
            400, "IncorrectNumberOfFilesInPOSTRequest", "POST requires exactly one file upload per request.")
    }
}
