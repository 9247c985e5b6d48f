import Cryptography
import Glibc
import PushSimulator
import Testing

/// `gryt-push check`, where most is right.
@Suite(.serialized, .simulator, .timeLimit(.minutes(2)))
struct CheckTests {
    @Test func `with everything right every line is ok, and nothing is changed`() async throws {
        try await CheckedSimulator.lend { simulator, directory, settings in
            let run = try await CheckRun(settings, in: directory)
            #expect(run.status == 0)
            // How much room there is on the disk is the machine's affair.
            let others = run.lines.filter { $0.check != "disk_space" }
            #expect(others.filter { $0.verdict != "ok" }.map(\.description) == [])
            #expect(
                run.lines.map(\.check) == [
                    "settings", "apns_key", "fcm_account", "file_mode", "file_mode", "data_dir", "disk_space",
                    "database",
                    "secret", "open_files", "port", "operator_port", "apns_connection", "apns_sandbox_connection",
                    "oauth_connection", "fcm_connection", "apns", "apns_sandbox", "oauth", "fcm", "clock",
                ])
            shell("ls -A '\(directory.path)/data' > '\(directory.path)/listing'")
            #expect(directory.text("listing") == "")
            for service in [SimulatedService.apnsProduction, .apnsSandbox] {
                let last = simulator.books().requests.last { $0.service == service }
                #expect(last?.reason == "BadDeviceToken")
            }
        }
    }

    @Test func `for people it is a line each, and one with what to do`() async throws {
        try await CheckedSimulator.lend { _, directory, settings in
            let wrong = settings.merging(["APNS_TOPIC": "chat.other.app", "FCM_SERVICE_ACCOUNT_PATH": ""]) { $1 }
            let record = try await RelayUnderTest.spawn(wrong, in: directory, arguments: ["check"]).end()
            #expect(record.status == 1)
            let lines = record.outputText.split(separator: "\n", omittingEmptySubsequences: false)
            #expect(lines.first?.hasPrefix("Nothing is delivered to anybody") == true)
            let place = try #require(lines.firstIndex { $0.hasPrefix("wrong    apns                     ") })
            #expect(lines[place].contains("TopicDisallowed"))
            #expect(lines[place + 1].hasPrefix("         -> APNS_TOPIC must be"))
            #expect(lines.contains { $0.hasPrefix("skipped  fcm_account") })
            #expect(lines.dropLast().last?.hasPrefix("2 wrong, ") == true)
        }
    }

    @Test func `beside a relay that runs it changes nothing, and says that the relay serves`() async throws {
        let directory = ScratchDirectory()
        let port = try freePort()
        try await Stage.run(["WORKERS": "1"]) { stage in
            let settings = stage.settings.merging(["PORT": String(port)]) { $1 }
            let operated = try await OperatedRelay(settings, in: directory)
            let relay = operated.relay
            let capability = try await relay.register(SimulatedPhone(.ios))
            let before = listing(directory)
            let asked = settings.merging(["METRICS_PORT": String(operated.operatorPort)]) { $1 }
            let run = try await CheckRun(asked, in: directory)
            #expect(run.status == 0, "\(run.lines)")
            #expect(run["port"].first?.seen.contains("a relay serves") == true)
            #expect(run["port"].first?.seen.contains("1.2.3-test") == true)
            #expect(run["operator_port"].first?.seen.contains("a relay serves") == true)
            #expect(run["database"].first?.seen.hasPrefix("1 iOS and 0 Android devices") == true)
            #expect(run["secret"].first?.seen.contains("is the one that the devices were registered under") == true)
            #expect(listing(directory) == before)
            #expect(try await relay.push(capability).status == 202)
            // Nobody holds the relay's lock but the relay, and it gives it up as ever.
            #expect(await relay.end().status == 0)
            let again = try await RelayUnderTest(settings, in: directory)
            #expect(try await again.push(capability).status == 202)
            await again.end()
            // After an orderly end, too, and no file is made to look.
            let rest = listing(directory)
            #expect(try await CheckRun(settings, in: directory).status == 0)
            #expect(listing(directory) == rest)
        }
    }

    @Test func `what a crash has left is left to the next start`() async throws {
        let directory = ScratchDirectory()
        try await Stage.run(["WORKERS": "1"]) { stage in
            let relay = try await RelayUnderTest(stage.settings, in: directory)
            let capability = try await relay.register(SimulatedPhone(.android))
            await relay.end(by: SIGKILL)
            let before = listing(directory)
            let run = try await CheckRun(stage.settings, in: directory)
            #expect(run.status == 0, "\(run.lines)")
            #expect(run["database"].first?.seen.hasPrefix("0 iOS and 1 Android devices") == true)
            shell("rm '\(directory.path)/data/push.db-shm'")
            let without = try await CheckRun(stage.settings, in: directory, arguments: ["--offline"])
            #expect(without["database"].first?.verdict == "skipped")
            #expect(listing(directory) == before)
            #expect(shell("test -e '\(directory.path)/data/push.db-shm'") != 0)
            let next = try await RelayUnderTest(stage.settings, in: directory)
            #expect(try await next.push(capability).status == 202)
            await next.end()
        }
    }

    /// Every file with its content, size and kind, but the index of the log, which every reader shares.
    private func listing(_ directory: ScratchDirectory) -> String {
        shell(
            """
            cd '\(directory.path)/data' && find . ! -name push.db-shm -printf '%p %y %s %m\\n' | sort > ../listing \
            && find . -type f ! -name push.db-shm -exec sha256sum {} + | sort >> ../listing
            """)
        return directory.text("listing")
    }

    @Test func `were there a phone by that name, Google would deliver nothing to it all the same`() async throws {
        try await CheckedSimulator.lend { simulator, directory, settings in
            let token = String(repeating: "0", count: 64)
            simulator.declareLive(token, platform: .android)
            let run = try await CheckRun(settings, in: directory)
            simulator.forget(token, platform: .android)
            #expect(run["fcm"].first?.seen.contains("would take the message") == true)
            #expect(run.status == 0)
        }
    }

    @Test func `offline nobody is asked`() async throws {
        try await CheckedSimulator.lend { simulator, directory, settings in
            let before = simulator.books().services.mapValues(\.connectionsOpened)
            let run = try await CheckRun(settings, in: directory, arguments: ["--offline"])
            #expect(run.status == 0)
            #expect(
                run.checks("skipped") == [
                    "apns_connection", "apns_sandbox_connection", "oauth_connection", "fcm_connection", "apns",
                    "apns_sandbox", "oauth", "fcm", "clock",
                ])
            #expect(simulator.books().services.mapValues(\.connectionsOpened) == before)
            // All is well, and nobody has heard of it.
            let unheard = try await ChildProcess(
                "/bin/sh",
                arguments: ["-c", "exec \"$0\" check --offline >/dev/full", try RelayUnderTest.programPath()],
                environment: RelayUnderTest.usual.merging(settings) { $1 }, directory: directory
            ).end()
            #expect(unheard.status == 1)
            #expect(unheard.errorText.contains("cannot be written: No space left"))
        }
    }

    @Test func `a warning fails only where that is asked for`() async throws {
        try await CheckedSimulator.lend { simulator, directory, settings in
            simulator.advanceClock(by: .seconds(120))
            let run = try await CheckRun(settings, in: directory)
            #expect(run.status == 0)
            #expect(run["clock"].first?.verdict == "warning")
            #expect(run["clock"].first?.seen.contains("behind") == true)
            #expect(try await CheckRun(settings, in: directory, arguments: ["--strict"]).status == 1)
        }
    }

    @Test func `a key for production alone warns of the sandbox`() async throws {
        try await CheckedSimulator.lend { simulator, directory, settings in
            let key = try ES256VerifyingKey(pem: simulator.apnsKey.publicKeyPEM)
            simulator.addAppleKey(
                AppleKey(
                    keyID: simulator.apnsKeyID, teamID: simulator.apnsTeamID, key: key, environment: .production))
            let run = try await CheckRun(settings, in: directory)
            #expect(run.status == 0)
            #expect(run["apns"].first?.verdict == "ok")
            #expect(run["apns_sandbox"].first?.verdict == "warning")
            #expect(run["apns_sandbox"].first?.seen.contains("BadEnvironmentKeyIdInToken") == true)
        }
    }

    @Test func `through a proxy everything is reached as the relay would reach it`() async throws {
        try await CheckedSimulator.lend { simulator, directory, settings in
            let credentials = ProxyCredentials(user: "gryt", password: "geheim")
            simulator.requireProxyCredentials(credentials)
            let proxied = settings.merging(["HTTPS_PROXY": simulator.proxyURL(credentials)]) { $1 }
            let run = try await CheckRun(proxied, in: directory)
            #expect(run.status == 0, "\(run.lines)")
            let place = "localhost:\(simulator.port(of: .proxy))"
            #expect(run["fcm_connection"].first?.seen.contains("through the proxy \(place)") == true)
        }
    }

    @Test func `keys that others may read are warned about`() async throws {
        try await CheckedSimulator.lend { simulator, directory, settings in
            directory.write(fileText(simulator.apnsKeyFile), to: "key.p8")
            directory.write("RELAY_SECRET=\(String(repeating: "0f1e", count: 16))\n", to: ".env")
            let own = settings.merging(["APNS_KEY_PATH": directory.path + "/key.p8"]) { $1 }
            let run = try await CheckRun(own, in: directory, arguments: ["--offline"])
            #expect(run.status == 0)
            let warned = run["file_mode"].filter { $0.verdict == "warning" }.map(\.about)
            #expect(warned == ["APNS_KEY_PATH", ".env"])
        }
    }

    @Test(arguments: [["--fast"], ["--json", "now"]])
    func `what it does not understand it says`(arguments: [String]) async throws {
        let directory = ScratchDirectory()
        let record = try await RelayUnderTest.spawn([:], in: directory, arguments: ["check"] + arguments).end()
        #expect(record.status == 2)
        #expect(record.errorText.hasPrefix("gryt-push: what is "))
        #expect(record.outputText == "")
    }
}
