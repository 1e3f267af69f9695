// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import FoundationEssentials
import Glibc
import OSSMultipart
import Synchronization

/// `ossmp get`: downloads an object.
struct GetCommand {
    /// Where the bytes go.
    private enum Target {
        /// Into a file, which takes its name when it is whole.
        case file(String)
        /// Into standard output, a pipe or a device, as they come.
        case stream(Int32, name: String)
    }

    private let client: OSSClient
    private let address: ObjectAddress
    private let request: GetObjectRequest
    private let target: Target
    private let options: Options

    init(_ options: Options) throws {
        guard (1...2).contains(options.operands.count) else {
            throw UsageError("get takes an object and perhaps a file: ossmp get oss://BUCKET/KEY [FILE|-]")
        }
        let address = try ObjectAddress(object: options.operands[0])
        var request = GetObjectRequest(bucket: address.bucket, key: address.key)
        request.versionID = options.value("version-id")
        request.range = try options.value("range").map(Self.range)
        self.request = request
        self.address = address
        guard !(options.has("json") && options.operands.dropFirst() == ["-"]) else {
            throw UsageError("--json writes to standard output, where the object goes; name a file")
        }
        self.target = try Self.target(options.operands.count > 1 ? options.operands[1] : nil, address)
        self.options = options
        self.client = try ClientOptions.client(options)
    }

    /// Reads `FIRST-LAST`, `FIRST-` or `-COUNT`.
    private static func range(_ text: String) throws -> OSSByteRange {
        let ends = text.split(separator: "-", omittingEmptySubsequences: false)
        let numbers = ends.map { end in end.allSatisfy { $0.isASCII && $0.isNumber } ? Int64(end) : nil }
        switch (ends.count, numbers.first ?? nil, numbers.last ?? nil) {
        case (2, let first?, let last?) where first <= last && last < .max: return .bytes(first..<last + 1)
        case (2, let first?, nil) where ends[1].isEmpty: return .from(first)
        case (2, nil, let count?) where ends[0].isEmpty && count > 0: return .last(count)
        default:
            throw UsageError(
                "--range \(text): write FIRST-LAST, FIRST- or -COUNT, for example 0-99 for the first hundred bytes")
        }
    }

    // MARK: Where it goes

    private static func target(_ path: String?, _ address: ObjectAddress) throws -> Target {
        if path == "-" { return .stream(STDOUT_FILENO, name: "standard output") }
        var path = path ?? address.name
        guard !path.isEmpty, ![".", ".."].contains(path) || path != address.name else {
            throw UsageError("the key \(address.key) names no file; say which: ossmp get \(address) FILE")
        }
        if path.hasSuffix("/") || self.kind(of: path) == S_IFDIR {
            guard !["", ".", ".."].contains(address.name) else {
                throw UsageError("the key \(address.key) names no file; say which one in \(path)")
            }
            path += (path.hasSuffix("/") ? "" : "/") + address.name
        }
        switch self.kind(of: path) {
        case nil where self.isLink(path):
            // The file would take the link's place, and not be where it leads.
            throw UsageError("\(path) is a link to nothing: make the file that it leads to, or remove it")
        case nil: return .file(path)
        // Behind a link lies the file that is meant.
        case S_IFREG?: return .file(self.resolved(path))
        case S_IFDIR?: throw UsageError("\(path) is a folder; name a file in it")
        default:
            // A new file in the place of a pipe or a device would take it away from everybody.
            let descriptor = unsafe open(path, O_WRONLY | O_CLOEXEC)
            guard descriptor >= 0 else { throw UsageError("\(path): \(Console.description(of: errno))") }
            return .stream(descriptor, name: path)
        }
    }

    /// What a path leads to; nil where it leads nowhere.
    private static func kind(of path: String) -> mode_t? {
        var status = stat()
        // SAFETY: the pointer is to this frame's value.
        return unsafe stat(path, &status) == 0 ? status.st_mode & S_IFMT : nil
    }

