// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// What a checkpoint says: the lines of a journal, written and read.
///
/// Pure: where the lines live is the store's affair.
///
/// The order of lines: `journal` and `intent`, durable before Initiate; `upload`, durable before the first part; then a line
/// for each part. `alone` says that no sibling of the upload is left, `completing` says that Complete may have been sent, `drop` takes a part back, `source` says that the source was found to be the same under another identity.
struct Journal: Sendable, Equatable {
    /// The version of the format that this code writes and reads.
    static let version = 1

    /// What the upload is about; written before it is begun.
    struct Intent: Sendable, Equatable {
        var endpoint: String
        var bucket: String
        var key: String
        /// When it was written, by our own clock, in milliseconds since 1970.
        var begun: Int64
    }

    /// The upload that was begun.
    struct Upload: Sendable, Equatable {
        var uploadID: String
        /// The sizes of all parts but the last.
        var sizes: PartSizes
        /// The source when the upload was begun, or when it was last found to be the same.
        var source: SourceIdentity
        /// The object headers in one spelling.
        var headers: String
        /// Whether Initiate had to be sent again, so that it may have begun others, which are still to be looked for.
        var mayHaveSiblings = false
        /// Whether its parts have to be sent in order and once.
        var isSequential = false
    }

    var intent: Intent
    /// Nil where the journal ends before an upload was begun.
    var upload: Upload?
    /// The parts that were stored.
    var parts = PartReceipts()
    /// Whether Complete may have been sent.
    var isCompleting = false
    /// Length in bytes up to the end of the last whole line: what lies behind is torn.
    var length = 0

    /// What reading a checkpoint gave.
    enum Reading: Sendable, Equatable {
        /// There is not a byte in it.
        case empty
        case journal(Journal)
        /// Its head cannot be read; the upload's ID is there where that line can.
        case damaged(uploadID: String?)
        /// A later version of this package wrote it.
        case ofLaterVersion(Int)
    }

    /// Reads a journal; never fails, whatever the bytes are.
    static func read(_ bytes: [UInt8]) -> Reading {
        guard !bytes.isEmpty else { return .empty }
        // Where the lines are; what they say is read one by one, for ten thousand of them would take a lot of memory.
        var lines: [Range<Int>] = []
        var start = 0
        while let feed = bytes[start...].firstIndex(of: 0x0A) {
            lines.append(start..<feed)
            start = feed + 1
        }
        func line(_ index: Int) -> JournalLine? { JournalLine(bytes[lines[index]]) }
        func damaged() -> Reading {
            .damaged(uploadID: lines.indices.lazy.compactMap(line).first { $0.kind == "upload" }?["id"])
        }
        guard !lines.isEmpty, let head = line(0), head.kind == "journal",
            let version = head.integer("version", as: Int.self)
        else {
            return damaged()
        }
        guard version <= Self.version else { return .ofLaterVersion(version) }
        guard lines.count > 1, let second = line(1), second.kind == "intent", let intent = Intent(second) else {
            return damaged()
        }
        var journal = Journal(intent: intent)
        journal.length = lines[1].upperBound + 1
        guard lines.count > 2 else { return .journal(journal) }
        guard let third = line(2), third.kind == "upload", let upload = Upload(third) else {
            // The third line alone and torn: Initiate may have been answered, but nothing was stored.
            return lines.count == 3 ? .journal(journal) : damaged()
        }
        journal.upload = upload
        journal.parts = PartReceipts(capacity: min(lines.count, Limits.maximumPartNumber))
        for index in lines.indices.dropFirst(3) {
            // A line that cannot be read says nothing of its part: the service's listing will.
            if let line = line(index) { journal.take(line) }
        }
        journal.length = lines[lines.count - 1].upperBound + 1
        return .journal(journal)
    }

    private mutating func take(_ line: JournalLine) {
        switch line.kind {
        case "part":
            if let receipt = PartReceipt(line) { self.parts.insert(receipt) }
        case "drop":
            if let number = line.integer("number", as: Int.self) { self.parts.remove(number) }
        case "completing": self.isCompleting = true
        case "alone": self.upload?.mayHaveSiblings = false
        case "source":
            if let source = SourceIdentity(line) { self.upload?.source = source }
        default:
            // A kind that a later minor version may add; it changes nothing of what is known here.
            break
        }
    }

    // MARK: Writing

    /// The first two lines.
    static func beginning(_ intent: Intent) -> [UInt8] {
        var head = JournalLine("journal")
        head["version"] = String(Self.version)
        return head.bytes + intent.line.bytes
    }

    /// The line of an upload that was begun.
    static func line(_ upload: Upload) -> [UInt8] { upload.line.bytes }

    /// The line of a part that is stored.
    static func line(_ receipt: PartReceipt) -> [UInt8] { receipt.line.bytes }

    /// The line that says that no other upload is left of those that Initiate may have begun.
    static var aloneLine: [UInt8] { JournalLine("alone").bytes }

    /// The line that says that Complete is about to be sent.
    static var completingLine: [UInt8] { JournalLine("completing").bytes }

