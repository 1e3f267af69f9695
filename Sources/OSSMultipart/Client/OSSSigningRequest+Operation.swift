// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

extension OSSSigningRequest {
    /// What tells an operation from the others.
    private struct Form {
        let operation: OSSError.Operation
        let method: String
        let isOnObject: Bool
        /// Parameters that it has.
        var needed: Set<String> = []
        /// Parameters that it may have.
        var allowed: Set<String> = []
        /// Whether it names a source to copy.
        var copies = false
    }

    /// The operation that the service would take the request for; nil for one that this package does not know.
    ///
    /// It is read from method, parameters and header fields, not told by the one who asks. A parameter that the operation does
    /// not have makes it another one, and gives nil.
    public var operation: OSSError.Operation? {
        let names = Set(self.query.keys)
        let copies = self.headers.keys.contains { $0.equalsIgnoringASCIICase("x-oss-copy-source") }
        return Self.forms.first { form in
            form.method == self.method && form.isOnObject == (self.key != nil) && form.copies == copies
                && form.needed.isSubset(of: names) && names.isSubset(of: form.needed.union(form.allowed))
        }?.operation
    }

    /// What is known.
    ///
    /// *Source:* the OSS documents of the operations. *Applies to:* the operations of ``OSSClient`` that are signed in header
    /// fields or URL.
    private static let forms: [Form] = [
        Form(
            operation: .initiateMultipartUpload, method: "POST", isOnObject: true, needed: ["uploads"],
            allowed: ["encoding-type"]),
        Form(operation: .uploadPart, method: "PUT", isOnObject: true, needed: ["partNumber", "uploadId"]),
        Form(
            operation: .uploadPartCopy, method: "PUT", isOnObject: true, needed: ["partNumber", "uploadId"],
            copies: true),
        Form(
            operation: .listParts, method: "GET", isOnObject: true, needed: ["uploadId"],
            allowed: ["encoding-type", "max-parts", "part-number-marker"]),
        Form(
            operation: .completeMultipartUpload, method: "POST", isOnObject: true, needed: ["uploadId"],
            allowed: ["encoding-type"]),
        Form(operation: .abortMultipartUpload, method: "DELETE", isOnObject: true, needed: ["uploadId"]),
        Form(operation: .putObject, method: "PUT", isOnObject: true),
        Form(operation: .copyObject, method: "PUT", isOnObject: true, copies: true),
        Form(operation: .appendObject, method: "POST", isOnObject: true, needed: ["append", "position"]),
        Form(operation: .headObject, method: "HEAD", isOnObject: true, allowed: ["versionId"]),
        Form(
            operation: .getObject, method: "GET", isOnObject: true,
            allowed: [
                "versionId", "response-cache-control", "response-content-disposition", "response-content-encoding",
                "response-content-language", "response-content-type", "response-expires",
            ]),
        Form(operation: .deleteObject, method: "DELETE", isOnObject: true, allowed: ["versionId"]),
        Form(
            operation: .putObjectTagging, method: "PUT", isOnObject: true, needed: ["tagging"], allowed: ["versionId"]),
        Form(
            operation: .getObjectTagging, method: "GET", isOnObject: true, needed: ["tagging"], allowed: ["versionId"]),
        Form(
            operation: .deleteObjectTagging, method: "DELETE", isOnObject: true, needed: ["tagging"],
            allowed: ["versionId"]),
        Form(operation: .putObjectACL, method: "PUT", isOnObject: true, needed: ["acl"], allowed: ["versionId"]),
        Form(operation: .getObjectACL, method: "GET", isOnObject: true, needed: ["acl"], allowed: ["versionId"]),
        Form(
            operation: .listMultipartUploads, method: "GET", isOnObject: false, needed: ["uploads"],
            allowed: ["delimiter", "encoding-type", "key-marker", "max-uploads", "prefix", "upload-id-marker"]),
        Form(
            operation: .listObjectsV2, method: "GET", isOnObject: false, needed: ["list-type"],
            allowed: [
                "continuation-token", "delimiter", "encoding-type", "fetch-owner", "max-keys", "prefix", "start-after",
            ]),
        Form(operation: .getBucketLocation, method: "GET", isOnObject: false, needed: ["location"]),
        Form(
            operation: .deleteMultipleObjects, method: "POST", isOnObject: false, needed: ["delete"],
            allowed: ["encoding-type"]),
        Form(operation: .putBucket, method: "PUT", isOnObject: false),
        Form(operation: .deleteBucket, method: "DELETE", isOnObject: false),
    ]
}
