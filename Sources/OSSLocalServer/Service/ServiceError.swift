// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire
internal import SystemIO

/// A request that is refused, as the error document tells it.
struct ServiceError: Error, Sendable {
    /// The HTTP status.
    var status: Int
    /// The code, for example `NoSuchKey`.
    var code: String
    /// One sentence for people.
    var message: String
    /// The diagnostic code of the service (`EC`), where it is known.
    var ec: String?
    /// Further elements of the document, in order.
    var details: [(name: String, value: String)] = []
    /// Header fields of the reply.
    var headers: HTTPFields = [:]

    /// Makes an error.
    init(
        _ status: Int, _ code: String, _ message: String, ec: String? = nil,
        details: [(name: String, value: String)] = []
    ) {
        self.status = status
        self.code = code
        self.message = message
        self.ec = ec
        self.details = details
    }

    /// Runs file work and turns its failure into an internal error.
    static func wrapping<Value>(_ body: () throws(SystemError) -> Value) throws(ServiceError) -> Value {
        do throws(SystemError) { return try body() } catch { throw self.internalError(error) }
    }

    /// The document; HEAD carries it in a header.
    ///
    /// Documents here name no namespace, as some of the service's own do not: the official Python SDK v2 looks for elements
    /// by their bare names.
    func document(requestID: String, host: String) -> [UInt8] {
        var writer = XMLWriter()
        writer.element("Error") { writer in
            writer.element("Code", self.code)
            writer.element("Message", self.message)
            writer.element("RequestId", requestID)
            writer.element("HostId", host)
            for detail in self.details { writer.element(detail.name, detail.value) }
            if let ec = self.ec { writer.element("EC", ec) }
        }
        return writer.bytes
    }
}

extension ServiceError {
    static func internalError(_ cause: Any) -> Self {
        if let error = cause as? SystemError, error.isFullDisk { return self.insufficientStorage }
        return Self(500, "InternalError", "We encountered an internal error. Please try again. (\(cause))")
    }

    static func invalidArgument(_ message: String, name: String? = nil, value: String? = nil, ec: String? = nil) -> Self
    {
        var details: [(name: String, value: String)] = []
        if let name { details.append(("ArgumentName", name)) }
        if let value { details.append(("ArgumentValue", value)) }
        return Self(400, "InvalidArgument", message, ec: ec, details: details)
    }

    static func noSuchBucket(_ bucket: String) -> Self {
        Self(
            404, "NoSuchBucket", "The specified bucket does not exist.", ec: "0015-00000101",
            details: [("BucketName", bucket)]
        )
    }

    static func noSuchKey(_ key: String) -> Self {
        Self(404, "NoSuchKey", "The specified key does not exist.", ec: "0026-00000001", details: [("Key", key)])
    }

    /// Nothing more can be stored.
    ///
    /// OSS documents no code for a full store, so this is HTTP's own word for it (RFC 4918, section 11.5).
    static var insufficientStorage: Self {
        Self(507, "InsufficientStorage", "There is no room left to store what the request brings.")
    }

    static func noSuchUpload(_ id: String, ec: String? = nil) -> Self {
        Self(
            404, "NoSuchUpload",
            "The specified upload does not exist. The upload ID may be invalid, or the upload may have been aborted or"
                + " completed.", ec: ec, details: [("UploadId", id)]
        )
    }

    static func fileAlreadyExists(ec: String? = nil) -> Self {
        Self(
            409, "FileAlreadyExists", "The object you specified already exists and can not be overwritten.", ec: ec)
    }

    static func invalidDigest(ec: String) -> Self {
        Self(400, "InvalidDigest", "The Content-MD5 you specified was invalid.", ec: ec)
    }

    static var malformedXML: Self {
        Self(
            400, "MalformedXML",
            "The XML you provided was not well-formed or did not validate against our published schema.",
            ec: "0042-00000205"
        )
    }

    static var entityTooLarge: Self {
        Self(
            400, "EntityTooLarge", "Your proposed upload exceeds the maximum allowed object size.",
            details: [("MaxSizeAllowed", String(Limits.maximumPartSize))])
    }

    static func notImplemented(_ what: String) -> Self {
        Self(
            400, "NotImplemented",
            "A header or query you provided implies functionality that is not implemented: \(what)")
    }

    static func accessDenied(_ message: String) -> Self { Self(403, "AccessDenied", message) }

    static func preconditionFailed(_ condition: String) -> Self {
        Self(
            412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold.",
            details: [("Condition", condition)])
    }

    static func partNotSequential(_ number: Int) -> Self {
        Self(
            400, "PartNotSequential",
            "For sequential multipart upload, you must upload or complete parts sequentially.",
            details: [("PartNumber", String(number))])
    }
}
