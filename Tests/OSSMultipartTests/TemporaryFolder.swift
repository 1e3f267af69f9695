// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import FoundationEssentials

/// Runs a test with a folder of its own, and removes it.
func withTemporaryFolder<Value>(_ body: (String) throws -> Value) throws -> Value {
    let folder = try makeTemporaryFolder()
    defer { removeTemporaryFolder(folder) }
    return try body(folder)
}

/// Runs a test with a folder of its own, and removes it.
func withTemporaryFolder<Value>(_ body: (String) async throws -> Value) async throws -> Value {
    let folder = try makeTemporaryFolder()
    defer { removeTemporaryFolder(folder) }
    return try await body(folder)
}

private func makeTemporaryFolder() throws -> String {
    let folder = FileManager.default.temporaryDirectory.path + "/oss-multipart-tests-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    return folder
}

private func removeTemporaryFolder(_ folder: String) {
    // What stays behind is in the temporary folder, and the test's own outcome is what counts.
    try? FileManager.default.removeItem(atPath: folder)
}
