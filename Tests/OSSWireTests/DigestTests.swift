// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import OSSWire
import Testing

@Suite struct CRC64Tests {
    @Test(arguments: Vectors.all.crc64)
    func `A published vector gives the published checksum`(vector: Vectors.CRC) {
        #expect(String(CRC64.of(vector.bytes)) == vector.decimal)
    }

    @Test func `Bytes taken in piece by piece give the checksum of the whole`() {
        let bytes = (0..<10_007).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        for size in [1, 7, 64, 1000, 10_006] {
            var crc = CRC64()
            for start in stride(from: 0, to: bytes.count, by: size) {
                crc.update(bytes[start..<min(start + size, bytes.count)].span)
            }
            #expect(crc.value == CRC64.of(bytes))
        }
    }

    @Test func `Combining two checksums gives that of the joined bytes`() {
        let bytes = (0..<4096).map { UInt8(truncatingIfNeeded: $0 &* 131 ^ $0 >> 3) }
        for cut in [0, 1, 2, 63, 64, 1023, 2048, 4095, 4096] {
            let joined = CRC64.combine(
                CRC64.of(Array(bytes[..<cut])), CRC64.of(Array(bytes[cut...])), lengthOfSecond: Int64(bytes.count - cut)
            )
            #expect(joined == CRC64.of(bytes))
        }
    }

    @Test func `Combining works for lengths beyond 4 GiB`() {
        // The checksum of n zero bytes can be combined from halves in two ways that must agree.
        var known: [Int64: UInt64] = [:]
        func zeros(_ count: Int64) -> UInt64 {
            if let checksum = known[count] { return checksum }
            let half = count / 2
            let checksum =
                count <= 1024
                ? CRC64.of(Array(repeating: 0, count: Int(count)))
                : CRC64.combine(zeros(half), zeros(count - half), lengthOfSecond: count - half)
            known[count] = checksum
            return checksum
        }
        let big: Int64 = 5 * 1024 * 1024 * 1024 + 3
        #expect(CRC64.combine(zeros(7), zeros(big), lengthOfSecond: big) == zeros(big + 7))
        #expect(zeros(1_048_576) == 6_947_770_692_288_575_170)
    }
}

@Suite struct MultipartETagTests {
    @Test func `The case of the parts' ETags does not matter, however many they are`() throws {
        let parts = try (0..<1000).map { Hex.upper(try MessageDigest.of([UInt8($0 % 251)], .md5)) }
        let upper = try MultipartETag.of(partETags: parts)
        #expect(upper.hasSuffix("-1000"))
        #expect(try MultipartETag.of(partETags: parts.map { $0.lowercased() }) == upper)
        #expect(try MultipartETag.of(partETags: parts.map { " \"\($0)\"\n" }) == upper)
    }

    @Test(arguments: Vectors.all.multipartETag)
    func `A published object has the ETag that its parts give`(vector: Vectors.ETag) throws {
        #expect(try MultipartETag.of(partETags: vector.parts) == vector.etag)
        #expect(try MultipartETag.of(partETags: vector.parts.map { "\"\($0.lowercased())\"" }) == vector.etag)
    }
}

@Suite struct MessageDigestTests {
    // RFC 1321, appendix A.5, and FIPS 180-4's examples.
    @Test func `Digests of known texts are the published ones`() throws {
        #expect(Hex.lower(try MessageDigest.of([], .md5)) == "d41d8cd98f00b204e9800998ecf8427e")
        #expect(Hex.lower(try MessageDigest.of(Array("abc".utf8), .md5)) == "900150983cd24fb0d6963f7d28e17f72")
        #expect(
            Hex.lower(try MessageDigest.of(Array("abc".utf8), .sha256))
                == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        )
        #expect(Hex.lower(try MessageDigest.of(Array("abc".utf8), .sha1)) == "a9993e364706816aba3e25717850c26c9cd0d89d")
    }

    @Test func `Pieces give the digest of the whole`() throws {
        var digest = try MessageDigest(.md5)
        for letter in "abc".utf8 { try digest.update([letter].span) }
        #expect(Hex.lower(try digest.finish()) == "900150983cd24fb0d6963f7d28e17f72")
    }
}

@Suite struct AuthenticationCodeTests {
    // RFC 4231, cases 1, 2 and 6, and RFC 2202's second one.
    @Test(arguments: [
        (
            Array(repeating: UInt8(0x0B), count: 20), "Hi There", MessageDigest.Algorithm.sha256,
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        ),
        (
            Array("Jefe".utf8), "what do ya want for nothing?", .sha256,
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        ),
        (
            Array(repeating: UInt8(0xAA), count: 131), "Test Using Larger Than Block-Size Key - Hash Key First",
            .sha256,
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        ),
        (Array("Jefe".utf8), "what do ya want for nothing?", .sha1, "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"),
    ])
    func `Codes of known messages are the published ones, however often a key is used`(
        key: [UInt8], message: String, algorithm: MessageDigest.Algorithm, code: String
    ) throws {
        #expect(Hex.lower(try HMAC.authenticationCode(for: Array(message.utf8), key: key, algorithm)) == code)
        let kept = try HMACKey(key, algorithm)
        for _ in 0..<3 {
            #expect(Hex.lower(try kept.authenticationCode(for: Array(message.utf8))) == code)
            let other = try kept.authenticationCode(for: Array("another".utf8))
            #expect(try HMAC.authenticationCode(for: Array("another".utf8), key: key, algorithm) == other)
        }
    }

