// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// Finds objects and checks a request's conditions.
enum ObjectLookup {
    /// The conditions of a request: `If-Match` and so on, for a copy's source under names of their own.
    struct Conditions {
        private let ifMatch: String?
        private let ifNoneMatch: String?
        private let ifModifiedSince: Timestamp?
        private let ifUnmodifiedSince: Timestamp?
        private let prefix: String

        /// Reads the header fields whose names begin with `prefix`.
        init(_ headers: HTTPFields, prefix: String = "") {
            self.prefix = prefix
            self.ifMatch = headers[prefix + "If-Match"]
            self.ifNoneMatch = headers[prefix + "If-None-Match"]
            // A date that cannot be read is no condition.
            self.ifModifiedSince = headers[prefix + "If-Modified-Since"].flatMap { Timestamp(httpDate: $0) }
            self.ifUnmodifiedSince = headers[prefix + "If-Unmodified-Since"].flatMap { Timestamp(httpDate: $0) }
        }

        /// Refuses an object that is not as the client wants it (412).
        func check(_ object: StoredObject) throws(ServiceError) {
            if let ifMatch, !Self.matches(ifMatch, object) {
                throw ServiceError.preconditionFailed(self.prefix + "If-Match")
            }
            if let ifUnmodifiedSince, object.modified.seconds > ifUnmodifiedSince.seconds {
                throw ServiceError.preconditionFailed(self.prefix + "If-Unmodified-Since")
            }
        }

        /// Whether the client has the object as it is (304).
        func isUnmodified(_ object: StoredObject) -> Bool {
            if let ifNoneMatch { return Self.matches(ifNoneMatch, object) }
            guard let ifModifiedSince else { return false }
            return object.modified.seconds <= ifModifiedSince.seconds
        }

        private static func matches(_ value: String, _ object: StoredObject) -> Bool {
            value == "*"
                || value.split(separator: ",").contains { MultipartETag.unquoted(String($0)) == object.eTag }
        }
    }

    /// The object that a request names.
    ///
    /// - Throws: `ServiceError` where there is none.
    static func existing(_ request: Request, _ service: Service) throws(ServiceError) -> StoredObject {
        let key = try request.key()
        guard let object = try service.store.object(bucket: request.bucket, key: key) else {
            throw ServiceError.noSuchKey(key.text)
        }
        return object
    }

    /// The object of a GET or HEAD.
    ///
    /// - Throws: `ServiceError` where there is none, or where a condition fails (412).
    static func object(_ request: Request, _ service: Service) throws(ServiceError) -> StoredObject {
        let object = try self.existing(request, service)
        try Conditions(request.headers).check(object)
        return object
    }

    /// Whether the client has the object as it is: 304.
    static func isUnmodified(_ request: Request, _ object: StoredObject) -> Bool {
        Conditions(request.headers).isUnmodified(object)
    }
}
