// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import OSSLocalServer
import OSSWire
import SystemIO
import Testing

@Suite(.timeLimit(.minutes(2))) struct CrashTests {
    /// What clients know: what was acknowledged, and what was asked for and may have happened.
    private struct Knowledge {
        var objects: [String: [UInt8]] = [:]
        var asked: [String: [UInt8]] = [:]
        /// By upload ID: the key and the parts that were acknowledged; all of them where Complete was asked for.
        var uploads: [String: (key: String, parts: [Int: [UInt8]], isCompleting: Bool)] = [:]
        var acknowledged = 0
        var next = 0
    }

    private final class Shared: Sendable {
        let state = Lock(Knowledge())
    }

    private let knowledge = Shared()

    /// Bytes of keys and parts, all different.
    private static let contents = (0..<16).map { bytes(102_400 + $0 % 4 * 1000, seed: UInt8($0 * 16)) }

    private static func content(_ number: Int) -> [UInt8] { self.contents[number % self.contents.count] }

    @Test func `A kill at any moment loses nothing that was acknowledged and leaves nothing half done`() async throws {
        let folder = try Directory.createTemporary(named: "crash-tests")
        defer { removeFolder(folder) }
        for round in 0..<12 {
            let process = try ServerProcess(["--dir", folder + "/data"])
            let client = TestClient(port: process.port)
            do {
                try await self.verify(client)
                // The worker whose reply is the last one kills the server, in the middle of what the others do.
                let last = self.knowledge.state.withLock { $0.acknowledged } + 3 + round * 5 % 17
                await withTaskGroup(of: Void.self) { group in
                    for worker in 0..<6 {
                        group.addTask { await self.work(worker, client, process, until: last) }
                    }
                }
            } catch {
                process.kill()
                process.wait()
                throw error
            }
            process.kill()
            process.wait()
        }
        let process = try ServerProcess(["--dir", folder + "/data"])
        try await self.verify(TestClient(port: process.port))
        #expect(process.stopsCleanly())
        for name in try Directory.names(in: folder + "/data/buckets/bucket/data") {
            let files = try Directory.names(in: folder + "/data/buckets/bucket/data/" + name)
            #expect(files.allSatisfy { $0 == "upload" || $0.hasPrefix("part-") }, "\(files)")
        }
        #expect(try Directory.names(in: folder + "/data/buckets/bucket/temporary").isEmpty)
        #expect(self.knowledge.state.withLock { $0.acknowledged } > 60)
    }

    /// Sends requests until the server is gone.
    private func work(_ worker: Int, _ client: TestClient, _ process: ServerProcess, until last: Int) async {
        func acknowledge(_ change: (inout Knowledge) -> Void) {
            let count = self.knowledge.state.withLock { state in
                change(&state)
                state.acknowledged += 1
                return state.acknowledged
            }
            if count >= last { process.kill() }
        }
        func number() -> Int {
            self.knowledge.state.withLock { state in
                state.next += 1
                return state.next
            }
        }
        // A connection that breaks is the end that is waited for.
        while true {
            let first = number(), data = Self.content(first)
            if worker.isMultiple(of: 2) {
                // Each key is one worker's, so that the last value asked for is known.
                let key = "put \(worker) \(first % 5)"
                self.knowledge.state.withLock { $0.asked[key] = data }
                guard let reply = try? await client.send("PUT", key: key, body: data), reply.status == 200 else {
                    return
                }
                acknowledge {
                    $0.objects[key] = data
                    $0.asked[key] = nil
                }
            } else {
                let key = "multi \(first)"
                guard let id = try? await client.initiate(key) else { return }
                acknowledge { $0.uploads[id] = (key, [:], false) }
                var list: [(number: Int, eTag: String)] = []
                for part in 1...2 {
                    let data = Self.content(first + part)
                    guard let reply = try? await client.uploadPart(part, id, key: key, body: data), reply.status == 200,
                        let tag = try? eTag(data)
                    else { return }
                    acknowledge { $0.uploads[id]?.parts[part] = data }
                    list.append((part, tag))
                }
                self.knowledge.state.withLock { $0.uploads[id]?.isCompleting = true }
                guard let reply = try? await client.complete(id, key: key, parts: list), reply.status == 200 else {
                    return
                }
                acknowledge { state in
                    let parts = state.uploads.removeValue(forKey: id)?.parts ?? [:]
                    state.objects[key] = (1...2).flatMap { parts[$0] ?? [] }
                }
            }
        }
    }

    /// Compares the server with what clients know.
    private func verify(_ client: TestClient) async throws {
        var known = self.knowledge.state.withLock { $0 }
        for (key, data) in known.asked {
            // It may have been done without a reply, but not by half.
            if try await client.send("GET", key: key).body == data { known.objects[key] = data }
        }
        for (id, upload) in known.uploads {
            let reply = try await client.send("GET", key: upload.key, query: [QueryItem("uploadId", id)])
            if upload.isCompleting, reply.errorCode == "NoSuchUpload" {
                known.uploads[id] = nil
                known.objects[upload.key] = (1...2).flatMap { upload.parts[$0] ?? [] }
                continue
            }
            #expect(reply.status == 200)
            let parts = try reply.document.all("Part")
            for (number, data) in upload.parts {
                let part = parts.first { $0.string("PartNumber") == String(number) }
                #expect(part?.string("ETag") == "\"\(try eTag(data))\"")
                #expect(part?.string("Size") == String(data.count))
            }
            #expect(try await client.send("HEAD", key: upload.key).status == 404)
        }
        for (key, data) in known.objects {
            let reply = try await client.send("GET", key: key)
            #expect(reply.status == 200)
            #expect(reply.body == data, "\(key)")
        }
        let listed = try await client.send("GET", query: [QueryItem("max-keys", "1000")]).document.all("Contents")
        let keys = Set(listed.compactMap { $0.string("Key") })
        #expect(keys.isSubset(of: Set(known.objects.keys)), "shown and never acknowledged")
        known.asked = [:]
        self.knowledge.state.withLock { $0 = known }
    }
}