    @Test func `Many tasks use one key at once`() async throws {
        let key = try HMACKey(Array("key".utf8), .sha256)
        let messages = (0..<200).map { Array("message \($0)".utf8) }
        let codes = try await withThrowingTaskGroup(of: (Int, [UInt8]).self) { group in
            for (index, message) in messages.enumerated() {
                group.addTask { (index, try key.authenticationCode(for: message)) }
            }
            return try await group.reduce(into: [Int: [UInt8]]()) { $0[$1.0] = $1.1 }
        }
        for (index, message) in messages.enumerated() {
            let alone = try HMAC.authenticationCode(for: message, key: Array("key".utf8), .sha256)
            #expect(codes[index] == alone)
        }
    }
}

@Suite struct EncodingTests {
    // RFC 4648, section 10.
    @Test(arguments: [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
        ("foobar", "Zm9vYmFy"),
    ])
    func `Base64 follows the published examples both ways`(plain: String, encoded: String) {
        #expect(Base64.encode(Array(plain.utf8)) == encoded)
        #expect(Base64.decode(encoded) == Array(plain.utf8))
    }

    @Test(arguments: ["Zg", "Zg=", "Z===", "Zg==\n", " Zg==", "Z!==", "=Zg=", "====", "Zg==Zg=="])
    func `Malformed Base64 is refused`(text: String) {
        #expect(Base64.decode(text) == nil)
    }

    @Test func `Percent-encoding escapes all but the unreserved`() {
        #expect(PercentEncoding.encode("a b+%/~文.-_") == "a%20b%2B%25%2F~%E6%96%87.-_")
        #expect(PercentEncoding.encode("a/b c", keepingSlash: true) == "a/b%20c")
        for byte in UInt8(0)..<128 {
            let text = String(decoding: [byte], as: UTF8.self)
            let isLetter = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~".contains(text)
            let escape = "%" + Hex.upper([byte])
            #expect(PercentEncoding.encode(text) == (isLetter ? text : escape))
            #expect(PercentEncoding.encode(text, keepingSlash: true) == (isLetter || text == "/" ? text : escape))
            var line = Array("x=".utf8)
            PercentEncoding.append("a\(text)", to: &line)
            #expect(String(decoding: line, as: UTF8.self) == "x=a" + PercentEncoding.encode(text))
        }
        #expect(PercentEncoding.decode("a%20b+%2B%e6%96%87") == "a b++文")
        #expect(PercentEncoding.decode("a+b", plusIsBlank: true) == "a b")
        #expect(PercentEncoding.decode("%zz") == nil)
        #expect(PercentEncoding.decode("%4") == nil)
        #expect(PercentEncoding.decode("%ff") == nil)
        #expect(PercentEncoding.decode("") == "")
        #expect(PercentEncoding.decode("%E6%96%87+") == "文+")
        let bytes = Array("x%20y+z".utf8)
        #expect(PercentEncoding.decode(bytes[1...]) == " y+z")
        #expect(PercentEncoding.decode([0xC3, 0x28]) == nil)
        #expect(PercentEncoding.decodeBytes("%ff%00") == [0xFF, 0])
    }

    @Test func `Letters are lowered one by one, and nothing else`() {
        for (text, lowered) in [
            ("A", "a"), ("Content-MD5", "content-md5"), ("aB", "ab"), ("x@[`{é", "x@[`{é"), ("", ""),
        ] {
            #expect(text.loweredASCII == lowered)
        }
    }

    @Test func `Digits are read as a number, 16 of them at most`() {
        func number(_ text: String) -> UInt64? { Hex.number(Array(text.utf8)[...]) }
        #expect(number("0") == 0)
        #expect(number("00fF") == 255)
        #expect(number("fedcba9876543210") == 0xFEDC_BA98_7654_3210)
        #expect(number("") == nil)
        #expect(number("1fedcba9876543210") == nil)
        #expect(number("1g") == nil)
        #expect(number("-1") == nil)
    }

