// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import CurlTransport
internal import OSSWire

/// Finds out why the service computed another signature, from what it says it signed.
///
/// Only names are told: what is signed holds the security token.
enum SignatureDifference {
    /// What to do about a refused signature; nil where the service does not say what it signed.
    static func advice(
        on response: TransportResponse, _ request: ServiceRequest, signedHeaders: HTTPFields, region: String
    ) -> String? {
        guard let document = try? XMLElement.parse(response.body, root: "Error"),
            let theirs = document.string("StringToSign")
        else { return nil }
        var signable = SignableRequest(
            method: request.method, bucket: request.bucket, key: request.key, query: request.query,
            headers: signedHeaders
        )
        signable.headers["Authorization"] = nil
        let difference: String?
        if let date = signedHeaders["x-oss-date"].flatMap({ Timestamp(compact: $0) }) {
            let signer = SignatureV4(date: date, region: region)
            let canonical = signer.canonicalRequest(signable)
            // Without a digest there is nothing to compare; that cannot be, for one was made for the request.
            guard let ours = try? signer.stringToSign(canonicalRequest: canonical) else { return nil }
            difference = self.v4(ours, theirs, canonical, document.string("CanonicalRequest"))
        } else {
            difference = self.v1(SignatureV1.stringToSign(signable, date: signedHeaders["Date"] ?? ""), theirs)
        }
        guard let difference else {
            return "both sides signed the same text, so the access key secret is not the one of this access key ID"
        }
        return "\(difference) is not what was signed here: something between changes it, or the endpoint is another "
            + "bucket's, region's or store's"
    }

    private static func v4(_ ours: String, _ theirs: String, _ canonical: String, _ theirCanonical: String?) -> String?
    {
        let names = ["the algorithm", "the date", "the scope with the region", "the digest of the request"]
        let ourLines = self.lines(ours), theirLines = self.lines(theirs)
        guard let index = self.firstDifference(ourLines, theirLines) else { return nil }
        guard index == 3, let theirCanonical else { return index < names.count ? names[index] : "the text" }
        let own = self.lines(canonical), other = self.lines(theirCanonical)
        switch self.firstDifference(own, other) {
        case nil: return names[3]
        case 0: return "the method"
        case 1: return "the path"
        case 2:
            return "the query" + self.named(self.items(own, 2, "&"), self.items(other, 2, "&"), separator: "=")
        case let index?:
            return "a header field"
                + self.named(Array(own.dropFirst(min(3, index))), Array(other.dropFirst(3)), separator: ":")
        }
    }

    private static func v1(_ ours: String, _ theirs: String) -> String? {
        let own = self.lines(ours), other = self.lines(theirs)
        guard let index = self.firstDifference(own, other) else { return nil }
        let names = ["the method", "Content-MD5", "Content-Type", "the date"]
        if index < names.count { return names[index] }
        let isResource = index == own.count - 1 && index == other.count - 1
        return isResource
            ? "the resource (bucket, key and parameters)"
            : "a header field" + self.named(Array(own.dropFirst(4)), Array(other.dropFirst(4)), separator: ":")
    }

    /// The names of what stands on one side alone.
    private static func named(_ own: [String], _ other: [String], separator: Character) -> String {
        let names = Set(own).symmetricDifference(other).map { String($0.prefix { $0 != separator }) }
        let readable = Set(names).filter { !$0.isEmpty && $0.count <= 64 && !$0.hasPrefix("/") }.sorted()
        return readable.isEmpty ? "" : " (\(readable.joined(separator: ", ")))"
    }

    private static func lines(_ text: String) -> [String] {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { String($0) }
    }

    private static func items(_ lines: [String], _ index: Int, _ separator: Character) -> [String] {
        index < lines.count ? lines[index].split(separator: separator).map(String.init) : []
    }

    private static func firstDifference(_ own: [String], _ other: [String]) -> Int? {
        for index in 0..<max(own.count, other.count) {
            guard index < own.count, index < other.count, own[index] == other[index] else { return index }
        }
        return nil
    }
}
