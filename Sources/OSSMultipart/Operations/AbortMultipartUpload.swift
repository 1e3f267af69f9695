// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// What AbortMultipartUpload needs.
public struct AbortMultipartUploadRequest: Sendable {
    /// The upload to give up.
    public var upload: OSSMultipartUpload

    /// Makes a request.
    public init(upload: OSSMultipartUpload) { self.upload = upload }
}

extension OSSClient {
    /// Gives up an upload and removes its parts.
    ///
    /// An upload that is not there counts as given up.
    ///
    /// Parts still on their way are not removed: end their requests first.
    ///
    /// - Throws: `OSSError` with `invalidArgument` before anything is sent; `service`, `connection` or `timeout` after.
    ///   `CancellationError` where the task is cancelled.
    ///
    /// OSS document: AbortMultipartUpload.
    public func abortMultipartUpload(_ request: AbortMultipartUploadRequest) async throws {
        try request.upload.validate(.abortMultipartUpload)
        var call = ServiceRequest(
            operation: .abortMultipartUpload, method: "DELETE", bucket: request.upload.bucket, key: request.upload.key
        )
        call.query = [QueryItem("uploadId", request.upload.uploadID)]
        do {
            try await self.perform(call) { (_) throws(OSSError) in }
        } catch let error as OSSError where error.service?.code == .noSuchUpload {
            // It is gone, which is what was asked for.
        }
    }

    /// Gives up an upload and looks whether it is gone; a part that landed after the abort would keep it, and then it is
    /// given up again.
    ///
    /// - Throws: what ``abortMultipartUpload(_:)`` throws, or `OSSError.service` where it is still there after three times.
    func abortAndLook(_ upload: OSSMultipartUpload) async throws {
        for _ in 1...3 {
            try await self.abortMultipartUpload(.init(upload: upload))
            var look = ListPartsRequest(upload: upload)
            look.maxParts = 1
            do { _ = try await self.listParts(look) } catch is OSSError {
                // It is gone; or looking is not allowed or fails, and then nothing says that it is still there.
                return
            }
        }
        throw OSSError(
            .service,
            "the upload \(upload.uploadID) is still there after it was aborted three times; something keeps sending "
                + "parts of it: stop that, then abort it again",
            operation: .abortMultipartUpload
        )
    }

    /// As ``abortAndLook(_:)``, for clean-up: ends after a while, and returns what went wrong instead of throwing it.
    func abort(_ upload: OSSMultipartUpload, within limit: Duration) async -> String? {
        await self.cleanUp(within: limit) { try await self.abortAndLook(upload) }
    }

    /// Runs a clean-up that ends after a while, and returns what went wrong instead of throwing it.
    func cleanUp(within limit: Duration, _ body: @escaping @Sendable () async throws -> Void) async -> String? {
        await withTaskGroup(of: String?.self) { group in
            group.addTask {
                do { try await body() } catch { return "\(error)" }
                return nil
            }
            group.addTask {
                // Cancelled where the clean-up was quicker: its answer is not looked at then.
                try? await self.surroundings.wait(limit)
                return "no answer within \(limit)"
            }
            let first = await group.next()
            group.cancelAll()
            return first ?? nil
        }
    }

    /// Gives up an upload whose Complete may be at work: lets it have a while to win, then aborts what is still open.
    func abortUnlessCompleted(_ upload: OSSMultipartUpload, within limit: Duration) async -> String? {
        var look = ListPartsRequest(upload: upload)
        look.maxParts = 1
        let step = Duration.milliseconds(500)
        for _ in 0..<Int(limit / step) {
            do {
                _ = try await self.listParts(look)
                try await self.surroundings.wait(step)
            } catch let error as OSSError where error.service?.code == .noSuchUpload {
                return nil
            } catch {
                // It cannot be seen whether it is open: aborting it does no harm to an object that is stored.
                break
            }
        }
        return await self.abort(upload, within: limit)
    }
}
