// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

extension OSSServer {
    /// One request as the server saw it, without secrets.
    public struct RequestRecord: Sendable, Hashable {
        /// The operation's name as OSS documents it, for example `UploadPart`.
        public internal(set) var operation: String
        /// The HTTP method.
        public internal(set) var method: String
        /// The bucket; nil for calls on the service.
        public internal(set) var bucket: String?
        /// The key; nil for calls on the bucket.
        public internal(set) var key: String?
        /// The parameter `uploadId`.
        public internal(set) var uploadID: String?
        /// The parameter `partNumber`.
        public internal(set) var partNumber: Int?
        /// The reply's status; 0 where none was sent.
        public internal(set) var status = 0
        /// The code of the error that was told; nil where there was none.
        public internal(set) var errorCode: String?
        /// Whether a fault rule met it.
        public internal(set) var metFault = false
        /// Bytes of the body that were read.
        public internal(set) var bytesReceived: Int64 = 0
        /// The query's parameters, decoded, without signatures and tokens.
        public internal(set) var query: [String: String]
        /// The header fields, names in lower case, without signatures and tokens.
        public internal(set) var headers: [String: String]
        /// The number of its connection, counted from 1.
        public internal(set) var connectionID: Int
        /// The reply's `x-oss-request-id`.
        public internal(set) var requestID: String
        /// When it came in, in milliseconds since 1970 by the server's clock.
        public internal(set) var received: Int64
    }
}

extension OSSServer.RequestRecord {
    private static let secretHeaders: Set<String> = [
        "authorization", "security-token", "x-oss-security-token",
    ]
    private static let secretParameters: Set<String> = [
        "Signature", "security-token", "x-oss-signature", "x-oss-security-token",
    ]

    init(_ request: Request, operation: String, connectionID: Int) {
        self.operation = operation
        self.method = request.method
        self.bucket = request.target.bucket
        self.key = request.target.key
        self.uploadID = request.query.value(of: "uploadId")
        self.partNumber = request.query.value(of: "partNumber").flatMap { Int($0) }
        self.query = Dictionary(
            request.query.filter { !Self.secretParameters.contains($0.name) }.map { ($0.name, $0.value ?? "") },
            uniquingKeysWith: { first, _ in first })
        self.headers = Dictionary(
            request.headers.all.map { ($0.name.loweredASCII, $0.value) }
                .filter { !Self.secretHeaders.contains($0.0) },
            uniquingKeysWith: { first, _ in first })
        self.connectionID = connectionID
        self.requestID = request.id
        self.received = request.received.milliseconds
    }

    /// One line of JSON.
    var json: String {
        var fields = [
            "\"time\":\(JSONString.quoted(Timestamp(milliseconds: self.received).iso8601))",
            "\"operation\":\(JSONString.quoted(self.operation))", "\"method\":\(JSONString.quoted(self.method))",
        ]
        if let bucket { fields.append("\"bucket\":\(JSONString.quoted(bucket))") }
        if let key { fields.append("\"key\":\(JSONString.quoted(key))") }
        if let uploadID { fields.append("\"uploadId\":\(JSONString.quoted(uploadID))") }
        if let partNumber { fields.append("\"partNumber\":\(partNumber)") }
        fields.append("\"status\":\(self.status)")
        if let errorCode { fields.append("\"code\":\(JSONString.quoted(errorCode))") }
        if self.metFault { fields.append("\"fault\":true") }
        fields += [
            "\"bytesReceived\":\(self.bytesReceived)", "\"connection\":\(self.connectionID)",
            "\"requestId\":\(JSONString.quoted(self.requestID))", "\"query\":\(Self.object(self.query))",
            "\"headers\":\(Self.object(self.headers))",
        ]
        return "{" + fields.joined(separator: ",") + "}"
    }

    private static func object(_ values: [String: String]) -> String {
        "{"
            + values.sorted { $0.key < $1.key }.map { "\(JSONString.quoted($0.key)):\(JSONString.quoted($0.value))" }
            .joined(separator: ",") + "}"
    }
}
