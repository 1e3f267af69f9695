// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// Where the signatures of a client's requests come from.
enum RequestAuthority: Sendable {
    /// An access key of its own.
    case credentials(CredentialsCache)
    /// Somebody else, who has one.
    case signer(any OSSRequestSigner)

    /// What the attempts of one request are signed with.
    enum Grant: Sendable {
        case credentials(CredentialsCache.Versioned)
        /// With the code that the last signature was refused with.
        case signer(any OSSRequestSigner, refusal: String?)
    }

    /// What the first attempt is signed with.
    ///
    /// - Throws: `missingCredentials` where there are none.
    func grant() async throws -> Grant {
        switch self {
        case .credentials(let cache): .credentials(try await cache.credentials())
        case .signer(let signer): .signer(signer, refusal: nil)
        }
    }

    /// What is used in place of a grant whose signature was refused; nil where there is nothing else.
    func grant(after grant: Grant, refusedWith code: String?) async throws -> Grant? {
        switch (self, grant) {
        case (.credentials(let cache), .credentials(let used)):
            guard cache.canRefresh else { return nil }
            return .credentials(try await cache.credentials(after: used.version))
        case (.signer(let signer), _): return .signer(signer, refusal: code ?? "")
        case (.credentials, .signer): return nil
        }
    }

    /// Whether the signatures bear the time of this machine's clock.
    var usesOwnClock: Bool {
        if case .credentials = self { true } else { false }
    }

    /// The access key, for what a signer is not asked for.
    ///
    /// - Throws: `missingCredentials` where there is none here.
    func credentials(for operation: OSSError.Operation) async throws -> OSSCredentials {
        guard case .credentials(let cache) = self else {
            throw OSSError(
                .missingCredentials,
                "the client has a signer in place of credentials; make URLs and forms where the credentials are",
                operation: operation
            )
        }
        return try await cache.credentials().credentials
    }
}

/// A request as it is sent.
struct SignedRequest: Sendable {
    let url: String
    var headers: HTTPFields
    /// Whether it was signed here.
    var isOurs = true
}

/// Asks a signer, and looks whether what it gives is for the request.
enum SignerCall {
    /// What is sent in place of a request that is not signed.
    static func ask(
        _ signer: any OSSRequestSigner, refusal: String?, url: String, _ signable: SignableRequest,
        _ request: ServiceRequest
    ) async throws -> Result<SignedRequest, OSSError> {
        func failed(_ message: String, _ underlying: (any Error)? = nil) -> OSSError {
            OSSError(
                .signerFailed, message, operation: request.operation, partNumber: request.partNumber,
                underlying: underlying
            )
        }
        let question = OSSSigningRequest(
            method: signable.method, bucket: request.bucket, key: request.key,
            query: Dictionary(signable.query.map { ($0.name, $0.value ?? "") }) { first, _ in first },
            headers: Dictionary(signable.headers.all.map { ($0.name, $0.value) }) { first, _ in first },
            contentLength: request.body.length, url: url, refusal: refusal
        )
        let answer: OSSSignedRequest
        do { answer = try await signer.sign(question) } catch let error as CancellationError { throw error } catch {
            // A cancelled call can also fail in other ways; the caller asked for one answer.
            try Task.checkCancellation()
            if let refusal = error as? OSSSigningRefusal {
                throw failed("the signer refuses: \(refusal.reason)", refusal)
            }
            if let error = error as? OSSError { throw error }
            return .failure(failed("the signer gave no signature; see the error beneath", error))
        }
        if let other = self.difference(answer.url, signable) {
            throw failed("the signer's URL is not one for this request: its \(other) is another; look at what it keeps")
        }
        var headers = HTTPFields()
        for (name, value) in answer.headers.sorted(by: { $0.key < $1.key }) { headers[name] = value }
        return .success(SignedRequest(url: answer.url, headers: headers, isOurs: false))
    }

    /// Parameters that say how a reply is written, and not what is asked for.
    private static let formal: Set<String> = ["encoding-type", "max-keys", "max-parts", "max-uploads"]

    /// What of a URL is not as it has to be: part 4 must never go where part 3 belongs.
    private static func difference(_ url: String, _ request: SignableRequest) -> String? {
        let halves = url.split(atEach: "?", most: 2)
        // Scheme, nothing, host, and the path.
        let steps = halves[0].split(atEach: "/", most: 4)
        guard steps.count >= 3, ["http:", "https:"].contains(steps[0]), steps[1].isEmpty else { return "scheme" }
        if let key = request.key {
            // As bytes: texts that look the same need not be.
            guard let path = PercentEncoding.decodeBytes(steps.count > 3 ? steps[3] : "") else { return "key" }
            let names = [key, "\(request.bucket ?? "")/\(key)"]
            guard names.contains(where: { $0.utf8.elementsEqual(path) }) else { return "key" }
        }
        guard let items = [QueryItem](encoded: halves.count > 1 ? halves[1] : "") else { return "query" }
        return request.query.first { item in
            !self.formal.contains(item.name)
                && items.value(of: item.name)?.hasSameBytes(as: item.value ?? "") != true
        }?.name
    }
}
