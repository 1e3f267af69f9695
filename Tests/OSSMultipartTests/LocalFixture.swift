// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import FoundationEssentials
import Glibc
import OSSLocalServer
import OSSWire
import SystemIO

@testable import OSSMultipart

/// A local server, a client of it and a folder, for one test.
struct LocalFixture: Sendable {
    let server: OSSServer
    let client: OSSClient
    let folder: String

    static let bucket = "media"
    static let key = "v/film.bin"
    /// The smallest part size: small files make many parts.
    static let partSize: Int64 = 102_400

    var checkpointFolder: String { self.folder + "/checkpoints" }

    func uploader(
        checkpoints: OSSCheckpoints? = nil, _ configure: (inout OSSUploader.Configuration) -> Void = { _ in }
    ) -> OSSUploader {
        var configuration = OSSUploader.Configuration()
        configuration.partSize = Self.partSize
        configure(&configuration)
        return OSSUploader(
            client: self.client, checkpoints: checkpoints ?? .directory(URL(filePath: self.checkpointFolder)),
            configuration: configuration
        )
    }

    /// Makes a file whose bytes differ from part to part.
    func file(_ name: String = "film.bin", size: Int, seed: UInt64 = 1) throws -> TestFile {
        var random = SplitMix64(state: seed)
        // A prime number of bytes again and again: quick to make, and no two parts are alike.
        let block = (0..<8191).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(size + block.count)
        while bytes.count < size { bytes += block }
        return try TestFile(self.folder + "/" + name, Array(bytes.prefix(size)))
    }

    var destination: OSSUploader.Destination { .init(bucket: Self.bucket, key: Self.key) }

    @discardableResult
    func upload(_ file: TestFile, _ uploader: OSSUploader? = nil, key: String? = nil) async throws -> OSSUploadResult {
        try await (uploader ?? self.uploader())
            .upload(.file(file.url), to: .init(bucket: Self.bucket, key: key ?? Self.key))
    }

    /// Uploads a file up to a point: the given part is refused for good, and those that are stored are returned.
    ///
    /// The parts go one by one, so exactly those before the refused one are stored.
    @discardableResult
    func breakUpload(
        _ file: TestFile, atPart part: Int, _ configure: (inout OSSUploader.Configuration) -> Void = { _ in }
    ) async throws -> String {
        try await self.breakUpload(of: file.url, atPart: part, configure)
    }

    /// The same for a file whose bytes are not kept in memory.
    @discardableResult
    func breakUpload(
        of file: URL, atPart part: Int, _ configure: (inout OSSUploader.Configuration) -> Void = { _ in }
    ) async throws -> String {
        self.server.faults.add(
            .init(.respond(status: 403, code: "AccessDenied"), operation: "UploadPart", partNumber: part)
        )
        let uploader = self.uploader { configuration in
            configuration.partsInFlight = .fixed(1)
            configure(&configuration)
        }
        do {
            _ = try await uploader.upload(.file(file), to: self.destination)
            throw Unexpected("the upload did not break")
        } catch let error as OSSError where error.service?.code == .accessDenied {
            self.server.faults.removeAll()
            self.server.removeAllRequests()
            guard let upload = self.server.openUploads(bucket: Self.bucket).last else {
                throw Unexpected("the broken upload is not open")
            }
            return upload.uploadID
        }
    }

    /// The numbers of the parts that were sent since the log was emptied, in order.
    var partsSent: [Int] {
        self.server.requests.filter { $0.operation == "UploadPart" }.compactMap(\.partNumber).sorted()
    }

    /// How often an operation was asked for since the log was emptied.
    func count(_ operation: String) -> Int { self.server.counters[operation] ?? 0 }

    /// The names in the checkpoint folder.
    var records: [String] {
        // A folder that is not there holds nothing.
        (try? FileManager.default.contentsOfDirectory(atPath: self.checkpointFolder)) ?? []
    }

    func object(_ key: String = LocalFixture.key) async throws -> [UInt8]? {
        try await self.server.objectData(bucket: Self.bucket, key: key)
    }

    var openUploads: [String] { self.server.openUploads(bucket: Self.bucket).map(\.uploadID) }
}

struct Unexpected: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// A file, and the bytes that it was made of.
struct TestFile: Sendable {
    let path: String
    let bytes: [UInt8]
    var url: URL { URL(filePath: self.path) }

    init(_ path: String, _ bytes: [UInt8]) throws {
        self.path = path
        self.bytes = bytes
        try Data(bytes).write(to: URL(filePath: path))
    }

    /// Writes into the file in place, and sets the time of its content back to what it was, to the nanosecond.
    func overwriteSecretly(_ bytes: [UInt8], at offset: Int64) throws {
        let file = try PosixFile(path: self.path, .write)
        let time = try file.status().modificationTime
        try file.write(bytes.span, at: offset)
        try self.setModificationTime(time)
    }

    /// Sets the time of the file's content, in nanoseconds since 1970.
    func setModificationTime(_ time: Int64) throws {
        let file = try PosixFile(path: self.path, .write)
        let moment = timespec(tv_sec: Int(time / 1_000_000_000), tv_nsec: Int(time % 1_000_000_000))
        let result = unsafe [moment, moment].withUnsafeBufferPointer {
            unsafe futimens(file.descriptor, $0.baseAddress)
        }
        guard result == 0, try file.status().modificationTime == time else { throw Unexpected("the time is not back") }
    }
}

/// A small generator of numbers that are the same in every run.
struct SplitMix64 {
    var state: UInt64

    mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = self.state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}

/// Runs a test against a server of its own.
func withLocalServer(
    _ configure: (inout OSSServer.Configuration) -> Void = { _ in },
    client configureClient: (inout OSSClient.Configuration) -> Void = { _ in },
    credentials: OSSCredentialsProvider? = nil, _ body: (LocalFixture) async throws -> Void
) async throws {
    var configuration = OSSServer.Configuration()
    configuration.buckets = [LocalFixture.bucket]
    configure(&configuration)
    let server = try await OSSServer.start(configuration)
    var options = OSSClient.Configuration()
    // Real waits, but short ones: what they are is tested apart.
    options.retryPolicy.baseDelay = .milliseconds(1)
    options.proxy = ""
    configureClient(&options)
    let client = try OSSClient(
        endpoint: server.endpoint, region: configuration.region,
        credentials: credentials
            ?? .fixed(
                OSSCredentials(
                    accessKeyID: OSSServer.Account.test.accessKeyID,
                    accessKeySecret: OSSServer.Account.test.accessKeySecret
                )
            ), configuration: options
    )
    do {
        try await withTemporaryFolder { folder in
            try await body(LocalFixture(server: server, client: client, folder: folder))
        }
    } catch {
        await client.shutDown()
        await server.stop()
        throw error
    }
    await client.shutDown()
    await server.stop()
}

/// The error of a call that has to fail.
func failure(_ body: () async throws -> Void) async throws -> OSSError {
    do { try await body() } catch let error as OSSError { return error }
    throw Unexpected("it succeeded")
}
