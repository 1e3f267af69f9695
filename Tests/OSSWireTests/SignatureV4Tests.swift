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
}

@Suite struct SignatureV1Tests {
    @Test(arguments: Vectors.all.v1)
    func `A published vector gives the published signature`(vector: Vectors.V1) throws {
        #expect(
            try SignatureV1.signature(ofStringToSign: vector.stringToSign, secret: vector.secret) == vector.signature)
    }

    @Test func `The string to sign holds sorted headers and only signed parameters`() {
        let request = SignableRequest(
            method: "PUT", bucket: "examplebucket", key: "nelson",
            query: [.init("uploadId", "A+B"), .init("max-parts", "7"), .init("partNumber", "1"), .init("acl")],
            headers: [
                "Content-MD5": "eB5eJF1ptWaXm4bijSPyxw==", "Content-Type": "text/html",
                "X-Oss-Meta-Magic": " abracadabra ",
                "x-oss-meta-author": "alice", "User-Agent": "none",
            ]
        )
        #expect(
            SignatureV1.stringToSign(request, date: "Wed, 28 Dec 2022 10:27:41 GMT") == """
                PUT
                eB5eJF1ptWaXm4bijSPyxw==
                text/html
                Wed, 28 Dec 2022 10:27:41 GMT
                x-oss-meta-author:alice
                x-oss-meta-magic:abracadabra
                /examplebucket/nelson?acl&partNumber=1&uploadId=A+B
                """
        )
    }
}
