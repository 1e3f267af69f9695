// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

/// The tool's commands, in the order of its help text.
enum Command: String, CaseIterable, Sendable {
    case cp, get, stat, ls, rm, sign, plan
    case listUploads = "ls-uploads"
    case listParts = "ls-parts"
    case abort, completion, help

    /// Those that talk to the service, or sign for it.
    static let ofService = Set(Self.allCases).subtracting([.plan, .completion, .help])
}

/// What there is to say of a command: the help text, the manual page and the completion are made of it.
struct CommandDescription: Sendable {
    /// A command line and what it does.
    struct Example: Sendable {
        let line: String
        let purpose: String

        init(_ line: String, _ purpose: String) {
            self.line = line
            self.purpose = purpose
        }
    }

    /// The ways to call it.
    let synopses: [String]
    /// What it does, in a few words.
    let summary: String
    /// Paragraphs.
    let text: [String]
    let examples: [Example]
    /// What its operands can be completed to.
    var operands = Suggestions.nothing
    /// The codes that it ends with, beside those of signals.
    var codes: [ExitCode] = [.stored, .failed, .usage]
}

/// What a shell can complete a word to.
enum Suggestions: Sendable, Equatable {
    case nothing, files, folders
    case words([String])
}

extension Command {
    /// What there is to say of it.
    var description: CommandDescription {
        switch self {
        case .cp: Self.cpDescription
        case .get: Self.getDescription
        case .stat: Self.statDescription
        case .ls: Self.lsDescription
        case .rm: Self.rmDescription
        case .sign: Self.signDescription
        case .plan: Self.planDescription
        case .listUploads: Self.listUploadsDescription
        case .listParts: Self.listPartsDescription
        case .abort: Self.abortDescription
        case .completion: Self.completionDescription
        case .help: Self.helpDescription
        }
    }

    private static let cpDescription = CommandDescription(
        synopses: [
            "ossmp cp FILE oss://BUCKET/KEY", "ossmp cp - oss://BUCKET/KEY", "ossmp cp -r FOLDER oss://BUCKET/PREFIX/",
        ],
        summary: "upload a file, standard input or a folder; run again to go on",
        text: [
            "Uploads a file. A run that broke is gone on with by the same command: only what is missing is sent. The object "
                + "appears when all of it is stored and what the service says of it does not contradict the file.",
            "A key that is empty or ends with / gets the file's name behind it.",
            "Standard input (-) is read once: an upload of it that breaks is given up. 1.9 TiB at most with the default "
                + "part size.",
            "A folder's run that broke passes over files that are stored and have not changed since.",
        ],
        examples: [
            .init("ossmp cp film.mp4 oss://media/v/", "upload it as v/film.mp4"),
            .init(
                "ossmp cp film.mp4 oss://media/v/film.mp4 --meta author=ada --acl public-read", "with metadata and ACL"),
            .init("tar c films | ossmp cp - oss://media/films.tar", "upload what a program writes"),
            .init("ossmp cp -r films oss://media/films/ --exclude '.*'", "upload a folder"),
            .init("ossmp cp big.bin oss://media/big.bin --limit-rate 2MiB", "leave room on the line for others"),
        ],
        operands: .files, codes: ExitCode.allCases
    )

    private static let getDescription = CommandDescription(
        synopses: ["ossmp get oss://BUCKET/KEY [FILE|-]"],
        summary: "download an object",
        text: [
            "Downloads an object into a file, by default one of its name in the working folder, or to standard output (-). A "
                + "transfer that breaks off is taken up again where it broke, and only while the object is still the same.",
            "The bytes go into a file beside the named one, which takes its name, and the place of a file that had it, when "
                + "all of them are there and their CRC-64 is right. What goes to standard output, a pipe or a device is "
                + "compared at its end: code 3 says that it was wrong.",
        ],
        examples: [
            .init("ossmp get oss://media/v/film.mp4", "into ./film.mp4"),
            .init("ossmp get oss://media/films.tar - | tar x", "into a program"),
            .init("ossmp get oss://media/log.txt - --range -1000", "its last 1000 bytes"),
        ],
        operands: .files, codes: [.stored, .failed, .usage, .integrity, .sourceChanged]
    )

    private static let statDescription = CommandDescription(
        synopses: ["ossmp stat oss://BUCKET/KEY"],
        summary: "show what the service knows of an object",
        text: [
            "Shows size, ETag, CRC-64, type, storage class, metadata and whatever else the service tells of an object."
        ],
        examples: [
            .init("ossmp stat oss://media/v/film.mp4", "for people"),
            .init("ossmp stat oss://media/v/film.mp4 --json", "for programs"),
        ]
    )

    private static let lsDescription = CommandDescription(
        synopses: ["ossmp ls oss://BUCKET[/PREFIX]"],
        summary: "list objects",
        text: [
            "Lists the objects whose keys begin with the prefix: size in bytes, time, address. Those that have a / behind the "
                + "prefix are shown as one line, with - for size and time; -r lists each.",
            "Control characters in keys are shown as \\n, \\t or \\x1B; --json has the keys as they are, one object a line.",
        ],
        examples: [
            .init("ossmp ls oss://media/v/", "what is right below v/"),
            .init("ossmp ls -r oss://media --json", "every object, for programs"),
        ]
    )

