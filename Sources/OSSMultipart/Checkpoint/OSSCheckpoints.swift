// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

public import FoundationEssentials
internal import OSSWire
internal import SystemIO

/// Where an uploader keeps its records, so that a broken upload goes on where it broke.
public struct OSSCheckpoints: Sendable, CustomStringConvertible {
    /// The store; nil: no records.
    let store: (any CheckpointStore)?
    /// Whether an upload must not go on without its record.
    let isRequired: Bool
    /// What to tell the user at the start, where something is amiss.
    let warning: String?
    /// The folder's path, `memory` or `none`.
    public let description: String

    /// A folder; it is made where it is missing, for its owner alone.
    ///
    /// - Parameters:
    ///   - url: the folder.
    ///   - isRequired: whether a folder that cannot be used is an error; else the upload goes on without a record, and says
    ///     so. Default: true.
    public static func directory(_ url: URL, isRequired: Bool = true) -> OSSCheckpoints {
        var path = url.filePath
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        return OSSCheckpoints(
            store: DirectoryCheckpointStore(path: path), isRequired: isRequired, warning: nil, description: path
        )
    }

    /// This process's memory: an upload resumes as long as the process lives and the same value is used.
    public static func memory() -> OSSCheckpoints {
        OSSCheckpoints(store: MemoryCheckpointStore(), isRequired: true, warning: nil, description: "memory")
    }

    /// No records: a failed upload is aborted and begins anew the next time.
    public static let none = OSSCheckpoints(store: nil, isRequired: false, warning: nil, description: "none")

    /// Records in memory for one task, where none were asked for; what was to be told at the start still is.
    static func transient(_ asked: OSSCheckpoints) -> OSSCheckpoints {
        OSSCheckpoints(
            store: MemoryCheckpointStore(), isRequired: false, warning: asked.warning, description: asked.description
        )
    }

    /// The user's own folder: `$XDG_STATE_HOME/ossmp`, else `~/.local/state/ossmp`; without a home none, with a warning.
    public static var userDefault: OSSCheckpoints {
        // The XDG rules say that a relative path counts as not set.
        if let state = EnvironmentVariable.value(of: "XDG_STATE_HOME"), state.hasPrefix("/") {
            return .directory(URL(filePath: state + "/ossmp"), isRequired: false)
        }
        if let home = EnvironmentVariable.value(of: "HOME"), home.hasPrefix("/") {
            return .directory(URL(filePath: home + "/.local/state/ossmp"), isRequired: false)
        }
        return OSSCheckpoints(
            store: nil, isRequired: false,
            warning:
                "there is no home folder for checkpoints: a broken upload will begin anew; name a folder to change that",
            description: "none"
        )
    }

    /// The name of an upload's record: the caller's, else that of the object.
    static func recordName(of destination: OSSUploader.Destination, at endpoint: String) throws(OSSError) -> String {
        guard let name = destination.recordName else {
            return try self.recordName(endpoint: endpoint, bucket: destination.bucket, key: destination.key)
        }
        let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_".utf8
        guard (1...200).contains(name.utf8.count), name.utf8.allSatisfy({ letters.contains($0) }), !name.hasPrefix(".")
        else {
            throw OSSError(
                .invalidArgument,
                "the record's name \"\(name.replacingControlCharacters)\" cannot be used: it has 1 to 200 letters, digits, dots, "
                    + "hyphens and underscores, and no dot at its beginning"
            )
        }
        return name
    }

    /// The name of the record of an object.
    ///
    /// A digest: a key can hold anything, names of files cannot. The source is not part of it, so that two uploads to one key
    /// meet in one lock.
    static func recordName(endpoint: String, bucket: String, key: String) throws(OSSError) -> String {
        do throws(DigestError) {
            return Hex.lower(try MessageDigest.of(Array("\(endpoint)\n\(bucket)\n\(key)".utf8), .sha256))
        } catch {
            throw OSSError(.invalidConfiguration, "\(error)", underlying: error)
        }
    }
}
