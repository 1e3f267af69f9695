// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import Glibc
import OSSMultipart

/// The tool's beginning and end.
@main
enum Tool {
    static func main() async {
        let signals = Signals()
        do {
            let arguments = Array(CommandLine.arguments.dropFirst())
            let options = try Options(CommandLine.arguments)
            try await self.run(options, arguments: arguments, signals: signals)
            exit(ExitCode.stored.rawValue)
        } catch let error as UsageError {
            Console.error(error.message)
            Console.error("see ossmp --help")
            exit(ExitCode.usage.rawValue)
        } catch let error as ToolExit {
            exit(error.code.rawValue)
        } catch is CancellationError {
            exit(signals.exitCode)
        } catch {
            Console.report(error)
            exit(ExitCode(error).rawValue)
        }
    }

    private static func run(_ options: Options, arguments: [String], signals: Signals) async throws {
        switch options.action {
        case .help(let topic): Console.output(Help.text(topic))
        case .version: Console.output("ossmp \(OSSMultipartVersion.current)")
        case .command(.cp) where options.has("recursive"): try await CopyFolderCommand(options).run(signals)
        case .command(.cp): try await CopyCommand(options).run(signals)
        case .command(.listParts): try await ListPartsCommand(options).run()
        case .command(.listUploads): try await ListUploadsCommand(options).run()
        case .command(.abort): try await AbortCommand(options).run()
        }
    }
}

/// The command line asks for something that cannot be.
struct UsageError: Error {
    let message: String

    init(_ message: String) { self.message = message }
}

/// The end was reached and told; only the code is left.
struct ToolExit: Error {
    let code: ExitCode
}
