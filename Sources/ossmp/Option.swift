// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import OSSMultipart

/// An option: the parser, the help text, the manual page and the completion all read this table.
struct Option: Sendable {
    /// The name without its two hyphens.
    let name: String
    /// The letter that stands for it.
    var letter: Character?
    /// What stands for its argument in the help text; nil where it takes none.
    var argument: String?
    let help: String
    /// What its argument can be completed to.
    var values = Suggestions.nothing
    /// The commands that know it.
    var commands: Set<Command>
    /// Whether it may be given again.
    var isRepeatable = false

    /// As it is written in the help text.
    var usage: String { "--\(self.name)\(self.argument.map { " \($0)" } ?? "")" }

    /// Every option, in the order of the help text.
    static let all: [Option] = Self.ofUploads + Self.ofObjects + Self.ofListings + Self.ofService + Self.ofOutput

    /// The options that a command knows; nil: those without a command.
    static func known(to command: Command?) -> [Option] {
        self.all.filter { option in
            command.map { option.commands.contains($0) } ?? (option.name == "help" || option.name == "version")
        }
    }

    private static let ofUploads: [Option] = [
        Option(
            name: "recursive", letter: "r", help: "all files of a folder, all objects below a prefix",
            commands: [.cp, .ls, .rm]),
        Option(
            name: "include", argument: "PATTERN", help: "with -r: only files that match", commands: [.cp],
            isRepeatable: true),
        Option(
            name: "exclude", argument: "PATTERN", help: "with -r: no files or folders that match", commands: [.cp],
            isRepeatable: true),
        Option(
            name: "symlinks", argument: "POLICY", help: "with -r: skip or follow (default: skip)",
            values: .words(OSSFolder.SymbolicLinks.all.map(\.description)), commands: [.cp]),
        Option(
            name: "delete-source", help: "with -r: delete each file that is stored, with the proof crc64",
            commands: [.cp]),
        Option(
            name: "part-size", argument: "SIZE", help: "bytes of a part, for example 8MiB (default: by size)",
            commands: [.cp, .plan]),
        Option(
            name: "parallel", argument: "N", help: "parts in flight, 1 to 100 (default: 4 to 16, as the network gives)",
            commands: [.cp]),
        Option(
            name: "sequential", help: "parts one after the other, so that the object gets a Content-MD5",
            commands: [.cp]),
        Option(
            name: "limit-rate", argument: "SIZE", help: "bytes a second at most, for example 2MiB", commands: [.cp]),
        Option(
            name: "checkpoint-dir", argument: "DIR",
            help: "folder of checkpoints (default: $XDG_STATE_HOME/ossmp, ~/.local/state/ossmp)", values: .folders,
            commands: [.cp, .abort]),
        Option(name: "no-checkpoint", help: "keep none; a failed upload is aborted", commands: [.cp]),
        Option(name: "restart", help: "abort what the checkpoint names and begin anew", commands: [.cp]),
        Option(
            name: "adopt", argument: "latest|ID", help: "take over an open upload that no checkpoint names",
            values: .words(["latest"]), commands: [.cp]),
        Option(
            name: "verify", argument: "MODE",
            help: "when parts of an earlier run are read again: auto, content or record (default: auto)",
            values: .words(OSSUploader.Verification.all.map(\.description)), commands: [.cp]),
        Option(
            name: "integrity", argument: "MODE", help: "md5+crc64, md5, crc64, etag or none (default: md5+crc64)",
            values: .words(OSSIntegrity.all.map(\.description)), commands: [.cp]),
        Option(
            name: "content-type", argument: "TYPE", help: "stored with the object (default: by the key's extension)",
            commands: [.cp, .sign]),
        Option(
            name: "meta", argument: "NAME=VALUE", help: "metadata of yours", commands: [.cp], isRepeatable: true),
        Option(
            name: "acl", argument: "ACL", help: "private, public-read, public-read-write or default",
            values: .words(["private", "public-read", "public-read-write", "default"]), commands: [.cp]),
        Option(
            name: "storage-class", argument: "CLASS",
            help: "Standard, IA, Archive, ColdArchive or DeepColdArchive (default: the bucket's)",
            values: .words(["Standard", "IA", "Archive", "ColdArchive", "DeepColdArchive"]), commands: [.cp]),
        Option(name: "tagging", argument: "TAGS", help: "NAME=VALUE&..., URL-encoded", commands: [.cp]),
        Option(name: "forbid-overwrite", help: "fail where the object exists", commands: [.cp]),
        Option(
            name: "callback", argument: "JSON", help: "what the service posts when the object is stored",
            commands: [.cp]),
        Option(
            name: "callback-var", argument: "x:NAME=VALUE", help: "a variable of the callback", commands: [.cp],
            isRepeatable: true),
    ]

