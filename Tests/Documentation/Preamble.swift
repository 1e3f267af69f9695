// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

// What blocks of the documentation that are lines out of a program find declared. They are compiled with it and not run; a
// block that declares a name of its own hides the one here.

import FoundationEssentials
import OSSLocalServer
import OSSMultipart

/// An asset of some library.
struct Photo: Sendable {
    /// Its size in bytes.
    var size: Int64 { get async throws { 0 } }
    /// Fills the buffer's front.
    func read(at offset: Int64, into buffer: inout [UInt8]) async throws -> Int { 0 }
}

/// Takes what a block has got.
func consume<Value>(_ value: Value) {}

/// Takes a measurement.
func record(_ operation: OSSError.Operation, _ duration: Duration) {}

/// Asks a server of the user's own for temporary credentials.
func fetchToken() async throws -> (id: String, secret: String, token: String, expiration: Date) {
    ("", "", "", Date())
}

/// A service of the user's own.
struct Backend: Sendable {
    /// Posts a body and returns the answer's.
    func post(_ path: String, _ body: Data) async throws -> Data { body }
}

/// Opens a stream at its beginning.
func openStream() async throws -> AsyncStream<[UInt8]> { AsyncStream { $0.finish() } }

var client: OSSClient { fatalError("not run") }
var uploader: OSSUploader { fatalError("not run") }
var destination: OSSUploader.Destination { .init(bucket: "media", key: "v/film.mp4") }
var upload: OSSMultipartUpload { .init(bucket: "media", key: "v/film.mp4", uploadID: "ID") }
var task: OSSUploadTask { fatalError("not run") }
var server: OSSServer { fatalError("not run") }
var backend: Backend { Backend() }
var file: URL { URL(filePath: "film.mp4") }
var folder: OSSFolder { OSSFolder(URL(filePath: "films")) }
var photo: Photo { Photo() }
var bytes: [UInt8] { [] }
var size: Int64 { 0 }
var chunks: AsyncStream<[UInt8]> { AsyncStream { $0.finish() } }
