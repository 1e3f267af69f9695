// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import FoundationEssentials
import OSSMultipart
import Synchronization

/// `ossmp cp`: uploads a file.
struct CopyCommand {
    private let options: Options
    private let source: String
    private let destination: OSSUploader.Destination
    private let uploader: OSSUploader

    init(_ options: Options) throws {
        guard options.operands.count == 2 else {
            throw UsageError("cp takes a file and an object: ossmp cp FILE oss://BUCKET/KEY")
        }
        self.options = options
        self.source = options.operands[0]
        guard !self.source.isEmpty else { throw UsageError("the file's name is empty") }
        let address = try ObjectAddress(options.operands[1])
        var key = address.key
        if key.isEmpty || key.hasSuffix("/") {
            key += self.source.split(separator: "/").last.map { String($0) } ?? ""
        }
        var destination = OSSUploader.Destination(bucket: address.bucket, key: key)
        destination.headers = try Self.headers(options)
        destination.callback = try Self.callback(options)
        self.destination = destination
        guard !(options.has("no-checkpoint") && options.has("checkpoint-dir")) else {
            throw UsageError("--no-checkpoint and --checkpoint-dir exclude each other")
        }
        var configuration = OSSUploader.Configuration()
        if let size = options.value("part-size") {
            configuration.partSize = try ByteSize.parse(size, option: "--part-size")
        }
        if let parallel = try options.number("parallel", in: 1...100) { configuration.maximumPartsInFlight = parallel }
        if let mode = try options.choice("integrity", OSSIntegrity.all) { configuration.integrity = mode }
        if let mode = try options.choice("verify", OSSUploader.Verification.all) { configuration.verification = mode }
        if let adopted = options.value("adopt") {
            guard !adopted.isEmpty else {
                throw UsageError("--adopt is empty; write --adopt latest, or --adopt and an upload ID")
            }
            configuration.adoption = adopted == "latest" ? .latest : .upload(adopted)
        }
        configuration.startsAnew = options.has("restart")
        let checkpoints: OSSCheckpoints =
            if options.has("no-checkpoint") {
                .none
            } else if let directory = options.value("checkpoint-dir") {
                .directory(URL(filePath: directory))
            } else {
                .userDefault
            }
        if options.value("checkpoint-dir") == "" { throw UsageError("--checkpoint-dir is empty; name a folder") }
        self.uploader = OSSUploader(
            client: try options.client(), checkpoints: checkpoints, configuration: configuration)
    }

    private static func headers(_ options: Options) throws -> OSSObjectHeaders {
        var headers = OSSObjectHeaders()
        headers.contentType = options.value("content-type")
        headers.acl = options.value("acl")
        headers.storageClass = options.value("storage-class")
        headers.tagging = options.value("tagging")
        headers.forbidsOverwrite = options.has("forbid-overwrite")
        for pair in options.values("meta") {
            let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard halves.count == 2, !halves[0].isEmpty else { throw UsageError("--meta \(pair): write NAME=VALUE") }
            headers.metadata[String(halves[0])] = String(halves[1])
        }
        return headers
    }

    private static func callback(_ options: Options) throws -> OSSCallback? {
        guard let json = options.value("callback") else {
            guard options.values("callback-var").isEmpty else { throw UsageError("--callback-var needs --callback") }
            return nil
        }
        var callback: OSSCallback
        do { callback = try OSSCallback(json: json) } catch let error as OSSError {
            throw UsageError("--callback: \(error.message)")
        }
        for pair in options.values("callback-var") {
            let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard halves.count == 2, halves[0].hasPrefix("x:") else {
                throw UsageError("--callback-var \(pair): write x:NAME=VALUE")
            }
            callback.variables[String(halves[0])] = String(halves[1])
        }
        return callback
    }

    func run(_ signals: Signals) async throws {
        let task = self.uploader.start(.file(URL(filePath: self.source)), to: self.destination)
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
                Console.error(
                    "the object is stored, but the callback to the application's server failed (\(failure)); tell that server by "
                        + "another way, the upload need not be repeated"
                )
                throw ToolExit(code: .callbackFailed)
            }
        } catch let exit as ToolExit {
            throw exit
        } catch is CancellationError {
            let message = self.stopMessage(task.snapshot, isCompleting: isCompleting.withLock { $0 })
            Console.note(message)
            if self.options.has("json") { Console.output(Self.errorDocument("cancelled", message).text) }
            throw CancellationError()
        } catch {
            Console.report(error)
            if self.options.has("json") { Console.output(Self.errorDocument(error).text) }
            throw ToolExit(code: ExitCode(error))
        }
    }

    private func stopMessage(_ snapshot: OSSUploadSnapshot, isCompleting: Bool) -> String {
        if isCompleting {
            return "stopped while the parts were being joined: outcome unknown, run the same command again to find out"
        }
        if self.options.has("no-checkpoint") { return "stopped; without a checkpoint nothing is kept" }
        guard snapshot.partsDone > 0 else { return "stopped; nothing was stored yet, run the same command again" }
        return
            "stopped; \(snapshot.partsDone) of \(snapshot.partsTotal) parts are kept, run the same command again to go on"
    }

    // MARK: While it runs

    private func watch(_ task: OSSUploadTask, isCompleting: borrowing Mutex<Bool>) async {
        var bar = ProgressBar(name: self.source)
        let showsBar = !self.options.has("quiet") && !self.options.has("json")
        // Events and drawing share the bar: one task takes both from one stream.
        for await moment in Self.moments(of: task) {
            switch moment {
            case .tick:
                if showsBar { bar.show(task.snapshot) }
            case .event(let event):
                if event.kind == .completing { isCompleting.withLock { $0 = true } }
                guard let line = self.line(for: event) else { continue }
                bar.clear()
                Console.note(line)
            }
        }
        if showsBar {
            bar.show(task.snapshot)
            bar.clear()
        }
    }

    private enum Moment: Sendable {
        case tick
        case event(OSSUploadEvent)
    }

    /// The upload's events, and a tick whenever the bar is due; ends with the upload.
    private static func moments(of task: OSSUploadTask) -> AsyncStream<Moment> {
        let events = task.events
        return AsyncStream { continuation in
            let ticking = Task {
                while !Task.isCancelled {
                    continuation.yield(.tick)
                    // A cancelled sleep is the end of the ticking, and the loop's condition sees it.
                    try? await Task.sleep(for: ProgressBar.interval)
                }
            }
            Task {
                for await event in events { continuation.yield(.event(event)) }
                ticking.cancel()
                continuation.finish()
            }
        }
    }

    private func line(for event: OSSUploadEvent) -> String? {
        switch event.kind {
        case .warning: return event.message.map { "warning: \($0)" }
        case .resumed where !self.options.has("quiet"):
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
            Console.output(Self.document(result).text)
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

    private static func document(_ result: OSSUploadResult) -> JSONObject {
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

    private static func errorDocument(_ error: any Error) -> JSONObject {
        guard let error = error as? OSSError else { return self.errorDocument("failed", "\(error)") }
        var object = self.members(error.service?.code.name ?? error.code.description, error.message)
        object.add("operation", error.operation?.name)
        object.add("requestId", error.service?.requestID)
        object.add("status", error.service?.status)
        return self.wrapped(object)
    }

    private static func errorDocument(_ code: String, _ message: String) -> JSONObject {
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
}

extension Duration {
    fileprivate var inMilliseconds: Int64 {
        self.components.seconds * 1000 + self.components.attoseconds / 1_000_000_000_000_000
    }
}
