import Cryptography
import Glibc
import Testing

@testable import gryt_push

@Suite(.timeLimit(.minutes(1)))
struct UpstreamSettingsTests {
    @Test func `Apple's settings are taken whole`() throws {
        let environment = Keys.apns.merging(["APNS_PRODUCTION_ORIGIN": "https://LOCALHOST:2197/"]) { $1 }
        let apns = try #require(try settings(environment).apns)
        #expect(apns.key.privateKeyPEM == Keys.apple)
        #expect(apns.keyID == "ABCDE12345")
        #expect(apns.teamID == "TEAM567890")
        #expect(apns.topic == "chat.gryt.app")
        #expect(apns.productionOrigin.host == "localhost")
        #expect(apns.productionOrigin.port == 2197)
        #expect(apns.sandboxOrigin.description == "https://api.sandbox.push.apple.com")
    }

    @Test func `a key with its line ends written out is taken`() throws {
        var environment = Keys.apns
        environment["APNS_KEY"] = Keys.apple.replacing("\n", with: "\\n")
        #expect(try settings(environment).apns?.key.privateKeyPEM == Keys.apple)
    }

    @Test(arguments: [
        (["APNS_KEY_ID", "APNS_TEAM_ID"], ["APNS_KEY"]), (["APNS_KEY"], ["APNS_KEY_ID", "APNS_TEAM_ID"]),
        (["APNS_KEY", "APNS_KEY_ID"], ["APNS_TEAM_ID"]), (["APNS_KEY", "APNS_TEAM_ID"], ["APNS_KEY_ID"]),
        (["APNS_TEAM_ID"], ["APNS_KEY", "APNS_KEY_ID"]),
    ])
    func `there is no half of Apple's settings`(set: [String], missing: [String]) {
        let lines = faults(Keys.apns.filter { set.contains($0.key) })
        #expect(lines.count == missing.count)
        for (line, name) in zip(lines, missing) { #expect(line.hasPrefix("\(name): missing")) }
    }

    @Test(arguments: ["ABCDE1234", "ABCDE123456", "abcde12345", "ABCDE 2345", "ABCDE1234\n", "ABCDÉ1234"])
    func `a name of ten other characters is no name`(text: String) {
        for name in ["APNS_KEY_ID", "APNS_TEAM_ID"] {
            let lines = faults(Keys.apns.merging([name: text]) { $1 })
            #expect(lines == ["\(name): must be the ten capital letters and digits that Apple shows for it"])
        }
    }

    @Test(arguments: ["", " ", "chat gryt", "chat/gryt", "chat.gryt\r\nx: y"])
    func `a topic is a bundle identifier`(text: String) {
        #expect(faults(["APNS_TOPIC": text]).count == (text.isEmpty ? 0 : 1))
    }

    @Test func `a key of the wrong kind is told apart, and none is shown`() {
        let wrong = [
            Keys.google: "wrong algorithm", ES256SigningKey.generate().publicKeyPEM: "public key",
            "no key at all": "not a PEM",
            String(Keys.apple.dropLast(40)): "not a PEM", Keys.apple + Keys.apple: "more than one",
        ]
        for (text, word) in wrong {
            let lines = faults(Keys.apns.merging(["APNS_KEY": text]) { $1 })
            #expect(lines.count == 1)
            #expect(lines.first?.hasPrefix("APNS_KEY: must be the private key") == true)
            #expect(lines.first?.contains(word) == true)
            #expect(lines.first?.contains("\n") == false)
        }
        #expect(
            faults([
                "FCM_SERVICE_ACCOUNT": Keys.account(["private_key": "\"\(Keys.apple.replacing("\n", with: "\\n"))\""])
            ])
                == [
                    "FCM_SERVICE_ACCOUNT: must be the JSON of a Google service account; its private_key is a key of the wrong algorithm"
                ])
    }

