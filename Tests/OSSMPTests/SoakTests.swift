// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import FoundationEssentials
import Glibc
import OSSLocalServer
import Testing

/// Many uploads, each with faults and kills drawn from a seed; `make soak` makes it long.
///
/// `SOAK_UPLOADS` says how many (12 without it), `SOAK_SEED` which (printed, so that a finding can be had again).
@Suite struct SoakTests {
    /// What happened to one upload, and what it may cost.
    private struct Ordeal {
        var parts: Int
        /// Size of the object in bytes.
        var size: Int64
        var kills = 0
        /// Faults of parts, each of which costs at most one part sent again.
        var partFaults = 0
        var description = ""
    }

    private static func variable(_ name: String) -> UInt64? {
        // SAFETY: the text is read at once; no test sets variables.
        unsafe getenv(name).flatMap { UInt64(unsafe String(cString: $0)) }
    }

    @Test func `Uploads survive everything, send little twice and leave nothing behind`() async throws {
        let uploads = Int(Self.variable("SOAK_UPLOADS") ?? 12)
        let seed = Self.variable("SOAK_SEED") ?? UInt64.random(in: 0..<1_000_000)
        print("soak: SOAK_UPLOADS=\(uploads) SOAK_SEED=\(seed)")
        var random = SoakRandom(state: seed)
        var (resent, kills, faults) = (0, 0, 0)
        var (bytesReceived, bytesStored) = (Int64(0), Int64(0))
        let start = ContinuousClock.now
        try await withToolFixture { fixture in
            for number in 0..<uploads {
                let key = "upload-\(number)"
                let ordeal = try await self.upload(key, &random, fixture)
                // The server may still finish a request that a killed run of another key had sent.
                let sent = fixture.server.requests.filter { $0.operation == "UploadPart" && $0.key == key }
                let again = sent.count - ordeal.parts
                #expect(
                    again <= 4 * ordeal.kills + ordeal.partFaults,
                    "seed \(seed), upload \(number), \(ordeal.parts) parts: \(again) sent again; \(ordeal.description)"
                )
                let bytes = sent.reduce(0) { $0 + $1.bytesReceived }
                #expect(
                    bytes - ordeal.size <= Int64((4 * ordeal.kills + ordeal.partFaults) * ToolFixture.partSize),
                    "seed \(seed), upload \(number): \(bytes) of \(ordeal.size) bytes; \(ordeal.description)")
                resent += max(0, again)
                bytesReceived += bytes
                bytesStored += ordeal.size
                kills += ordeal.kills
                faults += ordeal.partFaults
                fixture.server.removeAllRequests()
            }
            #expect(!fixture.hasLeftovers, "seed \(seed)")
        }
        print("soak: \(uploads) uploads, \(kills) kills, \(faults) faults of parts, \(resent) parts sent again")
        print(
            "soak: \(bytesStored) bytes stored, \(bytesReceived - bytesStored) more received,",
            "\((ContinuousClock.now - start).components.seconds) s")
    }

    private func upload(_ key: String, _ random: inout SoakRandom, _ fixture: ToolFixture) async throws -> Ordeal {
        fixture.server.faults.removeAll()
        let count = random.number(3...30), extra = random.number(0...ToolFixture.partSize - 1)
        let file = try fixture.file("source.bin", parts: count, extra: extra, seed: UInt8(random.number(1...255)))
        var ordeal = Ordeal(parts: count + (extra > 0 ? 1 : 0), size: Int64(file.bytes.count))
        self.addFaults(&ordeal, &random, fixture)

        let command = fixture.copy(file.path, key, ["--json", "--retries", "8", "--parallel", "4"])
        for _ in 0..<random.number(0...3) {
            let moment = random.number(0...ordeal.parts)
            let process = try fixture.start(command)
            // Waits for the moment, or for the end where it never comes.
            try await fixture.wait {
                fixture.storedParts(key) >= moment || fixture.server.keys(bucket: "media").contains(key)
            }
            process.send(SIGKILL)
            let killed = try await process.outcome()
            if killed.signal != nil { ordeal.kills += 1 }
            // It was done before the signal came, be it that it had not ended yet; a run after that would rightly send everything
            // again.
            if killed.code == 0 || self.isDone(key, fixture) { break }
        }
        guard !self.isDone(key, fixture) else {
            #expect(try await fixture.object(key) == file.bytes, "\(ordeal.description)")
            return ordeal
        }
        var outcome = try await fixture.run(command)
        // An outcome that could not be found out, or an integrity error of the whole, is for the next run.
        for _ in 0..<3 where outcome.code != 0 { outcome = try await fixture.run(command) }
        #expect(outcome.code == 0, "\(ordeal.description): \(outcome.text)")
        #expect(try await fixture.object(key) == file.bytes, "\(ordeal.description)")
        return ordeal
    }

    /// Whether the object is stored and nothing says that there is anything left to do.
    private func isDone(_ key: String, _ fixture: ToolFixture) -> Bool {
        fixture.server.keys(bucket: "media").contains(key) && !fixture.hasLeftovers
    }

    private func addFaults(_ ordeal: inout Ordeal, _ random: inout SoakRandom, _ fixture: ToolFixture) {
        for _ in 0..<random.number(0...5) {
            let part = random.number(1...ordeal.parts)
            let actions: [OSSServer.Fault.Action] = [
                .respond(status: 500, code: "InternalError"), .respond(status: 503, code: "SlowDown"),
                .cut(afterBodyBytes: Int64(random.number(0...100_000))), .dropBeforeReply, .commitThenDrop,
                .respond(status: 400, code: "InvalidDigest"), .editReplyHeader("ETag", nil),
                .editReplyHeader("x-oss-hash-crc64ecma", "1"), .stall(.milliseconds(random.number(1...300))),
                .respondEarly(status: 500, code: "InternalError"),
            ]
            let action = actions[random.number(0...actions.count - 1)]
            fixture.server.faults.add(.init(action, operation: "UploadPart", partNumber: part, occurrences: 1...1))
            ordeal.partFaults += 1
            ordeal.description += "part \(part) \(action.kindName), "
        }
        if random.number(0...2) == 0 {
            let actions: [OSSServer.Fault.Action] = [
                .commitThenDrop, .dropBeforeReply, .respond(status: 200, code: "InternalError"),
                .respondRaw(status: 200, body: []),
                .replaceReplyBody(Array("<CompleteMultipartUploadResult><Loc".utf8)),
                .respond(status: 503, code: "SlowDown"),
            ]
            let action = actions[random.number(0...actions.count - 1)]
            fixture.server.faults.add(.init(action, operation: "CompleteMultipartUpload", occurrences: 1...1))
            ordeal.description += "Complete \(action.kindName), "
        }
        if random.number(0...3) == 0 {
            fixture.server.faults.add(.init(.commitThenDrop, operation: "InitiateMultipartUpload", occurrences: 1...1))
            ordeal.description += "Initiate lost, "
        }
    }
}

extension OSSServer.Fault.Action {
    fileprivate var kindName: String { String("\(self)".prefix(120)) }
}

/// Numbers that a seed decides.
private struct SoakRandom {
    var state: UInt64

    mutating func number(_ range: ClosedRange<Int>) -> Int {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = self.state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return range.lowerBound + Int((mixed ^ mixed >> 31) % UInt64(range.count))
    }
}
