// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire
internal import SystemIO

/// An Alibaba Cloud OSS on a folder, to develop and test against.
///
///     var configuration = OSSServer.Configuration()
///     configuration.buckets = ["media"]
///     let server = try await OSSServer.start(configuration)
///     // use server.endpoint with the account OSSServer.Account.test
///     await server.stop()
///
/// It listens on the loopback interface by default. A server that is let go without ``stop()`` goes on until the process
/// ends.
public final class OSSServer: Sendable {
    /// Where clients find it, for example `http://127.0.0.1:45117`.
    public let endpoint: String
    /// The port that it listens on.
    public let port: UInt16
    /// The folder that holds the data.
    public let directory: String
    /// The rules by which it misbehaves; none at the start.
    public let faults: Faults

    let service: Service
    let executor: BlockingExecutor
    private let daemon: MicroHTTPDDaemon
    private let isTemporary: Bool

    private init(_ configuration: Configuration, directory: String, _ executor: BlockingExecutor) throws {
        let store = try Store(
            path: directory, isDurable: configuration.isDurable, capacity: configuration.capacity)
        let now = Service.now(configuration: configuration)
        for bucket in configuration.buckets {
            do throws(ServiceError) { _ = try store.createBucket(bucket, now: now) } catch {
                throw Error("the bucket \(bucket) cannot be made: \(error.message)")
            }
        }
        let log = try RequestLog(limit: configuration.rememberedRequests, path: configuration.requestLogPath)
        self.service = Service(configuration: configuration, store: store, log: log)
        self.daemon = try MicroHTTPDDaemon(service: self.service)
        self.executor = executor
        self.directory = directory
        self.isTemporary = configuration.directory == nil
        self.faults = self.service.faults
        self.port = self.daemon.port
        let host = configuration.host.contains(":") ? "[\(configuration.host)]" : configuration.host
        self.endpoint = "http://\(host):\(self.port)"
    }

    /// Opens the folder and begins to listen.
    ///
    /// - Throws: `OSSServer.Error` where an option cannot be used, the folder is in use or not the server's, or the port is
    ///   taken.
    @concurrent public static func start(_ configuration: Configuration = Configuration()) async throws -> OSSServer {
        let executor = BlockingExecutor(threads: 1)
        return try await executor.run { () throws(OSSServer.Error) in
            do { return try self.open(configuration, executor) } catch let error as OSSServer.Error {
                throw error
            } catch {
                throw OSSServer.Error("the server cannot start: \(error)")
            }
        }
    }

    private static func open(_ configuration: Configuration, _ executor: BlockingExecutor) throws -> OSSServer {
        try configuration.check()
        if let path = configuration.directory { return try OSSServer(configuration, directory: path, executor) }
        let path = try Directory.createTemporary(named: "oss-local-server")
        do { return try OSSServer(configuration, directory: path, executor) } catch {
            // The first error is the one that counts.
            try? DataFolder.removeTree(path)
            throw error
        }
    }

    /// Closes all connections, waits for what is being done, and removes the folder where it is a temporary one; later
    /// calls do nothing.
    ///
    /// Cancelling the caller's task does not shorten it.
    public func stop() async {
        let daemon = self.daemon, store = self.service.store, isTemporary = self.isTemporary
        await self.executor.run {
            daemon.stop()
            // A temporary folder that cannot be removed, or is removed already, is nobody's loss.
            if isTemporary { try? store.removeAll() }
            store.release()
        }
    }

    /// The requests so far, the oldest first; those that are still being read or answered are not among them.
    public var requests: [RequestRecord] { self.service.log.records }

    /// How many requests there were so far, by the operation's name.
    public var counters: [String: Int] { self.service.log.counters }

    /// Forgets ``requests`` and ``counters``.
    public func removeAllRequests() { self.service.log.removeAll() }
}
