// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import OSSLocalServer
import SystemIO
import Testing

/// Certificates made for one test, in a folder of its own.
struct TestCertificates: Sendable {
    let folder: String

    /// The certificate that all but `other` are signed with.
    var authority: String { self.folder + "/ca.pem" }

    /// Makes an authority, and another that signed nothing.
    init(_ folder: String) throws {
        self.folder = folder
        for name in ["ca", "other"] {
            try Self.openssl([
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                "/CN=test \(name)", "-keyout", "\(folder)/\(name).key", "-out", "\(folder)/\(name).pem",
            ])
        }
    }

    /// Makes a certificate for an address or a name, good from yesterday or over since then.
    ///
    /// - Parameter subject: as in `IP:127.0.0.1` or `DNS:example.com`.
    func issue(_ name: String, for subject: String, isOver: Bool = false) throws {
        let path = "\(self.folder)/\(name)"
        try Self.openssl([
            "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=\(name)", "-keyout",
            "\(path).key", "-out", "\(path).csr",
        ])
        _ = try TestFile("\(path).ext", Array("subjectAltName=\(subject)\n".utf8))
        // A day less than none: what ended before it began is over.
        try Self.openssl([
            "x509", "-req", "-in", "\(path).csr", "-CA", "\(self.folder)/ca.pem", "-CAkey", "\(self.folder)/ca.key",
            "-CAcreateserial", "-days", isOver ? "-1" : "2", "-extfile", "\(path).ext", "-out", "\(path).pem",
        ])
    }

    static func openssl(_ arguments: [String]) throws {
        // Its progress goes to standard error, which nobody reads.
        let script = "exec openssl \"$@\" 2>/dev/null"
        let outcome = try ChildProcess.run(
            ["sh", "-c", script, "sh"] + arguments, outputLimit: 1 << 20, timeLimit: .seconds(30))
        try #require(outcome.exitStatus == 0, "openssl \(arguments.joined(separator: " "))")
    }
}

/// `openssl s_server`, which answers every request for a file of its folder with what is in it, head and all.
final class TLSEnd: Sendable {
    let port: UInt16
    private let process: RunningProcess

    init(_ certificates: TestCertificates, _ name: String, wantsClientCertificate: Bool = false) throws {
        var arguments = [
            "openssl", "s_server", "-accept", "127.0.0.1:0", "-cert", "\(name).pem", "-key", "\(name).key", "-HTTP",
        ]
        if wantsClientCertificate { arguments += ["-Verify", "1", "-verify_return_error", "-CAfile", "ca.pem"] }
        self.process = try RunningProcess(arguments, folder: certificates.folder)
        self.port = try self.process.port(after: "ACCEPT")
    }

    deinit { self.process.kill() }

    /// The path by which a client asks for the location of the bucket `media`, and the reply.
    static func addReply(_ folder: String) throws {
        let document = "<LocationConstraint>oss-cn-hangzhou</LocationConstraint>"
        let reply =
            "HTTP/1.0 200 OK\r\nContent-Length: \(document.utf8.count)\r\nx-oss-request-id: TLS\r\n\r\n\(document)"
        try Directory.create(folder + "/media")
        _ = try TestFile(folder + "/media/?location", Array(reply.utf8))
    }
}
