// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import OSSWire
import Testing

@Suite struct SignatureV4Tests {
    @Test(arguments: Vectors.all.v4)
    func `A published vector gives the published texts and signature`(vector: Vectors.V4) throws {
        var (request, signer) = vector.input
        if vector.mode == "query" {
            try signer.presign(
                &request, accessKeyID: vector.accessKeyID, secret: vector.secret, securityToken: vector.securityToken,
                expires: try #require(vector.expiresSeconds)
            )
            #expect(request.query.value(of: "x-oss-signature") == vector.signature)
        } else {
            try signer.sign(
                &request, accessKeyID: vector.accessKeyID, secret: vector.secret, securityToken: vector.securityToken
            )
            #expect(request.headers["Authorization"]?.hasSuffix(",Signature=" + vector.signature) == true)
        }
        #expect(signer.canonicalRequest(request) == vector.canonicalRequest)
        #expect(try signer.stringToSign(canonicalRequest: vector.canonicalRequest) == vector.stringToSign)
        #expect(try signer.signature(ofStringToSign: vector.stringToSign, secret: vector.secret) == vector.signature)
    }

    @Test func `Additional headers are named in the authorization only where some count`() throws {
        let date = Timestamp(seconds: 1_702_743_657)
        var plain = SignableRequest(method: "GET", headers: ["abc": "value"])
        try SignatureV4(date: date, region: "cn-hangzhou", additionalHeaders: ["x-oss-date", "missing"])
            .sign(&plain, accessKeyID: "ak", secret: "sk", securityToken: nil)
        #expect(plain.headers["Authorization"]?.contains("AdditionalHeaders") == false)

        var additional = SignableRequest(method: "GET", headers: ["ZAbc": "value", "abc": "value"])
        try SignatureV4(date: date, region: "cn-hangzhou", additionalHeaders: ["abc", "ZAbc"])
            .sign(&additional, accessKeyID: "ak", secret: "sk", securityToken: nil)
        #expect(additional.headers["Authorization"]?.contains(",AdditionalHeaders=abc;zabc,Signature=") == true)
    }

    @Test func `Blanks around a header's value do not count, nor does the case of its name`() throws {
        let signer = SignatureV4(date: Timestamp(seconds: 1_702_743_657), region: "cn-hangzhou")
        let plain = SignableRequest(method: "PUT", headers: ["content-type": "text/plain", "x-oss-meta-a": "b c"])
        let other = SignableRequest(method: "PUT", headers: ["X-OSS-Meta-A": " b c\t", "Content-Type": " text/plain "])
        #expect(signer.canonicalRequest(other) == signer.canonicalRequest(plain))
        #expect(signer.canonicalRequest(plain).contains("\nx-oss-meta-a:b c\n"))
    }
}
