// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import CurlTransport
internal import OSSWire

/// Reads the service's error out of a reply.
///
/// OSS document: Error responses. A HEAD reply has no body; its document comes in Base64 in `x-oss-err`.
enum ServiceErrorDocument {
    /// Elements that are read by name, and those that hold what was signed: they are left out of the details, for they
    /// can be long and a security token is part of what is signed.
    private static let leftOut: Set<String> = [
        "Code", "Message", "RequestId", "HostId", "EC", "StringToSign", "StringToSignBytes", "CanonicalRequest",
        "CanonicalRequestBytes", "SignatureProvided", "RecommendDoc",
    ]

    /// What a reply says of an error; nil where its document is none of the service's.
    static func read(_ response: TransportResponse) -> OSSError.Service? {
        var document = response.body
        if document.isEmpty, let header = response.headers["x-oss-err"], let decoded = Base64.decode(header) {
            document = decoded
        }
        guard let root = try? XMLElement.parse(document, root: "Error") else {
            // Not a document of the service: a gateway's page, say. The caller goes by the status.
            return nil
        }
        var details: [String: String] = [:]
        for child in root.children where !Self.leftOut.contains(child.name) && !child.text.trimmedBlanks.isEmpty {
            details[child.name] = String(child.text.prefix(1024))
        }
        return OSSError.Service(
            status: response.status, code: OSSError.ServiceCode(root.string("Code") ?? ""),
            message: root.string("Message") ?? "", requestID: root.string("RequestId") ?? response.requestID,
            hostID: root.string("HostId"), ec: root.string("EC") ?? response.headers["x-oss-ec"], details: details
        )
    }

    /// What a refusal says where it has no document of the service: a code that fits the status.
    static func standIn(for response: TransportResponse, operation: OSSError.Operation) -> OSSError.Service {
        let code: OSSError.ServiceCode =
            switch response.status {
            case 304: .notModified
            case 404 where operation == .headObject: .noSuchKey
            case 403: .accessDenied
            case 412: .preconditionFailed
            default: OSSError.ServiceCode("HTTP\(response.status)")
            }
        return OSSError.Service(
            status: response.status, code: code, message: "",
            requestID: response.requestID, hostID: nil, ec: response.headers["x-oss-ec"], details: [:]
        )
    }
}

extension TransportResponse {
    /// The service's ID of the request.
    var requestID: String? { self.headers["x-oss-request-id"] }
}
