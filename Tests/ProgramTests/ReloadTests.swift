import Glibc
import PushSimulator
import Testing

/// SIGHUP: settings are read anew, and no push is dropped for it.
@Suite(.timeLimit(.minutes(3)))
struct ReloadTests {
    /// A relay whose settings stand in `.env`, but for those without which a test does not start.
    private func start(
        _ dotEnv: [String: String], in directory: ScratchDirectory, _ more: [String: String] = [:]
    ) async throws -> OperatedRelay {
        write(dotEnv, in: directory)
        var unset: [String: String] = [:]
        for name in RelayUnderTest.usual.keys where name.hasPrefix("LIMIT_") { unset[name] = "" }
        return try await OperatedRelay(unset.merging(more) { $1 }, in: directory)
    }

    private func write(_ dotEnv: [String: String], in directory: ScratchDirectory) {
        directory.write(dotEnv.map { "\($0.key)='\($0.value)'\n" }.sorted().joined(), to: ".env")
    }

    /// Sends SIGHUP, and waits for so many lines of that kind.
    @discardableResult
    private func reload(_ relay: OperatedRelay, _ event: String = "reloaded", count: Int = 1) async -> String {
        relay.relay.process.signal(SIGHUP)
        let record = await relay.relay.process.wait { $0.outputText.ranges(of: "event=\(event) ").count >= count }
        return record.outputText.split(separator: "\n").last { $0.contains("event=\(event) ") }.map { String($0) } ?? ""
    }

