// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import OSSWire
import Testing

@testable import OSSMultipart

@Suite struct SigningKeyCacheTests {
    private static let noon = Timestamp(seconds: 1_702_728_000)

    private func authorization(_ signer: SignatureV4, _ key: SignatureV4.Key) throws -> String? {
        var request = SignableRequest(method: "GET", bucket: "b", key: "k")
        try signer.sign(&request, accessKeyID: "ak", key: key, securityToken: nil)
        return request.headers["Authorization"]
    }

    @Test func `A kept key signs as a fresh one, on the next day, after a change of secret and in another region too`()
        throws
    {
        let cache = SigningKeyCache()
        let days = [0, 3600, 86_400, 0].map { Timestamp(seconds: Self.noon.seconds + $0) }
        for (date, secret, region) in days.flatMap({ date in
            [
                (date, "one", "cn-hangzhou"), (date, "one", "cn-hangzhou"), (date, "two", "cn-hangzhou"),
                (date, "two", "cn-beijing"),
            ]
        }) {
            let signer = SignatureV4(date: date, region: region)
            var fresh = SignableRequest(method: "GET", bucket: "b", key: "k")
            try signer.sign(&fresh, accessKeyID: "ak", secret: secret, securityToken: nil)
            let kept = try self.authorization(signer, try cache.key(for: signer, secret: secret))
            #expect(kept == fresh.headers["Authorization"])
        }
    }
}
