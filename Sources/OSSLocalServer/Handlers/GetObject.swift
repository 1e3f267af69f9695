// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// Sends an object or a region of it.
///
/// OSS document: GetObject.
struct GetObject: OperationHandler {
    static let name = "GetObject"

    private let request: Request
    private let object: StoredObject

    init(_ request: Request, _ service: Service) throws(ServiceError) {
        self.request = request
        self.object = try ObjectLookup.object(request, service)
    }

    func respond(to body: ReceivedBody) throws(ServiceError) -> Reply {
        var headers = ObjectHeaders.reply(self.object)
        for item in self.request.query where item.name.hasPrefix("response-") {
            headers[String(item.name.dropFirst("response-".count))] = item.value
        }
        if ObjectLookup.isUnmodified(self.request, self.object) { return Reply(status: 304, headers: headers) }
        let size = self.object.size
        guard let text = self.request.headers["Range"] else {
            return Reply(headers: headers, body: .object(self.object, range: 0..<size))
        }
        let isStandard = self.request.headers["x-oss-range-behavior"]?.loweredASCII == "standard"
        guard let range = Self.range(text, size: size, isStandard: isStandard) else {
            guard isStandard else { return Reply(headers: headers, body: .object(self.object, range: 0..<size)) }
            throw ServiceError(
                416, "InvalidRange", "The requested range cannot be satisfied.", ec: "0016-00000203",
                details: [("ActualObjectSize", String(size)), ("RangeRequested", text)])
        }
        headers["Content-Range"] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(size)"
        return Reply(status: 206, headers: headers, body: .object(self.object, range: range))
    }

    /// The region that `Range` names; nil where it names none that the object has.
    ///
    /// By default an end behind the object's makes a range invalid; `x-oss-range-behavior: standard` cuts it.
    private static func range(_ text: String, size: Int64, isStandard: Bool) -> Range<Int64>? {
        guard text.loweredASCII.hasPrefix("bytes=") else { return nil }
        let ends = text.dropFirst("bytes=".count).split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, size > 0 else { return nil }
        let first = ends[0].trimmedBlanks, last = ends[1].trimmedBlanks
        switch (Int64(first), Int64(last)) {
        case (let first?, let last?):
            guard first >= 0, first <= last, first < size else { return nil }
            guard last < size || isStandard else { return nil }
            return first..<min(last + 1, size)
        case (let first?, nil):
            guard last.isEmpty, first >= 0, first < size else { return nil }
            return first..<size
        case (nil, let count?):
            guard first.isEmpty, count > 0 else { return nil }
            guard count <= size || isStandard else { return nil }
            return max(0, size - count)..<size
        case (nil, nil): return nil
        }
    }
}
