import Glibc
import PushSimulator
import Testing

/// How the program ends while it has work.
@Suite(.timeLimit(.minutes(3)))
struct DrainTests {
    /// Sends pushes to phones whose push service takes its time, and gives the answers once the relay has been told to
    /// stop in the meantime, and its end.
    private func stop(
        _ stage: Stage, by signal: Int32 = SIGTERM, while fault: Fault, count: Int,
        meanwhile: @escaping @Sendable (RelayUnderTest) async throws -> Void = { _ in }
    ) async throws -> (answers: [Answer], record: ChildProcess.Record) {
        let relay = stage.relay
        // Warm connections: Apple lets but one stream onto one that has accepted nothing yet.
        for platform in PhonePlatform.allCases {
            let (_, capability) = try await stage.newPhone(platform)
            #expect(try await relay.push(capability).status == 202)
        }
        return try await withThrowingTaskGroup(of: Answer.self) { group in
            var phones: [SimulatedPhone] = []
            for index in 0..<count {
                let (phone, capability) = try await stage.newPhone(index.isMultiple(of: 2) ? .ios : .android)
                stage.force(fault, on: phone)
                phones.append(phone)
                group.addTask { try await relay.push(capability) }
            }
            for phone in phones { try await stage.simulator.attempted(on: phone.token, platform: phone.platform) }
            relay.process.signal(signal)
            await relay.logged("event=draining")
            try await meanwhile(relay)
            var answers: [Answer] = []
            for try await answer in group { answers.append(answer) }
            return (answers, await relay.process.end())
        }
    }

    @Test(arguments: [(SIGTERM, 500), (SIGINT, 40)])
    func `pushes that are under way are answered and counted, and then the program ends well`(
        signal: Int32, count: Int
    ) async throws {
        try await Stage.run(["PUSH_BUDGET_MS": "30000", "SHUTDOWN_TIMEOUT_MS": "30000", "WORKERS": "1"]) { stage in
            let slow = Fault(
                .answer(SimulatedAnswer(status: 200)), delivers: true, times: 1, delay: .seconds(3))
            let (answers, record) = try await stop(stage, by: signal, while: slow, count: count) { relay in
                // Nobody new is let in, from some moment after the line on.
                while (try? await relay.health()) != nil {}
            }
            #expect(answers.map(\.summary) == Array(repeating: "202", count: count))
            #expect(record.status == 0)
            #expect(record.outputText.contains("event=stopped cut_short=0"))
            let counted = stage.relay.directory.sqlite(
                "SELECT sum(n) FROM daily_count WHERE event = 'sent'", in: "data/push.db")
            #expect(counted == "\(count + 2)\n")
        }
    }

    @Test func `what is not answered when the time is up is told that the relay shuts down`() async throws {
        try await Stage.run(["PUSH_BUDGET_MS": "30000", "SHUTDOWN_TIMEOUT_MS": "1000", "WORKERS": "1"]) { stage in
            let (answers, record) = try await stop(stage, while: Fault(.silence), count: 6)
            #expect(answers.count == 6)
            for answer in answers {
                expectForm(of: answer)
                #expect(answer.summary == "503 shutting_down")
                #expect((answer.retryAfter ?? 0) > 0)
            }
            #expect(record.status == 0)
            #expect(record.outputText.contains("event=stopped cut_short=6"))
        }
    }

    @Test func `a second signal hurries`() async throws {
        try await Stage.run(["PUSH_BUDGET_MS": "60000", "SHUTDOWN_TIMEOUT_MS": "600000", "WORKERS": "1"]) { stage in
            let (answers, record) = try await stop(stage, while: Fault(.silence), count: 4) { relay in
                relay.process.signal(SIGTERM)
            }
            #expect(answers.map(\.summary) == Array(repeating: "503 shutting_down", count: 4))
            #expect(record.status == 0)
            #expect(record.outputText.contains("event=stopped cut_short=4"))
        }
    }

    @Test(arguments: ["1", "8"])
    func `one that is told to stop while it starts ends as any other`(workers: String) async throws {
        let directory = ScratchDirectory()
        let settings = ["WORKERS": workers, "METRICS_PORT": String(try freePort())]
        let record = try await toldToStop(settings, in: directory).end()
        #expect(record.status == 0)
        #expect(record.errorText == "")
        #expect(record.outputText.contains("event=stopped cut_short=0"))
        #expect(!record.outputText.contains("event=listening"))
    }

    @Test func `pushes whose senders have their timeout already hold up the end no longer than once`() async throws {
        try await Stage.run(["PUSH_BUDGET_MS": "200", "WORKERS": "4"]) { stage in
            let relay = stage.relay
            let answers = try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<32 {
                    let (phone, capability) = try await stage.newPhone()
                    stage.force(Fault(.silence), on: phone)
                    group.addTask { try await relay.push(capability).summary }
                }
                return try await group.reduce(into: Set<String>()) { $0.insert($1) }
            }
            #expect(answers == ["502 upstream_failed timeout"])
            let began = ContinuousClock.now
            #expect(await relay.end().status == 0)
            // Five seconds; where the loops settle one after the other, it takes until the pushes give up after fifteen.
            #expect(ContinuousClock.now - began < .seconds(10))
        }
    }

    @Test func `a connection that waits for nothing does not hold up the end, and is closed`() async throws {
        let relay = try await RelayUnderTest(["SHUTDOWN_TIMEOUT_MS": "600000"])
        let port = relay.port
        let process = relay.process
        try await onOwnThread {
            let idle = try RawClient(port: port)
            let used = try RawClient(port: port)
            try used.send(request("GET", "/healthz"))
            #expect(try used.nextAnswer().status == 200)
            process.signal(SIGTERM)
            #expect(try idle.isAtEnd())
            #expect(try used.isAtEnd())
        }
        #expect(await process.end().status == 0)
    }

    @Test func `a relay that drains is not ready first, and says so to the last`() async throws {
        try await Stage.run(["PUSH_BUDGET_MS": "30000", "SHUTDOWN_TIMEOUT_MS": "30000"]) { stage in
            let relay = try await OperatedRelay(stage.settings)
            let phone = SimulatedPhone(.ios)
            let capability = try await relay.relay.register(phone)
            stage.force(
                Fault(.answer(SimulatedAnswer(status: 200)), delivers: true, times: 1, delay: .milliseconds(1500)),
                on: phone)
            async let underWay = relay.relay.push(capability)
            try await stage.simulator.attempted(on: phone.token, platform: .ios)
            #expect(try await relay.ask("/readyz").status == 200)
            relay.relay.process.signal(SIGTERM)
            await relay.relay.logged("event=draining")
            while try await relay.ask("/readyz").status == 200 {}
            #expect(try await relay.ask("/readyz").status == 503)
            #expect(try await relay.ask("/livez").status == 200)
            #expect(try await underWay.status == 202)
            #expect(await relay.relay.process.end().status == 0)
        }
    }

    @Test func `SIGHUP ends nothing`() async throws {
        let relay = try await RelayUnderTest([:])
        relay.process.signal(SIGHUP)
        #expect(await relay.logged("event=reloaded changed=none needs_restart=none"))
        #expect(try await relay.health().status == 200)
        #expect(await relay.end().status == 0)
    }
}
