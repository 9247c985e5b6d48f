import Cryptography
import Glibc
import LoopbackProxy
import PushSimulator
import Testing

/// `gryt-push check`, each thing wrong once: it is named, nothing else is, and the status says so.
@Suite(.serialized, .simulator, .timeLimit(.minutes(3)))
struct CheckFaultTests {
    /// One thing that is wrong.
    struct Wrong: Sendable, CustomTestStringConvertible {
        var testDescription: String
        /// What is told as wrong, and nothing else.
        var checks: Set<String>
        /// What one of these lines says.
        var says: String
        /// What one of them advises.
        var advises: String
        /// Makes it wrong.
        var spoil: @Sendable (PushSimulator, ScratchDirectory, inout [String: String]) async throws -> Void

        init(
            _ name: String, _ checks: Set<String>, says: String, advises: String,
            _ spoil: @escaping @Sendable (PushSimulator, ScratchDirectory, inout [String: String]) async throws -> Void
        ) {
            testDescription = name
            self.checks = checks
            self.says = says
            self.advises = advises
            self.spoil = spoil
        }
    }

    private static let connections: Set<String> = [
        "apns_connection", "apns_sandbox_connection", "oauth_connection", "fcm_connection",
    ]

    private static let wrongs: [Wrong] = credentials + ways + surroundings

    private static let credentials = [
        Wrong("another key id", ["apns", "apns_sandbox"], says: "InvalidProviderToken", advises: "APNS_KEY_ID") {
            $2["APNS_KEY_ID"] = "ZZZZZZZZZZ"
        },
        Wrong("another team", ["apns", "apns_sandbox"], says: "InvalidProviderToken", advises: "APNS_TEAM_ID") {
            $2["APNS_TEAM_ID"] = "ZZZZZZZZZZ"
        },
        Wrong("a revoked key", ["apns", "apns_sandbox"], says: "InvalidProviderToken", advises: "revoked") {
            simulator, _, _ in simulator.revokeAppleKey(simulator.apnsKeyID)
        },
        Wrong("another topic", ["apns", "apns_sandbox"], says: "TopicDisallowed", advises: "bundle id") {
            $2["APNS_TOPIC"] = "chat.other.app"
        },
        Wrong("a key for the sandbox", ["apns"], says: "BadEnvironmentKeyIdInToken", advises: "for production") {
            simulator, _, _ in
            let key = try ES256VerifyingKey(pem: simulator.apnsKey.publicKeyPEM)
            simulator.addAppleKey(
                AppleKey(keyID: simulator.apnsKeyID, teamID: simulator.apnsTeamID, key: key, environment: .sandbox))
        },
        Wrong("a key that may not push", ["apns"], says: "Forbidden", advises: "APNs") { simulator, _, _ in
            simulator.force(Fault(.refuse(status: 403, reason: "Forbidden")), on: .apnsProduction)
        },
        Wrong("a deleted key of Google's", ["oauth"], says: "does not know the account's key", advises: "new one") {
            simulator, _, _ in simulator.setServiceAccount(.keyRevoked)
        },
        Wrong("a deleted account", ["oauth"], says: "does not know the account", advises: "another service account") {
            simulator, _, _ in simulator.setServiceAccount(.deleted)
        },
        Wrong("a disabled account", ["oauth"], says: "disabled", advises: "enable it") { simulator, _, _ in
            let body = #"{"error":"invalid_grant","error_description":"Account has been disabled."}"#
            simulator.force(Fault(.answer(SimulatedAnswer(status: 400, body: body))), on: .oauth)
        },
        Wrong("a portal's page for a token", ["oauth"], says: "neither a token nor a reason", advises: "token_uri") {
            simulator, _, _ in simulator.force(.oauth(.pageAsSuccess), on: .oauth)
        },
        Wrong("another project", ["fcm"], says: "may not send in the project other-1", advises: "role") {
            simulator, directory, settings in
            let text = fileText(simulator.serviceAccountFile)
            let id = simulator.serviceAccount.projectID
            let other = text.replacing("\"project_id\":\"\(id)\"", with: "\"project_id\":\"other-1\"")
            #expect(other != text)
            directory.write(other, to: "other.json")
            shell("chmod 600 '\(directory.path)/other.json'")
            settings["FCM_SERVICE_ACCOUNT_PATH"] = directory.path + "/other.json"
        },
        Wrong("the API is not enabled", ["fcm"], says: "is not enabled", advises: "Firebase console") {
            simulator, _, _ in simulator.force(.fcm(.serviceDisabled), on: .fcm)
        },
        Wrong("the role is missing", ["fcm"], says: "may not send", advises: "role") { simulator, _, _ in
            simulator.force(.fcm(.callerDenied), on: .fcm)
        },
        Wrong("a project of another app", ["fcm"], says: "SENDER_ID_MISMATCH", advises: "built with") {
            simulator, _, _ in simulator.force(.fcm(.senderIDMismatch), on: .fcm)
        },
        Wrong("an address that is none of FCM's", ["fcm"], says: "no project", advises: "FCM_ORIGIN") {
            simulator, _, _ in simulator.force(.fcm(.notFoundPage), on: .fcm)
        },
        Wrong("a clock that is behind", ["oauth", "clock"], says: "s behind", advises: "set it") { simulator, _, _ in
            simulator.advanceClock(by: .seconds(400))
        },
        Wrong("a clock an hour ahead", ["oauth", "clock", "apns", "apns_sandbox"], says: "s ahead", advises: "set it") {
            simulator, _, _ in simulator.advanceClock(by: .seconds(-4000))
        },
    ]

