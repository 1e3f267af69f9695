// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import COpenSSL

/// OpenSSL could not compute a digest: it is out of memory, or its configuration forbids the algorithm.
package struct DigestError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The algorithm's name in OpenSSL, for example `MD5`.
    package let algorithm: String

    package var description: String {
        "OpenSSL refused to compute \(self.algorithm); its configuration (FIPS mode, for example) may forbid the algorithm"
    }
}

/// A digest being computed piece by piece.
///
/// The corresponding C functions are `EVP_DigestInit_ex`, `EVP_DigestUpdate` and `EVP_DigestFinal_ex`.
@safe package struct MessageDigest: ~Copyable {
    /// The algorithms in use.
    package enum Algorithm: String, Sendable {
        /// 16 bytes; `Content-MD5` and ETags.
        case md5 = "MD5"
        /// 32 bytes; signature V4 and names of records.
        case sha256 = "SHA256"
        /// 20 bytes; signature V1.
        case sha1 = "SHA1"

        // Fetched once and kept: what EVP_md5() and its like return is looked up again at each digest.
        // SAFETY: OpenSSL's algorithms do not change and may be used by all threads at once.
        private nonisolated(unsafe) static let fetchedMD5 = unsafe EVP_MD_fetch(nil, "MD5", nil)
        private nonisolated(unsafe) static let fetchedSHA256 = unsafe EVP_MD_fetch(nil, "SHA256", nil)
        private nonisolated(unsafe) static let fetchedSHA1 = unsafe EVP_MD_fetch(nil, "SHA1", nil)

        /// The algorithm's implementation; nil where OpenSSL has none, or its configuration forbids it.
        var handle: OpaquePointer? {
            switch self {
            case .md5: unsafe Self.fetchedMD5
            case .sha256: unsafe Self.fetchedSHA256
            case .sha1: unsafe Self.fetchedSHA1
            }
        }
    }

    /// The algorithm it computes.
    package let algorithm: Algorithm
    // Owned: made in init, freed in deinit, never handed out.
    private let context: OpaquePointer?

    /// Begins a digest.
    ///
    /// - Throws: `DigestError` where OpenSSL refuses the algorithm.
    package init(_ algorithm: Algorithm) throws(DigestError) {
        // SAFETY: the context is freed here where it cannot be begun, else by deinit.
        let context = unsafe EVP_MD_CTX_new()
        guard unsafe context != nil, let handle = unsafe algorithm.handle,
            unsafe EVP_DigestInit_ex(context, handle, nil) == 1
        else {
            unsafe EVP_MD_CTX_free(context)
            throw DigestError(algorithm: algorithm.rawValue)
        }
        self.algorithm = algorithm
        unsafe self.context = context
    }

    deinit { unsafe EVP_MD_CTX_free(self.context) }

    /// Takes in the next bytes.
    package mutating func update(_ bytes: Span<UInt8>) throws(DigestError) {
        // SAFETY: the pointer is used within the closure; the context is ours alone.
        let result = unsafe bytes.withUnsafeBufferPointer {
            unsafe EVP_DigestUpdate(self.context, $0.baseAddress, $0.count)
        }
        guard result == 1 else { throw DigestError(algorithm: self.algorithm.rawValue) }
    }

    /// Ends the digest and returns it.
    package consuming func finish() throws(DigestError) -> [UInt8] {
        var result: Int32 = 0
        let context = unsafe self.context
        let digest = unsafe [UInt8](unsafeUninitializedCapacity: Int(EVP_MAX_MD_SIZE)) { buffer, count in
            var length: UInt32 = 0
            // SAFETY: EVP_MAX_MD_SIZE bounds every digest; the context lives until deinit.
            result = unsafe EVP_DigestFinal_ex(context, buffer.baseAddress, &length)
            count = Int(length)
        }
        guard result == 1 else { throw DigestError(algorithm: self.algorithm.rawValue) }
        return digest
    }

    /// The digest of bytes that are all there.
    package static func of(_ bytes: [UInt8], _ algorithm: Algorithm) throws(DigestError) -> [UInt8] {
        var digest = try MessageDigest(algorithm)
        try digest.update(bytes.span)
        return try digest.finish()
    }
}

