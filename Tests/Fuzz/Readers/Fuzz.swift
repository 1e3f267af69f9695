// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import Glibc
import OSSMultipart
import SystemIO

#if FUZZING
    import CFuzzer
#endif

/// Feeds bytes that others have written to the readers of this package.
///
/// `make fuzz` builds it with libFuzzer, which makes up the bytes. Built in the ordinary way it reads the files that are
/// named on its command line, to look at a finding again: `Fuzz READER FILE…`.
@main
enum Fuzz {
    static func main() {
        let arguments = CommandLine.arguments
        guard arguments.count > 1, let reader = ForeignBytes(rawValue: arguments[1]) else {
            print("usage: Fuzz \(ForeignBytes.allCases.map(\.rawValue).joined(separator: "|")) …")
            exit(2)
        }
        #if FUZZING
            self.runFuzzer(reader)
        #else
            for path in arguments.dropFirst(2) {
                do {
                    let file = try PosixFile(path: path, .read)
                    var bytes = [UInt8](repeating: 0, count: Int(try file.status().size))
                    let count = try file.read(at: 0, into: &bytes)
                    reader.read(Array(bytes.prefix(count)))
                    print("\(path): read")
                } catch {
                    print("\(path): \(error)")
                    exit(1)
                }
            }
        #endif
    }

    #if FUZZING
        // Set once, before the fuzzer runs; it calls back on this thread alone.
        nonisolated(unsafe) private static var reader = ForeignBytes.xml

        private static func runFuzzer(_ chosen: ForeignBytes) {
            unsafe self.reader = chosen
            // libFuzzer wants the command line without our own first word.
            var texts = unsafe CommandLine.arguments.enumerated().filter { $0.offset != 1 }.map {
                unsafe strdup($0.element)
            }
            unsafe texts.append(nil)
            var count = unsafe Int32(texts.count - 1)
            // SAFETY: the array lives as long as the process, which the driver ends.
            let result = unsafe texts.withUnsafeMutableBufferPointer { buffer -> Int32 in
                var arguments = buffer.baseAddress
                return unsafe LLVMFuzzerRunDriver(&count, &arguments) { data, size in
                    // SAFETY: the bytes are the driver's for the length of the call.
                    let bytes = unsafe Array(UnsafeBufferPointer(start: data, count: size))
                    unsafe Fuzz.reader.read(bytes)
                    return 0
                }
            }
            exit(result)
        }
    #endif
}
