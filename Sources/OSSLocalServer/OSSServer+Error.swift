// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

extension OSSServer {
    /// The server cannot do what it was asked to: a configuration that cannot be used, a folder that is in use, a port that
    /// is taken.
    public struct Error: Swift.Error, Sendable, CustomStringConvertible {
        /// What failed and what to do about it.
        public let message: String

        /// The message.
        public var description: String { self.message }

        init(_ message: String) { self.message = message }
    }
}
