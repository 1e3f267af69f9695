// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// Sends an object or a region of it.
///
/// OSS document: GetObject.
struct GetObject: OperationHandler {
    static let name = "GetObject"
    static let access = Access.read

    /// The header fields that a request may choose by a parameter, `response-` before the name.
    ///
    /// *Source:* OSS document GetObject. *Applies to:* the query.
    private static let chosenFields = [
        "cache-control", "content-disposition", "content-encoding", "content-language", "content-type", "expires",
    ]

    private let request: Request
    private let object: StoredObject

    init(_ request: Request, _ service: Service) throws(ServiceError) {
        self.request = request
        self.object = try ObjectLookup.object(request, service)
    }

    func respond(to body: ReceivedBody) throws(ServiceError) -> Reply {
        var headers = ObjectHeaders.reply(self.object)
        for name in Self.chosenFields {
            if let value = self.request.query.value(of: "response-\(name)") { headers[name] = value }
        }
        if ObjectLookup.isUnmodified(self.request, self.object) { return Reply(status: 304, headers: headers) }
        let size = self.object.size
        guard let text = self.request.headers["Range"] else {
            return Reply(headers: headers, body: .object(self.object, range: 0..<size))
        }
        let isStandard = self.request.headers["x-oss-range-behavior"]?.loweredASCII == "standard"
        guard let range = ByteRange.parse(text, size: size, isStandard: isStandard) else {
            guard isStandard else { return Reply(headers: headers, body: .object(self.object, range: 0..<size)) }
            throw ServiceError(
                416, "InvalidRange", "The requested range cannot be satisfied.",
                details: [("ActualObjectSize", String(size)), ("RangeRequested", text)])
        }
        headers["Content-Range"] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(size)"
        return Reply(status: 206, headers: headers, body: .object(self.object, range: range))
    }
}