/// Keyed hashing (RFC 2104).
package enum HMAC {
    /// The authentication code of `message` under `key`.
    ///
    /// The corresponding C function is `HMAC`.
    package static func authenticationCode(
        for message: [UInt8], key: [UInt8], _ algorithm: MessageDigest.Algorithm
    ) throws(DigestError) -> [UInt8] {
        guard let handle = unsafe algorithm.handle else { throw DigestError(algorithm: "HMAC-" + algorithm.rawValue) }
        var isDone = false
        let code = unsafe [UInt8](unsafeUninitializedCapacity: Int(EVP_MAX_MD_SIZE)) { buffer, count in
            var length: UInt32 = 0
            // SAFETY: all pointers are used within the call; EVP_MAX_MD_SIZE bounds every code.
            isDone =
                unsafe COpenSSL.HMAC(
                    handle, key, Int32(key.count), message, message.count, buffer.baseAddress, &length
                ) != nil
            count = isDone ? Int(length) : 0
        }
        guard isDone else { throw DigestError(algorithm: "HMAC-" + algorithm.rawValue) }
        return code
    }
}

/// A key for many authentication codes: what is the same for all of them is computed once.
///
/// The corresponding C functions are `EVP_MAC_init`, `EVP_MAC_CTX_dup`, `EVP_MAC_update` and `EVP_MAC_final`.
@safe package final class HMACKey: Sendable {
    private let algorithm: MessageDigest.Algorithm
    // Owned: made in init and freed in deinit. SAFETY: it is only copied from, which threads may do at once.
    private nonisolated(unsafe) let template: OpaquePointer

    // Fetched once and kept, as digests are. SAFETY: as there.
    private nonisolated(unsafe) static let fetched = unsafe EVP_MAC_fetch(nil, "HMAC", nil)

    /// Takes a key of any length.
    ///
    /// - Throws: `DigestError` where OpenSSL refuses the algorithm.
    package init(_ key: [UInt8], _ algorithm: MessageDigest.Algorithm) throws(DigestError) {
        let context = unsafe Self.fetched.flatMap { unsafe EVP_MAC_CTX_new($0) }
        let label = Array("digest".utf8CString)
        var name = Array(algorithm.rawValue.utf8CString)
        // SAFETY: label and name stay where they are until the call that reads them returns; the end mark ends the parameters.
        let result = unsafe label.withUnsafeBufferPointer { label in
            unsafe name.withUnsafeMutableBufferPointer { name -> Int32 in
                guard unsafe context != nil, let label = label.baseAddress else { return 0 }
                var parameters = unsafe [
                    OSSL_PARAM_construct_utf8_string(label, name.baseAddress, 0), OSSL_PARAM_construct_end(),
                ]
                return unsafe EVP_MAC_init(context, key, key.count, &parameters)
            }
        }
        guard let context = unsafe context, result == 1 else {
            unsafe EVP_MAC_CTX_free(context)
            throw DigestError(algorithm: "HMAC-" + algorithm.rawValue)
        }
        self.algorithm = algorithm
        unsafe self.template = context
    }

    deinit { unsafe EVP_MAC_CTX_free(self.template) }

    /// The authentication code of a message.
    package func authenticationCode(for message: [UInt8]) throws(DigestError) -> [UInt8] {
        // SAFETY: the copy is ours and freed here; EVP_MAX_MD_SIZE bounds every code.
        let context = unsafe EVP_MAC_CTX_dup(self.template)
        defer { unsafe EVP_MAC_CTX_free(context) }
        var isDone = false
        let code = unsafe [UInt8](unsafeUninitializedCapacity: Int(EVP_MAX_MD_SIZE)) { buffer, count in
            isDone =
                unsafe context != nil && EVP_MAC_update(context, message, message.count) == 1
                && EVP_MAC_final(context, buffer.baseAddress, &count, buffer.count) == 1
            if !isDone { count = 0 }
        }
        guard isDone else { throw DigestError(algorithm: "HMAC-" + self.algorithm.rawValue) }
        return code
    }
}

/// Whether two codes are equal, in a time that does not tell where they differ.
///
/// The corresponding C function is `CRYPTO_memcmp`.
package func equalInConstantTime(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    // SAFETY: both arrays hold `left.count` bytes.
    unsafe left.count == right.count && CRYPTO_memcmp(left, right, left.count) == 0
}
