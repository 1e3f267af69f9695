// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

/// The one error of this package: what failed, where, and what to do.
///
/// Cancellation is not an `OSSError`: a cancelled call throws Swift's `CancellationError`. `description` is one line and
/// safe to show; `String(reflecting:)` has every detail. Neither ever holds a secret, a signature or a query.
public struct OSSError: Error, Sendable {
    /// What kind of failure it was, to switch on.
    public let code: Code
    /// What failed and what to do about it.
    public let message: String
    /// The operation, for example `UploadPart`; nil where it failed before any operation.
    public internal(set) var operation: Operation?
    /// The part's number, for failures of one part.
    public internal(set) var partNumber: Int?
    /// What the service said, where it said something.
    public internal(set) var service: Service?
    /// What lies beneath, for example the transport's error.
    public internal(set) var underlying: (any Error)?
    /// How the upload can go on, for failures of an upload that can.
    public internal(set) var resumption: Resumption?
    /// The reply that was none of the operation's, or whose checksums differ.
    var reply: Reply?
    /// Whether an attempt before the last may have been applied although no reply came.
    var followsLostReply = false

    init(
        _ code: Code, _ message: String, operation: Operation? = nil, partNumber: Int? = nil, service: Service? = nil,
        underlying: (any Error)? = nil
    ) {
        self.code = code
        self.message = message
        self.operation = operation
        self.partNumber = partNumber
        self.service = service
        self.underlying = underlying
    }
}

