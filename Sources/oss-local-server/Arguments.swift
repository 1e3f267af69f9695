// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import CGetopt
import Glibc
import OSSLocalServer

/// A command line that cannot be understood.
struct UsageError: Error {
    /// What is wrong with it.
    let message: String
}

/// The command line.
struct Arguments: Sendable {
    /// What the program is to do.
    enum Action: Sendable {
        case serve, showHelp, showVersion
    }

    /// What the program is to do.
    var action = Action.serve
    /// The server's options.
    var configuration = OSSServer.Configuration()

    static let version = "0.1.0"
    static let help = """
        Usage: oss-local-server [OPTION]...
        An Alibaba Cloud OSS on a folder, to develop and test against.

          --host ADDRESS            address to listen on (127.0.0.1)
          --port N                  port to listen on; 0 takes a free one (0)
          --dir FOLDER              folder for the data (a temporary one, removed at the end)
          --bucket NAME             bucket to make at the start; may be repeated
          --access-key-id ID        access key ID (test-access-key-id)
          --access-key-secret KEY   access key secret (test-access-key-secret)
          --security-token TOKEN    token that requests have to carry (none)
          --account ID:SECRET[:TOKEN]  a further account; may be repeated
          --region REGION           region that signatures have to name (cn-hangzhou)
          --service-host NAME       further name that is the server's own and no bucket's; may be repeated
          --faults FILE             rules by which the server misbehaves, see below
          --capacity BYTES          most bytes that may be stored (as many as the disk holds)
          --upload-lifetime SECONDS uploads not completed by then end by themselves (never)
          --clock-offset SECONDS    how far the server's clock is ahead; may be negative (0)
          --remote-callbacks        post callbacks to other hosts than this one too
          --no-sync                 do not sync data to the disk before it is acknowledged
          --anonymous               serve requests without a signature too
          --request-log FILE        write a line of JSON for each request
          --quiet                   say nothing but errors
          --help                    show this text
          --version                 show the version

        The rules are a JSON list. Each names the requests that it meets (operation, bucket, key, keyPrefix, partNumber; from
        and to: which of them, counted from 1) and what happens to them:

          [{"action": "respond", "operation": "UploadPart", "partNumber": 3, "to": 2,
            "status": 503, "code": "ServiceUnavailable", "headers": {"Retry-After": "1"}},
           {"action": "commitThenDrop", "operation": "CompleteMultipartUpload", "to": 1},
           {"action": "slow", "keyPrefix": "big/", "bytesPerSecond": 100000}]

          respond, commitThenRespond, respondEarly    status, code, message, headers
          respondRaw                                  status, headers, body
          dropBeforeReply, commitThenDrop
          cut                                         afterBodyBytes
          stall, delay                                milliseconds
          slow                                        bytesPerSecond
          editReplyHeader                             name, value (left out: the field is taken away)
          replaceReplyBody                            body
          editReplyBody                               replace, with

        It prints "listening on http://ADDRESS:PORT" once it can be used, and ends with SIGINT or SIGTERM.
        Exit status: 0 ended by a signal, 1 it cannot run, 2 the command line is wrong.
        """

    private struct Option {
        let name: String
        let takesValue: Bool
        let apply: (inout Arguments, String) throws(UsageError) -> Void
    }

