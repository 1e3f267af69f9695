// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

/// The help texts.
enum Help {
    static func text(_ command: Options.Command?) -> String {
        guard let command else {
            return """
                ossmp uploads files to Alibaba Cloud OSS in parts, and goes on where a broken upload broke.

                  ossmp cp FILE oss://BUCKET/KEY                        upload a file; run again to go on
                  ossmp cp - oss://BUCKET/KEY                           upload standard input
                  ossmp cp -r FOLDER oss://BUCKET/PREFIX/               upload a folder; run again to go on
                  ossmp ls-parts oss://BUCKET/KEY --upload-id ID        list the parts of an open upload
                  ossmp ls-uploads oss://BUCKET[/PREFIX]                list open uploads
                  ossmp abort oss://BUCKET/KEY (--upload-id ID | --all) give up an open upload

                Credentials come from OSS_ACCESS_KEY_ID, OSS_ACCESS_KEY_SECRET and OSS_SESSION_TOKEN.
                ossmp COMMAND --help lists a command's options.
                """
        }
        let options = Options.all.filter { $0.commands?.contains(command) ?? true }
        let names = options.map { "  --\($0.name)\($0.argument.map { " \($0)" } ?? "")" }
        let width = (names.map(\.count).max() ?? 0) + 2
        let lines = zip(names, options).map { name, option in
            name + String(repeating: " ", count: width - name.count) + option.help
        }
        return ([self.usage(command), "", "Options:"] + lines + ["", self.closing(command)]).joined(separator: "\n")
    }

    private static func usage(_ command: Options.Command) -> String {
        switch command {
        case .cp:
            """
            ossmp cp FILE oss://BUCKET/KEY
            ossmp cp - oss://BUCKET/KEY
            ossmp cp -r FOLDER oss://BUCKET/PREFIX/
              Uploads a file. A run that broke is gone on with by the same command: only what is missing is sent.
              A key that is empty or ends with / gets the file's name behind it.
              Standard input (-) is read once: an upload of it that breaks is given up. 1.9 TiB at most with the default part size.
              A folder's run that broke passes over files that are stored and have not changed since.
            """
        case .listParts:
            """
            ossmp ls-parts oss://BUCKET/KEY --upload-id ID
              Lists the parts that are stored of an open upload: number, bytes, ETag, CRC-64.
            """
        case .listUploads:
            """
            ossmp ls-uploads oss://BUCKET[/PREFIX]
              Lists the uploads that are neither completed nor aborted: ID, begin, key.
            """
        case .abort:
            """
            ossmp abort oss://BUCKET/KEY (--upload-id ID | --all)
              Gives up an open upload, or all of that key, and removes the parts.
            """
        }
    }

    private static func closing(_ command: Options.Command) -> String {
        let codes =
            "Exit codes: 0 stored, 1 failed, 2 usage, 3 integrity, 4 source changed, 5 checkpoint in use, 6 stored but the\n"
            + "callback failed, 130 SIGINT, 143 SIGTERM."
        return command == .cp ? codes : "Exit codes: 0 done, 1 failed, 2 usage."
    }
}