    private static let ways = [
        Wrong("roots that do not know the services", connections, says: "not trusted", advises: "UPSTREAM_CA_FILE") {
            $2["UPSTREAM_CA_FILE"] = ""
        },
        Wrong("a certificate whose time is over", ["fcm_connection"], says: "not valid now", advises: "clock") {
            simulator, _, _ in simulator.setBehaviour(behaviour(.expired), of: .fcm)
        },
        Wrong("another host's certificate", ["oauth_connection"], says: "host name", advises: "name servers") {
            simulator, _, _ in simulator.setBehaviour(behaviour(.wrongName), of: .oauth)
        },
        Wrong("HTTP/1.1 only", ["apns_connection"], says: "does not speak HTTP/2", advises: "unopened") {
            simulator, _, _ in simulator.setBehaviour(behaviour(.http11), of: .apnsProduction)
        },
        Wrong("nobody listens", ["fcm_connection"], says: "Connection refused", advises: "firewall") {
            simulator, _, _ in await simulator.setListening(.refuses, of: .fcm)
        },
        Wrong("connections are taken and ended", ["apns_sandbox_connection"], says: "handshake failed", advises: "TLS")
        {
            simulator, _, _ in await simulator.receive(.apnsSandbox, with: .close)
        },
        Wrong("requests are not answered", ["apns"], says: "no answer", advises: "lies in between") {
            simulator, _, _ in simulator.force(Fault(.disconnect), on: .apnsProduction)
        },
        Wrong("a proxy that wants a password", connections, says: "407", advises: "password in HTTPS_PROXY") {
            simulator, _, settings in
            simulator.requireProxyCredentials(ProxyCredentials(user: "gryt", password: "geheim"))
            settings["HTTPS_PROXY"] = simulator.proxyURL(ProxyCredentials(user: "gryt", password: "falsch"))
        },
        Wrong("a proxy that forbids Google", ["oauth_connection", "fcm_connection"], says: "403", advises: "NO_PROXY") {
            simulator, _, settings in
            simulator.answerConnects(.refuses(status: 403), host: "127.0.0.1")
            settings["HTTPS_PROXY"] = simulator.proxyURL()
            settings["FCM_ORIGIN"] = settings["FCM_ORIGIN"]?.replacing("localhost", with: "127.0.0.1")
            let text = fileText(settings["FCM_SERVICE_ACCOUNT_PATH"]).replacing(
                "https://localhost:", with: "https://127.0.0.1:")
            settings["FCM_SERVICE_ACCOUNT_PATH"] = nil
            settings["FCM_SERVICE_ACCOUNT"] = text
        },
        Wrong("a proxy that is not there", connections, says: "no way to the proxy", advises: "HTTPS_PROXY") {
            $2["HTTPS_PROXY"] = "http://127.0.0.1:\(try freePort())"
        },
    ]

