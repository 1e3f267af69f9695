// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import CMicroHTTPD
internal import OSSWire
internal import SystemIO

/// An object's bytes on their way to a client; used by the connection's thread alone.
final class MicroHTTPDBody {
    private let reader: ObjectReader
    private let range: Range<Int64>
    private let bytesPerSecond: Int?
    private let pause: (Duration) -> Void
    private let began = ContinuousClock().now

    init(_ object: StoredObject, range: Range<Int64>, bytesPerSecond: Int?, pause: @escaping (Duration) -> Void) {
        self.reader = ObjectReader(object)
        self.range = range
        self.bytesPerSecond = bytesPerSecond
        self.pause = pause
    }

    /// Fills the memory with the bytes at `position` of the body and returns how many; nil where they cannot be read.
    @unsafe func read(at position: Int64, into memory: UnsafeMutableRawBufferPointer) -> Int? {
        var limit = memory.count
        if let rate = self.bytesPerSecond {
            limit = min(limit, max(1, rate / 20))
            let due = self.began.advanced(by: .seconds(Double(position) / Double(rate)))
            self.pause(due - ContinuousClock().now)
        }
        do throws(SystemError) {
            guard let segment = try self.reader.segment(at: self.range.lowerBound + position) else { return nil }
            let count = min(Int64(limit), segment.length, Int64(self.range.count) - position)
            // SAFETY: the memory is libmicrohttpd's for the length of the call; `count` lies within.
            let room = unsafe UnsafeMutableRawBufferPointer(rebasing: memory[..<Int(count)])
            let done = try unsafe segment.file.read(at: segment.offset, into: room)
            return done > 0 ? done : nil
        } catch {
            return nil
        }
    }
}

/// libmicrohttpd wants bytes of a body.
func microHTTPDReadBody(
    _ context: UnsafeMutableRawPointer?, _ position: UInt64, _ memory: UnsafeMutablePointer<CChar>?, _ size: Int
) -> Int {
    guard let context = unsafe context, let memory = unsafe memory else {
        return cmhd_content_end_with_error()
    }
    // SAFETY: the body is retained until `microHTTPDFreeBody`; the memory holds `size` bytes.
    let body = unsafe Unmanaged<MicroHTTPDBody>.fromOpaque(context).takeUnretainedValue()
    return unsafe body.read(at: Int64(position), into: UnsafeMutableRawBufferPointer(start: memory, count: size))
        ?? cmhd_content_end_with_error()
}

/// libmicrohttpd is done with a body.
func microHTTPDFreeBody(_ context: UnsafeMutableRawPointer?) {
    guard let context = unsafe context else { return }
    // SAFETY: the one place that gives the response's retain back.
    unsafe Unmanaged<MicroHTTPDBody>.fromOpaque(context).release()
}