    private static let rmDescription = CommandDescription(
        synopses: ["ossmp rm oss://BUCKET/KEY...", "ossmp rm -r oss://BUCKET/PREFIX/ (--yes | --dry-run)"],
        summary: "delete objects",
        text: [
            "Deletes objects, and says which. An object that is not there counts as deleted.",
            "With -r it deletes every object below the prefix, which is taken for a folder's name, with or without the slash: "
                + "films means films/, and leaves films2/ alone. That needs --yes; --dry-run says what would be deleted. A "
                + "bucket as a whole is not emptied.",
        ],
        examples: [
            .init("ossmp rm oss://media/v/film.mp4", "delete one"),
            .init("ossmp rm -r oss://media/films/ --dry-run", "see what -r --yes would delete"),
        ]
    )

    private static let signDescription = CommandDescription(
        synopses: ["ossmp sign oss://BUCKET/KEY"],
        summary: "make a URL that is good without credentials for a while",
        text: [
            "Prints a URL with which others can send one kind of request; nothing is sent. Whoever has it can use it until it "
                + "expires. Header fields that the request must have are told on standard error.",
            "GET and HEAD get an object or look at it, PUT stores one. With --upload-id, PUT and --part-number upload a part, "
                + "POST joins the parts, and DELETE gives the upload up.",
        ],
        examples: [
            .init("ossmp sign oss://media/v/film.mp4 --expires 1h", "let somebody download it"),
            .init("ossmp sign oss://media/in/a.bin --method PUT --content-type image/png", "let somebody upload it"),
            .init("ossmp sign oss://media/k --upload-id ID --part-number 3", "let somebody upload part 3"),
        ]
    )

    private static let planDescription = CommandDescription(
        synopses: ["ossmp plan FILE oss://BUCKET/KEY"],
        summary: "say how a file would be uploaded, without sending anything",
        text: [
            "Prints one JSON object: the method (PutObject for a file smaller than a part and than 64 MiB, else "
                + "MultipartUpload), the part size, and number, offset and size of each part. It is planned as cp plans; an "
                + "upload that cp goes on with keeps the part size that it was begun with."
        ],
        examples: [
            .init("ossmp plan film.mp4 oss://media/v/ --part-size 100MiB", "see into how many parts it is cut")
        ],
        operands: .files
    )

    private static let listUploadsDescription = CommandDescription(
        synopses: ["ossmp ls-uploads oss://BUCKET[/PREFIX]"],
        summary: "list open uploads",
        text: [
            "Lists the uploads that are neither completed nor aborted: ID, begin, address. Their parts are stored and cost."
        ],
        examples: [.init("ossmp ls-uploads oss://media --older-than 7d", "those that nobody seems to go on with")]
    )

    private static let listPartsDescription = CommandDescription(
        synopses: ["ossmp ls-parts oss://BUCKET/KEY --upload-id ID"],
        summary: "list the parts of an open upload",
        text: ["Lists the parts that are stored of an open upload: number, bytes, ETag, CRC-64."],
        examples: [.init("ossmp ls-parts oss://media/v/film.mp4 --upload-id ID", "see how far an upload is")]
    )

    private static let abortDescription = CommandDescription(
        synopses: [
            "ossmp abort oss://BUCKET/KEY (--upload-id ID | --all)",
            "ossmp abort oss://BUCKET[/PREFIX] --older-than AGE [--dry-run]",
        ],
        summary: "give up open uploads",
        text: [
            "Gives up an open upload, or all of that key, and removes the parts.",
            "With --older-than it gives up every upload that was begun so long ago, by the service's clock, and that no "
                + "checkpoint in --checkpoint-dir names; one whose upload is under way is left alone as well, and so are all "
                + "while a checkpoint cannot be read. Checkpoints of other machines are not seen: choose an age that no "
                + "upload of theirs reaches.",
        ],
        examples: [
            .init("ossmp abort oss://media/v/film.mp4 --all", "give up what is open of one key"),
            .init("ossmp abort oss://media --older-than 7d --dry-run", "see what a clean-up would give up"),
        ]
    )

    private static let completionDescription = CommandDescription(
        synopses: ["ossmp completion (bash | zsh)"],
        summary: "print what lets a shell complete command lines",
        text: ["Prints a script for the shell. For zsh it goes into a file _ossmp in a folder of fpath."],
        examples: [.init("source <(ossmp completion bash)", "in ~/.bashrc")],
        operands: .words(CompletionScript.shells)
    )

    private static let helpDescription = CommandDescription(
        synopses: ["ossmp help [COMMAND]", "ossmp help --man"],
        summary: "show a help text, or print the manual page",
        text: [
            "Shows what ossmp COMMAND --help shows. With --man it prints the manual page in the form that man reads."
        ],
        examples: [.init("ossmp help --man | man -l -", "read the manual page")],
        operands: .words(Command.allCases.map(\.rawValue))
    )
}
