// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

/// Scripts that let a shell complete command lines, made of the tables of commands and options.
enum CompletionScript {
    /// The shells there are scripts for.
    static let shells = ["bash", "zsh"]

    static func text(for shell: String) -> String? {
        switch shell {
        case "bash": self.bash
        case "zsh": self.zsh
        default: nil
        }
    }

    /// A text as one word of a shell.
    private static func quoted(_ text: String) -> String {
        "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
    }

    // MARK: bash

    private static var bash: String {
        """
        # Completion for ossmp in bash, made by: ossmp completion bash
        _ossmp() {
            local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=
            COMPREPLY=()
            (( COMP_CWORD > 1 )) && command=${COMP_WORDS[1]}
            # bash cuts words at the equals sign.
            if [[ $word == = ]]; then
                word=
            elif [[ $before == = ]] && (( COMP_CWORD > 2 )); then
                before=${COMP_WORDS[COMP_CWORD-2]}
            fi
            case $before in
        \(self.bashValues)
            esac
            if [[ $word == -* ]]; then
                case $command in
        \(self.bashOptions)
                esac
                return
            fi
            if (( COMP_CWORD == 1 )); then
                _ossmp_words \(self.quoted(Command.allCases.map(\.rawValue).joined(separator: " ")))
                return
            fi
            case $command in
        \(self.bashOperands)
            esac
        }
        _ossmp_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$word"); }
        _ossmp_paths() {
            # Fails where no completion is under way, which is when a test calls it.
            compopt -o filenames 2>/dev/null
            mapfile -t COMPREPLY < <(compgen "$1" -- "$word")
        }
        complete -F _ossmp ossmp

        """
    }

    private static var bashValues: String {
        Option.all.filter { $0.argument != nil }
            .map { "        --\($0.name)) \(self.bash($0.values)); return ;;" }
            .joined(separator: "\n")
    }

    private static var bashOptions: String {
        let rows: [Command?] = Command.allCases + [nil]
        return rows.map { command in
            let names = Option.known(to: command).flatMap { option in
                (option.letter.map { ["-\($0)"] } ?? []) + ["--\(option.name)"]
            }
            let pattern = command?.rawValue ?? "*"
            return "            \(pattern)) _ossmp_words \(self.quoted(names.joined(separator: " "))) ;;"
        }
        .joined(separator: "\n")
    }

    private static var bashOperands: String {
        Command.allCases.filter { $0.description.operands != .nothing }
            .map { "        \($0.rawValue)) \(self.bash($0.description.operands)) ;;" }
            .joined(separator: "\n")
    }

    private static func bash(_ values: Suggestions) -> String {
        switch values {
        case .nothing: ":"
        case .files: "_ossmp_paths -f"
        case .folders: "_ossmp_paths -d"
        case .words(let words): "_ossmp_words \(self.quoted(words.joined(separator: " ")))"
        }
    }

    // MARK: zsh

    private static var zsh: String {
        let commands = Command.allCases.map { "        \(self.quoted("\($0.rawValue):\($0.description.summary)"))" }
        return """
            #compdef ossmp
            # Completion for ossmp in zsh, made by: ossmp completion zsh
            _ossmp() {
                local -a commands
                commands=(
            \(commands.joined(separator: "\n"))
                )
                if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then
                    _describe -t commands 'ossmp command' commands
                    return
                fi
                local command=$words[2]
                if (( CURRENT > 2 )); then
                    shift words
                    (( CURRENT-- ))
                fi
                case $command in
            \(self.zshCommands)
                esac
            }
            if [[ $funcstack[1] == _ossmp ]]; then _ossmp "$@"; else compdef _ossmp ossmp; fi

            """
    }

    private static var zshCommands: String {
        let rows: [Command?] = Command.allCases + [nil]
        return rows.map { command in
            let words = Option.known(to: command).flatMap(self.zsh) + (command.map { [self.zsh($0)] } ?? [])
            return
                "        \(command?.rawValue ?? "*")) _arguments -s -S \(words.joined(separator: " \\\n            ")) ;;"
        }
        .joined(separator: "\n")
    }

    /// An option as `_arguments` reads it.
    private static func zsh(_ option: Option) -> [String] {
        let help = option.help.map { "[]:\\".contains($0) ? "\\\($0)" : String($0) }.joined()
        let argument = option.argument.map { name in
            let label = name.map { $0 == ":" ? "\\:" : String($0) }.joined()
            return ":\(label):\(self.zsh(option.values))"
        }
        let prefix = option.isRepeatable ? "*" : ""
        let names = (option.letter.map { ["-\($0)"] } ?? []) + ["--\(option.name)"]
        return names.map { name in
            self.quoted(
                "\(prefix)\(name)\(argument != nil && name.hasPrefix("--") ? "=" : "")[\(help)]\(argument ?? "")")
        }
    }

    /// A command's operands as `_arguments` reads them.
    private static func zsh(_ command: Command) -> String {
        self.quoted("*:operand:\(self.zsh(command.description.operands))")
    }

    private static func zsh(_ values: Suggestions) -> String {
        switch values {
        case .nothing: return " "
        case .files: return "_files"
        case .folders: return "_files -/"
        case .words(let words):
            return
                "(\(words.map { $0.map { "(): ".contains($0) ? "\\\($0)" : String($0) }.joined() }.joined(separator: " ")))"
        }
    }
}
