// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

public import Foundation
public import OSSMultipart

/// A module of its own: Foundation as a whole takes memory and time that programs without it need not pay.
extension OSSUploadSource {
    /// Foundation's InputStream, read from where it stands to its end; it is opened where it is not.
    ///
    /// It can be read once; nobody else may use it meanwhile. Reads block a thread that may, never one of Swift's.
    ///
    /// - Parameters:
    ///   - stream: the stream; nothing else may refer to it.
    ///   - size: the length in bytes; a stream that is shorter or longer is an error. Nil where it is not known.
    public static func inputStream(_ stream: sending InputStream, size: Int64? = nil) -> OSSUploadSource {
        let box = InputStreamBox(stream)
        return .blockingStream(named: "input stream", size: size, isReplayable: false) { box.read }
    }

    /// Foundation's InputStreams of the same bytes, one for each time that the source is read; a broken upload goes on.
    ///
    /// - Parameters:
    ///   - name: what it is called in messages.
    ///   - size: the length in bytes, as above.
    ///   - open: makes a stream at the bytes' beginning.
    public static func inputStream(
        named name: String, size: Int64? = nil, open: @escaping @Sendable () throws -> sending InputStream
    ) -> OSSUploadSource {
        .blockingStream(named: name, size: size, isReplayable: true) { InputStreamBox(try open()).read }
    }
}

/// A stream, used by one thread at a time.
private final class InputStreamBox: @unchecked Sendable {
    // Only `read` uses it, and whoever uploads makes the next call when the one before has returned.
    private let stream: InputStream

    init(_ stream: sending InputStream) { self.stream = stream }

    /// Fills the buffer's front; 0 is the end.
    @Sendable func read(into buffer: inout [UInt8]) throws -> Int {
        if self.stream.streamStatus == .notOpen { self.stream.open() }
        let size = buffer.count
        let count = unsafe self.stream.read(&buffer, maxLength: size)
        guard count >= 0 else { throw self.stream.streamError ?? CocoaError(.fileReadUnknown) }
        return count
    }
}
