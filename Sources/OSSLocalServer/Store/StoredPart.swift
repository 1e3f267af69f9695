// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// One part of an upload or of an object: a file whose name tells all about it.
struct StoredPart: Sendable, Equatable {
    /// 1 to 10,000.
    var number: Int
    /// Size in bytes.
    var size: Int64
    /// The MD5 in upper-case digits, without quotes.
    var eTag: String
    /// CRC-64 of the bytes.
    var crc64: UInt64
    /// When it was stored.
    var modified: Timestamp
    /// Grows with each part stored: of two files of one number the later one counts.
    var sequence: UInt64

    /// The file's name.
    var fileName: String {
        "part-\(self.number)-\(self.size)-\(self.eTag)-\(String(self.crc64, radix: 16))"
            + "-\(self.modified.milliseconds)-\(self.sequence)"
    }

    /// Makes a part of what is known about it.
    init(number: Int, size: Int64, eTag: String, crc64: UInt64, modified: Timestamp, sequence: UInt64) {
        self.number = number
        self.size = size
        self.eTag = eTag
        self.crc64 = crc64
        self.modified = modified
        self.sequence = sequence
    }

    /// Reads a file's name; nil where it is no part's.
    init?(fileName: some StringProtocol) {
        let fields = fileName.split(separator: "-")
        guard fields.count == 7, fields[0] == "part", let number = Int(fields[1]), let size = Int64(fields[2]),
            let crc64 = UInt64(fields[4], radix: 16), let modified = Int64(fields[5]), let sequence = UInt64(fields[6])
        else { return nil }
        self.init(
            number: number, size: size, eTag: String(fields[3]), crc64: crc64,
            modified: Timestamp(milliseconds: modified), sequence: sequence
        )
    }
}