    @Test func `Digits are put behind what is there, and compared in one case or in both`() {
        let bytes: [UInt8] = [0x00, 0x9A, 0xBF]
        var digits = Array("x=".utf8)
        Hex.appendLower(bytes, to: &digits)
        #expect(String(decoding: digits, as: UTF8.self) == "x=009abf")
        for (text, isUpper, isEqual) in [
            ("009ABF", true, true), ("009abf", false, true), ("009ABf", false, true), ("009ABE", false, false),
            ("009AB", false, false), ("009ABF0", false, false), ("", false, false), ("009A\u{DF}", false, false),
        ] {
            #expect(Hex.isUpper(text, of: bytes) == isUpper)
            #expect(Hex.isEqual(text, bytes) == isEqual)
        }
        #expect(Hex.isUpper("", of: []))
    }

    @Test func `A query is read back as it was written`() {
        let items = [QueryItem("uploads"), QueryItem("prefix", "a/b c&d=e+%"), QueryItem("empty", "")]
        #expect(items.encoded == "uploads&prefix=a%2Fb%20c%26d%3De%2B%25&empty")
        #expect([QueryItem](encoded: items.encoded)?.map(\.name) == ["uploads", "prefix", "empty"])
        #expect([QueryItem](encoded: items.encoded)?.value(of: "prefix") == "a/b c&d=e+%")
        #expect([QueryItem](encoded: "a=%") == nil)
        // Signs with an accent behind them, unescaped as some clients send them.
        let raw = [QueryItem](encoded: "&&a=\u{301}x&\u{301}b&c==d&e=")
        #expect(raw == [.init("a", "\u{301}x"), .init("\u{301}b"), .init("c", "=d"), .init("e", "")])
    }
}

@Suite struct TimestampTests {
    @Test(arguments: [
        (0, "Thu, 01 Jan 1970 00:00:00 GMT", "1970-01-01T00:00:00.000Z", "19700101T000000Z"),
        (1_702_743_657, "Sat, 16 Dec 2023 16:20:57 GMT", "2023-12-16T16:20:57.000Z", "20231216T162057Z"),
        (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT", "2000-02-29T00:00:00.000Z", "20000229T000000Z"),
        (951_868_800, "Wed, 01 Mar 2000 00:00:00 GMT", "2000-03-01T00:00:00.000Z", "20000301T000000Z"),
        (4_107_542_399, "Sun, 28 Feb 2100 23:59:59 GMT", "2100-02-28T23:59:59.000Z", "21000228T235959Z"),
        (-1, "Wed, 31 Dec 1969 23:59:59 GMT", "1969-12-31T23:59:59.000Z", "19691231T235959Z"),
    ])
    func `A moment is written and read in each form`(seconds: Int64, http: String, iso: String, compact: String) {
        let moment = Timestamp(seconds: seconds)
        #expect(moment.httpDate == http)
        #expect(moment.iso8601 == iso)
        #expect(moment.compact == compact)
        #expect(Timestamp(httpDate: http) == moment)
        #expect(Timestamp(iso8601: iso) == moment)
        #expect(Timestamp(compact: compact) == moment)
    }

    @Test func `Fractions of a second are kept by the form that has them`() {
        #expect(Timestamp(milliseconds: 1_702_743_657_042).iso8601 == "2023-12-16T16:20:57.042Z")
        #expect(Timestamp(iso8601: "2023-12-16T16:20:57.5Z")?.milliseconds == 1_702_743_657_500)
        #expect(Timestamp(iso8601: "2023-12-16T16:20:57Z")?.milliseconds == 1_702_743_657_000)
        #expect(Timestamp(iso8601: "2023-12-16T16:20:57.25Z")?.milliseconds == 1_702_743_657_250)
        #expect(Timestamp(iso8601: "2023-12-16T16:20:57.042999999999999Z")?.milliseconds == 1_702_743_657_042)
    }

    @Test(arguments: [
        "", "now", "Sat, 16 Dec 2023 16:20:57", "Sat, 16 Dez 2023 16:20:57 GMT", "Sat, 16 Dec 2023 24:20:57 GMT",
        "2023-12-16T16:20:57", "2023-12-16T16:20:57.Z", "2023-12-16T16:20:57.x1Z", "2023-12-16T16:20:57.1xZ",
        "2023-12-16T16:20:57Z ", "2023-12-16 16:20:57Z", "2023-13-16T16:20:57Z", "2023-00-16T16:20:57Z",
        "2023-12-32T16:20:57Z", "2023-12-00T16:20:57Z", "2023-12-16T24:20:57Z", "2023-12-16T16:60:57Z",
        "2023-12-16T16:20:61Z", "2023-12-16T16:20Z", "2023--16T16:20:57Z", "-023-12-16T16:20:57Z",
        "+2023-12-16T16:20:57Z", "1899-12-16T16:20:57Z", "10000-12-16T16:20:57Z",
        "99999999999999999999-12-16T16:20:57Z", "2023-12-16T16:20:57.5", "2023-12-16T16:20:57.5Z0",
    ])
    func `A malformed date is refused`(text: String) {
        #expect(Timestamp(httpDate: text) == nil)
        #expect(Timestamp(iso8601: text) == nil)
        #expect(Timestamp(compact: text) == nil)
    }
}
