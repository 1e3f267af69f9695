// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import FoundationEssentials
import OSSLocalServer
import OSSWire
import Testing

@testable import OSSMultipart

@Suite(.timeLimit(.minutes(5))) struct CredentialsProviderTests {
    private func check(
        _ provider: OSSCredentialsProvider, _ id: String, _ secret: String, _ token: String?
    ) async throws {
        let credentials = try await provider.load()
        #expect(credentials.accessKeyID == id)
        #expect(credentials.accessKeySecret == secret)
        #expect(credentials.securityToken == token)
    }

    private func refusal(_ provider: OSSCredentialsProvider) async throws -> String {
        let error = try await failure { _ = try await provider.load() }
        #expect(error.code == .missingCredentials)
        return error.message
    }

    private func file(_ folder: String, _ text: String) throws -> URL {
        try TestFile(folder + "/config", Array(text.utf8)).url
    }

    // MARK: Keys

    @Test(arguments: ["", " ", "x y", "a\n", "\ta", "a\u{7F}", "schlüssel"])
    func `What can be no ID, no secret and no token is refused by name, and not shown`(text: String) throws {
        for (name, make) in [
            ("access key ID", { try OSSCredentials(accessKeyID: text, accessKeySecret: "s") }),
            ("access key secret", { try OSSCredentials(accessKeyID: "id", accessKeySecret: text) }),
            ("security token", { try OSSCredentials(accessKeyID: "id", accessKeySecret: "s", securityToken: text) }),
        ] as [(String, () throws -> OSSCredentials)] {
            #expect {
                try make()
            } throws: { error in
                guard let error = error as? OSSError, error.code == .missingCredentials else { return false }
                return error.message.contains("the \(name) \(text.isEmpty ? "is empty" : "holds")")
                    && (text.count < 2 || !error.message.contains(text))
            }
        }
    }

    // MARK: Files

    @Test(
        arguments: [
            ("[Credentials]\nlanguage=EN\naccessKeyID=id\naccessKeySecret=se=cret\n", nil, nil),
            (
                "; note\r\n# note\r\n[Bucket-Endpoint]\r\na=b\r\n[ Credentials ]\r\n accessKeyID = id \r\naccesskeysecret\t= "
                    + "se=cret\r\nstsToken=token\r\n", nil, "token"
            ),
            ("[default]\naccessKeyId=id\naccessKeySecret=se=cret\nstsToken=\n", nil, nil),
            ("[default]\na=b\n[profile dev]\naccessKeyId=id\naccessKeySecret=se=cret\n", "dev", nil),
            // A section of nothing but comments is none.
            (
                "[Credentials]\n# accessKeyID=old\n;accessKeySecret=old\n[default]\naccessKeyID=id\n"
                    + "accessKeySecret=se=cret\n", nil, nil
            ),
        ] as [(String, String?, String?)])
    func `The file of ossutil is read`(text: String, profile: String?, token: String?) async throws {
        try await withTemporaryFolder { folder in
            let file = try self.file(folder, text)
            try await self.check(.ossutilConfigFile(file, profile: profile), "id", "se=cret", token)
        }
    }

    @Test func `What is missing of ossutil's file is told, and no secret`() async throws {
        try await withTemporaryFolder { folder in
            let gone = try await self.refusal(.ossutilConfigFile(URL(filePath: folder + "/none")))
            #expect(gone.contains("none"))
            let file = try self.file(folder, "[Credentials]\naccessKeySecret=hush\n")
            let half = try await self.refusal(.ossutilConfigFile(file))
            #expect(half.contains("accessKeyID"))
            #expect(!half.contains("hush"))
            let other = try await self.refusal(.ossutilConfigFile(file, profile: "dev"))
            #expect(other.contains("[dev]"))
        }
    }

    @Test func `The profiles of the aliyun command line are read`() async throws {
        let token = try HTTPStandIn { _ in
            (200, #"{"Credentials":{"AccessKeyId":"STS.r","AccessKeySecret":"rs","SecurityToken":"rt"}}"#)
        }
        try await withTemporaryFolder { folder in
            let oidc = try TestFile(folder + "/oidc", Array("jwt\n".utf8))
            let file = try self.file(
                folder,
                """
                {"current":"b","meta_path":"","profiles":[
                {"name":"a","mode":"AK","access_key_id":"ida","access_key_secret":"sa","retry_timeout":10},
                {"name":"b","mode":"StsToken","access_key_id":"idb","access_key_secret":"sb","sts_token":"tb"},
                {"name":"c","mode":"RamRoleArn","access_key_id":"idc","access_key_secret":"sc","ram_role_arn":"acs:r",
                "ram_session_name":"session","expired_seconds":900},
                {"name":"d","mode":"OIDC","ram_role_arn":"acs:r","oidc_provider_arn":"acs:p","oidc_token_file":"\(oidc.path)"},
                {"name":"e","mode":"External","process_command":"printf {\\"mode\\":\\"AK\\",\\"access_key_id\\":\\"ide\\",\\"access_key_secret\\":\\"se\\"}"},
                {"name":"f","mode":"CloudSSO"},{"name":"g","mode":"AK","access_key_id":"idg"},
                {"name":"h","mode":"EcsRamRole","ram_role_name":"role"},{"name":"i","mode":"EcsRamRole","ram_role_name":""}]}
                """)
            let metadata = try HTTPStandIn { request in
                switch request.path {
                case "/latest/meta-data/ram/security-credentials/": (200, "other")
                case "/latest/meta-data/ram/security-credentials/role":
                    (200, #"{"Code":"Success","AccessKeyId":"STS.h","AccessKeySecret":"sh","SecurityToken":"th"}"#)
                case "/latest/meta-data/ram/security-credentials/other":
                    (200, #"{"Code":"Success","AccessKeyId":"STS.i","AccessKeySecret":"si","SecurityToken":"ti"}"#)
                default: (404, "")
                }
            }
            func profile(_ name: String?) -> OSSCredentialsProvider {
                .aliyunConfigFile(file, profile: name, metadataService: metadata.url, stsEndpoint: token.url)
            }
            try await self.check(profile("a"), "ida", "sa", nil)
            try await self.check(profile(nil), "idb", "sb", "tb")
            try await self.check(profile("c"), "STS.r", "rs", "rt")
            #expect(token.requests.last?.form.value(of: "DurationSeconds") == "900")
            #expect(token.requests.last?.form.value(of: "RoleSessionName") == "session")
            try await self.check(profile("d"), "STS.r", "rs", "rt")
            #expect(token.requests.last?.form.value(of: "OIDCToken") == "jwt")
            try await self.check(profile("e"), "ide", "se", nil)
            try await self.check(profile("h"), "STS.h", "sh", "th")
            try await self.check(profile("i"), "STS.i", "si", "ti")
            let mode = try await self.refusal(profile("f"))
            #expect(mode.contains("CloudSSO"))
            let half = try await self.refusal(profile("g"))
            #expect(half.contains("access_key_secret"))
            let none = try await self.refusal(profile("z"))
            #expect(none.contains("z"))
            let broken = try await self.refusal(.aliyunConfigFile(try self.file(folder, "{\"hush\":")))
            #expect(!broken.contains("hush"))
        }
    }

    // MARK: Process

    @Test func `A program prints credentials`() async throws {
        let document =
            #"{"Version":1,"AccessKeyId":"id","AccessKeySecret":"s","SecurityToken":"t","Expiration":"2030-01-31T12:00:00Z"}"#
        let provider = OSSCredentialsProvider.process(["printf", "%s", document])
        try await self.check(provider, "id", "s", "t")
        let credentials = try await provider.load()
        #expect(credentials.expiration == Date(timeIntervalSince1970: 1_896_091_200))
        #expect(provider.canRefresh)
    }

    @Test(arguments: [
        ["/no/such/program"], [], ["false"], ["printf", "hush"], ["printf", "{\"AccessKeyId\":\"hush\"}"],
        ["sh", "-c", "kill -9 $$"],
        ["printf", "{\"AccessKeyId\":\"hush\",\"AccessKeySecret\":\"hush\",\"Expiration\":\"hush\"}"],
    ])
    func `A program that gives none is told of, not its output`(command: [String]) async throws {
        let message = try await self.refusal(.process(command))
        #expect(!message.contains("hush"))
    }

    @Test(arguments: ["exit 3", "kill -9 $$"])
    func `A program that fails is told of, whatever it printed before`(end: String) async throws {
        let printing = #"printf '{"AccessKeyId":"hush","AccessKeySecret":"hush"}'"#
        let message = try await self.refusal(.process(["sh", "-c", "\(printing); \(end)"]))
        #expect(message.hasSuffix(end == "exit 3" ? "sh, ended with status 3" : "sh, was killed"))
        #expect(!message.contains("hush"))
    }

    @Test func `A program that does not end, or prints without end, is killed`() async throws {
        let clock = ContinuousClock(), start = clock.now
        let slow = try await self.refusal(.process(["sleep", "3600"], timeLimit: .milliseconds(50)))
        #expect(slow.contains("cannot be run"))
        #expect(clock.now - start < .seconds(30), "the limit is not the one that was asked for")
        let endless = try await self.refusal(.process(["yes"]))
        #expect(endless.contains("cannot be run"))
    }

    // MARK: Services

    @Test(arguments: [true, false])
    func `The metadata service gives a role's credentials, hardened or not`(isHardened: Bool) async throws {
        let service = try HTTPStandIn { request in
            switch (request.method, request.path) {
            case ("PUT", "/latest/api/token"): isHardened ? (200, "TOKEN") : (404, "")
            case ("GET", "/latest/meta-data/ram/security-credentials/"): (200, "role a\n")
            case ("GET", "/latest/meta-data/ram/security-credentials/role%20a"):
                (
                    200,
                    """
                    {"Code":"Success","AccessKeyId":"STS.e","AccessKeySecret":"es","SecurityToken":"et",
                    "Expiration":"2030-01-31T12:00:00Z","LastUpdated":"2030-01-31T06:00:00Z"}
                    """
                )
            default: (404, "")
            }
        }
        let provider = OSSCredentialsProvider.ecsRAMRole(metadataService: service.url)
        try await self.check(provider, "STS.e", "es", "et")
        let gets = service.requests.filter { $0.method == "GET" }
        #expect(gets.count == 2)
        #expect(gets.allSatisfy { $0.headers["X-aliyun-ecs-metadata-token"] == (isHardened ? "TOKEN" : nil) })
        // A role that is named is not looked up.
        try await self.check(.ecsRAMRole("role a", metadataService: service.url), "STS.e", "es", "et")
        #expect(service.requests.count == 5)
        let other = try await self.refusal(.ecsRAMRole("other", metadataService: service.url))
        #expect(other.contains("other"))
    }

    @Test func `A metadata service without a role, or that is not there, is told of`() async throws {
        let service = try HTTPStandIn { _ in (404, "") }
        let none = try await self.refusal(.ecsRAMRole(metadataService: service.url))
        #expect(none.contains("RAM role"))
        let port = try TestSocket.listening().port
        let gone = try await self.refusal(.ecsRAMRole(metadataService: "http://127.0.0.1:\(port)"))
        #expect(gone.contains("does not answer"))
        let wrong = try await self.refusal(.ecsRAMRole(metadataService: "ftp://x"))
        #expect(wrong.contains("ftp"))
    }

    @Test func `A role is taken on with a signed request`() async throws {
        let service = try HTTPStandIn { _ in
            (
                200,
                """
                {"RequestId":"R","AssumedRoleUser":{"Arn":"a"},"Credentials":{"AccessKeyId":"STS.r","AccessKeySecret":"rs",
                "SecurityToken":"rt","Expiration":"2030-01-31T12:00:00Z"}}
                """
            )
        }
        var role = OSSAssumedRole(arn: "acs:ram::1:role/a b")
        role.endpoint = service.url
        role.policy = "{\"Version\":\"1\"}"
        let source = OSSCredentialsProvider.fixed(
            try OSSCredentials(accessKeyID: "id", accessKeySecret: "hush", securityToken: "to+ken"))
        try await self.check(.assumeRole(role, as: source), "STS.r", "rs", "rt")
        let request = try #require(service.requests.first)
        #expect((request.method, request.path) == ("POST", "/"))
        #expect(!request.body.contains("hush"))
        let form = request.form
        #expect(form.value(of: "Action") == "AssumeRole")
        #expect(form.value(of: "RoleArn") == "acs:ram::1:role/a b")
        #expect(form.value(of: "SecurityToken") == "to+ken")
        #expect(form.value(of: "Policy") == "{\"Version\":\"1\"}")
        // By the service's document, computed here once more: sorted, escaped, escaped again, HMAC-SHA1.
        let sorted = form.filter { $0.name != "Signature" }
            .map { "\(PercentEncoding.encode($0.name))=\(PercentEncoding.encode($0.value ?? ""))" }.sorted()
        let text = "POST&%2F&" + PercentEncoding.encode(sorted.joined(separator: "&"))
        let code = try HMAC.authenticationCode(for: Array(text.utf8), key: Array("hush&".utf8), .sha1)
        #expect(form.value(of: "Signature") == Base64.encode(code))
    }

    @Test func `A refusal of the token service names its code and request`() async throws {
        let service = try HTTPStandIn { _ in
            (403, #"{"RequestId":"REQ","Code":"NoPermission","Message":"You are not authorized."}"#)
        }
        var role = OSSAssumedRole(arn: "acs:r")
        role.endpoint = service.url
        let source = OSSCredentialsProvider.fixed(try OSSCredentials(accessKeyID: "id", accessKeySecret: "s"))
        let message = try await self.refusal(.assumeRole(role, as: source))
        #expect(message.contains("NoPermission"))
        #expect(message.contains("REQ"))
    }

    @Test func `A token service that fails is asked again, one that talks nonsense is told of`() async throws {
        try await withTemporaryFolder { folder in
            let token = try TestFile(folder + "/token", Array("jwt".utf8))
            let counter = Counter()
            let service = try HTTPStandIn { _ in
                counter.next() < 2
                    ? (500, "")
                    : (200, #"{"Credentials":{"AccessKeyId":"STS.o","AccessKeySecret":"os","SecurityToken":"ot"}}"#)
            }
            var role = OSSAssumedRole(arn: "acs:r")
            role.endpoint = service.url
            try await self.check(.oidc(role, providerARN: "acs:p", tokenFile: token.url), "STS.o", "os", "ot")
            #expect(service.requests.count == 3)
            #expect(service.requests[0].form.value(of: "Action") == "AssumeRoleWithOIDC")
            #expect(service.requests[0].form.value(of: "OIDCProviderArn") == "acs:p")
            #expect(service.requests[0].form.value(of: "Signature") == nil)

            let nonsense = try HTTPStandIn { _ in (200, "<html>") }
            role.endpoint = nonsense.url
            let message = try await self.refusal(.oidc(role, providerARN: "acs:p", tokenFile: token.url))
            #expect(message.contains("no credentials"))
        }
    }

    // MARK: Chain

    @Test func `The first of a chain that has credentials gives them`() async throws {
        let id = try OSSCredentials(accessKeyID: "id", accessKeySecret: "s")
        let missing = OSSCredentialsProvider.process(["/no/such/program"])
        try await self.check(.chain([missing, .fixed(id), missing]), "id", "s", nil)
        #expect(OSSCredentialsProvider.chain([missing]).canRefresh)
        #expect(!OSSCredentialsProvider.chain([.fixed(id)]).canRefresh)
        struct Hush: Error { let secret = "hush" }
        let message = try await self.refusal(.chain([missing, .refreshing { throw Hush() }]))
        #expect(message.contains("process: "))
        #expect(message.contains("none of 2"))
        #expect(!message.contains("hush"))
    }

    @Test func `A client works with a role's credentials from end to end`() async throws {
        let service = try HTTPStandIn { _ in
            (200, #"{"Credentials":{"AccessKeyId":"STS.1","AccessKeySecret":"secret","SecurityToken":"tok/en+="}}"#)
        }
        var role = OSSAssumedRole(arn: "acs:r")
        role.endpoint = service.url
        let source = OSSCredentialsProvider.fixed(try OSSCredentials(accessKeyID: "id", accessKeySecret: "s"))
        try await withLocalServer(
            { $0.accounts = [.init(accessKeyID: "STS.1", accessKeySecret: "secret", securityToken: "tok/en+=")] },
            credentials: .assumeRole(role, as: source)
        ) { fixture in
            _ = try await fixture.client.putObject(.init(bucket: "media", key: "k", body: .bytes([1])))
            _ = try await fixture.client.headObject(.init(bucket: "media", key: "k"))
        }
        #expect(service.requests.count == 1)
    }
}
