// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import FoundationEssentials
import Glibc
import OSSLocalServer
import SystemIO

/// A local server and a folder for the tool, for one test.
struct ToolFixture: Sendable {
    let server: OSSServer
    let folder: String

    static let bucket = "media"
    static let partSize = 102_400
    static let secret = OSSServer.Account.test.accessKeySecret

    /// The requests of an operation.
    func requests(_ operation: String) -> [OSSServer.RequestRecord] {
        self.server.requests.filter { $0.operation == operation }
    }

    /// The environment that the tool gets; nothing of the test's own.
    var environment: [String: String] {
        [
            "OSS_ENDPOINT": self.server.endpoint, "OSS_REGION": "cn-hangzhou",
            "OSS_ACCESS_KEY_ID": OSSServer.Account.test.accessKeyID, "OSS_ACCESS_KEY_SECRET": Self.secret,
            "HOME": self.folder + "/home", "PATH": "/usr/bin:/bin",
        ]
    }

    var checkpoints: String { self.folder + "/checkpoints" }

    func start(_ arguments: [String], environment: [String: String]? = nil) throws -> ToolProcess {
        try ToolProcess(arguments, environment: environment ?? self.environment, in: self.folder)
    }

    func run(
        _ arguments: [String], environment: [String: String]? = nil, input: String = "/dev/null",
        launcher: [String] = []
    ) async throws -> ToolProcess.Outcome {
        try await ToolProcess(
            arguments, environment: environment ?? self.environment, in: self.folder, input: input,
            launcher: launcher
        ).outcome()
    }

    /// Runs another program by its path, with the folder as its working folder.
    func run(program command: [String], environment: [String: String] = [:]) async throws -> ToolProcess.Outcome {
        let home = ["HOME": self.folder + "/home", "PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8"]
        return try await ToolProcess(
            command: ["/usr/bin/env", "-C", self.folder] + command, environment: home.merging(environment) { $1 },
            in: self.folder
        ).outcome()
    }

    /// A library, made of C, that a program can be started with; nil where there is no C compiler.
    func library(_ name: String, _ source: String) async throws -> String? {
        try Data(source.utf8).write(to: URL(filePath: "\(self.folder)/\(name).c"))
        for compiler in ["cc", "clang"] {
            let built = try await self.run(program: [
                compiler, "-shared", "-fPIC", "-o", name + ".so", name + ".c", "-ldl",
            ])
            if built.code == 0 { return "\(self.folder)/\(name).so" }
        }
        return nil
    }

    /// The command that uploads a file in small parts with a checkpoint folder of its own.
    func copy(_ path: String, _ key: String, _ more: [String] = []) -> [String] {
        ["cp", path, "oss://\(Self.bucket)/\(key)", "--part-size", "100KiB", "--checkpoint-dir", self.checkpoints]
            + more
    }

    func file(_ name: String, parts: Int, extra: Int = 17, seed: UInt8 = 1) throws -> (path: String, bytes: [UInt8]) {
        let path = self.folder + "/" + name
        let size = parts * Self.partSize + extra
        var state = UInt32(seed)
        // A prime number of bytes again and again: quick to make, and no two parts are alike.
        let block = (0..<8191).map { _ in
            state = state &* 1_664_525 &+ 1_013_904_223
            return UInt8(truncatingIfNeeded: state >> 24)
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(size + block.count)
        while bytes.count < size { bytes += block }
        bytes = Array(bytes.prefix(size))
        try Data(bytes).write(to: URL(filePath: path))
        return (path, bytes)
    }

    func object(_ key: String) async throws -> [UInt8]? {
        try await self.server.objectData(bucket: Self.bucket, key: key)
    }

    /// How many parts are stored of the open upload of a key.
    func storedParts(_ key: String) -> Int {
        self.server.openUploads(bucket: Self.bucket).filter { $0.key == key }
            .map { self.server.parts(ofUpload: $0.uploadID).count }.max() ?? 0
    }

    var partsSent: [Int] {
        self.server.requests.filter { $0.operation == "UploadPart" }.compactMap(\.partNumber).sorted()
    }

    /// Holds the requests of these parts for good: they never end by themselves, however slow the machine is.
    func hold(_ parts: ClosedRange<Int>) {
        for part in parts {
            self.server.faults.add(.init(.delay(.seconds(3600)), operation: "UploadPart", partNumber: part))
        }
    }

    /// Waits until something holds.
    func wait(until condition: () -> Bool) async throws {
        let start = ContinuousClock.now
        while !condition() {
            if start.duration(to: .now) > .seconds(40) { throw Late() }
            try await Task.sleep(for: .milliseconds(2))
        }
    }
    struct Late: Error {}

    var hasLeftovers: Bool {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: self.checkpoints)) ?? []
        return !names.isEmpty || !self.server.openUploads(bucket: Self.bucket).isEmpty
    }
}

/// Runs a test of the tool against a server of its own.
func withToolFixture(
    _ configure: (inout OSSServer.Configuration) -> Void = { _ in }, _ body: (ToolFixture) async throws -> Void
) async throws {
    var configuration = OSSServer.Configuration()
    configuration.buckets = [ToolFixture.bucket]
    configure(&configuration)
    let server = try await OSSServer.start(configuration)
    let folder = try Directory.createTemporary(named: "ossmp-tests")
    let result: Result<Void, any Error>
    do { result = .success(try await body(ToolFixture(server: server, folder: folder))) } catch {
        result = .failure(error)
    }
    await server.stop()
    // What stays behind is in the temporary folder, and the test's own outcome is what counts.
    try? FileManager.default.removeItem(atPath: folder)
    try result.get()
}
