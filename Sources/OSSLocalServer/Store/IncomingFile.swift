// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire
internal import SystemIO

/// Bytes that are being received into a file of a data folder; unless it is kept, the file goes with this object.
///
/// Used by one thread at a time.
final class IncomingFile {
    /// What the bytes came to.
    struct Summary: Sendable, Equatable {
        /// Size in bytes.
        var size: Int64
        /// 16 bytes.
        var md5: [UInt8]
        /// CRC-64.
        var crc64: UInt64
    }

    /// The folder that the file is in.
    let folder: DataFolder
    private let file: PosixFile
    private let path: String
    private let isDurable: Bool
    private let room: Int64?
    private var size: Int64 = 0
    private var md5: MessageDigest?
    private var crc64 = CRC64()
    private var isKept = false
    private(set) var summary: Summary?

    /// Makes the file.
    ///
    /// - Parameter room: most bytes that it may come to; nil: no limit.
    init(folder: DataFolder, name: String, isDurable: Bool, room: Int64?) throws(ServiceError) {
        self.room = room
        self.folder = folder
        self.path = folder.path(of: name)
        self.isDurable = isDurable
        self.file = try ServiceError.wrapping { () throws(SystemError) in
            try PosixFile(path: folder.path(of: name), [.write, .create, .exclusive])
        }
        do throws(DigestError) { self.md5 = try MessageDigest(.md5) } catch { throw ServiceError.internalError(error) }
    }

    deinit {
        // A file left behind has a name that is no part's: the next start removes it.
        if !self.isKept { try? Directory.removeFile(self.path) }
    }

    /// Writes the next bytes.
    func write(_ bytes: Span<UInt8>) throws(ServiceError) {
        if let room, self.size + Int64(bytes.count) > room { throw ServiceError.insufficientStorage }
        do throws(DigestError) { try self.md5?.update(bytes) } catch { throw ServiceError.internalError(error) }
        self.crc64.update(bytes)
        do throws(SystemError) { try self.file.write(bytes, at: self.size) } catch {
            throw ServiceError.internalError(error)
        }
        self.size += Int64(bytes.count)
    }

    /// Ends the file and tells what it holds.
    func finish() throws(ServiceError) -> Summary {
        if let summary { return summary }
        guard let md5 = self.md5.take() else { throw ServiceError.internalError("the file is ended twice") }
        do {
            let summary = Summary(size: self.size, md5: try md5.finish(), crc64: self.crc64.value)
            if self.isDurable { try self.file.synchronizeContent() }
            self.summary = summary
            return summary
        } catch {
            throw ServiceError.internalError(error)
        }
    }

    /// Gives the file its name in the same folder.
    func keep(as name: String) throws(ServiceError) {
        do throws(SystemError) { try Directory.rename(self.path, to: self.folder.path(of: name)) } catch {
            throw ServiceError.internalError(error)
        }
        self.isKept = true
    }
}
