// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import Glibc
import OSSMultipart

/// The tool's beginning and end.
@main
enum Tool {
    static func main() async {
        guard Descriptors.areEnough() else {
            self.end(
                after: Descriptors.Shortage(), inJSON: CommandLine.arguments.contains("--json"), command: nil)
        }
        let signals = Signals()
        let options: Options
        do { options = try Options(CommandLine.arguments) } catch {
            // What was to be read as an option cannot be asked for here.
            self.end(after: error, inJSON: CommandLine.arguments.contains("--json"), command: nil)
        }
        var command: Command?
        if case .command(let named) = options.action { command = named }
        do {
            try await self.run(options, signals)
        } catch let end as ToolExit {
            exit(end.code.rawValue)
        } catch is CancellationError {
            exit(signals.exitCode)
        } catch {
            self.end(after: error, inJSON: options.has("json"), command: command)
        }
        if let failure = Console.outputFailure {
            Console.note("standard output cannot be written: \(failure); the results are lost, all else is done")
            exit(ExitCode.failed.rawValue)
        }
        exit(ExitCode.stored.rawValue)
    }

    private static func run(_ options: Options, _ signals: Signals) async throws {
        switch options.action {
        case .help(let topic): Console.output(Help.text(topic))
        case .manual: Console.output(ManualPage.text)
        case .version: Console.output("ossmp \(OSSMultipartVersion.current)")
        case .command(.cp) where options.has("recursive"): try await CopyFolderCommand(options).run(signals)
        case .command(.cp): try await CopyCommand(options).run(signals)
        case .command(.get): try await GetCommand(options).run(signals)
        case .command(.stat): try await StatCommand(options).run()
        case .command(.ls): try await ListCommand(options).run()
        case .command(.rm): try await RemoveCommand(options).run()
        case .command(.sign): try await SignCommand(options).run()
        case .command(.plan): try await PlanCommand(options).run()
        case .command(.listUploads): try await ListUploadsCommand(options).run()
        case .command(.listParts): try await ListPartsCommand(options).run()
        case .command(.abort) where options.has("older-than"): try await SweepCommand(options).run()
        case .command(.abort): try await AbortCommand(options).run()
        case .command(.completion): try CompletionCommand(options).run()
        case .command(.help): Console.output(Help.text(nil))
        }
    }

    /// Tells an error and ends with its code.
    private static func end(after error: any Error, inJSON: Bool, command: Command?) -> Never {
        if let error = error as? UsageError {
            Console.note(error.message)
            Console.note("see ossmp \((error.command ?? command).map { "\($0.rawValue) " } ?? "")--help")
        } else {
            Console.report(error)
        }
        if inJSON { Console.output(CopyReport.errorDocument(error).text) }
        exit(ExitCode(error).rawValue)
    }
}

/// The command line asks for something that cannot be.
struct UsageError: Error {
    let message: String
    /// Whose help text says more; nil where the one that is run does.
    var command: Command?

    init(_ message: String, command: Command? = nil) {
        self.message = message
        self.command = command
    }
}

/// The end was reached and told; only the code is left.
struct ToolExit: Error {
    let code: ExitCode
}
