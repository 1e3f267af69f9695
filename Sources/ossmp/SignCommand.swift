// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import FoundationEssentials
import OSSMultipart

/// `ossmp sign`: makes a URL that is good without credentials for a while.
struct SignCommand {
    private let client: OSSClient
    private let operation: OSSPresignedOperation
    private let lifetime: Duration
    private let asJSON: Bool

    init(_ options: Options) throws {
        let address = try options.object(of: .sign)
        let method =
            try options.choice("method", ["GET", "HEAD", "PUT", "POST", "DELETE"])
            ?? (options.has("part-number") ? "PUT" : "GET")
        self.operation = try Self.operation(method, address, options)
        for name in ["content-type", "version-id"] where options.has(name) {
            let isGood =
                name == "content-type"
                ? method == "PUT" && !options.has("upload-id") : ["GET", "HEAD"].contains(method)
            guard isGood else { throw UsageError("--\(name) says nothing of this \(method) request; leave it out") }
        }
        self.lifetime = try options.time("expires") ?? .seconds(900)
        self.client = try ClientOptions.client(options)
        self.asJSON = options.has("json")
    }

    private static func operation(
        _ method: String, _ address: ObjectAddress, _ options: Options
    ) throws -> OSSPresignedOperation {
        let partNumber = try options.number("part-number", in: 1...10_000)
        guard let uploadID = options.value("upload-id") else {
            if partNumber != nil { throw UsageError("--part-number needs --upload-id; ossmp ls-uploads lists them") }
            switch method {
            case "GET":
                var request = GetObjectRequest(bucket: address.bucket, key: address.key)
                request.versionID = options.value("version-id")
                return .getObject(request)
            case "HEAD":
                var request = HeadObjectRequest(bucket: address.bucket, key: address.key)
                request.versionID = options.value("version-id")
                return .headObject(request)
            case "PUT":
                var headers = OSSObjectHeaders()
                headers.contentType = options.value("content-type")
                return .putObject(bucket: address.bucket, key: address.key, headers: headers)
            default: throw UsageError("--method \(method) needs --upload-id; without it there are GET, HEAD and PUT")
            }
        }
        let upload = OSSMultipartUpload(bucket: address.bucket, key: address.key, uploadID: uploadID)
        switch (method, partNumber) {
        case ("PUT", let number?): return .uploadPart(upload, partNumber: number)
        case ("PUT", nil): throw UsageError("--method PUT with --upload-id needs --part-number N")
        case ("POST", nil): return .completeMultipartUpload(upload)
        case ("DELETE", nil): return .abortMultipartUpload(upload)
        case ("POST", _), ("DELETE", _): throw UsageError("--part-number is for --method PUT")
        default: throw UsageError("--upload-id is for --method PUT, POST or DELETE, not \(method)")
        }
    }

    func run() async throws {
        let request = try await self.client.presign(self.operation, lifetime: self.lifetime)
        let expiration = request.expiration.formatted(.iso8601)
        if self.asJSON {
            var document = JSONObject(), headers = JSONObject()
            for (name, value) in request.headers.sorted(by: { $0.key < $1.key }) { headers.add(name, value) }
            document.add("method", request.method)
            document.add("url", request.url)
            document.add("headers", headers)
            document.add("expires", expiration)
            Console.output(document.text)
        } else {
            Console.output(request.url)
            for (name, value) in request.headers.sorted(by: { $0.key < $1.key }) {
                Console.note("the request must have the header \(name): \(value)")
            }
            Console.note("good for \(request.method) until \(expiration)")
        }
        await self.client.shutDown()
    }
}

/// `ossmp plan`: says how a file would be uploaded.
struct PlanCommand {
    private let source: OSSUploadSource
    private let address: ObjectAddress
    private let configuration: OSSUploader.Configuration

    init(_ options: Options) throws {
        guard options.operands.count == 2 else {
            throw UsageError("plan takes a file and an object: \(Command.plan.description.synopses[0])")
        }
        guard options.operands[0] != "-" else {
            throw UsageError(
                "plan needs a file: the length of standard input is not known, and its parts grow as it is read")
        }
        self.source = .file(URL(operand: options.operands[0]))
        self.address = try ObjectAddress(options.operands[1]).completed(for: options.operands[0])
        self.configuration = try CopySettings.configuration(options)
    }

    func run() async throws {
        let plan = try await self.configuration.plan(for: self.source)
        var document = JSONObject()
        document.add("source", self.source.description)
        document.add("bucket", self.address.bucket)
        document.add("key", self.address.key)
        document.add("size", plan.size)
        document.add("method", plan.isSingleRequest ? "PutObject" : "MultipartUpload")
        document.add("partSize", plan.partSize)
        document.add("partsTotal", plan.partCount)
        document.add(
            "parts",
            objects: plan.parts.map { part in
                var entry = JSONObject()
                entry.add("partNumber", part.number)
                entry.add("offset", part.offset)
                entry.add("size", part.size)
                return entry
            }
        )
        Console.output(document.text)
    }
}

/// `ossmp completion`: prints what lets a shell complete command lines.
struct CompletionCommand {
    private let script: String

    init(_ options: Options) throws {
        guard options.operands.count == 1, let script = CompletionScript.text(for: options.operands[0]) else {
            throw UsageError("completion takes a shell: \(CompletionScript.shells.joined(separator: " or "))")
        }
        self.script = script
    }

    func run() throws { Console.output(self.script) }
}
