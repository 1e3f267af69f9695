// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import FoundationEssentials
import OSSMultipart

/// What the options of `cp` say, for one file and for a folder alike.
struct CopySettings {
    let uploader: OSSUploader
    let headers: OSSObjectHeaders
    let callback: OSSCallback?

    init(_ options: Options) throws {
        self.headers = try Self.headers(options)
        self.callback = try Self.callback(options)
        self.uploader = OSSUploader(
            client: try ClientOptions.client(options), checkpoints: try Self.checkpoints(options),
            configuration: try Self.configuration(options)
        )
    }

    /// How sources are cut and sent.
    static func configuration(_ options: Options) throws -> OSSUploader.Configuration {
        var configuration = OSSUploader.Configuration()
        if let size = options.value("part-size") {
            configuration.partSize = try ByteSize.parse(size, option: "--part-size")
        }
        if let parallel = try options.number("parallel", in: 1...100) { configuration.partsInFlight = .fixed(parallel) }
        if let mode = try options.choice("integrity", OSSIntegrity.all) { configuration.integrity = mode }
        if let mode = try options.choice("verify", OSSUploader.Verification.all) { configuration.verification = mode }
        if let adopted = options.value("adopt") {
            guard !adopted.isEmpty else {
                throw UsageError("--adopt is empty; write --adopt latest, or --adopt and an upload ID")
            }
            configuration.adoption = adopted == "latest" ? .latest : .upload(adopted)
        }
        configuration.startsAnew = options.has("restart")
        if options.has("sequential") {
            try options.exclude("sequential", "adopt")
            guard configuration.partsInFlight.maximum == 1 || !options.has("parallel") else {
                throw UsageError("--sequential sends one part at a time; leave --parallel out")
            }
        }
        configuration.isSequential = options.has("sequential")
        return configuration
    }

    /// Where records are.
    static func checkpoints(_ options: Options) throws -> OSSCheckpoints {
        try options.exclude("no-checkpoint", "checkpoint-dir")
        if options.has("no-checkpoint") { return .none }
        guard let directory = options.value("checkpoint-dir") else { return .userDefault }
        guard !directory.isEmpty else { throw UsageError("--checkpoint-dir is empty; name a folder") }
        return .directory(URL(filePath: directory))
    }

    /// Refuses what is no folder.
    static func requireFolder(_ path: String) throws {
        var isFolder = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), isFolder else {
            throw UsageError("--checkpoint-dir \(path): there is no such folder; name the one that your uploads use")
        }
    }

    private static func headers(_ options: Options) throws -> OSSObjectHeaders {
        var headers = OSSObjectHeaders()
        headers.contentType = options.value("content-type")
        headers.acl = try options.choice("acl", ["private", "public-read", "public-read-write", "default"])
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
}