    @Test func `a key may come from a file, and the text itself wins over it`() throws {
        var environment = Keys.apns
        environment["APNS_KEY"] = nil
        environment["APNS_KEY_PATH"] = "/key.p8"
        #expect(try settings(environment, files: ["/key.p8": Keys.apple]).apns?.key.privateKeyPEM == Keys.apple)
        #expect(faults(environment) == ["APNS_KEY_PATH: the file cannot be read: No such file or directory"])
        #expect(faults(environment, files: ["/key.p8": "x"]).first?.hasPrefix("APNS_KEY_PATH: must be") == true)
        environment["APNS_KEY"] = Keys.apple
        let both = try settings(environment)
        #expect(both.apns != nil)
        #expect(both.warnings.map(\.variable) == ["APNS_KEY_PATH"])
    }

    @Test func `a service account is taken whole`() throws {
        let fcm = try #require(try settings(["FCM_SERVICE_ACCOUNT": Keys.account()]).fcm)
        #expect(fcm.account.projectID == "gryt-1234")
        #expect(fcm.account.clientEmail == "push@gryt-1234.iam.gserviceaccount.com")
        #expect(fcm.account.keyID == "0123abcd")
        #expect(fcm.account.key.privateKeyPEM == Keys.google)
        #expect(fcm.account.tokenURI.description == "https://oauth2.googleapis.com/token")
        #expect(fcm.origin.description == "https://fcm.googleapis.com")
    }

