// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import SystemIO

/// The record of the upload: opening, writing, removing. Every call of the store runs on a thread that may block.
extension UploadRun {
    /// How often the record is made durable while parts are written: a power failure costs what is younger.
    ///
    /// *Source:* our own choice; a killed process loses nothing. *Applies to:* lines of parts.
    private static let synchronizationInterval: Duration = .seconds(1)

    /// Opens the record and takes its lock; without a store, or where an optional folder cannot be used, there is none.
    func openRecord(creating: Bool) async throws {
        if creating, let warning = self.checkpoints.warning { self.progress.warn(warning) }
        guard let store = self.checkpoints.store else { return }
        let name = self.recordName
        do {
            self.record = try await self.client.blocking.run { () throws(any Error) in
                try store.open(name, creating: creating)
            }
        } catch let error as OSSError where error.code == .checkpointUnusable && !self.checkpoints.isRequired {
            self.progress.warn("\(error.message); this upload goes on without a checkpoint")
        }
    }

    /// Everything that is in the record.
    func readRecord() async throws -> [UInt8] {
        guard let record = self.record else { return [] }
        return try await self.client.blocking.run { () throws(any Error) in try record.read() }
    }

    /// Cuts the record to its whole lines.
    func truncateRecord(to length: Int) async throws {
        self.recordLength = length
        guard let record = self.record else { return }
        try await self.client.blocking.run { () throws(any Error) in try record.truncate(to: length) }
    }

    /// Empties the record: the next upload begins in it.
    func emptyRecord() async throws { try await self.truncateRecord(to: 0) }

    /// Keeps a copy of a record that cannot be read, empties the record, and tells the user.
    func setRecordAside(because reason: String) async throws {
        guard let record = self.record else { return }
        let copy: String
        do {
            copy = try await self.client.blocking.run { () throws(any Error) in try record.setAside() }
        } catch let error as OSSError {
            // A copy is a courtesy; without room for it the record is emptied all the same.
            copy = "nowhere (\(error.message))"
            try await self.emptyRecord()
        }
        self.recordLength = 0
        self.progress.warn("the checkpoint \(reason); a copy was put aside at \(copy), and the upload begins anew")
    }

    /// Writes lines that must be durable before anything else happens.
    func writeDurably(_ lines: [UInt8], isFirst: Bool) async throws {
        guard let record = self.record else { return }
        do {
            try await self.client.blocking.run { () throws(any Error) in try record.append(lines) }
            // They are in the record from here on, durable or not.
            self.recordLength += lines.count
            try await self.client.blocking.run { () throws(any Error) in try record.synchronize(name: isFirst) }
            self.lastSynchronization = .now
        } catch let error as OSSError where error.code == .checkpointUnusable && !self.checkpoints.isRequired {
            self.progress.warn("\(error.message); this upload goes on without a checkpoint")
            self.record = nil
        }
    }

    /// Writes the line of a part, and makes the record durable where that is due.
    ///
    /// A disk that is full does not stop the upload: the service knows the part as well.
    func writeLine(_ line: [UInt8]) async {
        await self.appendLine(line)
        if let synchronization = self.dueSynchronization() { self.ended(await synchronization()) }
    }

    /// Writes the line of a part.
    func appendLine(_ line: [UInt8]) async {
        guard let record = self.record else { return }
        let length = self.recordLength
        do {
            try await self.client.blocking.run { () throws(any Error) in
                do { try record.append(line) } catch {
                    // What was written of the line would spoil the next one.
                    try record.truncate(to: length)
                    throw error
                }
            }
            self.recordLength += line.count
        } catch {
            self.warnOfRecord(error)
        }
    }

    /// What makes the record durable, where that is due; it may run beside all else, and ``ended(_:)`` takes what it returns.
    func dueSynchronization() -> (@Sendable () async -> (any Error)?)? {
        guard let record = self.record, !self.isSynchronizing,
            self.lastSynchronization.duration(to: .now) >= Self.synchronizationInterval
        else { return nil }
        self.isSynchronizing = true
        let blocking = self.client.blocking
        return {
            do {
                try await blocking.run { () throws(any Error) in try record.synchronize(name: false) }
                return nil
            } catch {
                return error
            }
        }
    }

    /// The record has been made durable, or could not be.
    func ended(_ failure: (any Error)?) {
        self.isSynchronizing = false
        if let failure { self.warnOfRecord(failure) } else { self.lastSynchronization = .now }
    }

    private func warnOfRecord(_ error: any Error) {
        guard !self.hasWarnedOfRecord else { return }
        self.hasWarnedOfRecord = true
        self.progress.warn("\(error); the upload goes on, and a later run will ask the service what it has")
    }

    /// Makes the last lines durable; for the way out after an error, where a second one would hide the first.
    func synchronizeRecord() async {
        guard let record = self.record else { return }
        do {
            try await self.client.blocking.run { () throws(any Error) in try record.synchronize(name: false) }
        } catch {
            self.progress.warn("\(error)")
        }
    }

    /// Removes the record of an upload that has ended.
    func removeRecord() async {
        guard let record = self.record else { return }
        do {
            try await self.client.blocking.run { () throws(any Error) in try record.remove() }
        } catch {
            self.progress.warn("\(error); the object is not affected, and the next upload to this key will remove it")
        }
        self.record = nil
    }
}