    /// The line that takes a part back.
    static func line(dropping number: Int) -> [UInt8] {
        var line = JournalLine("drop")
        line["number"] = String(number)
        return line.bytes
    }

    /// The lines that take parts back and then say what the source is now.
    ///
    /// In this order, so that a write that is torn never leaves a new identity beside parts of the old content.
    static func lines(dropping parts: [Int], source: SourceIdentity) -> [UInt8] {
        let drops = parts.sorted().flatMap { Self.line(dropping: $0) }
        var line = JournalLine("source")
        source.write(to: &line)
        return drops + line.bytes
    }
}

extension Journal.Intent {
    fileprivate init?(_ line: JournalLine) {
        guard let endpoint = line["endpoint"], let bucket = line["bucket"], let key = line["key"],
            let begun = line.integer("begun", as: Int64.self)
        else { return nil }
        self.init(endpoint: endpoint, bucket: bucket, key: key, begun: begun)
    }

    fileprivate var line: JournalLine {
        var line = JournalLine("intent")
        line["endpoint"] = self.endpoint
        line["bucket"] = self.bucket
        line["key"] = self.key
        line["begun"] = String(self.begun)
        return line
    }
}

extension Journal.Upload {
    fileprivate init?(_ line: JournalLine) {
        guard let uploadID = line["id"], !uploadID.isEmpty, let partSize = line.integer("part-size", as: Int64.self),
            (Limits.minimumPartSize...Limits.maximumPartSize).contains(partSize), let source = SourceIdentity(line),
            let headers = line["headers"]
        else { return nil }
        var sizes = PartSizes(partSize)
        if line["growth-limit"] != nil {
            guard let limit = line.integer("growth-limit", as: Int64.self),
                (partSize...Limits.maximumPartSize).contains(limit)
            else { return nil }
            sizes = .growing(from: partSize, limit: limit)
        }
        self.init(
            uploadID: uploadID, sizes: sizes, source: source, headers: headers,
            mayHaveSiblings: line["siblings"] != nil, isSequential: line["sequential"] != nil
        )
    }

    fileprivate var line: JournalLine {
        var line = JournalLine("upload")
        line["id"] = self.uploadID
        line["part-size"] = String(self.sizes.first)
        line["growth-limit"] = self.sizes.growth.map { String($0.limit) }
        self.source.write(to: &line)
        line["headers"] = self.headers
        if self.mayHaveSiblings { line["siblings"] = "1" }
        if self.isSequential { line["sequential"] = "1" }
        return line
    }
}

extension SourceIdentity {
    /// Reads it from a line; nil where it is none.
    init?(_ line: JournalLine) {
        var size: Int64?
        if line["size"] != nil {
            guard let number = line.integer("size", as: Int64.self), number >= 0 else { return nil }
            size = number
        }
        if let label = line["identity"] {
            self.init(size: size, evidence: .label(label))
        } else if line["mtime"] != nil {
            guard size != nil, let modified = line.integer("mtime", as: Int64.self),
                let changed = line.integer("ctime", as: Int64.self), let inode = line.integer("inode", as: UInt64.self),
                let device = line.integer("device", as: UInt64.self)
            else { return nil }
            var marks = FileMarks(modificationTime: modified, changeTime: changed, inode: inode, device: device)
            if line["origin"] != nil {
                guard let origin = line.integer("origin", as: Int64.self), origin >= 0 else { return nil }
                marks.origin = origin
            }
            self.init(size: size, evidence: .file(marks))
        } else {
            self.init(size: size, evidence: .none)
        }
    }

    /// Adds it to a line.
    func write(to line: inout JournalLine) {
        line["size"] = self.size.map { String($0) }
        switch self.evidence {
        case .none: break
        case .label(let label): line["identity"] = label
        case .file(let marks):
            line["mtime"] = String(marks.modificationTime)
            line["ctime"] = String(marks.changeTime)
            line["inode"] = String(marks.inode)
            line["device"] = String(marks.device)
            if marks.origin > 0 { line["origin"] = String(marks.origin) }
        }
    }
}

extension PartReceipt {
    fileprivate init?(_ line: JournalLine) {
        guard let number = line.integer("number", as: Int.self), (1...Limits.maximumPartNumber).contains(number),
            let size = line.integer("size", as: Int64.self), size >= 0, let eTag = line["etag"], !eTag.isEmpty
        else { return nil }
        var md5: [UInt8]?
        if let digits = line["md5"] {
            guard let bytes = Hex.decode(digits), bytes.count == 16 else { return nil }
            md5 = bytes
        }
        var crc64: UInt64?
        if line["crc64"] != nil {
            guard let value = line.integer("crc64", as: UInt64.self) else { return nil }
            crc64 = value
        }
        self.init(number: number, size: size, md5: md5, crc64: crc64, eTag: eTag)
    }

    fileprivate var line: JournalLine {
        var line = JournalLine("part")
        line["number"] = String(self.number)
        line["size"] = String(self.size)
        line["md5"] = self.md5.map { Hex.lower($0) }
        line["crc64"] = self.crc64.map { String($0) }
        line["etag"] = self.eTag
        return line
    }
}
