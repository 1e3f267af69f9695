// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import Testing

@testable import OSSLocalServer

@Suite struct FormReaderTests {
    /// Remembers the parts that it gets.
    private final class Parts: FormSink {
        var all: [(part: FormPart, bytes: [UInt8], isWhole: Bool)] = []

        func begin(_ part: FormPart) { self.all.append((part, [], false)) }
        func take(_ bytes: Span<UInt8>) {
            for index in bytes.indices { self.all[self.all.count - 1].bytes.append(bytes[index]) }
        }
        func end() { self.all[self.all.count - 1].isWhole = true }
    }

    /// Reads a form that comes in these pieces.
    private func read(_ pieces: [ArraySlice<UInt8>], boundary: String = "b") throws -> Parts {
        let parts = Parts()
        var reader = try FormReader(contentType: "multipart/form-data; boundary=\(boundary)")
        for piece in pieces { try reader.read(piece.span, into: parts) }
        try reader.finish()
        return parts
    }

    /// A form of parts with these bytes.
    private func form(_ contents: [[UInt8]], boundary: String = "b") -> [UInt8] {
        var bytes: [UInt8] = []
        for (number, content) in contents.enumerated() {
            bytes += Array("--\(boundary)\r\nContent-Disposition: form-data; name=\"\(number)\"\r\n\r\n".utf8)
            bytes += content + Array("\r\n".utf8)
        }
        return bytes + Array("--\(boundary)--\r\n".utf8)
    }

    @Test func `A form cut in two at any byte is the same form`() throws {
        let contents = ["", "\r\n", "--b", "\r\n--", "\r\n-\r\r\n--a\r\n--", "x\r\n\r\n--\r\n-b--\r\n", "end\r"]
            .map { Array($0.utf8) }
        let bytes = Array("before\r\n".utf8) + self.form(contents) + Array("behind\r\n--b\r\n".utf8)
        for cut in 0...bytes.count {
            let parts = try self.read([bytes[..<cut], bytes[cut...]])
            #expect(parts.all.map(\.bytes) == contents, "cut at \(cut)")
            #expect(parts.all.map(\.isWhole) == contents.map { _ in true })
            #expect(parts.all.map(\.part.name) == contents.indices.map(String.init))
        }
        let single = try self.read(bytes.indices.map { bytes[$0...$0] })
        #expect(single.all.map(\.bytes) == contents)
    }

    @Test func `Bytes that look like boundaries come through, however they are cut`() throws {
        var generator = Generator(state: 7)
        let letters = Array("\r\n-b\r\n--bx".utf8)
        for round in 0..<300 {
            let boundary = ["b", "bb", "b-b", "--", String(repeating: "b", count: 70)][round % 5]
            let contents = (0..<3).map { _ in
                var content = (0..<Int.random(in: 0..<40, using: &generator)).map { _ in
                    letters.randomElement(using: &generator) ?? 0
                }
                // All but the boundary itself.
                while let hit = content.firstRange(of: Array("\r\n--\(boundary)".utf8)) { content.removeSubrange(hit) }
                return content
            }
            let bytes = self.form(contents, boundary: boundary)
            var pieces: [ArraySlice<UInt8>] = [], start = 0
            while start < bytes.count {
                let end = min(bytes.count, start + Int.random(in: 0..<9, using: &generator))
                pieces.append(bytes[start..<end])
                start = end
            }
            #expect(try self.read(pieces, boundary: boundary).all.map(\.bytes) == contents, "round \(round)")
        }
    }

    @Test(arguments: [
        (#"form-data; name="file"; filename="a b.txt""#, "file", "a b.txt"),
        (#"form-data; name="file"; filename="C:\dir\a.txt""#, "file", "a.txt"),
        (#"form-data; name="file"; filename="dir/sub/a.txt""#, "file", "a.txt"),
        (#"FORM-DATA;NAME=file;FileName=a.txt"#, "file", "a.txt"),
        (#"form-data; name="a \"b\" \\ c; d=e""#, #"a "b" \ c; d=e"#, nil),
        (#"form-data; name="文"; filename="文件.txt""#, "文", "文件.txt"),
        (#"form-data; name=x; filename*=UTF-8''%E6%96%87%20a"#, "x", "文 a"),
        (#"form-data; name=x; filename*=latin1''a"#, "x", nil),
        (#"form-data; name=""; filename="""#, "", ""),
        (#"form-data; ; name=x;"#, "x", nil),
    ])
    func `Names are read as clients write them`(value: String, name: String, fileName: String?) throws {
        let text =
            "--b\r\ncontent-disposition: \(value)\r\nX: y\r\nno field\r\nContent-Type:  text/x \r\n\r\n1\r\n--b--"
        let parts = try self.read([Array(text.utf8)[...]])
        #expect(parts.all.map(\.part) == [FormPart(name: name, fileName: fileName, contentType: "text/x")])
        #expect(parts.all.first?.bytes == Array("1".utf8))
    }

    @Test(arguments: [
        "", "--b", "--b\r\n", "nothing", "--b\r\n\r\nx\r\n--b--", "--bx\r\n", "--b \t", "--b-\r\n", "--b\n",
        "--b\r\nContent-Disposition: form-data\r\n\r\nx\r\n--b--",
        "--b\r\nContent-Disposition: attachment; name=a\r\n\r\nx\r\n--b--",
        "--b\r\nContent-Disposition: form-data; name=\"a\r\n\r\nx\r\n--b--",
        "--b\r\nContent-Disposition: form-data; name=\"a\"x\r\n\r\nx\r\n--b--",
        "--b\r\nContent-Disposition: form-data; name=a\r\n\r\nx\r\n--b",
        "--b\r\nContent-Disposition: form-data; name=a\r\n\r\nx--b--",
        "--b" + String(repeating: " ", count: 1000) + "\r\n",
        "--b\r\nX: " + String(repeating: "x", count: 20_000) + "\r\n\r\n",
    ])
    func `What is no form is refused`(text: String) throws {
        let error = try #require(throws: ServiceError.self) { try self.read([Array(text.utf8)[...]]) }
        #expect(error.code == "MalformedPOSTRequest")
    }

    @Test(arguments: [
        "", "text/plain", "multipart/form-data", "multipart/form-data; boundary=", "multipart/form-data; boundary=\"b",
        "multipart/mixed; boundary=b", "multipart/form-data; boundary=" + String(repeating: "b", count: 71),
    ])
    func `A request that is no form's is refused`(contentType: String) throws {
        let error = try #require(throws: ServiceError.self) { _ = try FormReader(contentType: contentType) }
        #expect(error.code == "MalformedPOSTRequest")
    }

    @Test func `A boundary may be quoted`() throws {
        let parts = Parts()
        var reader = try FormReader(contentType: "Multipart/Form-Data ; charset=x; Boundary=\"a b\"")
        try reader.read(self.form([[1]], boundary: "a b").span, into: parts)
        try reader.finish()
        #expect(parts.all.map(\.bytes) == [[1]])
    }
}

/// The same numbers in every run: SplitMix64.
private struct Generator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var value = self.state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}
