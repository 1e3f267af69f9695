// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

public import FoundationEssentials
internal import SystemIO

/// What is uploaded: a file, bytes in memory, something of the caller's that can be read at any place, or a stream.
///
/// Sources that can be read at any place take no memory to speak of, whatever their size, and a broken upload of theirs goes on
/// in a later run. Streams are read once, part by part into memory: parts in flight times part size, bounded by
/// ``OSSUploader/Configuration/streamBufferLimit``.
public struct OSSUploadSource: Sendable, CustomStringConvertible {
    /// The kinds of sources.
    enum Kind: Sendable {
        case file(path: String, region: Range<Int64>?)
        case memory([UInt8], identity: String?)
        case randomAccess(any OSSRandomAccessSource)
        case stream(StreamSource)
    }
    let kind: Kind

    // MARK: Read at any place

    /// A regular file, or a symbolic link to one.
    ///
    /// It must rest while it is uploaded.
    ///
    /// - Parameters:
    ///   - url: the file.
    ///   - range: which of its bytes, from its beginning; nil for all of them.
    public static func file(_ url: URL, range: Range<Int64>? = nil) -> OSSUploadSource {
        OSSUploadSource(kind: .file(path: url.filePath, region: range))
    }

    /// Bytes in memory.
    ///
    /// - Parameters:
    ///   - bytes: the bytes.
    ///   - identity: a text that changes whenever the bytes do, for going on in a later run; nil: what was stored is compared
    ///     with the bytes.
    public static func bytes(_ bytes: [UInt8], identity: String? = nil) -> OSSUploadSource {
        OSSUploadSource(kind: .memory(bytes, identity: identity))
    }

    /// Something of the caller's that can be read at any place.
    public static func randomAccess(_ source: some OSSRandomAccessSource) -> OSSUploadSource {
        OSSUploadSource(kind: .randomAccess(source))
    }

    /// Something of the caller's that can be read at any place, as closures.
    ///
    /// - Parameters:
    ///   - name: what it is called in messages.
    ///   - identity: as ``OSSRandomAccessSource/identity``.
    ///   - size: as ``OSSRandomAccessSource/size``.
    ///   - read: as ``OSSRandomAccessSource/read(at:into:)``.
    public static func reading(
        named name: String, identity: String? = nil, size: @escaping @Sendable () async throws -> Int64,
        read: @escaping @Sendable (_ offset: Int64, _ buffer: inout [UInt8]) async throws -> Int
    ) -> OSSUploadSource {
        .randomAccess(ClosureSource(name: name, fixedIdentity: identity, sizeOf: size, readAt: read))
    }

    // MARK: Streams

    /// A stream of chunks that can be read once.
    ///
    /// The next chunk is asked for when there is room for it. An upload that fails or is cancelled is given up on the service;
    /// the sequence is then let go, which an `AsyncStream` notices.
    ///
    /// - Parameters:
    ///   - sequence: the chunks, of any size, empty ones too.
    ///   - size: the length in bytes; a sequence that is shorter or longer is an error. Nil where it is not known: parts then
    ///     grow, so that 10,000 suffice for 1.9 TiB with the default part size and buffer limit.
    public static func stream<Chunks: AsyncSequence & Sendable>(
        _ sequence: Chunks, size: Int64? = nil
    ) -> OSSUploadSource where Chunks.Element: Collection<UInt8> & Sendable {
        OSSUploadSource(
            kind: .stream(
                StreamSource(name: "\(Chunks.self)", size: size, isReplayable: false) { _ in SequenceChunks(sequence) }
            )
        )
    }

    /// A stream of chunks that can be opened again from its beginning, and gives the same bytes then.
    ///
    /// A broken upload goes on in a later run: what is stored already is read past, compared and not sent again.
    ///
    /// - Parameters:
    ///   - name: what it is called in messages.
    ///   - size: the length in bytes, as for ``stream(_:size:)``.
    ///   - open: opens the stream at its beginning.
    public static func replayable<Chunks: AsyncSequence & Sendable>(
        named name: String, size: Int64? = nil, open: @escaping @Sendable () async throws -> Chunks
    ) -> OSSUploadSource where Chunks.Element: Collection<UInt8> & Sendable {
        OSSUploadSource(
            kind: .stream(
                StreamSource(name: name, size: size, isReplayable: true) { _ in SequenceChunks(try await open()) }
            )
        )
    }

    /// Standard input, to its end.
    public static let standardInput = OSSUploadSource.descriptor(.standardInput, size: nil)

    /// A pipe, a socket or a device, from where it stands to its end; it is not closed.
    ///
    /// - Parameters:
    ///   - descriptor: an open descriptor, open until the upload has ended.
    ///   - size: the length in bytes, as for ``stream(_:size:)``.
    public static func fileDescriptor(_ descriptor: Int32, size: Int64? = nil) -> OSSUploadSource {
        .descriptor(InputDescriptor(number: descriptor, name: "descriptor \(descriptor)"), size: size)
    }

    /// A stream whose reads block; for modules of this package.
    ///
    /// - Parameter open: gives what fills a buffer's front and returns how many bytes there were, 0 at the end.
    package static func blockingStream(
        named name: String, size: Int64?, isReplayable: Bool,
        open: @escaping @Sendable () throws -> @Sendable (inout [UInt8]) throws -> Int
    ) -> OSSUploadSource {
        OSSUploadSource(
            kind: .stream(
                StreamSource(name: name, size: size, isReplayable: isReplayable) { executor in
                    BlockingChunks(try open(), on: executor)
                }
            )
        )
    }

    private static func descriptor(_ input: InputDescriptor, size: Int64?) -> OSSUploadSource {
        OSSUploadSource(
            kind: .stream(
                StreamSource(name: input.name, size: size, isReplayable: false) { DescriptorChunks(input, on: $0) }
            )
        )
    }

    // MARK: What it is

    /// A file's path; for others what they are called.
    public var description: String {
        switch self.kind {
        case .file(let path, _): path
        case .memory(let bytes, _): "\(bytes.count) bytes in memory"
        case .randomAccess(let source): source.name
        case .stream(let stream): stream.name
        }
    }

    /// Whether an upload of it can go on after it was broken off: everything but a stream that can be read once.
    public var canBeReadAgain: Bool {
        guard case .stream(let stream) = self.kind else { return true }
        return stream.isReplayable
    }

    /// Opens the source, away from Swift's own threads.
    func open(on executor: BlockingExecutor) async throws -> OpenSource {
        switch self.kind {
        case .file(let path, let region):
            try await executor.run { () throws(OSSError) in try OpenSource(path: path, region: region) }
        case .memory(let bytes, let identity):
            OpenSource(bytes: bytes, name: self.description, identity: identity)
        case .randomAccess(let source): try await OpenSource(source)
        case .stream(let stream): OpenSource(stream)
        }
    }
}
