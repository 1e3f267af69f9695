// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire
internal import SystemIO

/// The key that requests are signed with: derived once a day and for each secret, used for every request.
final class SigningKeyCache: Sendable {
    private struct Entry {
        let secret: String
        let key: SignatureV4.Key
    }

    private let entry = Lock<Entry?>(nil)

    /// The key for a signer's day, region and product.
    func key(for signer: SignatureV4, secret: String) throws(DigestError) -> SignatureV4.Key {
        let kept = self.entry.withLock { $0 }
        if let kept, kept.secret == secret, signer.canUse(kept.key) { return kept.key }
        // Two that come at the same time derive the same.
        let key = try signer.makeKey(secret: secret)
        self.entry.withLock { $0 = Entry(secret: secret, key: key) }
        return key
    }
}
