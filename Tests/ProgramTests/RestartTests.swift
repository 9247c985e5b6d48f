import Cryptography
import Glibc
import GrytPushPreview
import PushSimulator
import Testing

/// What is left when the program ends, in order or not.
@Suite(.timeLimit(.minutes(3)))
struct RestartTests {
    @Test(arguments: [SIGTERM, SIGKILL, SIGINT])
    func `what a phone or server was told is still true after a restart`(signal: Int32) async throws {
        let directory = ScratchDirectory()
        try await Stage.run { stage in
            let first = try await RelayUnderTest(stage.settings, in: directory)
            let phones = (0..<8).map { SimulatedPhone($0.isMultiple(of: 2) ? .ios : .android) }
            var capabilities: [String] = []
            for phone in phones { capabilities.append(try await first.register(phone, env: "sandbox", opens: true)) }
            #expect(try await first.remove(capabilities[0]).status == 204)
            stage.simulator.declareDead(phones[1].token, platform: .android)
            #expect(try await first.push(capabilities[1]).status == 410)
            let late = try await first.register(phones[0])
            let record = await first.end(by: signal)
            #expect(record.status == (signal == SIGKILL ? -SIGKILL : 0))

            let second = try await RelayUnderTest(stage.settings, in: directory)
            stage.simulator.declareLive(phones[1].token, platform: .android)
            for capability in capabilities.prefix(2) {
                #expect(try await second.push(capability).summary == "404 unknown_capability")
            }
            for (phone, capability) in zip(phones, capabilities).dropFirst(2) {
                let preview = phone.seal(.init(title: "t", body: "b"), tag: tag(of: capability))
                #expect(try await second.push(capability, preview: preview).status == 202)
                let notification = try #require(stage.notifications(for: phone).first)
                #expect(notification.service == (phone.platform == .ios ? .apnsSandbox : .fcm))
                #expect(phone.show(notification)?.isPreview == true)
            }
            #expect(try await second.push(late).status == 202)
            await second.end()
            #expect(directory.sqlite("PRAGMA integrity_check", in: "data/push.db") == "ok\n")
        }
    }

    @Test func `every event is counted, and the counts are on disk when the program has ended`() async throws {
        let directory = ScratchDirectory()
        try await Stage.run { stage in
            for _ in 0..<2 {
                let relay = try await RelayUnderTest(stage.settings, in: directory)
                for platform in PhonePlatform.allCases {
                    let phone = SimulatedPhone(platform)
                    let capability = try await relay.register(phone)
                    for kind in ["mention", "dm", "dm", "message", "message", "message"] {
                        #expect(try await relay.push(capability, kind: kind).status == 202)
                    }
                    stage.force(
                        Fault(.refuse(status: 503, reason: "ServiceUnavailable", retryAfter: "20"), times: 1), on: phone
                    )
                    #expect(try await relay.push(capability).status == 502)
                    stage.simulator.declareDead(phone.token, platform: platform)
                    #expect(try await relay.push(capability).status == 410)
                    #expect(try await relay.push(capability).status == 404)
                }
                await relay.end()
            }
            let counts = directory.sqlite(
                "SELECT event, platform, kind, sum(n) FROM daily_count GROUP BY 1, 2, 3 ORDER BY 1, 2, 3",
                in: "data/push.db")
            var expected: [String] = []
            for event in ["failed", "gone", "registered"] {
                expected += ["android", "ios"].map { "\(event)|\($0)||2" }
            }
            for platform in ["android", "ios"] {
                expected += [("dm", 4), ("mention", 2), ("message", 6)].map { "sent|\(platform)|\($0.0)|\($0.1)" }
            }
            #expect(counts.split(separator: "\n").map { String($0) } == expected)
        }
    }

    @Test(arguments: PhonePlatform.allCases)
    func `a push that was under way when the process was killed is never sent by the next one`(
        platform: PhonePlatform
    ) async throws {
        let directory = ScratchDirectory()
        try await Stage.run { stage in
            let first = try await RelayUnderTest(stage.settings, in: directory)
            let phone = SimulatedPhone(platform)
            let capability = try await first.register(phone)
            let other = try await first.register(SimulatedPhone(platform))
            stage.force(Fault(.silence), on: phone)
            let underWay = Task { try await first.push(capability) }
            func attempts() -> Int { stage.simulator.attemptedCount(on: phone.token, platform: platform) }
            while attempts() == 0 { await Task.yield() }
            await first.end(by: SIGKILL)
            await #expect(throws: ClientFault.self) { try await underWay.value }
            stage.simulator.clearFaults(of: phone.token, platform: platform)

            // The next one does everything that a relay does, from its start to its end.
            let second = try await RelayUnderTest(stage.settings, in: directory)
            #expect(try await second.push(other).status == 202)
            #expect(await second.end().status == 0)
            #expect(attempts() == 1)
            #expect(stage.notifications(for: phone).isEmpty)
        }
    }

