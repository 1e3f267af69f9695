// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import FoundationEssentials
import OSSMultipart

/// `ossmp cp -r`: uploads the files of a folder.
struct CopyFolderCommand {
    private let options: Options
    private let folder: OSSFolder
    private let address: ObjectAddress
    private let settings: CopySettings
    private let queue: OSSUploadQueue

    init(_ options: Options) throws {
        guard options.operands.count == 2 else {
            throw UsageError("cp -r takes a folder and a prefix: ossmp cp -r FOLDER oss://BUCKET/PREFIX/")
        }
        guard !options.operands[0].isEmpty, options.operands[0] != "-" else {
            throw UsageError("cp -r takes a folder; standard input goes up without -r")
        }
        self.options = options
        self.address = try ObjectAddress(options.operands[1])
        guard !options.has("adopt") else {
            throw UsageError("--adopt is for one file; with -r an upload could be taken over for the wrong one")
        }
        var folder = OSSFolder(URL(operand: options.operands[0]))
        folder.include = options.values("include")
        folder.exclude = options.values("exclude")
        if let policy = try options.choice("symlinks", OSSFolder.SymbolicLinks.all) { folder.symbolicLinks = policy }
        self.folder = folder
        self.settings = try CopySettings(options)
        var configuration = OSSUploadQueue.Configuration()
        configuration.deletesStoredFiles = options.has("delete-source")
        self.queue = OSSUploadQueue(uploader: self.settings.uploader, configuration: configuration)
    }

    /// The keys' common beginning: a prefix is a folder's name, with or without the slash.
    private var prefix: String {
        self.address.key.isEmpty || self.address.key.hasSuffix("/") ? self.address.key : self.address.key + "/"
    }

    func run(_ signals: Signals) async throws {
        let listing = try await self.folder.listing()
        for passedOver in listing.passedOver { Console.note("passed over: \(passedOver)") }
        var items = self.folder.items(
            of: listing, bucket: self.address.bucket, prefix: self.prefix, headers: self.settings.headers
        )
        for index in items.indices { items[index].destination.callback = self.settings.callback }
        let task = self.queue.start(items, manifest: self.manifestName)
        signals.onFirst { task.cancel() }
        async let watching: Void = self.watch(task)
        let outcome: Result<OSSQueueResult, any Error>
        do { outcome = .success(try await task.value) } catch { outcome = .failure(error) }
        await watching
        await self.settings.uploader.client.shutDown()
        if case .failure(let error) = outcome, error is CancellationError {
            let message =
                "stopped; \(task.snapshot.filesStored) of \(task.snapshot.filesTotal) files are stored, run the same "
                + "command again to go on"
            Console.note(message)
            if self.options.has("json") { Console.output(CopyReport.errorDocument("cancelled", message).text) }
        }
        let result = try outcome.get()
        self.report(result)
        let code = Self.exitCode(result)
        if code != .stored { throw ToolExit(code: code) }
    }

    /// The manifest's name: that of this folder and this prefix, so that the same command goes on.
    private var manifestName: String? {
        guard !self.options.has("no-checkpoint") else { return nil }
        let current = FileManager.default.currentDirectoryPath
        let path = self.folder.path.hasPrefix("/") ? self.folder.path : current + "/" + self.folder.path
        return OSSUploadQueue.manifestName(folder: path, bucket: self.address.bucket, prefix: self.prefix)
    }

    // MARK: While it runs

    private func watch(_ task: OSSQueueTask) async {
        var bar = ProgressBar(path: self.folder.path)
        let showsBar = !self.options.has("quiet") && !self.options.has("json")
        for await moment in ProgressBar.moments(of: task.events) {
            switch moment {
            case .tick:
                if showsBar { bar.show(ProgressBar.State(task.snapshot)) }
            case .event(let event):
                if let line = self.line(for: event) { Console.note(line) }
            }
        }
        if showsBar {
            bar.show(ProgressBar.State(task.snapshot))
            Console.clearBar()
        }
    }

    private func line(for event: OSSQueueEvent) -> String? {
        switch event.kind {
        case .warning: return event.message.map { "note: \($0)" }
        case .fileEnded:
            guard let file = event.file else { return nil }
            if let error = file.error { return "\(file.source): \(error)" }
            guard self.options.has("verbose") else { return nil }
            return "\(file.source): \(file.wasStoredBefore ? "stored before" : "stored")"
        default: return nil
        }
    }

    // MARK: At the end

    private static func exitCode(_ result: OSSQueueResult) -> ExitCode {
        let codes = result.failed.compactMap(\.error).map { ExitCode($0) }
        // The gravest one first.
        for code in [.integrity, .failed, .sourceChanged, .checkpointInUse] as [ExitCode] where codes.contains(code) {
            return code
        }
        if !codes.isEmpty { return .failed }
        return result.withFailedCallback.isEmpty ? .stored : .callbackFailed
    }

    private func report(_ result: OSSQueueResult) {
        guard !self.options.has("json") else {
            Console.output(CopyReport.document(result).text)
            return
        }
        for file in result.files {
            for warning in file.warnings + (file.result?.warnings ?? []) {
                Console.note("warning: \(file.source): \(warning)")
            }
        }
        for file in result.withFailedCallback {
            Console.note("\(file.source) is stored, but its callback failed: \(file.result?.callback?.failure ?? "")")
        }
        guard !self.options.has("quiet") else { return }
        for row in CopyReport.table(result) { Console.note(row) }
    }
}