extension OSSError {
    /// What kind of failure it was.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Name: String {
            case invalidConfiguration, invalidArgument, missingCredentials, service, connection, timeout, malformedReply
            case integrity, sourceUnreadable, sourceChanged, checkpointInUse, checkpointUnusable, outcomeUnknown
            case fileUnwritable, objectChanged, shutDown, wouldBlock, signerFailed
        }
        private let name: Name

        /// The client or the uploader cannot work with its settings; nothing was sent.
        public static let invalidConfiguration = Code(name: .invalidConfiguration)
        /// A request's values are outside what the service takes; nothing was sent.
        public static let invalidArgument = Code(name: .invalidArgument)
        /// There are no credentials, or their source failed.
        public static let missingCredentials = Code(name: .missingCredentials)
        /// The signer that the client has in place of credentials gave no signature, or one that is not the request's.
        public static let signerFailed = Code(name: .signerFailed)
        /// The service refused; see ``OSSError/service``.
        public static let service = Code(name: .service)
        /// The server cannot be reached, or the connection broke.
        public static let connection = Code(name: .connection)
        /// Something took longer than its time-out.
        public static let timeout = Code(name: .timeout)
        /// What came back is no reply of this operation: a proxy's page, a document cut short.
        public static let malformedReply = Code(name: .malformedReply)
        /// Checksums differ: what is stored is not what was sent.
        public static let integrity = Code(name: .integrity)
        /// The source cannot be opened or read.
        public static let sourceUnreadable = Code(name: .sourceUnreadable)
        /// The source changed while it was uploaded; nothing was published.
        ///
        /// Except for a small source without `Content-MD5`: what is stored of it may be a mixture, and the message says so.
        public static let sourceChanged = Code(name: .sourceChanged)
        /// Another process, or another upload of this one, works on the same bucket and key.
        public static let checkpointInUse = Code(name: .checkpointInUse)
        /// The checkpoint folder cannot be used.
        public static let checkpointUnusable = Code(name: .checkpointUnusable)
        /// CompleteMultipartUpload was sent, and it could not be found out whether the object is stored.
        public static let outcomeUnknown = Code(name: .outcomeUnknown)
        /// The file that an object is got into cannot be made or written.
        public static let fileUnwritable = Code(name: .fileUnwritable)
        /// The object was replaced or removed while it was got.
        public static let objectChanged = Code(name: .objectChanged)
        /// The client has been shut down.
        public static let shutDown = Code(name: .shutDown)

        /// A call that blocks was made within a Swift task.
        public static let wouldBlock = Code(name: .wouldBlock)

        /// The name, for example `integrity`.
        public var description: String { self.name.rawValue }
    }

    /// The service's ID of the request, which Alibaba Cloud's support asks for; nil where no reply came.
    public var requestID: String? { self.service?.requestID ?? self.reply?.requestID }

    /// What names a reply that is no refusal.
    struct Reply: Sendable, Hashable {
        let status: Int
        let requestID: String?
    }

    /// An operation of the service, by its documented name.
    public struct Operation: Sendable, Hashable, CustomStringConvertible {
        /// The documented name.
        public let name: String

        init(_ name: String) { self.name = name }

        /// The documented name.
        public var description: String { self.name }

        /// Whether it carries an object's bytes, and so takes `x-oss-traffic-limit`.
        var carriesObject: Bool {
            [.putObject, .uploadPart, .appendObject, .getObject, .copyObject, .uploadPartCopy].contains(self)
        }

        // One for each operation of the service that there is here.
        static let initiateMultipartUpload = Operation("InitiateMultipartUpload")
        static let uploadPart = Operation("UploadPart")
        static let listParts = Operation("ListParts")
        static let completeMultipartUpload = Operation("CompleteMultipartUpload")
        static let abortMultipartUpload = Operation("AbortMultipartUpload")
        static let listMultipartUploads = Operation("ListMultipartUploads")
        static let putObject = Operation("PutObject")
        static let postObject = Operation("PostObject")
        static let headObject = Operation("HeadObject")
        static let getObject = Operation("GetObject")
        static let deleteObject = Operation("DeleteObject")
        static let deleteMultipleObjects = Operation("DeleteMultipleObjects")
        static let copyObject = Operation("CopyObject")
        static let uploadPartCopy = Operation("UploadPartCopy")
        static let appendObject = Operation("AppendObject")
        static let listObjectsV2 = Operation("ListObjectsV2")
        static let putObjectTagging = Operation("PutObjectTagging")
        static let getObjectTagging = Operation("GetObjectTagging")
        static let deleteObjectTagging = Operation("DeleteObjectTagging")
        static let putObjectACL = Operation("PutObjectACL")
        static let getObjectACL = Operation("GetObjectACL")
        static let putBucket = Operation("PutBucket")
        static let deleteBucket = Operation("DeleteBucket")
        static let getBucketLocation = Operation("GetBucketLocation")
    }

    /// What the service said of a refused request.
    ///
    /// OSS document: Error responses.
    public struct Service: Sendable, Hashable {
        /// The HTTP status.
        public let status: Int
        /// The service's error code, for example `NoSuchUpload`.
        public let code: ServiceCode
        /// The service's sentence.
        public let message: String
        /// The request's ID, which Alibaba Cloud's support asks for; nil where the reply had none.
        public let requestID: String?
        /// The host that answered.
        public let hostID: String?
        /// The detailed error code (`EC`), for diagnosis.
        public let ec: String?
        /// Other elements of the error document that have text, by name; never the string to sign.
        public let details: [String: String]
    }

    /// An error code of the service; the set is open.
    ///
    /// OSS document: Error codes.
    public struct ServiceCode: Sendable, Hashable, ExpressibleByStringLiteral, CustomStringConvertible {
        /// The code as the service writes it.
        public let name: String

        /// Makes a code from its name.
        public init(_ name: String) { self.name = name }
        /// Makes a code from its name.
        public init(stringLiteral name: String) { self.name = name }

        /// The code as the service writes it.
        public var description: String { self.name }

        /// The access is not allowed.
        public static let accessDenied: Self = "AccessDenied"
        /// The access key ID is not known.
        public static let invalidAccessKeyID: Self = "InvalidAccessKeyId"
        /// The signature is not the one that the service computed.
        public static let signatureDoesNotMatch: Self = "SignatureDoesNotMatch"
        /// The clocks of client and service differ too much.
        public static let requestTimeTooSkewed: Self = "RequestTimeTooSkewed"
        /// The temporary credentials have expired.
        public static let securityTokenExpired: Self = "SecurityTokenExpired"
        /// The security token is not valid.
        public static let invalidSecurityToken: Self = "InvalidSecurityToken"
        /// There is no bucket of that name.
        public static let noSuchBucket: Self = "NoSuchBucket"
        /// There is no object of that key.
        public static let noSuchKey: Self = "NoSuchKey"
        /// There is no upload of that ID: it was completed, aborted or never begun.
        public static let noSuchUpload: Self = "NoSuchUpload"
        /// A part of a sequential upload was sent out of order.
        public static let partNotSequential: Self = "PartNotSequential"
        /// A part of a sequential upload is stored already.
        public static let partAlreadyExist: Self = "PartAlreadyExist"
        /// A part of the list is not stored, or its ETag differs.
        public static let invalidPart: Self = "InvalidPart"
        /// The list of parts does not ascend.
        public static let invalidPartOrder: Self = "InvalidPartOrder"
        /// A part that is not the last one is smaller than 102,400 bytes.
        public static let entityTooSmall: Self = "EntityTooSmall"
        /// The body is not that of its Content-MD5.
        public static let invalidDigest: Self = "InvalidDigest"
        /// There is an object of that key, and it must not be overwritten.
        public static let fileAlreadyExists: Self = "FileAlreadyExists"
        /// The object is stored, but the callback failed.
        public static let callbackFailed: Self = "CallbackFailed"
        /// The service failed.
        public static let internalError: Self = "InternalError"
        /// A value is outside what the service takes.
        public static let invalidArgument: Self = "InvalidArgument"
        /// A condition of the request does not hold.
        public static let preconditionFailed: Self = "PreconditionFailed"
        /// The object is the one that the caller has already.
        public static let notModified: Self = "NotModified"
        /// The object has not the range that was asked for.
        public static let invalidRange: Self = "InvalidRange"
    }

    /// How an upload that failed can go on.
    public struct Resumption: Sendable, Hashable {
        /// The ID of the upload that is still open.
        public let uploadID: String
        /// Bytes that are stored already and will not be sent again.
        public let bytesUploaded: Int64
        /// The checkpoint that the next run goes on from: a path, or the record's name in a store of its own.
        public let checkpoint: String
    }
}

