// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire
internal import SystemIO

/// Posts a callback and reads the application's reply, as the service does it.
struct CallbackPost {
    /// The callback failed; what was stored stays.
    struct Failure: Error {
        /// The message that the client gets.
        let message: String
    }

    /// How long the application may take.
    ///
    /// *Source:* OSS document Callback. *Applies to:* connecting, sending and the whole reply, for each URL.
    private static let timeLimit: Duration = .seconds(5)
    /// Longest reply taken.
    ///
    /// *Source:* OSS document Callback. *Applies to:* the body of the application's reply, in bytes.
    private static let maximumReply = 3 * 1024 * 1024
    /// Longest head taken.
    ///
    /// *Source:* own choice. *Applies to:* status line and header fields of the application's reply, in bytes.
    private static let maximumHead = 64 * 1024

    private let callback: Callback
    private let request: Request

    init(_ callback: Callback, _ request: Request) {
        self.callback = callback
        self.request = request
    }

    /// Posts to one URL after the other until one takes it.
    ///
    /// - Returns: the application's reply, a JSON document.
    func send(_ object: StoredObject, operation: String) throws(Failure) -> [UInt8] {
        let body = Array(self.callback.body(self.values(object, operation: operation)).utf8)
        var failure = Failure(message: "")
        for url in self.callback.urls {
            do throws(Failure) { return try self.post(body, to: url) } catch { failure = error }
        }
        throw failure
    }

    private func values(_ object: StoredObject, operation: String) -> [String: CallbackValue] {
        var values: [String: CallbackValue] = [
            "bucket": .text(self.request.bucket), "object": .text(object.key.text), "etag": .text(object.eTag),
            "size": .number(object.size), "mimeType": .text(ObjectHeaders.reply(object)["Content-Type"] ?? ""),
            "crc64": .text(String(object.crc64)), "reqId": .text(self.request.id),
            "operation": .text(operation),
        ]
        if let md5 = ObjectHeaders.reply(object)["Content-MD5"] { values["contentMd5"] = .text(md5) }
        return values
    }

    private func post(_ body: [UInt8], to url: CallbackURL) throws(Failure) -> [UInt8] {
        let reply: Result<[UInt8], Failure>
        do throws(SystemError) {
            let connection = try TCPConnection(host: url.host, port: url.port, timeLimit: Self.timeLimit)
            let head = """
                POST \(url.target) HTTP/1.1\r
                Host: \(self.callback.host ?? url.authority)\r
                Content-Type: \(self.callback.bodyType.rawValue)\r
                Content-Length: \(body.count)\r
                Connection: close\r
                User-Agent: aliyun-oss-callback\r
                x-oss-bucket: \(self.request.bucket)\r
                x-oss-request-id: \(self.request.id)\r
                \r

                """
            try connection.send(Array(head.utf8) + body)
            reply = try Self.read(connection)
        } catch {
            throw Failure(
                message: error.isTimeOut
                    ? "Cost too long time."
                    : "Error status : 502. OSS can not connect to your callbackUrl, please check it.")
        }
        return try reply.get()
    }

    /// Reads a reply whose length is told; the service takes no other.
    private static func read(_ connection: TCPConnection) throws(SystemError) -> Result<[UInt8], Failure> {
        var bytes: [UInt8] = []
        var head: Head?
        while true {
            if head == nil, let (read, length) = Head.read(bytes) {
                bytes.removeFirst(length)
                // 100 and its like come before the reply.
                guard read.status >= 200 else { continue }
                guard read.status == 200 else {
                    return .failure(Failure(message: "Error status : \(read.status)."))
                }
                guard let length = read.contentLength else {
                    return .failure(Failure(message: "Error Status : 400.User server missing content-length."))
                }
                guard length < Self.maximumReply else {
                    return .failure(Failure(message: "Response body is too long."))
                }
                head = read
            }
            if let length = head?.contentLength, bytes.count >= length {
                let body = Array(bytes[..<length])
                guard JSONValue(body) != nil else {
                    return .failure(Failure(message: "Response body is not valid json format."))
                }
                return .success(body)
            }
            guard head != nil || bytes.count < Self.maximumHead else {
                return .failure(Failure(message: "Error status : 502."))
            }
            let more = try connection.receive()
            if more.isEmpty { return .failure(Failure(message: "Error status : 502.")) }
            bytes += more
        }
    }

    /// The status and the length of a reply.
    private struct Head {
        var status: Int
        var contentLength: Int?

        /// Reads a head that is there as a whole; with how long it is.
        static func read(_ bytes: [UInt8]) -> (Head, length: Int)? {
            let mark = Array("\r\n\r\n".utf8)
            guard let end = bytes.firstRange(of: mark) else { return nil }
            let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).split(separator: "\r\n")
            let words = lines.first?.split(separator: " ") ?? []
            var head = Head(status: words.count > 1 ? Int(words[1]) ?? 502 : 502)
            for line in lines.dropFirst() {
                let halves = line.split(separator: ":", maxSplits: 1)
                guard halves.count == 2, halves[0].equalsIgnoringASCIICase("Content-Length") else { continue }
                head.contentLength = Int(halves[1].trimmedBlanks).flatMap { $0 < 0 ? nil : $0 }
            }
            return (head, end.upperBound)
        }
    }
}

extension CallbackPost {
    /// Posts the callback, where there is one, and makes the reply of what comes of it.
    ///
    /// - Parameters:
    ///   - operation: the name of what has stored the object.
    ///   - reply: the reply without a callback.
    static func reply(
        _ callback: Callback?, _ request: Request, _ object: StoredObject, operation: String, otherwise reply: Reply
    ) -> Reply {
        guard let callback else { return reply }
        var result: Reply
        do throws(Failure) {
            let body = try CallbackPost(callback, request).send(object, operation: operation)
            result = Reply(headers: reply.headers, body: .bytes(body))
            result.headers["Content-Type"] = "application/json"
        } catch {
            // The object is stored all the same: 203.
            var failure = ServiceError(203, "CallbackFailed", error.message, ec: "0007-00000203")
            failure.headers = reply.headers
            result = Reply(failure)
        }
        // A digest of the part or object, which is not what the body holds.
        result.headers["Content-MD5"] = nil
        return result
    }
}
