// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire
internal import SystemIO

extension OSSServer.Faults {
    /// Adds the rules of a file behind the others.
    ///
    /// The file holds a JSON list of rules. A rule names the requests that it meets (`operation`, `bucket`, `key`,
    /// `keyPrefix`, `partNumber`, and `from` and `to`, which of them counted from 1) and in `action` what happens to them:
    ///
    /// | action | with |
    /// | --- | --- |
    /// | `respond`, `commitThenRespond`, `respondEarly` | `status`, `code`, `message`, `headers` |
    /// | `respondRaw` | `status`, `headers`, `body` |
    /// | `dropBeforeReply`, `commitThenDrop` | |
    /// | `cut` | `afterBodyBytes` |
    /// | `stall`, `delay` | `milliseconds` |
    /// | `slow` | `bytesPerSecond` |
    /// | `editReplyHeader` | `name`, `value`; without `value` the field is taken away |
    /// | `replaceReplyBody` | `body` |
    /// | `editReplyBody` | `replace`, `with` |
    ///
    /// A name that no rule has is an error, so that a slip of the pen is not a rule that never works.
    ///
    /// - Throws: `OSSServer.Error` where the file cannot be read or understood; then no rule of it is added.
    public func add(contentsOfFile path: String) throws {
        let bytes: [UInt8]
        do throws(SystemError) {
            let file = try PosixFile(path: path, .read)
            var buffer = [UInt8](repeating: 0, count: Int(try file.status().size))
            let count = try file.read(at: 0, into: &buffer)
            bytes = Array(buffer[..<count])
        } catch {
            throw OSSServer.Error("the rules cannot be read: \(error)")
        }
        guard let value = JSONValue(bytes) else {
            throw OSSServer.Error("\(path) is not a JSON document")
        }
        guard case .list(let list) = value else {
            throw OSSServer.Error("\(path) does not hold a list of rules: [{\"action\": ...}, ...]")
        }
        var faults: [OSSServer.Fault] = []
        for (index, rule) in list.enumerated() {
            do throws(FaultRule.Problem) { faults.append(try FaultRule(rule).fault()) } catch {
                throw OSSServer.Error("\(path), rule \(index + 1): \(error.message)")
            }
        }
        self.add(contentsOf: faults)
    }
}