    private static func isLink(_ path: String) -> Bool {
        var status = stat()
        // SAFETY: as above.
        return unsafe lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
    }

    private static func resolved(_ path: String) -> String {
        // SAFETY: the C library's text is copied, then freed.
        guard let text = unsafe realpath(path, nil) else { return path }
        defer { unsafe free(text) }
        return unsafe String(cString: text)
    }

    // MARK: The transfer

    func run(_ signals: Signals) async throws {
        let meter = TransferMeter(
            name: self.address.description, isShown: !self.options.has("quiet") && !self.options.has("json"))
        // A task of its own, so that a signal can end it; awaited below.
        let transfer = Task { try await self.transfer(meter) }
        signals.onFirst { transfer.cancel() }
        let got: (object: HeadObjectResult, bytes: Int64)
        do { got = try await transfer.value } catch is CancellationError {
            let message: String
            if case .file(let path) = self.target {
                message = "stopped; \(path) is as it was, run the same command again"
            } else {
                message = "stopped; what was written is not the whole object"
            }
            Console.note(message)
            if self.options.has("json") { Console.output(CopyReport.errorDocument("cancelled", message).text) }
            throw CancellationError()
        }
        await self.client.shutDown()
        self.report(got.object, bytes: got.bytes)
    }

    private func transfer(_ meter: TransferMeter) async throws -> (HeadObjectResult, Int64) {
        defer { meter.end() }
        switch self.target {
        case .file(let path):
            let written = Mutex<Int64>(0)
            let object = try await self.client.getObject(self.request, toFile: URL(operand: path)) { done, total in
                written.withLock { $0 = done }
                meter.show(done, of: total)
            }
            return (object, written.withLock { $0 })
        case .stream(let descriptor, let name):
            let result = try await self.client.getObject(self.request)
            let total = Int64(result.range.count)
            var done: Int64 = 0
            for try await piece in result.body {
                // This waits for the one who reads; nothing else of this process has anything to do meanwhile.
                let number = Console.write(piece[...], to: descriptor)
                guard number == 0 else {
                    throw OutputError(description: "\(name) cannot be written: \(Console.description(of: number))")
                }
                done += Int64(piece.count)
                meter.show(done, of: total)
            }
            return (result.object, done)
        }
    }

    private func report(_ object: HeadObjectResult, bytes: Int64) {
        // The CRC-64 is that of the whole object.
        let proof = self.request.range == nil && object.crc64 != nil ? "crc64" : "size"
        let name: String? = if case .file(let path) = self.target { path } else { nil }
        if self.options.has("json") {
            var document = ObjectReport.document(object, self.address)
            document.add("file", name)
            document.add("bytes", bytes)
            document.add("proof", proof)
            Console.output(document.text)
            return
        }
        guard !self.options.has("quiet") else { return }
        Console.note("got \(self.address)\(name.map { " into \($0)" } ?? ""): \(ByteSize.text(bytes)); proof: \(proof)")
    }
}

/// What was got cannot be handed on.
private struct OutputError: Error, CustomStringConvertible {
    let description: String
}

/// The progress of a download; told by whichever thread has it.
private final class TransferMeter: Sendable {
    private struct State {
        var bar: ProgressBar
        var last: ContinuousClock.Instant?
    }

    private let state: Mutex<State>
    private let isShown: Bool
    private let start = ContinuousClock.now

    init(name: String, isShown: Bool) {
        self.state = Mutex(State(bar: ProgressBar(path: name)))
        self.isShown = isShown
    }

    func show(_ done: Int64, of total: Int64) {
        guard self.isShown else { return }
        let now = ContinuousClock.now
        self.state.withLock { state in
            guard done == total || state.last.map({ $0.duration(to: now) >= ProgressBar.interval }) ?? true else {
                return
            }
            state.last = now
            state.bar.show(.init(bytesDone: done, bytesTotal: total, after: self.start.duration(to: now)))
        }
    }

    func end() { Console.clearBar() }
}
