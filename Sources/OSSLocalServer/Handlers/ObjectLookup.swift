// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// Finds the object of a GET or HEAD and checks the request's conditions.
enum ObjectLookup {
    /// The object.
    ///
    /// - Throws: `ServiceError` where there is none, or where a condition fails (412).
    static func object(_ request: Request, _ service: Service) throws(ServiceError) -> StoredObject {
        let key = try request.key()
        guard let object = try service.store.object(bucket: request.bucket, key: key) else {
            throw ServiceError.noSuchKey(key.text)
        }
        if let wanted = request.headers["If-Match"], !self.matches(wanted, object) {
            throw self.failed("If-Match")
        }
        if let date = self.date(request, "If-Unmodified-Since"), object.modified.seconds > date.seconds {
            throw self.failed("If-Unmodified-Since")
        }
        return object
    }

    /// Whether the client has the object as it is: 304.
    static func isUnmodified(_ request: Request, _ object: StoredObject) -> Bool {
        if let known = request.headers["If-None-Match"] { return self.matches(known, object) }
        guard let date = self.date(request, "If-Modified-Since") else { return false }
        return object.modified.seconds <= date.seconds
    }

    private static func date(_ request: Request, _ name: String) -> Timestamp? {
        request.headers[name].flatMap { Timestamp(httpDate: $0) }
    }

    private static func matches(_ value: String, _ object: StoredObject) -> Bool {
        value == "*" || value.split(separator: ",").contains { MultipartETag.unquoted($0.trimmedBlanks) == object.eTag }
    }

    private static func failed(_ condition: String) -> ServiceError {
        ServiceError(
            412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold.",
            ec: "0016-00000303", details: [("Condition", condition)])
    }
}
