// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import OSSMultipart

/// What `cp` says at its end, as JSON and as a table.
enum CopyReport {
    // MARK: One file

    /// The object of one upload.
    static func document(_ result: OSSUploadResult) -> JSONObject {
        var object = JSONObject()
        object.add("bucket", result.bucket)
        object.add("key", result.key)
        object.add("size", result.size)
        object.add("uploadId", result.uploadID)
        object.add("etag", result.eTag)
        // As text: JSON readers of many languages keep numbers as doubles, which cannot hold 64 bits.
        object.add("crc64", result.crc64.map { String($0) })
        object.add("versionId", result.versionID)
        object.add("proof", result.proof.description)
        object.add("partsTotal", result.partsTotal)
        object.add("partsSent", result.partsSent)
        object.add("partsResumed", result.partsResumed)
        object.add("bytesSent", result.bytesSent)
        object.add("seconds", thousandths: result.duration.inMilliseconds)
        object.add("requestId", result.requestID)
        if let outcome = result.callback {
            var callback = JSONObject()
            callback.add("succeeded", literal: outcome.hasSucceeded ? "true" : "false")
            callback.add("failure", outcome.failure)
            callback.add("reply", String(decoding: outcome.reply, as: UTF8.self))
            object.add("callback", callback)
        }
        return object
    }

    /// The object of an error.
    static func errorDocument(_ error: any Error) -> JSONObject {
        if let error = error as? UsageError { return self.errorDocument("usage", error.message) }
        guard let error = error as? OSSError else { return self.errorDocument("failed", "\(error)") }
        var object = self.members(error.service?.code.name ?? error.code.description, error.message)
        object.add("operation", error.operation?.name)
        object.add("requestId", error.service?.requestID)
        object.add("status", error.service?.status)
        return self.wrapped(object)
    }

    /// The object of an error that has no more than a code and a message.
    static func errorDocument(_ code: String, _ message: String) -> JSONObject {
        var object = self.members(code, message)
        object.add("operation", String?.none)
        object.add("requestId", String?.none)
        object.add("status", Int?.none)
        return self.wrapped(object)
    }

    private static func members(_ code: String, _ message: String) -> JSONObject {
        var object = JSONObject()
        object.add("code", code)
        object.add("message", message)
        return object
    }

    private static func wrapped(_ error: JSONObject) -> JSONObject {
        var object = JSONObject()
        object.add("error", error)
        return object
    }

    // MARK: A folder

    /// The object of a whole folder: the numbers, and every file.
    static func document(_ result: OSSQueueResult) -> JSONObject {
        var object = JSONObject()
        object.add("filesTotal", result.files.count)
        object.add("filesStored", result.files.count - result.failed.count)
        object.add("filesStoredBefore", result.files.count { $0.wasStoredBefore })
        object.add("filesFailed", result.failed.count)
        object.add("filesDeleted", result.files.count { $0.wasDeleted })
        object.add("bytesSent", result.bytesSent)
        object.add(
            "files",
            objects: result.files.map { file in
                if let error = file.error {
                    var entry = self.errorDocument(error)
                    entry.add("source", file.source)
                    entry.add("key", file.destination.key)
                    return entry
                }
                var entry = file.result.map { self.document($0) } ?? JSONObject()
                entry.add("source", file.source)
                if file.result == nil { entry.add("key", file.destination.key) }
                entry.add("storedBefore", literal: file.wasStoredBefore ? "true" : "false")
                entry.add("deleted", literal: file.wasDeleted ? "true" : "false")
                return entry
            }
        )
        return object
    }

    /// The numbers of a folder in columns, and below them the files that failed.
    static func table(_ result: OSSQueueResult) -> [String] {
        let sent = result.files.filter { $0.result != nil }
        var rows = [("", "files", "bytes"), ("stored now", "\(sent.count)", ByteSize.text(result.bytesSent))]
        rows.append(("stored before", "\(result.files.count { $0.wasStoredBefore })", ""))
        rows.append(("failed", "\(result.failed.count)", ""))
        let deleted = result.files.count { $0.wasDeleted }
        if deleted > 0 { rows.append(("deleted here", "\(deleted)", "")) }
        func padded(_ text: String, _ width: Int, left: Bool) -> String {
            let blanks = String(repeating: " ", count: max(0, width - text.count))
            return left ? text + blanks : blanks + text
        }
        let widths = (rows.map(\.0.count).max() ?? 0, rows.map(\.1.count).max() ?? 0, rows.map(\.2.count).max() ?? 0)
        let lines = rows.map { row in
            [
                padded(row.0, widths.0, left: true), padded(row.1, widths.1, left: false),
                padded(row.2, widths.2, left: false),
            ]
            .joined(separator: "  ")
        }
        return lines + result.failed.map { "failed: \($0.source): \($0.error?.message ?? "")" }
    }
}

extension Duration {
    /// Whole milliseconds.
    var inMilliseconds: Int64 {
        self.components.seconds * 1000 + self.components.attoseconds / 1_000_000_000_000_000
    }
}
