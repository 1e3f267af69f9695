// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// How names are written in a reply's document: as they are, or escaped where `encoding-type=url` asks for it.
struct EncodingType: Sendable {
    private let isURL: Bool

    init(_ request: Request) throws(ServiceError) {
        switch request.query.value(of: "encoding-type") {
        case nil, "": self.isURL = false
        case "url": self.isURL = true
        case let other?:
            throw ServiceError.invalidArgument(
                "Invalid Encoding Method specified in Request.", name: "encoding-type", value: other)
        }
    }

    /// Writes the element that tells of the encoding, where there is one.
    func write(to writer: inout XMLWriter) { if self.isURL { writer.element("EncodingType", "url") } }

    /// The name as the document carries it.
    func callAsFunction(_ name: String) -> String {
        self.isURL ? PercentEncoding.encode(name, keepingSlash: true) : name
    }
}
