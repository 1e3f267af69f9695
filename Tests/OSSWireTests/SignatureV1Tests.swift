// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import OSSWire
import Testing

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

    @Test(
        arguments: [
            ("key", nil, 1_699_807_420, "dcLTea+Yh9ApirQ8o8dOPqtvJXQ="),
            ("key+123", "token", 1_699_808_204, "jzKYRrM5y6Br0dRFPaTGOsbrDhY="),
        ] as [(String, String?, Int64, String)])
    func `A published presigned URL comes out as published`(
        key: String, token: String?, expires: Int64, signature: String
    ) throws {
        // The rows of vectors.json that sign a query, as the requests that they come of.
        #expect(Vectors.all.v1.contains { $0.signature == signature })
        var request = SignableRequest(
            method: "GET", bucket: "bucket", key: key, query: [.init("versionId", "versionId")])
        try SignatureV1.presign(
            &request, accessKeyID: "ak", secret: "sk", securityToken: token, expires: Timestamp(seconds: expires))
        #expect(request.query.value(of: "Signature") == signature)
        #expect(request.query.value(of: "OSSAccessKeyId") == "ak")
        #expect(request.query.value(of: "Expires") == String(expires))
        #expect(request.query.value(of: "security-token") == token)
    }
}