    @Test func `a service account may come from a file, and ask elsewhere for its tokens`() throws {
        let json = Keys.account(["token_uri": "\"https://127.0.0.1:4433/oauth/token\"", "universe_domain": "\"x\""])
        let fcm = try #require(try settings(["FCM_SERVICE_ACCOUNT_PATH": "/sa"], files: ["/sa": json]).fcm)
        #expect(fcm.account.tokenURI.origin.authority == "127.0.0.1:4433")
        #expect(fcm.account.tokenURI.path == "/oauth/token")
        #expect(
            faults(["FCM_SERVICE_ACCOUNT_PATH": "/sa"]).first?.hasPrefix("FCM_SERVICE_ACCOUNT_PATH: the file") == true)
    }

    @Test func `a service account whose key lost its escapes on the way is taken`() throws {
        let json = Keys.account(["private_key": "\"\(Keys.google)\""])
        #expect(try settings(["FCM_SERVICE_ACCOUNT": json]).fcm?.account.key.privateKeyPEM == Keys.google)
    }

    @Test(arguments: [
        ("project_id", nil, "its project_id is missing"), ("project_id", "null", "its project_id is missing"),
        ("project_id", "7", "its project_id is not a string"),
        ("project_id", "\"Gryt\"", "its project_id is not of the form"),
        ("project_id", "\"a/../b\"", "its project_id is not of the form"),
        ("project_id", "\"..\"", "its project_id is not of the form"),
        ("project_id", "\"\"", "its project_id is not of the form"),
        ("client_email", nil, "its client_email is missing"),
        ("client_email", "\"nobody\"", "its client_email is not of the form"),
        ("client_email", "\"a@b\\\"\"", "its client_email is not"),
        ("private_key_id", nil, "its private_key_id is missing"),
        ("private_key_id", "\"a b\"", "its private_key_id is not of the form"),
        ("private_key", nil, "its private_key is missing"),
        ("private_key", "\"x\"", "its private_key is not a PEM text"),
        ("token_uri", "\"http://oauth2.googleapis.com/token\"", "its token_uri is not an https URL"),
        ("token_uri", "\"https://user:pw@host/token\"", "its token_uri is not an https URL"),
        ("token_uri", "\"https://1.2.3/token\"", "its token_uri is not an https URL"),
        ("type", "\"authorized_user\"", "its type is not"),
    ])
    func `what a service account lacks is named`(member: String, value: String?, reason: String) {
        let changes: [String: String?] = [member: value]
        let lines = faults(["FCM_SERVICE_ACCOUNT": Keys.account(changes)])
        #expect(lines.count == 1)
        #expect(lines.first?.contains(reason) == true)
    }

    @Test(arguments: ["x", "[]", "null", "{", "\"{}\"", "{}x", "7"])
    func `what is no JSON object is no account`(text: String) {
        #expect(
            faults(["FCM_SERVICE_ACCOUNT": text]) == [
                "FCM_SERVICE_ACCOUNT: must be the JSON of a Google service account; not a JSON object"
            ])
    }

    @Test(arguments: [
        ("https://example.org", "example.org", 443), ("https://example.org/", "example.org", 443),
        ("HTTPS://Example.ORG:443", "example.org", 443),
        ("https://127.0.0.1:1", "127.0.0.1", 1), ("https://[::1]:65535", "::1", 65_535),
        ("https://[2001:DB8::1]", "2001:db8::1", 443),
        ("https://a-b.c", "a-b.c", 443), ("https://push_test.local", "push_test.local", 443),
    ])
    func `an origin is https, a host and perhaps a port`(text: String, host: String, port: Int) throws {
        let origin = try #require(
            try settings(["FCM_SERVICE_ACCOUNT": Keys.account(), "FCM_ORIGIN": text]).fcm?.origin)
        #expect(origin.host == host)
        #expect(origin.port == port)
        #expect(HTTPSOrigin(origin.description) == origin)
    }

    @Test(arguments: [
        "example.org", "http://example.org", "https://", "https:///", "https://example.org/v1", "https://example.org?x",
        "https://example.org#x",
        "https://user@example.org", "https://user:pw@example.org", "https://example.org:", "https://example.org:0",
        "https://example.org:65536",
        "https://example.org:+1", "https://example.org:a", "https://example .org", "https://-a.org", "https://a..org",
        "https://[::1", "https://::1",
        "https://[127.0.0.1]", "https://[::1]x", "https://ex\u{E4}mple.org", "https://example.org\n",
        " https://example.org", "https://example.org//", "https://1.2.3", "https://256.0.0.1", "https://1.2.3.4.5",
        "https://example.7", "https://example.org.",
    ])
    func `anything else is no origin`(text: String) {
        for name in ["APNS_PRODUCTION_ORIGIN", "APNS_SANDBOX_ORIGIN", "FCM_ORIGIN"] {
            #expect(
                faults([name: text]) == ["\(name): must be https://host or https://host:port and nothing behind it"])
        }
    }

    @Test func `additional roots are certificates in a file that can be read`() throws {
        let pem = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n"
        #expect(try settings(["UPSTREAM_CA_FILE": "/ca"], files: ["/ca": pem]).upstreamCAFile == "/ca")
        #expect(faults(["UPSTREAM_CA_FILE": "/ca"], files: ["/ca": Keys.apple]).count == 1)
        #expect(
            faults(["UPSTREAM_CA_FILE": "/ca"]) == [
                "UPSTREAM_CA_FILE: the file cannot be read: No such file or directory"
            ])
    }

    @Test func `the machine's own files are read, and what the system says is told`() throws {
        #expect(try !SystemFile.read("/proc/self/status").isEmpty)
        #expect(throws: FileFault(errno: 2)) { try SystemFile.read("/nowhere/at/all") }
        #expect(throws: FileFault(errno: 21)) { try SystemFile.read("/proc") }
        #expect(throws: FileFault.notAFile) { try SystemFile.read("/dev/zero") }
        #expect(SystemFile.reason(21) == "Is a directory")
    }

    @Test(.timeLimit(.minutes(1))) func `a pipe that nobody writes to is told, and not waited for`() throws {
        let path = "/tmp/gryt-settings-fifo-\(getpid())"
        try #require(unsafe mkfifo(path, 0o600) == 0)
        defer { unsafe unlink(path) }
        #expect(throws: FileFault.notAFile) { try SystemFile.read(path) }
        #expect(SystemFile.reason(.notAFile) == "it is a pipe, a socket or a device, and not a file")
    }
}
