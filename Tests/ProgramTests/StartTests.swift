import Cryptography
import Glibc
import PushSimulator
import Testing

/// What keeps the program from starting, and how it says so.
@Suite(.timeLimit(.minutes(3)))
struct StartTests {
    static let secret = "s3cretValue"

    @Test(
        arguments: [
            ("PORT", "eighty\(secret)"), ("PORT", "70000"), ("PORT", "-1"), ("PORT", "0x50"), ("PORT", "8080 "),
            ("HOST", secret), ("METRICS_PORT", "1e3"), ("WORKERS", "0"), ("LOG_LEVEL", secret), ("LOG_FORMAT", "xml"),
            ("LIMIT_PUSHES_PER_MINUTE_PER_IP", "1e9"), ("LIMIT_PUSHES_PER_MINUTE_PER_DEVICE", "-1"),
            ("LIMIT_REGISTRATIONS_PER_HOUR_PER_IP", "١٢"), ("IDLE_DAYS", "+5"), ("PUSH_BUDGET_MS", "0"),
            ("PUSH_BUDGET_MS", "4.5"), ("SHUTDOWN_TIMEOUT_MS", ""), ("TRUST_PROXY", "yes"),
            ("TRUSTED_PROXIES", "10.0.0.0/33"), ("TRUSTED_PROXIES", "10.0.0.0/8, \(secret)"),
            ("CLIENT_ADDRESS_HEADERS", "x-\(secret)"), ("APNS_KEY_PATH", "/nowhere/\(secret)"), ("APNS_KEY", secret),
            ("APNS_TOPIC", "not a bundle"), ("APNS_PRODUCTION_ORIGIN", "http://localhost"),
            ("APNS_SANDBOX_ORIGIN", "https://localhost/\(secret)"), ("FCM_ORIGIN", "https://\(secret)@localhost"),
            ("FCM_SERVICE_ACCOUNT", #"{"private_key":"\#(secret)"}"#), ("FCM_SERVICE_ACCOUNT", secret),
            ("FCM_SERVICE_ACCOUNT_PATH", "/nowhere/\(secret)"), ("UPSTREAM_CA_FILE", "/nowhere/\(secret)"),
            ("UPSTREAM_CA_FILE", "/etc/hostname"), ("RELAY_SECRET", secret),
        ].filter { !$0.1.isEmpty })
    func `a setting that cannot be right ends the start with one line that names it and never shows it`(
        name: String, value: String
    ) async throws {
        let directory = ScratchDirectory()
        var settings = [name: value]
        if name == "APNS_KEY" || name == "APNS_KEY_PATH" {
            settings["APNS_KEY_ID"] = "ABCDEFGHIJ"
            settings["APNS_TEAM_ID"] = "ABCDEFGHIJ"
        }
        let record = try await RelayUnderTest.spawn(settings, in: directory).end()
        #expect(record.status == 78)
        let lines = record.errorText.split(separator: "\n")
        #expect(lines.count == 1, "\(lines)")
        #expect(lines.first?.hasPrefix("\(name): ") == true, "\(lines)")
        #expect(!record.errorText.contains(Self.secret))
        #expect(!record.outputText.contains(Self.secret))
        #expect(shell("test -e '\(directory.path)/data'") != 0)
    }

    @Test func `half of Apple's settings are told by what is missing, all of it at once`() async throws {
        try await Stage.run { stage in
            var settings = stage.settings
            settings["APNS_KEY_ID"] = ""
            settings["APNS_TEAM_ID"] = ""
            settings["PORT"] = "x"
            let record = try await RelayUnderTest.spawn(settings, in: ScratchDirectory()).end()
            #expect(record.status == 78)
            let names = record.errorText.split(separator: "\n").map { $0.prefix { $0 != ":" } }
            #expect(names.sorted() == ["APNS_KEY_ID", "APNS_TEAM_ID", "PORT"])
        }
    }

    @Test func `a key of the wrong kind is refused`() async throws {
        try await Stage.run { stage in
            var settings = stage.settings
            let account = JSON(text: stage.files.text("simulator/service-account.json"))
            stage.files.write(account?["private_key"]?.string ?? "", to: "rsa.pem")
            settings["APNS_KEY_PATH"] = stage.files.path + "/rsa.pem"
            let record = try await RelayUnderTest.spawn(settings, in: ScratchDirectory()).end()
            #expect(record.status == 78)
            #expect(record.errorText.hasPrefix("APNS_KEY_PATH: "))
            #expect(!record.errorText.contains("MII"))
        }
    }

    @Test func `keys may stand in the environment itself, line ends escaped, and win over a path`() async throws {
        try await Stage.run { stage in
            var settings = stage.settings
            let key = stage.files.text("simulator/apns-key.p8")
            settings["APNS_KEY"] = key.split(separator: "\n").joined(separator: "\\n")
            settings["APNS_KEY_PATH"] = "/nowhere"
            settings["FCM_SERVICE_ACCOUNT"] = stage.files.text("simulator/service-account.json")
            settings["FCM_SERVICE_ACCOUNT_PATH"] = "/nowhere"
            let relay = try await RelayUnderTest(settings)
            for platform in PhonePlatform.allCases {
                let capability = try await relay.register(SimulatedPhone(platform))
                #expect(try await relay.push(capability).status == 202)
            }
            await relay.end()
        }
    }

    @Test func `a .env file in the working directory is read, and the environment wins`() async throws {
        let directory = ScratchDirectory()
        directory.write(
            """
            # as in the field
            export PUSH_VERSION="from file"
            PUSH_VERSION='7.0-file' # the last one counts
            LIMIT_REGISTRATIONS_PER_HOUR_PER_IP=1

            """, to: ".env")
        let unset = ["PUSH_VERSION": "", "LIMIT_REGISTRATIONS_PER_HOUR_PER_IP": ""]
        let fromFile = try await RelayUnderTest(unset, in: directory)
        #expect(try await fromFile.health().json?["version"]?.string == "7.0-file")
        await fromFile.end()
        let fromEnvironment = try await RelayUnderTest(["PUSH_VERSION": "8.0-env"], in: directory)
        #expect(try await fromEnvironment.health().json?["version"]?.string == "8.0-env")
        await fromEnvironment.end()

        directory.write("PORT=1\nthis is \(Self.secret)\n", to: ".env")
        let record = try await RelayUnderTest.spawn([:], in: directory).end()
        #expect(record.status == 78)
        #expect(record.errorText.hasPrefix(".env line 2: "))
        #expect(!record.errorText.contains(Self.secret))
    }

    @Test func `a name that looks like a setting and is none is warned about, without its value`() async throws {
        let relay = try await RelayUnderTest([
            "PUSH_BUGDET_MS": Self.secret, "LIMIT_PUSHES": Self.secret, "APNS_KEYS": Self.secret,
            "FCM_X": Self.secret, "OTHER": Self.secret,
        ])
        let output = await relay.end().outputText
        for name in ["PUSH_BUGDET_MS", "LIMIT_PUSHES", "APNS_KEYS", "FCM_X"] {
            #expect(output.contains("level=warning event=setting name=\(name) "))
        }
        #expect(output.contains("did you mean PUSH_BUDGET_MS?"))
        #expect(!output.contains("OTHER"))
        #expect(!output.contains(Self.secret))
    }

    @Test func `a port that is taken is told, by another relay's as by anybody's`() async throws {
        let first = try await RelayUnderTest([:])
        let second = try await RelayUnderTest.spawn(["PORT": "\(first.port)"], in: ScratchDirectory()).end()
        #expect(second.status == 1)
        #expect(second.errorText.hasPrefix("HOST, PORT: "))
        #expect(second.errorText.contains("port \(first.port)"))
        #expect(try await first.health().status == 200)
        await first.end()
    }

    @Test func `a data directory that cannot be one, and a database that is none, are told and left alone`()
        async throws
    {
        let directory = ScratchDirectory()
        directory.write("mine", to: "file")
        for path in ["file", "file/data", "/proc/data", "/dev/null"] {
            let record = try await RelayUnderTest.spawn(["DATA_DIR": path], in: directory).end()
            #expect(record.status == 1)
            #expect(record.errorText.hasPrefix("DATA_DIR: "))
            #expect(record.errorText.split(separator: "\n").count == 1)
            #expect(record.errorText.ranges(of: "DATA_DIR").count == 1)
        }
        #expect(directory.text("file") == "mine")
        let text = String(repeating: "This is no database. ", count: 500)
        directory.write(text, to: "other/push.db")
        let record = try await RelayUnderTest.spawn(["DATA_DIR": "other"], in: directory).end()
        #expect(record.status == 1)
        #expect(record.errorText.hasPrefix("DATA_DIR: "))
        #expect(directory.text("other/push.db") == text)
        shell("mkdir '\(directory.path)/third'")
        directory.sqlite("CREATE TABLE recipes (name TEXT); INSERT INTO recipes VALUES ('soup');", in: "third/push.db")
        let foreign = try await RelayUnderTest.spawn(["DATA_DIR": "third"], in: directory).end()
        #expect(foreign.status == 1)
        #expect(directory.sqlite("SELECT * FROM recipes", in: "third/push.db") == "soup\n")
    }

    @Test func `a database that is gone and a directory that is open to all are warned about`() async throws {
        let directory = ScratchDirectory()
        let settings = ["DATA_DIR": directory.path + "/store"]
        let first = try await RelayUnderTest(settings).end().outputText
        #expect(!first.contains("event=data_dir_open_to_others") && !first.contains("event=database_missing"))
        shell("rm '\(directory.path)'/store/push.db*; chmod 755 '\(directory.path)/store'")
        let second = try await RelayUnderTest(settings).end().outputText
        #expect(second.contains("level=warning event=data_dir_open_to_others "))
        #expect(second.contains("level=warning event=database_missing file=push.db "))
    }

    @Test func `the version and the help are printed, and nothing else is understood`() async throws {
        let directory = ScratchDirectory()
        let version = try await RelayUnderTest.spawn([:], in: directory, arguments: ["--version"]).end()
        #expect(version.status == 0)
        #expect(version.outputText == "1.2.3-test\n")
        let builtIn = try await RelayUnderTest.spawn(["PUSH_VERSION": ""], in: directory, arguments: ["--version"])
            .end()
        #expect(builtIn.outputText == "dev\n")
        let help = try await RelayUnderTest.spawn([:], in: directory, arguments: ["--help"]).end()
        #expect(help.status == 0)
        #expect(help.outputText.contains("SIGTERM"))
        let other = try await RelayUnderTest.spawn([:], in: directory, arguments: ["--port", "80"]).end()
        #expect(other.status == 64)
        #expect(other.outputText == "")
        for arguments in [["serve", "--help"], ["stats", "--help"], ["check", "-h"], ["health", "--help"]] {
            let again = try await RelayUnderTest.spawn([:], in: directory, arguments: arguments).end()
            #expect(again.status == 0)
            #expect(again.outputText == help.outputText)
        }
        for command in ["serve", "--version", "--help"] {
            let extra = try await RelayUnderTest.spawn([:], in: directory, arguments: [command, "extra"]).end()
            #expect(extra.status == 64)
            #expect(extra.errorText == "gryt-push: what is extra? Try gryt-push --help.\n")
        }
        #expect(shell("test -e '\(directory.path)/data'") != 0)
    }
}
