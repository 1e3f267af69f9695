// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

/// The package's version.
public enum OSSMultipartVersion {
    /// The version, as semantic versioning writes it.
    public static let current = "0.1.0"

    static let userAgent = "swift-oss-multipart/\(Self.current)"
}