    @Test func `a wrong topic that a reload brings costs no registration, whatever went well before it`() async throws {
        try await Stage.run { stage in
            let directory = ScratchDirectory()
            var dotEnv = stage.settings
            let relay = try await start(dotEnv, in: directory)
            var capabilities: [String] = []
            for _ in 0..<5 { capabilities.append(try await relay.relay.register(SimulatedPhone(.ios))) }
            for capability in capabilities { #expect(try await relay.relay.push(capability).status == 202) }
            stage.simulator.force(
                Fault(.refuse(status: 400, reason: "DeviceTokenNotForTopic")), on: .apnsProduction)
            dotEnv["APNS_TOPIC"] = "chat.gryt.other"
            write(dotEnv, in: directory)
            #expect(await reload(relay).contains("changed=APNS_TOPIC"))
            for capability in capabilities {
                #expect(try await relay.relay.push(capability).summary == "502 upstream_failed credentials")
            }
            await relay.relay.end()
        }
    }

    @Test func `a key that Apple refuses is replaced by a good one, and pushes under way end as they may`() async throws
    {
        try await Stage.run { stage in
            let directory = ScratchDirectory()
            var dotEnv = stage.settings
            let good = stage.files.text("simulator/apns-key.p8")
            shell("openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out '\(directory.path)/key.p8' 2>&1")
            dotEnv["APNS_KEY_PATH"] = directory.path + "/key.p8"
            let relay = try await start(dotEnv, in: directory)
            let phone = SimulatedPhone(.ios)
            let capability = try await relay.relay.register(phone)
            let android = try await relay.relay.register(SimulatedPhone(.android))
            #expect(try await relay.relay.push(android).status == 202)
            #expect(try await relay.relay.push(capability).summary == "502 upstream_failed credentials")
            let refused = #"gryt_push_credential_state{platform="ios",state="refused"}"#
            #expect(try await relay.scrape()[refused] == 1)

            // The file changes, its path does not.
            directory.write(good, to: "key.p8")
            let line = await reload(relay)
            #expect(line.contains("changed=APNS_KEY_PATH needs_restart=none"))
            #expect(try await relay.scrape()[#"gryt_push_credential_state{platform="ios",state="untried"}"#] == 1)
            #expect(try await relay.relay.push(capability).status == 202)
            #expect(try await relay.scrape()[refused] == 0)
            // What is about Google was left alone.
            #expect(try await relay.relay.push(android).status == 202)
            #expect(stage.simulator.books().oauthCalls == 1)
            await relay.relay.end()
        }
    }

    @Test(arguments: PhonePlatform.allCases)
    func
        `a push under way over old credentials is answered, its connection is closed then, and nothing fails meanwhile`(
            platform: PhonePlatform
        ) async throws
    {
        try await Stage.run { stage in
            let directory = ScratchDirectory()
            let name = platform == .ios ? "APNS_KEY_PATH" : "FCM_SERVICE_ACCOUNT_PATH"
            let file = platform == .ios ? "simulator/apns-key.p8" : "simulator/service-account.json"
            var dotEnv = stage.settings.merging(["LIMIT_PUSHES_PER_MINUTE_PER_DEVICE": "0"]) { $1 }
            dotEnv["LIMIT_PUSHES_PER_MINUTE_PER_IP"] = "0"
            let relay = try await start(dotEnv, in: directory, ["WORKERS": "1", "PUSH_BUDGET_MS": "30000"])
            let phone = SimulatedPhone(platform)
            let capability = try await relay.relay.register(phone)
            let busy = try await relay.relay.register(SimulatedPhone(platform))
            #expect(try await relay.relay.push(capability).status == 202)
            let upstream = platform == .ios ? "apns" : "fcm"
            let slow = Fault(
                .answer(SimulatedAnswer(status: 200)), delivers: true, times: 1, delay: .milliseconds(1500))
            stage.force(slow, on: phone)
            let senders = Senders(port: relay.relay.port, capability: busy, fresh: 2, keeping: 2)
            async let underWay = relay.relay.push(capability)
            while stage.simulator.attemptedCount(on: phone.token, platform: platform) < 2 { await Task.yield() }
            for number in 1...3 {
                directory.write(stage.files.text(file), to: "copy-\(number)")
                dotEnv[name] = directory.path + "/copy-\(number)"
                write(dotEnv, in: directory)
                try await senders.accept(more: 50)
                #expect(await reload(relay, count: number).contains("changed=\(name) "))
            }
            try await senders.accept(more: 50)
            #expect(try await underWay.status == 202)
            #expect(try await senders.stop() == [])
            let opened = #"gryt_push_upstream_connection_events_total{upstream="\#(upstream)",event="opened"}"#
            #expect(try await relay.scrape()[opened] ?? 0 >= 4)
            // One connection is left: the last one's.
            let service: SimulatedService = platform == .ios ? .apnsProduction : .fcm
            while stage.simulator.books()[service].connectionsOpen != 1 { await Task.yield() }
            await relay.relay.end()
        }
    }

    /// Where a relay's roots come from.
    enum Roots: CaseIterable {
        case fileOfOurs
        case systemsStore
    }

    @Test(arguments: Roots.allCases)
    func `other roots are trusted from the reload on`(roots: Roots) async throws {
        try await Stage.run { stage in
            let directory = ScratchDirectory()
            shell(
                """
                cd '\(directory.path)' && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 \
                    -subj /CN=other -keyout ca.key -out ca.pem 2>/dev/null
                """)
            let good = stage.settings["UPSTREAM_CA_FILE"].map { String(decoding: fileBytes($0), as: UTF8.self) } ?? ""
            var dotEnv = stage.settings
            let file = directory.path + "/ca.pem"
            dotEnv["UPSTREAM_CA_FILE"] = roots == .fileOfOurs ? file : nil
            // OpenSSL has the system's store where this says.
            let relay = try await start(dotEnv, in: directory, roots == .systemsStore ? ["SSL_CERT_FILE": file] : [:])
            let capabilities = [
                try await relay.relay.register(SimulatedPhone(.ios)),
                try await relay.relay.register(SimulatedPhone(.android)),
            ]
            for capability in capabilities {
                #expect(try await relay.relay.push(capability).status == 502)
            }
            // The file changes, its path does not.
            directory.write(good, to: "ca.pem")
            let changed = roots == .fileOfOurs ? "UPSTREAM_CA_FILE" : "none"
            #expect(await reload(relay).contains("changed=\(changed) "))
            // Whoever waited after the failure waits no more. The reload is told before the last loop has heard of it.
            for capability in capabilities {
                var answer = try await relay.relay.push(capability)
                for _ in 0..<100 where answer.status != 202 { answer = try await relay.relay.push(capability) }
                #expect(answer.status == 202)
            }
            await relay.relay.end()
        }
    }

    @Test func `limits change and what they remember stays`() async throws {
        try await Stage.run { stage in
            let directory = ScratchDirectory()
            var dotEnv = stage.settings.merging(["LIMIT_PUSHES_PER_MINUTE_PER_DEVICE": "2"]) { $1 }
            let relay = try await start(dotEnv, in: directory)
            let capability = try await relay.relay.register(SimulatedPhone(.ios))
            func pushes(_ count: Int) async throws -> [Int] {
                var statuses: [Int] = []
                for _ in 0..<count { statuses.append(try await relay.relay.push(capability).status) }
                return statuses
            }
            #expect(try await pushes(3) == [202, 202, 429])
            dotEnv["LIMIT_PUSHES_PER_MINUTE_PER_DEVICE"] = "3"
            dotEnv["LIMIT_REGISTRATIONS_PER_HOUR_PER_IP"] = "1"
            dotEnv["WORKERS"] = "1"
            dotEnv["LOG_FORMAT"] = "json"
            write(dotEnv, in: directory)
            let changed = "LIMIT_REGISTRATIONS_PER_HOUR_PER_IP,LIMIT_PUSHES_PER_MINUTE_PER_DEVICE"
            #expect(await reload(relay).contains("changed=\(changed) needs_restart=LOG_FORMAT"))
            #expect(try await pushes(2) == [202, 429])
            #expect(try await relay.relay.tryToRegister(SimulatedPhone(.ios)).summary == "429 too_many_registrations")
            // Nothing new, and still what waits.
            #expect(await reload(relay, count: 2).contains("changed=none needs_restart=LOG_FORMAT"))
            await relay.relay.end()
        }
    }

    @Test(arguments: [
        ("LIMIT_PUSHES_PER_MINUTE_PER_DEVICE", "s3cretValue"), ("APNS_KEY_PATH", "/nowhere/s3cretValue"),
        ("UPSTREAM_CA_FILE", "/etc/hostname"), ("PORT", "s3cretValue"), ("FCM_SERVICE_ACCOUNT", "s3cretValue"),
    ])
    func `settings that cannot be right change nothing, and are told without their value`(
        name: String, value: String
    ) async throws {
        try await Stage.run { stage in
            let directory = ScratchDirectory()
            var dotEnv = stage.settings
            let relay = try await start(dotEnv, in: directory, ["PORT": name == "PORT" ? "" : "0"])
            let capability = try await relay.relay.register(SimulatedPhone(.ios))
            #expect(try await relay.relay.push(capability).status == 202)
            dotEnv[name] = value
            dotEnv["LIMIT_PUSHES_PER_MINUTE_PER_IP"] = "1"
            write(dotEnv, in: directory)
            let line = await reload(relay, "reload_refused")
            #expect(line.contains("level=error event=reload_refused name=\(name) detail="))
            for _ in 0..<3 { #expect(try await relay.relay.push(capability).status == 202) }
            #expect(try await relay.ask("/readyz").status == 200)
            #expect(try await relay.scrape()[#"gryt_push_reloads_total{result="refused"}"#] == 1)
            #expect(try await relay.scrape()[#"gryt_push_reloads_total{result="applied"}"#] == 0)
            #expect(!(await relay.relay.end().outputText.contains("s3cretValue")))
        }
    }

    @Test func `a platform whose credentials are taken away is refused, and comes back with them`() async throws {
        try await Stage.run { stage in
            let directory = ScratchDirectory()
            let relay = try await start(stage.settings, in: directory)
            let capability = try await relay.relay.register(SimulatedPhone(.ios))
            write(stage.settings.filter { !$0.key.hasPrefix("APNS_KEY") && $0.key != "APNS_TEAM_ID" }, in: directory)
            await reload(relay)
            #expect(try await relay.relay.push(capability).summary == "503 ios_unavailable")
            #expect(
                try await relay.relay.tryToRegister(SimulatedPhone(.ios)).summary == "503 ios_unavailable")
            write(stage.settings, in: directory)
            await reload(relay, count: 2)
            #expect(try await relay.relay.push(capability).status == 202)
            await relay.relay.end()
        }
    }

    @Test func `a .env that is gone changes nothing, and an empty one does`() async throws {
        try await Stage.run { stage in
            let directory = ScratchDirectory()
            let relay = try await start(stage.settings, in: directory)
            let capability = try await relay.relay.register(SimulatedPhone(.ios))
            shell("mv '\(directory.path)/.env' '\(directory.path)/kept'; ln -s nowhere '\(directory.path)/.env'")
            #expect(await reload(relay, "reload_refused").contains("name=.env detail=\"is gone"))
            #expect(try await relay.relay.push(capability).status == 202)
            // Nor the second time.
            await reload(relay, "reload_refused", count: 2)
            #expect(try await relay.relay.push(capability).status == 202)
            shell("rm '\(directory.path)/.env'; touch '\(directory.path)/.env'")
            #expect(await reload(relay).contains("changed=APNS_"))
            #expect(try await relay.relay.push(capability).summary == "503 ios_unavailable")
            shell("mv '\(directory.path)/kept' '\(directory.path)/.env'")
            await reload(relay, count: 2)
            #expect(try await relay.relay.push(capability).status == 202)
            await relay.relay.end()
        }
    }

    @Test func `a pipe in place of a file is refused at once, at the start and at a reload`() async throws {
        let directory = ScratchDirectory()
        shell("mkfifo '\(directory.path)/pipe'")
        for name in ["APNS_KEY_PATH", "FCM_SERVICE_ACCOUNT_PATH", "UPSTREAM_CA_FILE"] {
            var settings = [name: directory.path + "/pipe"]
            if name == "APNS_KEY_PATH" {
                settings["APNS_KEY_ID"] = "ABCDEFGHIJ"
                settings["APNS_TEAM_ID"] = "ABCDEFGHIJ"
            }
            let record = try await RelayUnderTest.spawn(settings, in: directory).end()
            #expect(record.status == 78)
            #expect(record.errorText.hasPrefix("\(name): the file cannot be read: it is a pipe"))
        }
        let relay = try await start([:], in: directory)
        shell("rm '\(directory.path)/.env'; mkfifo '\(directory.path)/.env'")
        #expect(await reload(relay, "reload_refused").contains("name=.env "))
        #expect(await relay.relay.end().status == 0)
        #expect(try await RelayUnderTest.spawn([:], in: directory).end().errorText.hasPrefix(".env: cannot be read"))
    }
}
