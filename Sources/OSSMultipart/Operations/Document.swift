// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// Reads result documents; what is none becomes an `OSSError.malformedReply`.
enum Document {
    /// Reads a reply's document and checks what it is.
    static func read(
        _ reply: ServiceResponse, root: String, _ operation: OSSError.Operation
    ) throws(OSSError) -> XMLElement {
        try self.value(operation) { () throws(XMLError) in try XMLElement.parse(reply.body, root: root) }
    }

    /// Runs a reader and gives its errors the operation's name.
    static func value<Value>(
        _ operation: OSSError.Operation, _ body: () throws(XMLError) -> Value
    ) throws(OSSError) -> Value {
        do throws(XMLError) { return try body() } catch { throw self.malformed(error.description, operation) }
    }

    /// The text of an element that the service may have URL-encoded.
    static func decoded(_ text: String, encodingType: String?, _ operation: OSSError.Operation) throws(OSSError)
        -> String
    {
        guard encodingType == "url" else { return text }
        // The service writes a blank as a plus sign here, as forms do, and a plus sign as %2B.
        guard let decoded = PercentEncoding.decode(text, plusIsBlank: true) else {
            throw self.malformed("a URL-encoded text in it is malformed", operation)
        }
        return decoded
    }

    static func malformed(_ what: String, _ operation: OSSError.Operation) -> OSSError {
        OSSError(
            .malformedReply,
            "the reply is no result of this operation: \(what); something other than the service may have answered, "
                + "check the endpoint and the proxy",
            operation: operation
        )
    }
}
