// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import OSSWire
import Testing

@testable import OSSMultipart

@Suite struct JournalTests {
    private static let intent = Journal.Intent(
        endpoint: "https://oss-cn-hangzhou.aliyuncs.com", bucket: "media", key: "a b/文=%\n.mp4",
        begun: 1_764_000_000_123
    )
    private static let source = SourceIdentity(
        size: 1_024_017, evidence: .file(.init(modificationTime: 1, changeTime: 2, inode: .max, device: 3))
    )
    private static let upload = Journal.Upload(
        uploadID: "0004B9894A22E5B1888A1E29F8236E2D", sizes: PartSizes(102_400), source: source,
        headers: "content-type:video/mp4\nx-oss-meta-a:b c"
    )

    private static func receipt(_ number: Int) -> PartReceipt {
        PartReceipt(
            number: number, size: number == 11 ? 17 : 102_400, md5: Array(repeating: UInt8(number), count: 16),
            crc64: .max - UInt64(number), eTag: String(repeating: "A", count: 32)
        )
    }

    private static var whole: [UInt8] {
        Journal.beginning(intent) + Journal.line(upload) + (1...3).flatMap { Journal.line(receipt($0)) }
    }

    private func journal(_ bytes: [UInt8]) throws -> Journal {
        guard case .journal(let journal) = Journal.read(bytes) else { throw Missing() }
        return journal
    }
    private struct Missing: Error {}

    @Test func `What is written is read back`() throws {
        let journal = try self.journal(Self.whole)
        #expect(journal.intent == Self.intent)
        #expect(journal.upload == Self.upload)
        #expect(journal.parts == PartReceipts((1...3).map(Self.receipt)))
        #expect(journal.length == Self.whole.count)
    }

    @Test func `That the parts have to come in order is read back`() throws {
        var upload = Self.upload
        upload.isSequential = true
        let journal = try self.journal(Journal.beginning(Self.intent) + Journal.line(upload))
        #expect(journal.upload == upload)
        #expect(journal.upload != Self.upload)
    }

    @Test func `A part without digests keeps its ETag`() throws {
        let bare = PartReceipt(number: 7, size: 1, md5: nil, crc64: nil, eTag: "\"odd etag\"")
        let journal = try self.journal(Self.whole + Journal.line(bare))
        #expect(journal.parts[7] == bare)
    }

    @Test(arguments: [Limits.minimumPartSize, Int64(Int32.max) + 1, 1 << 32, Limits.maximumPartSize])
    func `A part of any size is read back`(size: Int64) throws {
        var upload = Self.upload
        upload.sizes = PartSizes(size)
        let part = PartReceipt(number: 1, size: size, md5: nil, crc64: 5, eTag: "E")
        let journal = try self.journal(Journal.beginning(Self.intent) + Journal.line(upload) + Journal.line(part))
        #expect(journal.upload == upload)
        #expect(journal.parts[1] == part)
    }

    @Test(arguments: [
        (String(repeating: "0A", count: 16), true), (String(repeating: "0a", count: 16), true),
        (String(repeating: "0B", count: 16), false), ("encrypted", false),
    ])
    func `A receipt gives back the MD5 and the ETag as they were`(eTag: String, isMD5: Bool) {
        let md5 = [UInt8](repeating: 0x0A, count: 16)
        let receipt = PartReceipt(number: 7, size: 1, md5: md5, crc64: 5, eTag: eTag)
        #expect(receipt.md5 == md5)
        #expect(receipt.eTag == eTag)
        #expect(receipt.isETagMD5 == isMD5)
        let counted = PartReceipt(number: 7, size: 1, md5: (0..<16).map { $0 * 16 + 1 }, crc64: nil, eTag: eTag)
        #expect(counted.md5 == (0..<16).map { $0 * 16 + 1 })
        #expect(PartReceipt(number: 7, size: 1, md5: nil, crc64: 5, eTag: eTag).isETagMD5 == false)
    }