    private static func options() -> [Option] {
        var options: [Option] = []
        func value(_ name: String, _ apply: @escaping (inout Arguments, String) throws(UsageError) -> Void) {
            options.append(Option(name: name, takesValue: true, apply: apply))
        }
        func flag(_ name: String, _ apply: @escaping (inout Arguments) -> Void) {
            options.append(Option(name: name, takesValue: false) { arguments, _ in apply(&arguments) })
        }
        value("host") { $0.configuration.host = $1 }
        value("port") { arguments, text throws(UsageError) in
            guard let port = UInt16(text) else { throw UsageError(message: "--port takes a number from 0 to 65535") }
            arguments.configuration.port = port
        }
        value("dir") { $0.configuration.directory = $1 }
        value("bucket") { $0.configuration.buckets.append($1) }
        value("access-key-id") { $0.configuration.accounts[0].accessKeyID = $1 }
        value("access-key-secret") { $0.configuration.accounts[0].accessKeySecret = $1 }
        value("security-token") { $0.configuration.accounts[0].securityToken = $1 }
        value("region") { $0.configuration.region = $1 }
        value("service-host") { $0.configuration.serviceHosts.append($1) }
        value("account") { arguments, text throws(UsageError) in
            let fields = text.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
            guard fields.count >= 2, fields.allSatisfy({ !$0.isEmpty }) else {
                throw UsageError(message: "--account takes ID:SECRET or ID:SECRET:TOKEN")
            }
            arguments.configuration.accounts.append(
                OSSServer.Account(
                    accessKeyID: fields[0], accessKeySecret: fields[1],
                    securityToken: fields.count == 3 ? fields[2] : nil))
        }
        value("faults") { $0.faultFile = $1 }
        value("capacity") { arguments, text throws(UsageError) in
            arguments.configuration.capacity = try Self.number(text, "capacity", least: 0)
        }
        value("upload-lifetime") { arguments, text throws(UsageError) in
            let seconds = try Self.number(text, "upload-lifetime", least: 1)
            arguments.configuration.uploadLifetime = .seconds(seconds)
        }
        value("clock-offset") { arguments, text throws(UsageError) in
            arguments.configuration.clockOffset = .seconds(try Self.number(text, "clock-offset", least: -1 << 40))
        }
        flag("remote-callbacks") { $0.configuration.allowsRemoteCallbacks = true }
        value("request-log") { $0.configuration.requestLogPath = $1 }
        flag("no-sync") { $0.configuration.isDurable = false }
        flag("anonymous") { $0.configuration.allowsAnonymous = true }
        flag("quiet") { $0.isQuiet = true }
        flag("help") { $0.action = .showHelp }
        flag("version") { $0.action = .showVersion }
        return options
    }

    private static func number(_ text: String, _ option: String, least: Int64) throws(UsageError) -> Int64 {
        guard let number = Int64(text), number >= least, number < 1 << 60 else {
            throw UsageError(message: "--\(option) takes a whole number\(least < 0 ? "" : " from \(least) on")")
        }
        return number
    }

    /// Whether nothing but errors is said.
    var isQuiet = false
    /// The file that holds the rules by which the server misbehaves.
    var faultFile: String?

    /// Reads the command line, the program's name first.
    ///
    /// The corresponding C function is `getopt_long`.
    init(_ words: [String]) throws(UsageError) {
        // One who starts the program by hand keeps data; tests that do not care say --no-sync.
        self.configuration.isDurable = true
        self.configuration.rememberedRequests = 0
        let options = Self.options()
        // SAFETY: the copies live until the last call, for getopt_long keeps pointers between its calls.
        var list = unsafe options.enumerated().map { index, known in
            unsafe option(
                name: strdup(known.name), has_arg: known.takesValue ? required_argument : no_argument, flag: nil,
                val: Int32(index + 1))
        }
        unsafe list.append(option())
        let vector = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>.allocate(capacity: words.count + 1)
        for (index, word) in words.enumerated() { unsafe vector[index] = strdup(word) }
        unsafe vector[words.count] = nil
        defer {
            for index in words.indices { unsafe free(vector[index]) }
            unsafe vector.deallocate()
            unsafe list.forEach { unsafe free(UnsafeMutablePointer(mutating: $0.name)) }
        }
        while true {
            // SAFETY: the vector ends with nil and the list with an empty entry.
            let found = unsafe getopt_long(Int32(words.count), vector, ":", list, nil)
            if found == -1 { break }
            guard found > 0, Int(found) <= options.count else {
                let word = words[min(Int(cgetopt_operands()), words.count) - 1]
                throw UsageError(
                    message: found == Int32(UInt8(ascii: ":")) ? "\(word) takes a value" : "unknown option \(word)")
            }
            let text = unsafe cgetopt_argument().map { unsafe String(cString: $0) } ?? ""
            try options[Int(found) - 1].apply(&self, text)
        }
        let next = Int(cgetopt_operands())
        if next < words.count { throw UsageError(message: "unexpected argument \(words[next])") }
    }
}
