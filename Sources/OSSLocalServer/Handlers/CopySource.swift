// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// The object that a copy is made of, as `x-oss-copy-source` names it.
struct CopySource {
    /// The object.
    let object: StoredObject

    private static let prefix = "x-oss-copy-source-"

    /// Finds the object and checks the request's conditions.
    ///
    /// - Throws: `ServiceError` where there is none, or where a condition fails (412, or 304).
    init(_ request: Request, _ service: Service) throws(ServiceError) {
        let text = request.headers["x-oss-copy-source"] ?? ""
        let path = text.split(atEach: "?", most: 2)[0]
        let names = (path.hasPrefix("/") ? path.dropFirst() : path).split(atEach: "/", most: 2)
        guard names.count == 2, let bucket = PercentEncoding.decode(names[0]),
            let key = PercentEncoding.decode(names[1]), Limits.problem(withBucketName: bucket) == nil,
            Limits.problem(withObjectKey: key) == nil
        else {
            throw ServiceError.invalidArgument(
                "Copy Source must mention the source bucket and key: /sourcebucket/sourcekey.",
                name: "x-oss-copy-source", value: text)
        }
        guard let object = try service.store.object(bucket: bucket, key: ObjectKey(key)) else {
            throw ServiceError.noSuchKey(key)
        }
        let conditions = ObjectLookup.Conditions(request.headers, prefix: Self.prefix)
        try conditions.check(object)
        if conditions.isUnmodified(object) {
            throw ServiceError(304, "NotModified", "The resource was not modified according to the conditions.")
        }
        self.object = object
    }
}