    private static let surroundings = [
        Wrong("a key that cannot be read", ["settings"], says: "No such file", advises: "Settings") {
            $2["APNS_KEY_PATH"] = $1.path + "/nowhere.p8"
        },
        Wrong("a key of the wrong kind", ["settings"], says: "wrong algorithm", advises: "Settings") {
            simulator, directory, settings in
            let account = JSON(text: fileText(simulator.serviceAccountFile))
            directory.write(account?["private_key"]?.string ?? "", to: "rsa.pem")
            shell("chmod 600 '\(directory.path)/rsa.pem'")
            settings["APNS_KEY_PATH"] = directory.path + "/rsa.pem"
        },
        Wrong("many settings at once", ["settings"], says: "decimal digits", advises: "Settings") {
            $2["PORT"] = "http"
            $2["IDLE_DAYS"] = "-1"
            $2["APNS_TEAM_ID"] = "short"
            $2["FCM_ORIGIN"] = "http://localhost"
        },
        Wrong("no credentials", ["apns_key"], says: "every registration is refused", advises: "APNS_KEY_PATH") {
            for name in ["APNS_KEY_PATH", "APNS_KEY_ID", "APNS_TEAM_ID", "FCM_SERVICE_ACCOUNT_PATH"] { $2[name] = "" }
        },
        Wrong("roots that are none", ["settings"], says: "PEM", advises: "PEM") { _, directory, settings in
            let text = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
            directory.write(text, to: "roots.pem")
            settings["UPSTREAM_CA_FILE"] = directory.path + "/roots.pem"
        },
        Wrong("a file in the place of DATA_DIR", ["data_dir"], says: "Not a directory", advises: "another path") {
            _, directory, settings in
            directory.write("", to: "file")
            settings["DATA_DIR"] = "file/data"
        },
        Wrong("a database of garbage", ["database"], says: "not a database", advises: "docs/backup.md") {
            _, directory, _ in shell("head -c 20000 /dev/urandom > '\(directory.path)/data/push.db'")
        },
        Wrong("another program's database", ["database"], says: "another program", advises: "DATA_DIR") {
            _, directory, _ in directory.sqlite("CREATE TABLE notes (text);", in: "data/push.db")
        },
        Wrong("half a secret", ["secret"], says: "wrong length", advises: "restore") { _, directory, _ in
            directory.write("0123", to: "data/secret.key")
            shell("chmod 600 '\(directory.path)/data/secret.key'")
        },
        Wrong("another program on the port", ["port"], says: "another program", advises: "HOST, PORT") {
            simulator, _, settings in settings["PORT"] = String(simulator.port(of: .fcm))
        },
        Wrong("an address of another machine", ["port"], says: "no address of this machine", advises: "0.0.0.0") {
            $2["HOST"] = "203.0.113.7"
        },
    ]

    private static func behaviour(_ profile: TLSProfile) -> ConnectionBehaviour {
        var behaviour = ConnectionBehaviour(firstConcurrentStreams: 100, concurrentStreams: 100)
        behaviour.tls = profile
        return behaviour
    }

    @Test(arguments: wrongs)
    func `what is wrong is named, and nothing else is`(wrong: Wrong) async throws {
        try await CheckedSimulator.lend { simulator, directory, settings in
            var settings = settings
            try await wrong.spoil(simulator, directory, &settings)
            let run = try await CheckRun(settings, in: directory)
            #expect(run.status == 1)
            #expect(run.checks("wrong") == wrong.checks, "\(run.lines)")
            let lines = run.lines.filter { $0.verdict == "wrong" }
            #expect(lines.contains { $0.seen.contains(wrong.says) }, "\(lines)")
            #expect(lines.contains { $0.advice?.contains(wrong.advises) == true }, "\(lines)")
        }
    }

