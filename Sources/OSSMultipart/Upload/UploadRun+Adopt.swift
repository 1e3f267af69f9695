// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import FoundationEssentials
internal import OSSWire

/// Taking over an open upload that no record names.
extension UploadRun {
    /// The upload to go on with, where the caller allows one and there is one; its record is made first.
    func adopt() async throws -> Session? {
        switch self.options.adoption.choice {
        case .never: return nil
        case .upload(let uploadID):
            let upload = OSSMultipartUpload(
                bucket: self.destination.bucket, key: self.destination.key, uploadID: uploadID
            )
            // Whoever names an upload wants that one: that it is gone, or cannot be listed, is an error.
            guard let listing = try await self.listing(of: upload) else {
                throw OSSError(
                    .invalidArgument,
                    "the upload \(uploadID) cannot be taken over, for its parts cannot be listed; allow "
                        + "oss:ListParts",
                    operation: .listParts
                )
            }
            return try await self.adopt(upload, listing.others, isNamed: true)
        case .latest:
            for upload in try await self.openUploads() {
                guard let listing = try await self.listing(of: upload) else { return nil }
                if let session = try await self.adopt(upload, listing.others, isNamed: false) { return session }
            }
            return nil
        }
    }

    /// The open uploads of this very key, the one begun last first.
    private func openUploads() async throws -> [OSSMultipartUpload] {
        var request = ListMultipartUploadsRequest(bucket: self.destination.bucket)
        request.prefix = self.destination.key
        var uploads: [OSSOpenUpload] = []
        for try await open in self.client.listMultipartUploadsPages(request)
        where open.upload.key.hasSameBytes(as: self.destination.key) {
            uploads.append(open)
        }
        return uploads.sorted {
            ($0.initiated ?? .distantPast, $0.upload.uploadID) > ($1.initiated ?? .distantPast, $1.upload.uploadID)
        }
        .map(\.upload)
    }

    /// Takes over one upload; nil where none of its parts is the source's and the caller did not name it.
    private func adopt(
        _ upload: OSSMultipartUpload, _ listing: [Int: OSSStoredPart], isNamed: Bool
    ) async throws -> Session? {
        let plan = self.plan(for: listing)
        let stored = try await self.keep(PartReceipts(), Listing(others: listing), plan, readsAgain: true)
        guard isNamed || stored.count > 0 else {
            self.progress.warn(
                "the open upload \(upload.uploadID) of this key has no part of this source; it is left alone"
            )
            return nil
        }
        try await self.writeDurably(Journal.beginning(self.intent) + self.uploadLine(upload, plan.sizes), isFirst: true)
        for receipt in stored { await self.writeLine(Journal.line(receipt)) }
        self.openUpload = upload
        self.progress.warn(
            "the open upload \(upload.uploadID) was taken over, with \(stored.count) parts that are the source's"
        )
        self.progress.begin(bytesTotal: plan.size, partsTotal: plan.count)
        self.progress.resumed(parts: stored.numbers, bytes: stored.reduce(0) { $0 + $1.size })
        return Session(
            upload: upload,
            machine: UploadStateMachine(plan: plan, stored: stored, window: self.options.partsInFlight.initial),
            isResumed: true
        )
    }

    /// The plan by which the parts were cut, as far as their sizes tell; else the one of this run.
    private func plan(for listing: [Int: OSSStoredPart]) -> PartPlan {
        let size = self.source.size
        // Every part but the last has the plan's size: a part that is not the listing's last shows it.
        let sizes = listing.sorted { $0.key < $1.key }.map(\.value.size)
        for candidate in Set(sizes.count > 1 ? sizes.dropLast() : sizes[...]).sorted(by: >) {
            // A size that no plan can have is no reason to fail: then it was another plan.
            guard let plan = try? PartPlan(size: size, partSize: candidate) else { continue }
            let fits = listing.values.filter { part in
                part.info.partNumber <= plan.count && plan[part.info.partNumber].size == part.size
            }
            if fits.count * 2 > listing.count { return plan }
        }
        return self.requestedPlan
    }
}
