// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import FoundationEssentials
import Glibc
import OSSLocalServer
import OSSWire
import SystemIO
import Testing

/// What the uploader promises holds for the tool: the same rows, through the built program.
@Suite(.timeLimit(.minutes(5))) struct ResumeCopyTests {
    private static let part = ToolFixture.partSize

    private struct Report: Decodable {
        let uploadId: String?, proof: String
        let partsTotal: Int, partsSent: Int, partsResumed: Int
    }

    /// Runs the tool and returns what it said, in JSON and in words.
    private func report(
        _ fixture: ToolFixture, _ path: String, _ more: [String] = []
    ) async throws -> (report: Report, errors: String) {
        let outcome = try await fixture.run(fixture.copy(path, "k", ["--json"] + more))
        #expect(outcome.code == 0, "\(outcome.text)")
        return (try JSONDecoder().decode(Report.self, from: Data(outcome.output.utf8)), outcome.errors)
    }

    /// Uploads up to a part that is refused, one after the other; returns the upload's ID.
    private func breakUpload(_ fixture: ToolFixture, _ path: String, atPart part: Int, _ more: [String] = [])
        async throws -> String
    {
        fixture.server.faults.add(
            .init(.respond(status: 403, code: "AccessDenied"), operation: "UploadPart", partNumber: part))
        let outcome = try await fixture.run(fixture.copy(path, "k", ["--parallel", "1"] + more))
        #expect(outcome.code == 1)
        fixture.server.faults.removeAll()
        fixture.server.removeAllRequests()
        return try #require(fixture.server.openUploads(bucket: ToolFixture.bucket).last).uploadID
    }

    private func record(_ fixture: ToolFixture) throws -> String {
        let names = try FileManager.default.contentsOfDirectory(atPath: fixture.checkpoints)
        return fixture.checkpoints + "/" + (try #require(names.first { $0.hasSuffix(".journal") }))
    }

    // MARK: What the service has

    @Test func `Parts lost, foreign and unknown: what is not the source's is sent, and only that`() async throws {
        try await withToolFixture { fixture in
            let file = try fixture.file("film.bin", parts: 8)
            let uploadID = try await self.breakUpload(fixture, file.path, atPart: 6)
            try await fixture.server.removeParts([1], ofUpload: uploadID)
            try await fixture.server.corruptPart(3, ofUpload: uploadID)
            let (report, _) = try await self.report(fixture, file.path)
            #expect(report.uploadId == uploadID)
            #expect(fixture.partsSent == [1, 3, 6, 7, 8, 9])
            #expect((report.partsResumed, report.partsSent, report.proof) == (3, 6, "crc64"))
            #expect(try await fixture.object("k") == file.bytes)
            #expect(!fixture.hasLeftovers)
        }
    }

    @Test func `Listing denied, the upload gone, all parts there: each goes on as far as it can`() async throws {
        try await withToolFixture { fixture in
            let file = try fixture.file("film.bin", parts: 5)
            _ = try await self.breakUpload(fixture, file.path, atPart: 4)
            fixture.server.faults.add(.init(.respond(status: 403, code: "AccessDenied"), operation: "ListParts"))
            let denied = try await self.report(fixture, file.path)
            #expect(fixture.partsSent == [4, 5, 6])
            #expect(denied.errors.contains("oss:ListParts"))
            #expect(try await fixture.object("k") == file.bytes)

            let gone = try await self.breakUpload(fixture, file.path, atPart: 4)
            try await fixture.server.removeUpload(gone)
            let anew = try await self.report(fixture, file.path)
            #expect(fixture.partsSent == Array(1...6))
            #expect(anew.report.uploadId != gone)
            #expect(anew.errors.contains(gone))
            fixture.server.removeAllRequests()

            fixture.server.faults.add(
                .init(.respond(status: 403, code: "AccessDenied"), operation: "CompleteMultipartUpload"))
            #expect(try await fixture.run(fixture.copy(file.path, "k")).code == 1)
            fixture.server.faults.removeAll()
            fixture.server.removeAllRequests()
            let complete = try await self.report(fixture, file.path)
            #expect((complete.report.partsSent, complete.report.partsResumed) == (0, 6))
            #expect(fixture.partsSent.isEmpty)
            #expect(!fixture.hasLeftovers)
        }
    }

    @Test func `A listing whose marker does not grow ends the run with a message`() async throws {
        try await withToolFixture { fixture in
            let file = try fixture.file("film.bin", parts: 4)
            _ = try await self.breakUpload(fixture, file.path, atPart: 3)
            fixture.server.faults.add(
                .init(
                    .editReplyBody(
                        replacing: "<IsTruncated>false</IsTruncated>",
                        with: "<IsTruncated>true</IsTruncated><NextPartNumberMarker>0</NextPartNumberMarker>"),
                    operation: "ListParts"))
            let outcome = try await fixture.run(fixture.copy(file.path, "k"))
            #expect(outcome.code == 1)
            #expect(outcome.errors.contains("ListParts"))
            fixture.server.faults.removeAll()
            fixture.server.removeAllRequests()
            #expect(try await self.report(fixture, file.path).report.partsResumed == 2)
        }
    }

    // MARK: What is asked for

    @Test func `Another part size, other headers, another file, a new beginning: said, and right`() async throws {
        try await withToolFixture { fixture in
            let file = try fixture.file("film.bin", parts: 5)
            let first = try await self.breakUpload(fixture, file.path, atPart: 4)
            let larger = try await self.report(fixture, file.path, ["--part-size", "300KiB"])
            #expect(larger.report.uploadId == first)
            #expect(larger.errors.contains("102400"))
            #expect(fixture.partsSent == [4, 5, 6])

            let second = try await self.breakUpload(fixture, file.path, atPart: 4)
            let typed = try await self.report(fixture, file.path, ["--content-type", "video/mp4"])
            #expect(typed.report.uploadId != second)
            #expect(typed.errors.contains("other object headers"))
            let info = fixture.server.objectInfo(bucket: ToolFixture.bucket, key: "k")
            #expect(info?.headers["Content-Type"] == "video/mp4")

            _ = try await self.breakUpload(fixture, file.path, atPart: 4)
            let other = try fixture.file("other.bin", parts: 5, seed: 2)
            let replaced = try await self.report(fixture, other.path)
            #expect(replaced.report.partsSent == 6)
            #expect(try await fixture.object("k") == other.bytes)

            let fourth = try await self.breakUpload(fixture, file.path, atPart: 4)
            let restarted = try await self.report(fixture, file.path, ["--restart"])
            #expect(restarted.report.uploadId != fourth)
            #expect(restarted.report.partsSent == 6)
            #expect(try await fixture.object("k") == file.bytes)
            #expect(!fixture.hasLeftovers)
        }
    }

    @Test func `A lost checkpoint is adopted where that is asked for, by ID or as the latest`() async throws {
        try await withToolFixture { fixture in
            let file = try fixture.file("film.bin", parts: 5)
            for choice in ["latest", "ID", "missing"] {
                let uploadID = try await self.breakUpload(fixture, file.path, atPart: 4)
                try Directory.removeFile(try self.record(fixture))
                switch choice {
                case "missing":
                    let outcome = try await fixture.run(
                        fixture.copy(file.path, "k", ["--adopt", String(repeating: "0", count: 32)]))
                    #expect(outcome.code == 1)
                    #expect(outcome.errors.contains("NoSuchUpload"))
                    #expect(fixture.server.openUploads(bucket: ToolFixture.bucket).map(\.uploadID) == [uploadID])
                default:
                    let adopted = try await self.report(
                        fixture, file.path, ["--adopt", choice == "ID" ? uploadID : choice])
                    #expect(adopted.report.uploadId == uploadID)
                    #expect(adopted.report.partsResumed == 3)
                    #expect(fixture.partsSent == [4, 5, 6])
                    #expect(!fixture.hasLeftovers)
                }
            }
        }
    }

    @Test(arguments: ["auto", "content", "record"])
    func `A byte that was changed secretly is seen, except where the record alone is asked for`(mode: String)
        async throws
    {
        try await withToolFixture { fixture in
            var file = try fixture.file("film.bin", parts: 5)
            _ = try await self.breakUpload(fixture, file.path, atPart: 4)
            let handle = try PosixFile(path: file.path, .write)
            let time = try handle.status().modificationTime
            file.bytes[Self.part + 3] ^= 1
            try handle.write([file.bytes[Self.part + 3]].span, at: Int64(Self.part + 3))
            let moment = timespec(tv_sec: Int(time / 1_000_000_000), tv_nsec: Int(time % 1_000_000_000))
            let result = unsafe [moment, moment].withUnsafeBufferPointer {
                unsafe futimens(handle.descriptor, $0.baseAddress)
            }
            #expect(result == 0)
            _ = try await self.report(fixture, file.path, ["--verify", mode])
            #expect(fixture.partsSent == (mode == "record" ? [4, 5, 6] : [2, 4, 5, 6]))
            #expect(try await (fixture.object("k") == file.bytes) == (mode != "record"))
        }
    }

    // MARK: The source

    /// What happens to a source.
    enum Change: CaseIterable, Sendable {
        case appended, truncated, replaced, rewritten

        func make(_ path: String) throws {
            switch self {
            case .appended: try PosixFile(path: path, [.write, .append]).write([1])
            case .truncated: try PosixFile(path: path, .write).truncate(to: Int64(2 * part + 5))
            case .replaced:
                try PosixFile(path: path + ".new", [.write, .create]).write(Array(repeating: 7, count: 8 * part + 17))
                try Directory.rename(path + ".new", to: path)
            case .rewritten: try PosixFile(path: path, .write).write(Array(repeating: 1, count: 8 * part + 17))
            }
        }
    }

    @Test(arguments: Change.allCases)
    func `A source that changes during the run gives code 4, publishes nothing, and the next run is right`(
        change: Change
    ) async throws {
        try await withToolFixture { fixture in
            try await fixture.server.putObject(bucket: ToolFixture.bucket, key: "k", data: [1, 2, 3])
            for part in 3...9 {
                fixture.server.faults.add(
                    .init(
                        .respond(status: 503, code: "SlowDown", headers: ["Retry-After": "1"]), operation: "UploadPart",
                        partNumber: part))
            }
            let file = try fixture.file("film.bin", parts: 8)
            let process = try fixture.start(fixture.copy(file.path, "k", ["--retries", "100"]))
            try await fixture.wait { fixture.storedParts("k") >= 2 }
            try change.make(file.path)
            let outcome = try await process.outcome()
            #expect(outcome.code == 4)
            #expect(outcome.errors.contains("let it rest"))
            #expect(try await fixture.object("k") == [1, 2, 3])
            fixture.server.faults.removeAll()
            _ = try await self.report(fixture, file.path)
            let now = try #require(FileManager.default.contents(atPath: file.path))
            #expect(try await fixture.object("k") == Array(now))
            #expect(!fixture.hasLeftovers)
        }
    }

    @Test(arguments: Change.allCases)
    func `A source that changed between runs gives code 0 and the new content`(change: Change) async throws {
        try await withToolFixture { fixture in
            let file = try fixture.file("film.bin", parts: 8)
            _ = try await self.breakUpload(fixture, file.path, atPart: 6)
            try change.make(file.path)
            _ = try await self.report(fixture, file.path)
            let now = try #require(FileManager.default.contents(atPath: file.path))
            #expect(try await fixture.object("k") == Array(now))
            #expect(!fixture.hasLeftovers)
        }
    }

    @Test func `A source that was touched, moved or copied goes on`() async throws {
        try await withToolFixture { fixture in
            let file = try fixture.file("film.bin", parts: 8)
            _ = try await self.breakUpload(fixture, file.path, atPart: 4)
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSince1970: 1_000_000)], ofItemAtPath: file.path)
            _ = try await self.breakUpload(fixture, file.path, atPart: 5)
            try Directory.rename(file.path, to: file.path + ".moved")
            _ = try await self.breakUpload(fixture, file.path + ".moved", atPart: 6)
            try Data(file.bytes).write(to: URL(filePath: file.path))
            let (report, _) = try await self.report(fixture, file.path)
            #expect(fixture.partsSent == [6, 7, 8, 9])
            #expect(report.partsResumed == 5)
            #expect(try await fixture.object("k") == file.bytes)
        }
    }

    // MARK: The record

    @Test func `A record of nonsense, cut, of a later version, or no file at all`() async throws {
        try await withToolFixture { fixture in
            let file = try fixture.file("film.bin", parts: 3)
            for text in ["null", "[]", "{}", "\0\0\0\0", "\n\n"] {
                _ = try await self.breakUpload(fixture, file.path, atPart: 3)
                try Data(text.utf8).write(to: URL(filePath: try self.record(fixture)))
                let (_, errors) = try await self.report(fixture, file.path)
                #expect(errors.contains("damaged"))
                #expect(errors.contains("no checkpoint names"))
                #expect(try await fixture.object("k") == file.bytes)
                for left in fixture.server.openUploads(bucket: ToolFixture.bucket) {
                    try await fixture.server.removeUpload(left.uploadID)
                }
            }
            _ = try await self.breakUpload(fixture, file.path, atPart: 3)
            let whole = try #require(FileManager.default.contents(atPath: try self.record(fixture)))
            try whole.dropLast(5).write(to: URL(filePath: try self.record(fixture)))
            #expect(try await self.report(fixture, file.path).report.partsResumed == 2)

            _ = try await self.breakUpload(fixture, file.path, atPart: 3)
            let path = try self.record(fixture)
            let elsewhere = fixture.folder + "/elsewhere"
            try Directory.rename(path, to: elsewhere)
            let kept = try #require(FileManager.default.contents(atPath: elsewhere))
            #expect(unsafe symlink(elsewhere, path) == 0)
            _ = try await self.report(fixture, file.path)
            #expect(FileManager.default.contents(atPath: elsewhere) == kept)
            #expect(try await fixture.object("k") == file.bytes)
        }
    }

    @Test func `A record of a later version is an error that keeps it and its upload`() async throws {
        try await withToolFixture { fixture in
            let file = try fixture.file("film.bin", parts: 3)
            _ = try await self.breakUpload(fixture, file.path, atPart: 3)
            let path = try self.record(fixture)
            let line = Array("journal version=2 more=to-come".utf8)
            let digits = String(CRC64.of(line), radix: 16)
            let later = Array((String(repeating: "0", count: 16 - digits.count) + digits + " ").utf8) + line + [0x0A]
            try Data(later).write(to: URL(filePath: path))
            let outcome = try await fixture.run(fixture.copy(file.path, "k"))
            #expect(outcome.code == 1)
            #expect(outcome.errors.contains("version 2"))
            #expect(FileManager.default.contents(atPath: path).map { Array($0) } == later)
            #expect(fixture.server.openUploads(bucket: ToolFixture.bucket).count == 1)
            #expect(fixture.partsSent.isEmpty)
        }
    }

    // The thread sanitizer itself dies of the limit.
    @Test(.disabled(if: ToolProcess.isInstrumented))
    func `A disk that becomes full under the record is a warning, and the object is stored`() async throws {
        try await withToolFixture { fixture in
            let file = try fixture.file("film.bin", parts: 60)
            // No file may grow beyond this: room for the upload's line and some of the parts', not for all.
            let outcome = try await fixture.run(
                fixture.copy(file.path, "k", ["--quiet"]), launcher: ["/usr/bin/prlimit", "--fsize=4096", "--"])
            #expect(outcome.code == 0, "\(outcome.errors)")
            #expect(outcome.errors.contains("a later run will ask the service what it has"))
            #expect(try await fixture.object("k") == file.bytes)
            #expect(!fixture.hasLeftovers)
            // Room for nothing at all: the folder was named, so nothing is sent.
            let full = try await fixture.run(
                fixture.copy(file.path, "other", ["--quiet"]), launcher: ["/usr/bin/prlimit", "--fsize=1", "--"])
            #expect(full.code == 1)
            #expect(fixture.server.requests.allSatisfy { $0.key != "other" })
        }
    }

    @Test func `A folder that takes no record is an error where it was named, and a warning where it was not`()
        async throws
    {
        try await withToolFixture { fixture in
            let file = try fixture.file("film.bin", parts: 3)
            // Nobody can make a file there, not even root.
            let named = try await fixture.run([
                "cp", file.path, "oss://media/k", "--part-size", "100KiB", "--checkpoint-dir", "/proc/self",
            ])
            #expect(named.code == 1)
            #expect(named.errors.contains("/proc/self"))
            #expect(fixture.server.requests.isEmpty)
            var environment = fixture.environment
            environment["XDG_STATE_HOME"] = "/proc/self"
            let unnamed = try await fixture.run(
                ["cp", file.path, "oss://media/k", "--part-size", "100KiB"], environment: environment)
            #expect(unnamed.code == 0)
            #expect(unnamed.errors.contains("without a checkpoint"))
            #expect(try await fixture.object("k") == file.bytes)
        }
    }

    @Test func `Without a checkpoint a failure leaves nothing, and a failed abort hides nothing`() async throws {
        try await withToolFixture { fixture in
            let file = try fixture.file("film.bin", parts: 3)
            let command = ["cp", file.path, "oss://media/k", "--part-size", "100KiB", "--no-checkpoint"]
            fixture.server.faults.add(
                .init(.respond(status: 403, code: "AccessDenied"), operation: "UploadPart", partNumber: 3))
            let failed = try await fixture.run(command)
            #expect(failed.code == 1)
            #expect(failed.errors.contains("UploadPart"))
            #expect(!fixture.hasLeftovers)
            fixture.server.faults.add(
                .init(.respond(status: 409, code: "Conflict"), operation: "AbortMultipartUpload"))
            let twice = try await fixture.run(command)
            #expect(twice.code == 1)
            let lines = twice.errors.split(separator: "\n")
            #expect(lines.last?.contains("AccessDenied") == true, "\(twice.errors)")
            #expect(lines.contains { $0.contains("could not be aborted") })
            #expect(try await fixture.object("k") == nil)
        }
    }

    // MARK: Two at once

    @Test func `Two runs of the same source at once: one gets code 5, and the other is unharmed`() async throws {
        try await withToolFixture { fixture in
            fixture.hold(3...9)
            let file = try fixture.file("film.bin", parts: 8)
            let first = try fixture.start(fixture.copy(file.path, "k", ["--json"]))
            try await fixture.wait { fixture.storedParts("k") >= 2 }
            let second = try await fixture.run(fixture.copy(file.path, "k"))
            #expect(second.code == 5)
            fixture.server.faults.removeAll()
            // What is held stays held: the first is stopped, and all that it had stored is still its.
            first.send(SIGTERM)
            #expect(try await first.outcome().code == 143)
            fixture.server.removeAllRequests()
            let (report, _) = try await self.report(fixture, file.path)
            #expect(report.partsResumed == 2)
            #expect(fixture.partsSent == Array(3...9))
            #expect(try await fixture.object("k") == file.bytes)
        }
    }

    // MARK: Signals

    /// Where the tool can be when a signal comes: the operation that is held up.
    enum Point: String, CaseIterable, Sendable {
        case initiate = "InitiateMultipartUpload"
        case part = "UploadPart"
        case complete = "CompleteMultipartUpload"
        case list = "ListParts"
        case head = "HeadObject"
        case put = "PutObject"
        case uploads = "ListMultipartUploads"
        case abort = "AbortMultipartUpload"
        /// Between two attempts.
        case wait = "wait"

        var operation: String { self == .wait ? Point.part.rawValue : self.rawValue }
    }

    @Test(arguments: Point.allCases, [SIGINT, SIGTERM])
    func `A signal at any point ends it with its code, and the next run finishes and leaves nothing behind`(
        point: Point, signal: Int32
    ) async throws {
        try await withToolFixture { fixture in
            var file = try fixture.file("film.bin", parts: point == .put ? 0 : 4)
            switch point {
            case .initiate, .part, .complete, .put, .wait: break
            case .list: _ = try await self.breakUpload(fixture, file.path, atPart: 3)
            case .abort:
                _ = try await self.breakUpload(fixture, file.path, atPart: 3)
                file.bytes.append(1)
                try PosixFile(path: file.path, [.write, .append]).write([1])
            case .head:
                fixture.server.faults.add(
                    .init(.commitThenDrop, operation: "CompleteMultipartUpload", occurrences: 1...1))
            case .uploads:
                fixture.server.faults.add(
                    .init(.commitThenDrop, operation: "InitiateMultipartUpload", occurrences: 1...1))
            }
            let held: OSSServer.Fault.Action =
                point == .wait
                ? .respond(status: 503, code: "SlowDown", headers: ["Retry-After": "50"]) : .delay(.seconds(3600))
            fixture.server.faults.add(.init(held, operation: point.operation))
            let before = fixture.server.faults.count(ofOperation: point.operation)
            let process = try fixture.start(fixture.copy(file.path, "k"))
            try await fixture.wait { fixture.server.faults.count(ofOperation: point.operation) > before }
            process.send(signal)
            let outcome = try await process.outcome()
            #expect(outcome.code == 128 + signal, "\(outcome.text)")
            let isJoining = point == .complete || point == .head
            #expect(outcome.errors.contains(isJoining ? "outcome unknown" : "stopped"))
            fixture.server.faults.removeAll()
            let second = try await fixture.run(fixture.copy(file.path, "k"))
            #expect(second.code == 0, "\(second.text)")
            #expect(try await fixture.object("k") == file.bytes)
            #expect(!fixture.hasLeftovers)
        }
    }

    @Test func `A second signal ends it at once, and the next run finishes`() async throws {
        try await withToolFixture { fixture in
            fixture.hold(3...5)
            let file = try fixture.file("film.bin", parts: 4)
            // Stopping is held up: without a checkpoint the upload is aborted first.
            fixture.server.faults.add(.init(.delay(.seconds(3600)), operation: "AbortMultipartUpload"))
            let process = try fixture.start([
                "cp", file.path, "oss://media/k", "--part-size", "100KiB", "--no-checkpoint",
            ])
            try await fixture.wait { fixture.storedParts("k") >= 2 }
            process.send(SIGINT)
            // The tool gives it five seconds: a thread of its own is in time however busy the tests' own threads are.
            await BlockingExecutor(threads: 1).run {
                for _ in 1...40_000 where fixture.server.faults.count(ofOperation: "AbortMultipartUpload") == 0 {
                    usleep(1000)
                }
                process.send(SIGTERM)
            }
            let outcome = try await process.outcome()
            #expect(outcome.code == 143)
            fixture.server.faults.removeAll()
            #expect(try await fixture.run(fixture.copy(file.path, "k")).code == 0)
            #expect(try await fixture.object("k") == file.bytes)
        }
    }

    // MARK: Progress

    @Test func `100 % is told exactly once, and tenths in order, whatever happens to parts`() async throws {
        try await withToolFixture { fixture in
            for (part, action) in [
                (2, .cut(afterBodyBytes: 90_000)), (7, .respond(status: 400, code: "InvalidDigest")),
                (12, .commitThenDrop), (13, .respond(status: 500, code: "InternalError")),
            ] as [(Int, OSSServer.Fault.Action)] {
                fixture.server.faults.add(
                    .init(action, operation: "UploadPart", partNumber: part, occurrences: 1...2))
            }
            let file = try fixture.file("film.bin", parts: 12)
            let outcome = try await fixture.run(fixture.copy(file.path, "k"))
            #expect(outcome.code == 0)
            let percents = outcome.errors.split(separator: "\n").compactMap { line -> Int? in
                let halves = line.split(separator: " % (", maxSplits: 1)
                guard halves.count == 2 else { return nil }
                return halves[0].split(separator: " ").last.flatMap { Int($0) }
            }
            #expect(percents.last == 100)
            #expect(percents == Array(Set(percents)).sorted())
        }
    }
}
