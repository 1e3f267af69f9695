// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import OSSWire
import Testing

@Suite struct XMLElementTests {
    private func parse(_ text: String) throws -> XMLElement { try XMLElement.parse(Array(text.utf8)) }

    @Test func `Names count without namespace, and CDATA, comments and blanks are read through`() throws {
        let root = try self.parse(
            """
            \u{FEFF}<?xml version="1.0"?><!-- note --><x:R xmlns:x="u"><x:A>1 &amp; 2</x:A><A><![CDATA["E"]]></A><B/></x:R>
            """)
        #expect(root.name == "R")
        #expect(root.all("A").map(\.text) == ["1 & 2", "\"E\""])
        #expect(root["B"]?.text == "")
    }

    @Test func `Blanks before the declaration are skipped`() throws {
        #expect(try self.parse(" \n\t\r <?xml version=\"1.0\"?><R/>").name == "R")
    }

    @Test(arguments: [
        "", "   ", "no document", "<R>", "<R></S>", "<R/><R/>", "<R>&undefined;</R>", "<html><body><br></body></html>",
        "<!DOCTYPE R [<!ENTITY a \"b\">]><R>&a;</R>", "<!DOCTYPE R><R/>",
        "<!DOCTYPE R SYSTEM \"http://127.0.0.1/r\"><R/>",
        "<R/>text", "<R>\u{0}</R>", "<R a=1/>", "<R>&#0;</R>", "<R>]]></R>", "<R></R", "<R/><", "<!-- only -->",
    ])
    func `What is no document of OSS is refused`(text: String) {
        #expect(throws: XMLError.self) { try self.parse(text) }
    }

    @Test func `Deep nesting and endless lists are refused`() {
        #expect(throws: XMLError.self) {
            try self.parse(String(repeating: "<a>", count: 100_000) + String(repeating: "</a>", count: 100_000))
        }
        #expect(throws: XMLError.self) { try self.parse("<R>" + String(repeating: "<a/>", count: 100_001) + "</R>") }
    }

    @Test func `An entity bomb is refused before anything is expanded`() {
        var bomb = "<!DOCTYPE R [<!ENTITY e0 \"eeeeeeeeee\">"
        for level in 1...20 {
            bomb += "<!ENTITY e\(level) \"" + String(repeating: "&e\(level - 1);", count: 10) + "\">"
        }
        #expect(throws: XMLError.self) { try self.parse(bomb + "]><R>&e20;</R>") }
    }

    @Test func `Bytes that are no UTF-8 are refused, and other encodings are read as they are declared`() throws {
        #expect(throws: XMLError.self) { try XMLElement.parse(Array("<R>".utf8) + [0xC3, 0x28] + Array("</R>".utf8)) }
        let latin = Array("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><R>".utf8) + [0xE9] + Array("</R>".utf8)
        #expect(try XMLElement.parse(latin).text == "é")
        let wide: [UInt8] = [0xFE, 0xFF] + "<R>文</R>".utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
        #expect(try XMLElement.parse(wide).text == "文")
    }

    @Test func `What is refused is told with its reason`() {
        func reason(_ text: String) -> String {
            do {
                _ = try self.parse(text)
                return "nothing"
            } catch { return "\(error)" }
        }
        #expect(reason("<!DOCTYPE R><R/>").contains("DOCTYPE"))
        #expect(reason(String(repeating: "<a>", count: 33)).contains("nests too deep"))
        #expect(reason("<R>" + String(repeating: "<a/>", count: 100_000) + "</R>").contains("too many elements"))
        #expect(reason("<R><A></R>").contains("not well-formed"))
        #expect(reason(" ").contains("empty"))
    }

    @Test func `The deepest and the longest document that is taken is taken`() throws {
        let deep = String(repeating: "<a>", count: 32) + "x" + String(repeating: "</a>", count: 32)
        var element = try self.parse(deep)
        for _ in 1..<32 { element = try #require(element["a"]) }
        #expect(element.text == "x")
        #expect(try self.parse("<R>" + String(repeating: "<a/>", count: 99_999) + "</R>").children.count == 99_999)
    }

    @Test func `A text in many pieces is one, whatever is between them`() throws {
        let text = String(repeating: "line\r\n&lt;&#x6587;<!-- c --><?p i?><![CDATA[<文>]]>", count: 5000)
        let read = try self.parse("<R>\(text)<A/>end</R>")
        #expect(read.text == String(repeating: "line\n<文<文>", count: 5000) + "end")
    }

    @Test func `Another root is refused by name`() throws {
        #expect {
            try XMLElement.parse(Array("<Error/>".utf8), root: "ListPartsResult")
        } throws: { "\($0)".contains("Error") }
    }

    @Test func `Numbers and truth values are read strictly`() throws {
        let root = try self.parse("<R><N> 7\n</N><M>x</M><T>true</T><F>FALSE</F><Big>300</Big></R>")
        #expect(try root.requiredInteger("N", as: Int.self) == 7)
        #expect(try root.integer("None", as: Int.self) == nil)
        #expect(try root.boolean("T") == true)
        #expect(throws: XMLError.self) { try root.requiredInteger("M", as: Int.self) }
        #expect(throws: XMLError.self) { try root.requiredInteger("Big", as: UInt8.self) }
        #expect(throws: XMLError.self) { try root.boolean("F") }
        #expect(throws: XMLError.self) { try root.requiredString("None") }
    }

    @Test func `What XML reserves is escaped, what it cannot hold replaced, and all else stands`() {
        for (text, written) in [
            ("plain text, 1 = 1", "plain text, 1 = 1"), ("&", "&amp;"), ("a<b", "a&lt;b"), ("a>b", "a&gt;b"),
            ("\"", "&quot;"), ("\r\n\t", "&#13;\n\t"), ("\u{0}\u{1}\u{1F}", "\u{FFFD}\u{FFFD}\u{FFFD}"),
            ("\u{FFFE}\u{FFFF}", "\u{FFFD}\u{FFFD}"), ("文é😀\u{7F}", "文é😀\u{7F}"), ("", ""),
            ("\u{FFFD}\u{FDBE}\u{FFFE}x", "\u{FFFD}\u{FDBE}\u{FFFD}x"),
        ] {
            var writer = XMLWriter()
            writer.element("R", text)
            let document = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<R>\(written)</R>"
            #expect(String(decoding: writer.bytes, as: UTF8.self) == document)
        }
    }

    @Test func `What is written is read back`() throws {
        var writer = XMLWriter()
        let text = "<a> & \"b\" 文 \r\n\t'"
        writer.element("R", namespace: XMLWriter.namespace) {
            $0.element("Text", text)
            $0.element("Number", 42)
        }
        let root = try XMLElement.parse(writer.bytes, root: "R")
        #expect(root.string("Text") == text)
        #expect(root.string("Number") == "42")
    }
}
