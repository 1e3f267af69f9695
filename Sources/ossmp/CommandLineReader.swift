// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import CGetopt
import Glibc

/// Reads options and operands with the C library's `getopt_long`.
enum CommandLineReader {
    /// Long options have no letter: their values lie beyond every letter's.
    private static let firstLongValue: Int32 = 256

    /// - Parameters:
    ///   - arguments: the command line without the command, the program's name first.
    ///   - command: whose options are known; nil for none's.
    static func read(_ arguments: [String], _ command: Command?) throws -> ([String: [String]], [String]) {
        let options = Option.known(to: command)
        // SAFETY: the C library keeps pointers into the texts while it reads, and reorders the array; both are made here and
        // freed when all that it found has been copied. It is called in no other place.
        var texts = unsafe arguments.map { unsafe strdup($0) } + [nil]
        var table = unsafe options.enumerated().map { index, option in
            unsafe CGetopt.option(
                name: strdup(option.name), has_arg: option.argument == nil ? no_argument : required_argument, flag: nil,
                val: self.firstLongValue + Int32(index)
            )
        }
        defer {
            unsafe texts.forEach { unsafe free($0) }
            unsafe table.forEach { unsafe free(UnsafeMutablePointer(mutating: $0.name)) }
        }
        unsafe table.append(CGetopt.option(name: nil, has_arg: 0, flag: nil, val: 0))
        var values: [String: [String]] = [:]
        let count = Int32(arguments.count)
        // The colon: what is wrong is told here, with what would be right.
        let shorts = ":" + String(options.compactMap(\.letter))
        while true {
            let value = unsafe cgetopt_next(count, &texts, shorts, table)
            if value == -1 { break }
            let found =
                value >= self.firstLongValue
                ? options[Int(value - self.firstLongValue)]
                : options.first { $0.letter?.asciiValue.map { Int32($0) } == value }
            guard let found else {
                let place = Int(cgetopt_operands())
                // The word that was read last, or, where letters stand together, the one that is being read.
                let words = [place - 1, place].filter { $0 > 0 && $0 < arguments.count }.compactMap { index in
                    unsafe texts[index].map { unsafe String(cString: $0) }
                }
                throw self.refusal(words, isArgumentMissing: value == Int32(UInt8(ascii: ":")), command, options)
            }
            let argument = unsafe cgetopt_argument().map { unsafe String(cString: $0) } ?? ""
            values[found.name, default: []].append(argument)
        }
        let operands = unsafe texts[Int(cgetopt_operands())..<Int(count)].compactMap { text in
            unsafe text.map { unsafe String(cString: $0) }
        }
        return (values, operands)
    }

    // MARK: What is wrong

    private static func refusal(
        _ words: [String], isArgumentMissing: Bool, _ command: Command?, _ options: [Option]
    ) -> UsageError {
        let place = command.map { " of \($0.rawValue)" } ?? ""
        let letters = options.compactMap(\.letter)
        for word in words {
            var message: String?
            if word.hasPrefix("--") {
                message = self.refusal(word.dropFirst(2), isArgumentMissing: isArgumentMissing, place, options)
            } else if word.hasPrefix("-") {
                message = word.dropFirst().first { !letters.contains($0) }.map { "-\($0): no such option\(place)" }
            }
            if let message { return UsageError(message, command: command) }
        }
        return UsageError("the command line cannot be understood", command: command)
    }

    /// What is wrong with a long option; nil where nothing is.
    private static func refusal(
        _ word: Substring, isArgumentMissing: Bool, _ place: String, _ options: [Option]
    ) -> String? {
        let halves = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let name = String(halves[0])
        let exact = options.first { $0.name == name }
        let matches = exact.map { [$0] } ?? options.filter { $0.name.hasPrefix(name) }
        if matches.count > 1 {
            return "--\(name) could be \(matches.map { "--\($0.name)" }.joined(separator: ", ")): write more of it"
        }
        if let option = matches.first {
            if isArgumentMissing { return "--\(option.name) needs its argument: \(option.usage), \(option.help)" }
            return halves.count > 1 && option.argument == nil ? "--\(option.name) takes no argument" : nil
        }
        if let other = Option.all.first(where: { $0.name == name }) {
            let commands = Command.allCases.filter { other.commands.contains($0) }.map(\.rawValue)
            return "--\(name): no option\(place), but of \(commands.joined(separator: ", "))"
        }
        let advice = Likeness.nearest(to: name, among: options.map(\.name)).map { "; do you mean --\($0)?" } ?? ""
        return "--\(name): no such option\(place)\(advice)"
    }
}

/// How alike two words are.
enum Likeness {
    /// The word that was most likely meant; nil where none is like it.
    static func nearest(to word: String, among words: [String]) -> String? {
        let near = words.map { (word: $0, distance: self.distance(word, $0)) }.min { $0.distance < $1.distance }
        // A third of the letters may be wrong, or what is there is the beginning.
        if let near, near.distance <= max(1, word.count / 3) { return near.word }
        return word.count > 1 ? words.first { $0.hasPrefix(word) } : nil
    }

    /// How many letters have to be put in, left out, replaced or swapped with the next one to make one word of the other.
    private static func distance(_ first: String, _ second: String) -> Int {
        let (first, second) = (Array(first), Array(second))
        var rows = [Array(0...second.count)]
        for i in first.indices {
            var row = [i + 1]
            for j in second.indices {
                let isSame = first[i] == second[j]
                var best = min(rows[i][j] + (isSame ? 0 : 1), rows[i][j + 1] + 1, row[j] + 1)
                if i > 0, j > 0, first[i] == second[j - 1], first[i - 1] == second[j] {
                    best = min(best, rows[i - 1][j - 1] + 1)
                }
                row.append(best)
            }
            rows.append(row)
        }
        return rows[first.count][second.count]
    }
}
