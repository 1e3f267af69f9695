// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import FoundationEssentials
import OSSMultipart
import Synchronization

/// `ossmp cp`: uploads a file.
struct CopyCommand {
    private let options: Options
    private let source: OSSUploadSource
    private let destination: OSSUploader.Destination
    private let uploader: OSSUploader

    init(_ options: Options) throws {
        guard options.operands.count == 2 else {
            throw UsageError("cp takes a file and an object: ossmp cp FILE oss://BUCKET/KEY")
        }
        for name in ["include", "exclude", "symlinks", "delete-source"] where options.has(name) {
            throw UsageError("--\(name) is for folders; add -r")
        }
        self.options = options
        let path = options.operands[0]
        guard !path.isEmpty else { throw UsageError("the file's name is empty") }
        let address = try ObjectAddress(options.operands[1]).completed(for: path)
        let settings = try CopySettings(options)
        self.source = path == "-" ? .standardInput : .file(URL(operand: path))
        var destination = OSSUploader.Destination(bucket: address.bucket, key: address.key)
        destination.headers = settings.headers
        destination.callback = settings.callback
        self.destination = destination
        self.uploader = settings.uploader
    }

    func run(_ signals: Signals) async throws {
        let task = self.uploader.start(self.source, to: self.destination)
        signals.onFirst { task.cancel() }
        let isCompleting = Mutex(false)
        do {
            // The two watch the upload and end with it.
            async let watching: Void = self.watch(task, isCompleting: isCompleting)
            let result: Result<OSSUploadResult, any Error>
            do { result = .success(try await task.value) } catch { result = .failure(error) }
            await watching
            await self.uploader.client.shutDown()
            let stored = try result.get()
            self.report(stored)
            if let failure = stored.callback?.failure {
                Console.note(
                    "the object is stored, but the callback to the application's server failed (\(failure)); tell that server by "
                        + "another way, the upload need not be repeated"
                )
                throw ToolExit(code: .callbackFailed)
            }
        } catch is CancellationError {
            let message = self.stopMessage(task.snapshot, isCompleting: isCompleting.withLock { $0 })
            Console.note(message)
            if self.options.has("json") { Console.output(CopyReport.errorDocument("cancelled", message).text) }
            throw CancellationError()
        }
    }

    private func stopMessage(_ snapshot: OSSUploadSnapshot, isCompleting: Bool) -> String {
        if isCompleting {
            return "stopped while the parts were being joined: outcome unknown, run the same command again to find out"
        }
        if !self.source.canBeReadAgain {
            return "stopped; what was read of \(self.source) is lost, and nothing is kept"
        }
        if self.options.has("no-checkpoint") { return "stopped; without a checkpoint nothing is kept" }
        guard snapshot.partsDone > 0 else { return "stopped; nothing was stored yet, run the same command again" }
        return
            "stopped; \(snapshot.partsDone) of \(snapshot.partsTotal) parts are kept, run the same command again to go on"
    }

    // MARK: While it runs

    private func watch(_ task: OSSUploadTask, isCompleting: borrowing Mutex<Bool>) async {
        var bar = ProgressBar(path: self.source.description)
        let showsBar = !self.options.has("quiet") && !self.options.has("json")
        // Events and drawing share the bar: one task takes both from one stream.
        for await moment in ProgressBar.moments(of: task.events(of: self.kinds)) {
            switch moment {
            case .tick:
                if showsBar { bar.show(ProgressBar.State(task.snapshot)) }
            case .event(let event):
                if event.kind == .completing { isCompleting.withLock { $0 = true } }
                if let line = self.line(for: event) { Console.note(line) }
            }
        }
        if showsBar {
            bar.show(ProgressBar.State(task.snapshot))
            Console.clearBar()
        }
    }

    /// What is worth a line.
    private var kinds: Set<OSSUploadEvent.Kind> {
        let always: Set<OSSUploadEvent.Kind> = [.warning, .resumed, .completing]
        return self.options.has("verbose") ? always.union([.partStored, .partFailed, .notice]) : always
    }

    private func line(for event: OSSUploadEvent) -> String? {
        switch event.kind {
        case .warning: return event.message.map { "warning: \($0)" }
        case .notice where self.options.has("verbose"): return event.message
        // Of a stream each part is told by itself, while it is read.
        case .resumed where !self.options.has("quiet") && event.partNumber == nil:
            return "going on: \(event.snapshot.partsResumed) of \(event.snapshot.partsTotal) parts "
                + "(\(ByteSize.text(event.snapshot.bytesResumed))) are stored already"
        case .partStored where self.options.has("verbose"):
            return event.partNumber.map { "part \($0) of \(event.snapshot.partsTotal) is stored" }
        case .partFailed where self.options.has("verbose"): return event.partNumber.map { "part \($0) was stopped" }
        default: return nil
        }
    }

    // MARK: At the end

    private func report(_ result: OSSUploadResult) {
        if self.options.has("json") {
            Console.output(CopyReport.document(result).text)
            return
        }
        guard !self.options.has("quiet") else { return }
        let milliseconds = max(1, result.duration.inMilliseconds)
        let rate = ByteSize.rate(Double(result.bytesSent) * 1000 / Double(milliseconds))
        var parts = "\(result.partsTotal) part\(result.partsTotal == 1 ? "" : "s")"
        if result.partsResumed > 0 { parts += ", \(result.partsResumed) from before" }
        Console.note(
            "stored oss://\(result.bucket)/\(result.key): \(ByteSize.text(result.size)) in \(parts); sent "
                + "\(ByteSize.text(result.bytesSent)) in \(milliseconds / 1000).\(milliseconds % 1000 / 100) s (\(rate)); "
                + "proof: \(result.proof)"
        )
    }
}
