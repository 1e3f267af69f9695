// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import OSSMultipart

/// The codes that the tool ends with.
enum ExitCode: Int32 {
    /// Stored, and nothing that the service offers disagrees.
    case stored = 0
    case failed = 1
    case usage = 2
    /// What is stored is not what was sent.
    case integrity = 3
    /// The source changed during the run.
    case sourceChanged = 4
    case checkpointInUse = 5
    /// Stored, but the callback failed.
    case callbackFailed = 6

    init(_ error: any Error) {
        guard let error = error as? OSSError else {
            self = .failed
            return
        }
        self =
            switch error.code {
            case .integrity: .integrity
            case .sourceChanged: .sourceChanged
            case .checkpointInUse: .checkpointInUse
            case .invalidArgument, .invalidConfiguration: .usage
            default: .failed
            }
    }
}
