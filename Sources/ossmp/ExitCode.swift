// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import OSSMultipart

/// The codes that the tool ends with.
enum ExitCode: Int32, CaseIterable, Sendable {
    /// Stored, and nothing that the service offers disagrees.
    case stored = 0
    case failed = 1
    case usage = 2
    /// What is stored is not what was sent.
    case integrity = 3
    /// The source changed during the run, or could not be read to its end.
    case sourceChanged = 4
    case checkpointInUse = 5
    /// Stored, but the callback failed.
    case callbackFailed = 6

    init(_ error: any Error) {
        if error is UsageError { self = .usage } else { self = (error as? OSSError).map { Self($0) } ?? .failed }
    }

    private init(_ error: OSSError) {
        self =
            switch error.code {
            case .integrity: .integrity
            // The source of a download is the object.
            case .sourceChanged, .objectChanged: .sourceChanged
            // One that was there at the beginning and cannot be read in the midst of it.
            case .sourceUnreadable where error.operation != nil || error.resumption != nil: .sourceChanged
            case .checkpointInUse: .checkpointInUse
            case .invalidArgument, .invalidConfiguration: .usage
            default: .failed
            }
    }

    /// What it says, for the help texts.
    var meaning: String {
        switch self {
        case .stored: "done"
        case .failed: "failed"
        case .usage: "the command line is wrong, nothing was done"
        case .integrity: "the bytes at the end are not those at the beginning"
        case .sourceChanged: "what was read changed during the run, or could not be read to its end"
        case .checkpointInUse: "another run has the checkpoint"
        case .callbackFailed: "stored, but the callback failed"
        }
    }
}
