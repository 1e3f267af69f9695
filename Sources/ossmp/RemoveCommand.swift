// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import OSSMultipart

/// `ossmp rm`: deletes objects.
struct RemoveCommand {
    private let client: OSSClient
    private let addresses: [ObjectAddress]
    private let options: Options

    init(_ options: Options) throws {
        guard !options.operands.isEmpty else {
            throw UsageError("rm takes objects: \(Command.rm.description.synopses[0])")
        }
        try options.exclude("yes", "dry-run")
        if options.has("recursive") {
            try options.exclude("recursive", "version-id")
            self.addresses = try options.operands.map { operand in
                let address = try ObjectAddress(operand)
                guard !address.key.isEmpty else {
                    throw UsageError("\(operand): rm empties no bucket as a whole; name what its keys begin with")
                }
                return address
            }
            guard options.has("yes") || options.has("dry-run") else {
                throw UsageError(
                    "rm -r deletes all that is below the prefix: add --yes to do it, or --dry-run to see what it would delete"
                )
            }
        } else {
            self.addresses = try options.operands.map { try ObjectAddress(object: $0) }
            guard !options.has("version-id") || self.addresses.count == 1 else {
                throw UsageError("--version-id is for one object")
            }
        }
        self.options = options
        self.client = try ClientOptions.client(options)
    }

    func run() async throws {
        var failure: OSSError?
        for address in self.addresses {
            do {
                if self.options.has("recursive") {
                    try await self.removeAll(below: address)
                } else if self.options.has("dry-run") {
                    self.tell(address.bucket, address.key)
                } else {
                    try await self.remove(address.bucket, address.key)
                }
            } catch let error as OSSError where error.code == .service && self.addresses.count > 1 {
                // What the service refuses for one object it may do for the next.
                Console.note("\(address): \(error)")
                if self.options.has("json") { Console.output(CopyReport.errorDocument(error).text) }
                failure = failure ?? error
            }
        }
        await self.client.shutDown()
        if failure != nil { throw ToolExit(code: .failed) }
    }

    private func remove(_ bucket: String, _ key: String) async throws {
        var request = DeleteObjectRequest(bucket: bucket, key: key)
        request.versionID = self.options.value("version-id")
        _ = try await self.client.deleteObject(request)
        self.tell(bucket, key)
    }

    /// Deletes page by page what lies below a prefix, which is a folder's name.
    private func removeAll(below address: ObjectAddress) async throws {
        var request = ListObjectsV2Request(bucket: address.bucket)
        request.prefix = address.key.hasSuffix("/") ? address.key : address.key + "/"
        var count = 0
        while true {
            let page = try await self.client.listObjectsV2(request)
            let keys = page.objects.map(\.key)
            count += keys.count
            if self.options.has("dry-run") {
                for key in keys { self.tell(address.bucket, key) }
            } else {
                try await self.remove(address.bucket, keys)
            }
            guard page.isTruncated else { break }
            // Behind the last key, whatever a token would mean once these are gone.
            guard let last = keys.last, Array(last.utf8) != request.startAfter.map({ Array($0.utf8) }) else { break }
            request.startAfter = last
        }
        guard !self.options.has("quiet"), !self.options.has("json") else { return }
        let verb = self.options.has("dry-run") ? "would be deleted" : "deleted"
        let prefix = "oss://\(address.bucket)/\(request.prefix ?? "")"
        Console.note("\(count) object\(count == 1 ? "" : "s") below \(prefix) \(verb)")
    }

    private func remove(_ bucket: String, _ keys: [String]) async throws {
        let plain = keys.filter(Self.canBeInDocument)
        if !plain.isEmpty {
            let request = DeleteMultipleObjectsRequest(bucket: bucket, keys: plain)
            // As bytes: keys that look the same need not be.
            let deleted = Set(try await self.client.deleteMultipleObjects(request).deleted.map { Array($0.key.utf8) })
            for key in plain where deleted.contains(Array(key.utf8)) { self.tell(bucket, key) }
            if let left = plain.first(where: { !deleted.contains(Array($0.utf8)) }) {
                Console.note("the service did not say that oss://\(bucket)/\(left) is deleted; run again to see")
                throw ToolExit(code: .failed)
            }
        }
        for key in keys where !Self.canBeInDocument(key) { try await self.remove(bucket, key) }
    }

    /// Whether an XML document can hold a key; another one is deleted by itself.
    private static func canBeInDocument(_ key: String) -> Bool {
        key.unicodeScalars.allSatisfy {
            $0 == "\t" || $0 == "\n" || $0 == "\r" || $0.value >= 0x20 && $0.value != 0xFFFE && $0.value != 0xFFFF
        }
    }

    private func tell(_ bucket: String, _ key: String) {
        let isDryRun = self.options.has("dry-run")
        if self.options.has("json") {
            var document = JSONObject()
            document.add("bucket", bucket)
            document.add("key", key)
            document.add("deleted", literal: isDryRun ? "false" : "true")
            Console.output(document.text)
        } else if !self.options.has("quiet") {
            Console.note("\(isDryRun ? "would delete" : "deleted") oss://\(bucket)/\(key)")
        }
    }
}