    private static let ofObjects: [Option] = [
        Option(
            name: "range", argument: "RANGE", help: "bytes FIRST-LAST, FIRST- or -COUNT, the first one being 0",
            commands: [.get]),
        Option(
            name: "version-id", argument: "ID", help: "a version of the object (default: the newest)",
            commands: [.get, .stat, .rm, .sign]),
        Option(
            name: "method", argument: "METHOD", help: "GET, HEAD, PUT, POST or DELETE (default: GET, of a part PUT)",
            values: .words(["GET", "HEAD", "PUT", "POST", "DELETE"]), commands: [.sign]),
        Option(
            name: "expires", argument: "TIME", help: "how long it is good, for example 15m; at most 7d (default: 15m)",
            commands: [.sign]),
        Option(name: "upload-id", argument: "ID", help: "the upload", commands: [.listParts, .abort, .sign]),
        Option(name: "part-number", argument: "N", help: "the part, 1 to 10000", commands: [.sign]),
    ]

    private static let ofListings: [Option] = [
        Option(
            name: "delimiter", argument: "TEXT", help: "what separates levels of keys (default: /)", commands: [.ls]),
        Option(name: "all", help: "every open upload of that key", commands: [.abort]),
        Option(
            name: "older-than", argument: "AGE", help: "only uploads begun so long ago, for example 7d or 12h",
            commands: [.listUploads, .abort]),
        Option(name: "yes", help: "with -r: delete without being asked again", commands: [.rm]),
        Option(name: "dry-run", help: "say what would be done, and do nothing", commands: [.rm, .abort]),
        Option(name: "man", help: "the manual page, as man reads it", commands: [.help]),
    ]

    private static let ofService: [Option] = [
        Option(
            name: "endpoint", argument: "URL", help: "the service (default: OSS_ENDPOINT)", commands: Command.ofService),
        Option(
            name: "region", argument: "REGION", help: "the region (default: OSS_REGION, or as the endpoint names it)",
            commands: Command.ofService),
        Option(
            name: "addressing", argument: "STYLE", help: "auto, path, virtual or cname (default: auto)",
            values: .words(OSSClient.Addressing.all.map(\.description)), commands: Command.ofService),
        Option(
            name: "sign-version", argument: "V", help: "v4 or v1 (default: v4)",
            values: .words(OSSClient.SignatureVersion.all.map(\.description)), commands: Command.ofService),
        Option(
            name: "credentials", argument: "SOURCE",
            help:
                "env, ossutil[:FILE], aliyun[:FILE], ecs[:ROLE], oidc or process:COMMAND (default: env, else ossutil)",
            values: .words(ClientOptions.sources), commands: Command.ofService),
        Option(
            name: "profile", argument: "NAME", help: "the section of the credentials' file", commands: Command.ofService
        ),
        Option(
            name: "proxy", argument: "URL", help: "proxy; empty for none (default: as the environment says)",
            commands: Command.ofService),
        Option(
            name: "no-proxy", argument: "HOSTS", help: "hosts and domains without the proxy, with commas between",
            commands: Command.ofService),
        Option(
            name: "ca-file", argument: "FILE", help: "CA certificates in PEM", values: .files,
            commands: Command.ofService),
        Option(
            name: "insecure", help: "take every certificate; others can then read and change what is sent",
            commands: Command.ofService),
        Option(
            name: "retries", argument: "N", help: "how often a request is sent again, 0 to 100 (default: 7)",
            commands: Command.ofService),
    ]

    private static let ofOutput: [Option] = [
        Option(
            name: "json", help: "JSON on standard output, one object a line, errors too",
            commands: Command.ofService.union([.plan])),
        Option(name: "quiet", help: "only errors and warnings", commands: [.cp, .get, .rm, .abort]),
        Option(name: "verbose", letter: "v", help: "also every part, or every file", commands: [.cp]),
        Option(name: "help", letter: "h", help: "this text", commands: Set(Command.allCases)),
        Option(name: "version", help: "the version", commands: Set(Command.allCases)),
    ]
}