extension OSSError: CustomStringConvertible, CustomDebugStringConvertible {
    /// What failed and what to do, on one line; safe to show and to log.
    public var description: String {
        var text = ""
        if let operation = self.operation {
            text += operation.name
            if let partNumber = self.partNumber { text += " of part \(partNumber)" }
            text += ": "
        }
        text += self.message
        if let service = self.service {
            text += " [status \(service.status), code \(service.code), request ID \(service.requestID ?? "none")]"
        } else if let reply = self.reply {
            text += " [status \(reply.status), request ID \(reply.requestID ?? "none")]"
        }
        // What comes from the outside must not break the line.
        return text.replacingControlCharacters
    }

    /// Everything that is known, on several lines; no secret is among it.
    public var debugDescription: String {
        var text = "OSSError.\(self.code): \(self.description)"
        if let service = self.service {
            if let hostID = service.hostID { text += "\n  host ID: \(hostID)" }
            if let ec = service.ec { text += "\n  EC: \(ec)" }
            for (name, value) in service.details.sorted(by: { $0.key < $1.key }) { text += "\n  \(name): \(value)" }
        }
        if let resumption = self.resumption {
            text += "\n  goes on from \(resumption.checkpoint), upload \(resumption.uploadID), "
            text += "\(resumption.bytesUploaded) bytes stored"
        }
        if let underlying = self.underlying { text += "\n  underlying: \(String(reflecting: underlying))" }
        return text
    }
}

extension String {
    /// The text with control characters shown as `?`, so that it stays on its line and drives no terminal.
    var replacingControlCharacters: String {
        guard self.unicodeScalars.contains(where: \.isControl) else { return self }
        return String(String.UnicodeScalarView(self.unicodeScalars.map { $0.isControl ? "?" : $0 }))
    }
}

extension Unicode.Scalar {
    fileprivate var isControl: Bool { self.properties.generalCategory == .control }
}
