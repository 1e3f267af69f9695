// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import Glibc
import OSSLocalServer

let arguments: Arguments
do throws(UsageError) { arguments = try Arguments(CommandLine.arguments) } catch {
    StandardError.write("oss-local-server: \(error.message)\nTry 'oss-local-server --help'.\n")
    exit(2)
}
switch arguments.action {
case .showHelp:
    print(Arguments.help)
    exit(0)
case .showVersion:
    print("oss-local-server \(Arguments.version)")
    exit(0)
case .serve: break
}

// Before any thread begins, so that all inherit it: the signals are for this thread alone.
let signals = StopSignals()
let (stops, stop) = AsyncStream.makeStream(of: Void.self)
let job = Task.detached {
    do {
        let server = try await OSSServer.start(arguments.configuration)
        if let path = arguments.faultFile {
            do { try server.faults.add(contentsOfFile: path) } catch {
                await server.stop()
                throw error
            }
        }
        if !arguments.isQuiet { print("listening on \(server.endpoint)") }
        // Standard output is buffered where it is no terminal.
        fflush(nil)
        for await _ in stops { break }
        await server.stop()
        exit(0)
    } catch {
        StandardError.write("oss-local-server: \(error)\n")
        exit(1)
    }
}
// The main thread serves no task: it may block.
signals.wait()
stop.yield()
// Whoever asks twice does not want to wait.
signals.wait()
exit(1)