    @Test func `every setting that cannot be right has a line, and unknown names are warned about`() async throws {
        try await CheckedSimulator.lend { _, directory, settings in
            let wrong = settings.merging([
                "PORT": "http", "APNS_KEY_ID": "", "LIMIT_PUSHES": "1", "RELAY_SECRET": "kurz",
                "UPSTREAM_CA_FILE": "/nowhere",
            ]) { $1 }
            let run = try await CheckRun(wrong, in: directory)
            #expect(run.status == 1)
            let lines = run["settings"]
            #expect(
                Set(lines.filter { $0.verdict == "wrong" }.compactMap(\.about)) == [
                    "PORT", "APNS_KEY_ID", "RELAY_SECRET", "UPSTREAM_CA_FILE",
                ])
            #expect(lines.filter { $0.verdict == "warning" }.compactMap(\.about) == ["LIMIT_PUSHES"])
            // By a way that is not the one that was meant, nobody is asked.
            #expect(run["oauth_connection"].first?.verdict == "skipped")
        }
    }

    @Test func `a damaged database and a lost secret are told, and left as they are`() async throws {
        let directory = ScratchDirectory()
        try await Stage.run(["WORKERS": "1"]) { stage in
            let relay = try await RelayUnderTest(stage.settings, in: directory)
            _ = try await relay.register(SimulatedPhone(.ios))
            await relay.end()
            let data = directory.path + "/data"
            shell("mv '\(data)/secret.key' '\(data)/kept'")
            let lost = try await CheckRun(stage.settings, in: directory, arguments: ["--offline"])
            #expect(lost.status == 1)
            #expect(lost.checks("wrong") == ["secret"])
            #expect(lost["secret"].first?.seen.contains("is gone") == true)
            #expect(shell("test -e '\(data)/secret.key'") != 0)
            shell("mv '\(data)/kept' '\(data)/secret.key'")
            shell("dd if=/dev/urandom of='\(data)/push.db' bs=4096 seek=2 count=1 conv=notrunc 2>/dev/null")
            let before = directory.bytes("data/push.db")
            let damaged = try await CheckRun(stage.settings, in: directory, arguments: ["--offline"])
            #expect(damaged.status == 1)
            #expect(damaged.checks("wrong") == ["database"])
            #expect(damaged["database"].first?.seen == "push.db is damaged")
            #expect(directory.bytes("data/push.db") == before)
        }
    }

    @Test func `a DATA_DIR that may not be written to is told`() async throws {
        try await CheckedSimulator.lend { _, directory, settings in
            shell("chmod 500 '\(directory.path)/data'")
            let run = try await CheckRun(settings, in: directory, arguments: ["--offline"]) { settings, arguments in
                try await unprivileged(settings, in: directory, arguments: arguments)
            }
            #expect(run.status == 1)
            #expect(run.checks("wrong") == ["data_dir"])
            #expect(run["data_dir"].first?.seen.contains("Permission denied") == true)
        }
    }

    @Test func `a limit of open files that is too low is told, and one that the relay may raise is not`() async throws {
        try await CheckedSimulator.lend { _, directory, settings in
            let program = try RelayUnderTest.programPath()
            func run(_ limit: String) async throws -> CheckRun {
                try await CheckRun(settings, in: directory, arguments: ["--offline"]) { settings, arguments in
                    try await ChildProcess(
                        "/bin/bash",
                        arguments: ["-c", "ulimit \(limit) 300; exec \"$@\"", "bash", program] + arguments,
                        environment: RelayUnderTest.usual.merging(settings) { $1 }, directory: directory)
                }
            }
            let low = try await run("-n")
            #expect(low.status == 1)
            #expect(low.checks("wrong") == ["open_files"])
            let seen = try #require(low["open_files"].first?.seen)
            #expect(seen.hasPrefix("300 files may be open, enough for 179 connections"))
            #expect(try await run("-Sn").status == 0)
        }
    }
}