    @Test(arguments: [SIGSEGV, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGQUIT])
    func `a crash leaves neither a core file nor a message, for there are secrets in memory`(
        signal: Int32
    ) async throws {
        let record = try await RelayUnderTest([:]).end(by: signal)
        #expect(record.status == -signal)
        #expect(!record.didDumpCore)
        #expect(record.errorText == "")
    }

    @Test func `the relay's secret is its owner's alone, and without it the database is not opened`() async throws {
        let directory = ScratchDirectory()
        try await Stage.run { stage in
            let relay = try await RelayUnderTest(stage.settings, in: directory)
            _ = try await relay.register(SimulatedPhone(.ios))
            await relay.end()
            var status = stat()
            #expect(unsafe stat(directory.path + "/data/secret.key", &status) == 0)
            #expect(status.st_mode & 0o777 == 0o600)
            shell("rm '\(directory.path)/data/secret.key'")
            do {
                _ = try await RelayUnderTest(stage.settings, in: directory)
                Issue.record("it started with a new secret")
            } catch let failure as StartFailure {
                #expect(failure.record.status == 1)
                #expect(failure.record.errorText.contains("secret"))
            }
        }
    }
}

/// The database of the relay that is in the field.
@Suite(.timeLimit(.minutes(3)))
struct TakeoverTests {
    @Test(arguments: [false, true])
    func `an older database goes on as it is, and its tokens are sealed by their first push`(
        hasOpens: Bool
    ) async throws {
        let directory = ScratchDirectory()
        let phones = [PhonePlatform.ios, .ios, .android, .android].map { SimulatedPhone($0) }
        let capabilities = phones.map { _ in unknownCapability() }
        var script = """
            CREATE TABLE devices (cap_hash TEXT PRIMARY KEY, platform TEXT, token TEXT, env TEXT, created_at INTEGER,
                last_used_at INTEGER\(hasOpens ? ", opens INTEGER" : ""));
            CREATE TABLE daily_counts (day, event, platform, kind, n, PRIMARY KEY (day, event, platform, kind));
            INSERT INTO daily_counts VALUES ('2026-01-31', 'sent', 'ios', 'dm', 41);

            """
        let now = stageClock()
        for (index, (phone, capability)) in zip(phones, capabilities).enumerated() {
            let hash = SHA256.hash(Array(capability.utf8)).hex
            let env = index == 1 ? "sandbox" : "production"
            script +=
                "INSERT INTO devices VALUES ('\(hash)', '\(phone.platform.rawValue)', '\(phone.token)', '\(env)', "
            script += "\(now - 86_400_000), \(now - 3_600_000)\(hasOpens ? ", \(index == 3 ? 1 : 0)" : ""));\n"
        }
        shell("mkdir -p '\(directory.path)/data'")
        directory.sqlite(script, in: "data/push.db")
        try await Stage.run { stage in
            let relay = try await RelayUnderTest(stage.settings, in: directory)
            for (index, (phone, capability)) in zip(phones, capabilities).enumerated() {
                let preview = phone.seal(.init(title: "t", body: "b"), tag: tag(of: capability))
                #expect(try await relay.push(capability, preview: preview).status == 202)
                let notification = try #require(stage.notifications(for: phone).first)
                #expect(notification.service == [.apnsProduction, .apnsSandbox, .fcm, .fcm][index])
                let opens = phone.platform == .ios || hasOpens && index == 3
                #expect(phone.show(notification)?.isPreview == opens)
                // What was overwritten is gone from the files within moments, without anybody asking.
                let token = Array(phone.token.utf8)
                while directory.databaseBytes().contains(token) { try await Task.sleep(for: .milliseconds(20)) }
            }
            stage.simulator.declareDead(phones[0].token, platform: .ios)
            #expect(try await relay.push(capabilities[0]).status == 410)
            await relay.end()

            let again = try await RelayUnderTest(stage.settings, in: directory)
            #expect(try await again.push(capabilities[0]).status == 404)
            #expect(try await again.push(capabilities[2]).status == 202)
            await again.end()
            let sum = directory.sqlite(
                "SELECT sum(n) FROM daily_count WHERE event = 'sent' AND platform = 'ios'", in: "data/push.db")
            #expect(sum == "43\n")
            for phone in phones { #expect(!directory.databaseBytes().contains(Array(phone.token.utf8))) }
        }
    }

    /// Milliseconds since 1970.
    private func stageClock() -> Int64 { Int64(time(nil)) * 1000 }
}

extension ScratchDirectory {
    /// What a thief carries away of the data directory, without the secret.
    func databaseBytes() -> [UInt8] {
        ["push.db", "push.db-wal", "push.db-shm"].flatMap { bytes("data/" + $0) }
    }
}
