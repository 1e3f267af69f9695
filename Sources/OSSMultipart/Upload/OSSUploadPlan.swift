// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import SystemIO

/// How a source would be uploaded: with one request, or in which parts.
public struct OSSUploadPlan: Sendable, Hashable {
    /// One part.
    public struct Part: Sendable, Hashable {
        /// Its number, from 1 on.
        public let number: Int
        /// Where it begins, in bytes from the source's start.
        public let offset: Int64
        /// Its size in bytes.
        public let size: Int64
    }

    private let plan: PartPlan

    init(_ plan: PartPlan) { self.plan = plan }

    /// The source's size in bytes.
    public var size: Int64 { self.plan.size }
    /// Whether it goes up with one PutObject, because it is smaller than a part and than 64 MiB.
    public var isSingleRequest: Bool { self.plan.goesUpWhole }
    /// Bytes of every part but the last.
    public var partSize: Int64 { self.plan.partSize }
    /// How many parts there are; 1 where it goes up with one request.
    public var partCount: Int { self.plan.count }
    /// The parts in the order of their numbers, 1 to 10,000 of them; where it goes up with one request that is the only one.
    public var parts: [Part] {
        (1...self.plan.count).map { number in
            let part = self.plan[number]
            return Part(number: part.number, offset: part.offset, size: part.size)
        }
    }
}

extension OSSUploader.Configuration {
    /// Says how an uploader with this configuration would upload a source that it has no record of.
    ///
    /// The source is opened and its size is looked at; nothing is read and nothing sent. An upload that goes on keeps the part
    /// size that it was begun with.
    ///
    /// - Throws: `OSSError` with `sourceUnreadable`; `invalidArgument` where no plan fits the part size, and for a stream whose
    ///   length is not known: its parts grow while it is read.
    @concurrent public func plan(for source: OSSUploadSource) async throws -> OSSUploadPlan {
        let executor = BlockingExecutor(threads: 1)
        let opened: Result<OpenSource, any Error>
        do { opened = .success(try await source.open(on: executor)) } catch { opened = .failure(error) }
        await executor.shutDown()
        let open = try opened.get()
        if let stream = open.stream, stream.size == nil {
            throw OSSError(
                .invalidArgument,
                "the length of \(stream.name) is not known, so its parts cannot be planned; they grow while it is read"
            )
        }
        return OSSUploadPlan(try PartPlan(size: open.size, partSize: self.partSize))
    }
}
