// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire
internal import SystemIO

/// Reads an object's bytes across its files; used by one thread at a time.
final class ObjectReader {
    /// Bytes that follow one another in one file.
    struct Segment {
        let file: PosixFile
        let offset: Int64
        let length: Int64
    }

    private let object: StoredObject
    private var index = 0
    /// Where the file at `index` begins in the object.
    private var start: Int64 = 0
    private var file: PosixFile?

    /// Reads an object; its files stay for as long as this reader does.
    init(_ object: StoredObject) { self.object = object }

    /// The file that holds the byte at `position`, from there on; nil behind the end.
    func segment(at position: Int64) throws(SystemError) -> Segment? {
        if position < self.start {
            self.index = 0
            self.start = 0
            self.file = nil
        }
        while self.index < self.object.parts.count {
            let part = self.object.parts[self.index]
            if position < self.start + part.size {
                let file: PosixFile
                if let open = self.file {
                    file = open
                } else {
                    file = try PosixFile(path: self.object.folder.path(of: part.fileName), .read)
                    self.file = file
                }
                let offset = position - self.start
                return Segment(file: file, offset: offset, length: part.size - offset)
            }
            self.start += part.size
            self.index += 1
            self.file = nil
        }
        return nil
    }

    /// Hands over an object's bytes in order, piece by piece.
    static func read(
        _ object: StoredObject, range: Range<Int64>, _ body: (Span<UInt8>) throws(ServiceError) -> Void
    ) throws(ServiceError) {
        let reader = ObjectReader(object)
        var position = range.lowerBound
        var piece = [UInt8](repeating: 0, count: Int(min(Int64(range.count), 256 * 1024)))
        while position < range.upperBound {
            let count: Int
            do throws(SystemError) {
                guard let segment = try reader.segment(at: position) else {
                    throw SystemError(call: "pread", path: object.folder.path, number: 5)
                }
                let wanted = min(segment.length, range.upperBound - position, Int64(piece.count))
                count = try segment.file.read(at: segment.offset, into: &piece, count: Int(wanted))
                guard count > 0 else { throw SystemError(call: "pread", path: segment.file.path, number: 5) }
            } catch {
                throw ServiceError.internalError(error)
            }
            try body(piece.span.extracting(0..<count))
            position += Int64(count)
        }
    }

    /// The MD5 of all bytes of an object.
    static func md5(of object: StoredObject) throws(ServiceError) -> [UInt8] {
        var digest: MessageDigest
        do throws(DigestError) { digest = try MessageDigest(.md5) } catch { throw ServiceError.internalError(error) }
        try self.read(object, range: 0..<object.size) { bytes throws(ServiceError) in
            do throws(DigestError) { try digest.update(bytes) } catch { throw ServiceError.internalError(error) }
        }
        do throws(DigestError) { return try digest.finish() } catch { throw ServiceError.internalError(error) }
    }

    /// All bytes of an object.
    static func bytes(of object: StoredObject) throws(SystemError) -> [UInt8] {
        let reader = ObjectReader(object)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Int(object.size))
        while let segment = try reader.segment(at: Int64(bytes.count)) {
            var piece = [UInt8](repeating: 0, count: Int(min(segment.length, 1 << 20)))
            let count = try segment.file.read(at: segment.offset, into: &piece)
            guard count == piece.count else { throw SystemError(call: "pread", path: segment.file.path, number: 5) }
            bytes += piece
        }
        return bytes
    }
}
