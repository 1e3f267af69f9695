// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

/// Where records of uploads are kept.
///
/// Two exist: a folder and memory. Its calls may block.
package protocol CheckpointStore: Sendable {
    /// Opens a record and takes its lock.
    ///
    /// - Parameters:
    ///   - name: the record's name, of characters that a file's name can have.
    ///   - creating: whether a record that is missing is made, empty.
    /// - Returns: the record; nil where there is none and none is made.
    /// - Throws: `OSSError` with `checkpointInUse` where another upload has the lock, `checkpointUnusable` where the store
    ///   cannot be used.
    func open(_ name: String, creating: Bool) throws -> (any CheckpointRecord)?

    /// The names of all records; nil where the store has not been made yet.
    func names() throws -> [String]?

    /// A record's first bytes, whoever has its lock; nil where there is none of that name.
    func peek(_ name: String, limit: Int) throws -> [UInt8]?

    /// Where a record of that name is, for messages.
    func location(of name: String) -> String
}

/// One record, locked until ``close()``, or for as long as it is referenced.
///
/// Its calls may block.
package protocol CheckpointRecord: AnyObject, Sendable {
    /// Everything that is in the record.
    func read() throws -> [UInt8]
    /// Adds bytes at the record's end.
    func append(_ bytes: [UInt8]) throws
    /// Cuts the record to its first `length` bytes.
    func truncate(to length: Int) throws
    /// Makes what was added durable; with `name` also that the record exists.
    func synchronize(name: Bool) throws
    /// Keeps a copy of a record that cannot be read, for a person to look at, and empties the record.
    ///
    /// - Returns: where the copy is.
    func setAside() throws -> String
    /// Gives up the lock, without blocking; nothing else may be called after it.
    func close()
    /// Removes the record, and the copy that was set aside, and gives up the lock.
    func remove() throws
}
