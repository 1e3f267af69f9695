// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

public import FoundationEssentials
import Glibc
public import OSSLocalServer
public import OSSMultipart

/// What an example works with: a client, a bucket, and a folder for its files.
///
/// With `OSS_ENDPOINT` in the environment it is that service, with `OSS_BUCKET`, `OSS_REGION` and the credentials of the
/// environment; else a local server within the program. What the example made is removed when it ends.
public struct Example: Sendable {
    /// Why an example failed.
    public struct Failure: Error, CustomStringConvertible {
        /// What is not as it should be.
        public let description: String

        /// Makes a failure.
        public init(_ description: String) { self.description = description }
    }

    /// A client of the service.
    public let client: OSSClient
    /// The bucket to work in.
    public let bucket: String
    /// The local server; nil where the environment names a service.
    public let server: OSSServer?
    /// A temporary folder.
    public let folder: URL
    /// What all keys of this run begin with.
    public let prefix: String

    /// Runs an example and cleans up behind it; where it fails, says why and ends the program with exit code 1.
    ///
    /// - Parameters:
    ///   - accounts: who may use the local server, at least one; ``client`` is the last of them.
    ///   - body: the example.
    public static func run(
        accounts: [OSSServer.Account] = [.test], _ body: (Example) async throws -> Void
    ) async {
        do {
            let example = try await Example(accounts: accounts)
            let outcome: (any Error)?
            do {
                try await body(example)
                outcome = nil
            } catch {
                outcome = error
            }
            // What the example says comes first; a clean-up that fails counts where the example did not.
            do { try await example.cleanUp() } catch  where outcome == nil { throw error } catch {
                print("clean-up failed: \(error)")
            }
            if let outcome { throw outcome }
        } catch {
            print("FAILED: \(error)")
            exit(1)
        }
    }

    private init(accounts: [OSSServer.Account]) async throws {
        let environment = ProcessInfo.processInfo.environment
        let name = "swift-oss-multipart-example-\(UUID().uuidString.lowercased())"
        self.prefix = name + "/"
        self.folder = FileManager.default.temporaryDirectory.appending(path: name, directoryHint: .isDirectory)
        if let endpoint = environment["OSS_ENDPOINT"], !endpoint.isEmpty {
            guard let bucket = environment["OSS_BUCKET"], !bucket.isEmpty else {
                throw Failure("OSS_ENDPOINT is set and OSS_BUCKET is not; name a bucket to write to")
            }
            self.bucket = bucket
            self.server = nil
            self.client = try OSSClient(
                endpoint: endpoint, region: environment["OSS_REGION"], credentials: .environment)
            print("against \(endpoint), bucket \(bucket)")
        } else {
            var configuration = OSSServer.Configuration()
            configuration.buckets = ["examples"]
            configuration.accounts = accounts
            guard let account = accounts.last else { throw Failure("the local server needs an account") }
            let server = try await OSSServer.start(configuration)
            self.bucket = "examples"
            self.server = server
            self.client = try Self.client(of: server, credentials: .fixed(account.credentials()))
            print("against a local server, \(server.endpoint)")
        }
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
    }

    /// A client of a local server.
    public static func client(of server: OSSServer, credentials: OSSCredentialsProvider) throws -> OSSClient {
        var configuration = OSSClient.Configuration()
        // Nobody's proxy leads to this machine.
        configuration.proxy = ""
        return try OSSClient(
            endpoint: server.endpoint, region: "cn-hangzhou", credentials: credentials, configuration: configuration)
    }

    private func cleanUp() async throws {
        try FileManager.default.removeItem(at: self.folder)
        if let server {
            await server.stop()
        } else {
            for upload in try await self.openUploads() {
                try await self.client.abortMultipartUpload(.init(upload: upload))
            }
            var request = ListObjectsV2Request(bucket: self.bucket)
            request.prefix = self.prefix
            for try await entry in self.client.listObjectsV2Pages(request) {
                _ = try await self.client.deleteObject(.init(bucket: self.bucket, key: entry.name))
            }
        }
        await self.client.shutDown()
    }

    // MARK: Files

    /// Makes a file of random bytes in the folder.
    public func file(_ name: String, size: Int) throws -> URL {
        // A block of random bytes again and again, each time with its number in front: no two parts are alike.
        var block = (0..<65_536).map { _ in UInt8.random(in: .min ... .max) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(size)
        while bytes.count < size {
            let number = UInt32(bytes.count / block.count)
            for shift in 0..<4 { block[shift] = UInt8(truncatingIfNeeded: number >> UInt32(shift * 8)) }
            bytes += block.prefix(size - bytes.count)
        }
        let url = self.folder.appending(path: name)
        try Data(bytes).write(to: url)
        return url
    }

    /// Where an object of this run goes.
    public func destination(_ name: String) -> OSSUploader.Destination {
        OSSUploader.Destination(bucket: self.bucket, key: self.prefix + name)
    }

    // MARK: Checks

    /// Fails the example unless something is so.
    public func expect(_ condition: Bool, _ message: @autoclosure () -> String) throws {
        guard condition else { throw Failure(message()) }
    }

    /// Fails the example unless an object is there and holds the bytes of a file.
    public func expect(_ key: String, isFile file: URL) async throws {
        let expected = try Data(contentsOf: file)
        let object = try await self.client.getObject(.init(bucket: self.bucket, key: key))
        let bytes = try await object.body.collect(upTo: expected.count)
        try self.expect(Data(bytes) == expected, "the object \(key) is not the file")
    }

    /// The open uploads of this run.
    public func openUploads() async throws -> [OSSMultipartUpload] {
        var request = ListMultipartUploadsRequest(bucket: self.bucket)
        request.prefix = self.prefix
        var uploads: [OSSMultipartUpload] = []
        for try await open in self.client.listMultipartUploadsPages(request) { uploads.append(open.upload) }
        return uploads
    }
}

extension OSSServer.Account {
    /// The account as a client's credentials.
    ///
    /// - Throws: `OSSError` where the ID or the secret cannot be one.
    public func credentials() throws -> OSSCredentials {
        try OSSCredentials(
            accessKeyID: self.accessKeyID, accessKeySecret: self.accessKeySecret, securityToken: self.securityToken,
            expiration: self.expiration.map { Date(timeIntervalSince1970: Double($0)) })
    }
}