    // Case 31: https://github.com/aws/aws-sdk-go/issues/2557
    @Test func `The line of a part takes at most 256 bytes`() {
        let largest = PartReceipt(
            number: 10_000, size: Limits.maximumPartSize, md5: Array(repeating: 0xFF, count: 16), crc64: .max,
            eTag: String(repeating: "F", count: 32)
        )
        #expect(Journal.line(largest).count <= 256)
    }

    @Test func `Cut at every byte, it never says more than was written, and what it says is true`() throws {
        let whole = Self.whole
        for length in 0..<whole.count {
            switch Journal.read(Array(whole[..<length])) {
            case .empty: #expect(length == 0)
            case .damaged(let uploadID):
                #expect(length < Journal.beginning(Self.intent).count)
                #expect(uploadID == nil)
            case .journal(let journal):
                #expect(journal.intent == Self.intent)
                #expect(journal.upload == nil || journal.upload == Self.upload)
                #expect(journal.length <= length)
                for part in journal.parts { #expect(part == Self.receipt(part.number)) }
            case .ofLaterVersion: Issue.record("a cut journal is no later version")
            }
        }
    }

    @Test func `With any byte changed it never says anything false`() throws {
        let whole = Self.whole
        for index in whole.indices {
            for change: UInt8 in [0x01, 0x20, 0x80, 0xFF] {
                var bytes = whole
                bytes[index] ^= change
                switch Journal.read(bytes) {
                case .empty, .ofLaterVersion: Issue.record("byte \(index) makes it empty or of a later version")
                case .damaged(let uploadID): #expect(uploadID == nil || uploadID == Self.upload.uploadID)
                case .journal(let journal):
                    #expect(journal.intent == Self.intent)
                    #expect(journal.upload == nil || journal.upload == Self.upload)
                    for part in journal.parts { #expect(part == Self.receipt(part.number)) }
                }
            }
        }
    }

    @Test func `A damaged head gives the upload's ID where its line is whole`() {
        var bytes = Self.whole
        bytes[30] ^= 1
        #expect(Journal.read(bytes) == .damaged(uploadID: Self.upload.uploadID))
    }

    @Test func `A damaged line in the middle costs its part alone`() throws {
        var bytes = Self.whole
        let second =
            Journal.beginning(Self.intent).count + Journal.line(Self.upload).count + Journal.line(Self.receipt(1)).count
        bytes[second + 20] ^= 1
        let journal = try self.journal(bytes)
        #expect(Array(journal.parts.numbers) == [1, 3])
        #expect(journal.length == bytes.count)
    }

    @Test func `A torn tail is left out, and the length says where it begins`() throws {
        let journal = try self.journal(Self.whole + Journal.line(Self.receipt(4)).dropLast())
        #expect(Array(journal.parts.numbers) == [1, 2, 3])
        #expect(journal.length == Self.whole.count)
    }

    @Test func `Parts are taken back, and the source's new identity counts`() throws {
        var newer = Self.source
        newer.evidence = .file(.init(modificationTime: 99, changeTime: 2, inode: .max, device: 3))
        let journal = try self.journal(Self.whole + Journal.lines(dropping: [2, 1], source: newer))
        #expect(Array(journal.parts.numbers) == [3])
        #expect(journal.upload?.source == newer)
    }

    @Test(arguments: ["null", "[]", "{}", "\n", "\n\n\n", "\0\0\0\0", "0000000000000000 journal version=1\n", "a=b"])
    func `What is no journal is damaged, and nothing more is said of it`(text: String) {
        #expect(Journal.read(Array(text.utf8)) == .damaged(uploadID: nil))
    }

    @Test func `A later version is told from damage`() {
        var head = JournalLine("journal")
        head["version"] = "2"
        #expect(Journal.read(head.bytes) == .ofLaterVersion(2))
    }
}
