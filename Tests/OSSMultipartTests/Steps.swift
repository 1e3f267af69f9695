// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import CurlTransport
import FoundationEssentials
import OSSLocalServer
import SystemIO

@testable import OSSMultipart

/// The steps of an upload that reach outside, in order: requests, replies, and what is done with the record.
///
/// A test reads them afterwards, or does something at one of them, before it happens.
final class Steps: Sendable {
    private struct State {
        var names: [String] = []
        var act: (@Sendable (Int, String) -> Void)?
    }
    private let state = Lock(State())

    /// What happened so far.
    var names: [String] { self.state.withLock(\.names) }

    /// Does something at every step from now on; the steps are counted from 0 anew.
    func begin(_ act: @escaping @Sendable (Int, String) -> Void = { _, _ in }) {
        self.state.withLock {
            $0.names = []
            $0.act = act
        }
    }

    fileprivate func take(_ name: String) {
        let (number, act) = self.state.withLock { state in
            state.names.append(name)
            return (state.names.count - 1, state.act)
        }
        act?(number, name)
    }
}

/// A transport whose every request and reply is a step; a reply can be changed on its way.
struct SteppingTransport: HTTPTransport {
    let inner: any HTTPTransport
    let steps: Steps
    var change: @Sendable (TransportRequest, TransportResponse) -> TransportResponse = { $1 }

    func execute(_ request: TransportRequest) async throws -> TransportResponse {
        let name = Self.name(of: request)
        self.steps.take("send \(name)")
        let reply = try await self.inner.execute(request)
        self.steps.take("reply \(name)")
        return self.change(request, reply)
    }

    func shutDown() async { await self.inner.shutDown() }

    private static func name(of request: TransportRequest) -> String {
        let query = request.url.split(separator: "?").dropFirst().first ?? ""
        return switch (request.method, query.contains("uploadId="), query.hasPrefix("uploads")) {
        case ("POST", true, _): "Complete"
        case ("POST", _, _): "Initiate"
        case ("PUT", true, _): "UploadPart"
        case ("PUT", _, _): "PutObject"
        case ("GET", true, _): "ListParts"
        case ("GET", _, _): "ListUploads"
        case ("DELETE", _, _): "Abort"
        default: request.method
        }
    }
}

/// A store whose every call is a step.
struct SteppingStore: CheckpointStore {
    let inner: any CheckpointStore
    let steps: Steps

    func location(of name: String) -> String { self.inner.location(of: name) }

    func names() throws -> [String]? { try self.inner.names() }

    func peek(_ name: String, limit: Int) throws -> [UInt8]? { try self.inner.peek(name, limit: limit) }

    func open(_ name: String, creating: Bool) throws -> (any CheckpointRecord)? {
        self.steps.take("open")
        return try self.inner.open(name, creating: creating).map { Record(inner: $0, steps: self.steps) }
    }

    private final class Record: CheckpointRecord {
        private let inner: any CheckpointRecord
        private let steps: Steps

        init(inner: any CheckpointRecord, steps: Steps) {
            self.inner = inner
            self.steps = steps
        }

        func read() throws -> [UInt8] {
            self.steps.take("read")
            return try self.inner.read()
        }
        func append(_ bytes: [UInt8]) throws {
            // The kinds of the lines, behind their checksums.
            let kinds = String(decoding: bytes, as: UTF8.self).split(separator: "\n").map { line in
                line.split(separator: " ").dropFirst().first ?? ""
            }
            self.steps.take("append \(kinds.joined(separator: "+"))")
            try self.inner.append(bytes)
        }
        func truncate(to length: Int) throws {
            self.steps.take("truncate")
            try self.inner.truncate(to: length)
        }
        func synchronize(name: Bool) throws {
            self.steps.take(name ? "synchronize with name" : "synchronize")
            try self.inner.synchronize(name: name)
        }
        func setAside() throws -> String {
            self.steps.take("set aside")
            return try self.inner.setAside()
        }
        func close() { self.inner.close() }
        func remove() throws {
            self.steps.take("remove")
            try self.inner.remove()
        }
    }
}

extension LocalFixture {
    /// An uploader of its own transport and record folder, all of whose steps are seen.
    func steppingUploader(
        _ steps: Steps, withRecord: Bool = true, _ checkpoints: OSSCheckpoints? = nil,
        _ configure: (inout OSSUploader.Configuration) -> Void = { _ in },
        change: @escaping @Sendable (TransportRequest, TransportResponse) -> TransportResponse = { $1 }
    ) throws -> OSSUploader {
        var transport = CurlTransportConfiguration()
        transport.proxy = ""
        let account = OSSServer.Account.test
        var options = OSSClient.Configuration()
        options.retryPolicy.baseDelay = .milliseconds(1)
        let client = try OSSClient(
            endpoint: self.server.endpoint, region: "cn-hangzhou",
            credentials: .fixed(
                OSSCredentials(accessKeyID: account.accessKeyID, accessKeySecret: account.accessKeySecret)),
            configuration: options,
            transport: SteppingTransport(
                inner: CurlTransport(configuration: transport), steps: steps, change: change),
            surroundings: .patient
        )
        var configuration = OSSUploader.Configuration()
        configuration.partSize = Self.partSize
        configure(&configuration)
        let store = SteppingStore(inner: DirectoryCheckpointStore(path: self.checkpointFolder), steps: steps)
        return OSSUploader(
            client: client,
            checkpoints: checkpoints
                ?? (withRecord
                    ? OSSCheckpoints(store: store, isRequired: true, warning: nil, description: "steps") : .none),
            configuration: configuration
        )
    }

    /// Waits until something holds.
    func wait(until condition: () throws -> Bool) async throws {
        let start = ContinuousClock.now
        while try !condition() {
            if start.duration(to: .now) > .seconds(50) { throw Unexpected("it never came") }
            // Sleeps, for a task that only yields takes the threads from those it waits for.
            try await Task.sleep(for: .milliseconds(2))
        }
    }
}

extension Surroundings {
    /// The real ones, but for time limits of clean-up: a slow machine must not end what is to be seen whole.
    static var patient: Surroundings {
        let live = Surroundings.live
        return Surroundings(
            now: live.now, wait: { try await live.wait($0 == UploadRun.longestAbort ? .seconds(3600) : $0) },
            random: live.random
        )
    }
}
