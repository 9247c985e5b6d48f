import PushSimulator
import Testing

/// A push service that will have none of us, or is not there, is left alone until it is well again.
@Suite(.timeLimit(.minutes(3)))
struct BreakerTests {
    /// A relay with an operator's port, and phones of all ways that a push can go.
    private struct Scene: Sendable {
        let stage: Stage
        let operated: OperatedRelay
        var relay: RelayUnderTest { operated.relay }

        static func run(_ settings: [String: String] = [:], _ body: @Sendable (Scene) async throws -> Void) async throws
        {
            try await Stage.run { stage in
                let operated = try await OperatedRelay(stage.settings.merging(settings) { $1 })
                try await body(Scene(stage: stage, operated: operated))
                #expect(await operated.relay.end().status == 0)
            }
        }

        func phones(_ count: Int, _ platform: PhonePlatform, env: String? = nil) async throws -> [String] {
            var capabilities: [String] = []
            for _ in 0..<count {
                capabilities.append(try await relay.register(SimulatedPhone(platform), env: env))
            }
            return capabilities
        }

        func requests(_ service: SimulatedService) -> Int { stage.simulator.books()[service].requests }
    }

    @Test(arguments: [
        (SimulatedService.apnsProduction, Fault.Action.refuse(status: 403, reason: "InvalidProviderToken"), "apns"),
        (.apnsProduction, .refuse(status: 400, reason: "TopicDisallowed"), "apns"),
        (.fcm, PushServiceCase.json(403, #"{"error":{"status":"PERMISSION_DENIED"}}"#), "fcm"),
        (.fcm, PushServiceCase.page(404), "fcm"),
    ])
    func `a service that refuses us is asked three times and then no more, and the others go on`(
        service: SimulatedService, action: Fault.Action, name: String
    ) async throws {
        try await Scene.run { scene in
            let platform = service == .fcm ? PhonePlatform.android : .ios
            let phones = try await scene.phones(40, platform)
            let others =
                try await scene.phones(1, service == .fcm ? .ios : .android)
                + scene.phones(1, .ios, env: "sandbox")
            scene.stage.simulator.force(Fault(action), on: service)
            for capability in phones {
                let answer = try await scene.relay.push(capability)
                #expect(answer.summary == "502 upstream_failed credentials")
                for other in others { #expect(try await scene.relay.push(other).status == 202) }
            }
            #expect(scene.requests(service) == 3)
            let last = try await scene.relay.push(phones[0])
            #expect(last.retryAfter.map { (300...360).contains($0) } == true)
            #expect(last["retry-after"] == last.retryAfter.map { String($0) })
            let scrape = try await scene.operated.scrape()
            for upstream in ["apns", "apns_sandbox", "fcm"] {
                #expect(scrape[#"gryt_push_breaker_open{upstream="\#(upstream)"}"#] == (upstream == name ? 1 : 0))
            }
            let page = try await scene.operated.ask("/").body
            #expect(page.contains("is not asked for the time being"))
            let log = scene.relay.process.record.outputText
            #expect(log.split(separator: "\n").count { $0.contains("event=breaker_opened") } == 1)
        }
    }

    @Test(arguments: [
        (PhonePlatform.ios, Fault.Action.refuse(status: 403, reason: "InvalidProviderToken")),
        (.ios, .refuse(status: 429, reason: "TooManyProviderTokenUpdates")),
        (.ios, .refuse(status: 500, reason: "InternalServerError")), (.ios, .reset(2)),
        (.android, .refuse(status: 403, reason: "SENDER_ID_MISMATCH")),
        (.android, .refuse(status: 503, reason: "UNAVAILABLE")),
        (.android, PushServiceCase.page(404)), (.android, .reset(2)),
    ])
    func `one bad phone costs nobody else anything`(platform: PhonePlatform, action: Fault.Action) async throws {
        try await Scene.run { scene in
            let phone = SimulatedPhone(platform)
            let bad = try await scene.relay.register(phone)
            let good = try await scene.phones(1, platform)[0]
            scene.stage.force(Fault(action), on: phone)
            for _ in 0..<100 { #expect(try await scene.relay.push(bad).status == 502) }
            #expect(try await scene.relay.push(good).status == 202)
            #expect(!scene.relay.process.record.outputText.contains("breaker_opened"))
        }
    }

    @Test func `while Google hangs for all it is left alone, and Apple's pushes are answered as before`() async throws {
        try await Scene.run(["PUSH_BUDGET_MS": "1000"]) { scene in
            let google = try await scene.phones(60, .android)
            let apple = try await scene.phones(1, .ios)[0]
            let relay = scene.relay
            #expect(try await relay.push(google[0]).status == 202)
            scene.stage.simulator.force(Fault(.silence), on: .fcm)
            // Wave after wave, until the relay says at once what it has seen.
            while !relay.process.record.outputText.contains("breaker_opened") {
                try await withThrowingTaskGroup(of: String.self) { group in
                    for capability in google.prefix(12) { group.addTask { try await relay.push(capability).summary } }
                    for _ in 0..<20 { #expect(try await relay.push(apple).status == 202) }
                    for try await answer in group { #expect(answer == "502 upstream_failed timeout") }
                }
            }
            let asked = scene.requests(.fcm)
            let answers = try await withThrowingTaskGroup(of: Answer.self) { group in
                for _ in 0..<10 {
                    for capability in google { group.addTask { try await relay.push(capability) } }
                    #expect(try await relay.push(apple).status == 202)
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(answers.allSatisfy { $0.summary == "502 upstream_failed timeout" })
            let waits = answers.compactMap(\.retryAfter)
            #expect(waits.count == 600 && waits.allSatisfy { (5...20).contains($0) })
            // Not all come back in the same second.
            #expect(Set(waits).count > 5)
            // One probe at a time, each given up after three seconds.
            #expect(scene.requests(.fcm) - asked < 20)
            #expect(try await scene.operated.scrape()[#"gryt_push_breaker_open{upstream="fcm"}"#] == 1)

            scene.stage.simulator.clearFaults(of: .fcm)
            while try await relay.push(google[1]).status != 202 {}
            for capability in google { #expect(try await relay.push(capability).status == 202) }
            await relay.logged("event=breaker_closed")
            #expect(try await scene.operated.scrape()[#"gryt_push_breaker_open{upstream="fcm"}"#] == 0)
        }
    }

    @Test func `an outage of Apple's is met the same way, and its end is seen by itself`() async throws {
        try await Scene.run { scene in
            let apple = try await scene.phones(20, .ios)
            let google = try await scene.phones(1, .android)[0]
            let relay = scene.relay
            scene.stage.simulator.force(
                Fault(.refuse(status: 503, reason: "ServiceUnavailable")), on: .apnsProduction)
            while !relay.process.record.outputText.contains("breaker_opened") {
                for capability in apple {
                    #expect(try await relay.push(capability).summary == "502 upstream_failed provider_unavailable")
                }
            }
            let asked = scene.requests(.apnsProduction)
            for _ in 0..<10 {
                for capability in apple {
                    #expect(try await relay.push(capability).summary == "502 upstream_failed provider_unavailable")
                }
                #expect(try await relay.push(google).status == 202)
            }
            #expect(scene.requests(.apnsProduction) - asked < 20)
            scene.stage.simulator.clearFaults(of: .apnsProduction)
            while try await relay.push(apple[0]).status != 202 {}
            for capability in apple { #expect(try await relay.push(capability).status == 202) }
            // Nobody's connection was given up for an illness of the whole service.
            #expect(scene.stage.simulator.books()[.apnsProduction].connectionsOpened <= 4)
        }
    }

    @Test func `pushes during an outage leave nothing behind in memory`() async throws {
        try await Scene.run { scene in
            let phones = try await scene.phones(20, .ios)
            let relay = scene.relay
            scene.stage.simulator.force(
                Fault(.refuse(status: 503, reason: "ServiceUnavailable")), on: .apnsProduction)
            while !relay.process.record.outputText.contains("breaker_opened") {
                for capability in phones { #expect(try await relay.push(capability).status == 502) }
            }
            let port = relay.port
            func push(_ count: Int) async throws {
                let refused = try await withThrowingTaskGroup(of: Int.self) { group in
                    for capability in phones.prefix(4) {
                        group.addTask {
                            try await onOwnThread {
                                let client = try RawClient(port: port)
                                return try (0..<count / 4).count { _ in
                                    try client.send(pushRequest(capability))
                                    return try client.nextAnswer().status == 502
                                }
                            }
                        }
                    }
                    return try await group.reduce(0, +)
                }
                #expect(refused == count)
            }
            // What is made once is there by then.
            try await push(2000)
            let before = relay.residentBytes
            #expect(before > 1 << 20)
            try await push(20_000)
            // 50 bytes a push would be seen.
            #expect(relay.residentBytes - before < 1 << 20)
        }
    }

    @Test func `goodbyes for our credentials' sake open it as refusals do`() async throws {
        try await Scene.run { scene in
            let phones = try await scene.phones(10, .ios)
            let tester = try await scene.phones(1, .ios, env: "sandbox")[0]
            let goodbye = GoAway(text: #"{"reason":"BadCertificateEnvironment"}"#, lastStreamID: 0)
            scene.stage.simulator.force(Fault(.goAway(goodbye)), on: .apnsProduction)
            // The connections are opened at their own pace, and each ends with its goodbye.
            while !scene.relay.process.record.outputText.contains("breaker_opened") {
                for capability in phones { #expect(try await scene.relay.push(capability).status == 502) }
            }
            let asked = scene.requests(.apnsProduction)
            for capability in phones {
                #expect(try await scene.relay.push(capability).summary == "502 upstream_failed credentials")
            }
            #expect(scene.requests(.apnsProduction) == asked)
            #expect(try await scene.relay.push(tester).status == 202)
        }
    }

    @Test func `whoever cannot show the service's certificate is left alone, and gets nothing`() async throws {
        let stranger = ScratchDirectory()
        let other = try PushSimulator(configuration: SimulatorConfiguration(directory: stranger.path + "/simulator"))
        try await Scene.run(["UPSTREAM_CA_FILE": other.certificateAuthorityFile]) { scene in
            for capability in try await scene.phones(12, .ios) {
                #expect(try await scene.relay.push(capability).summary == "502 upstream_failed unreachable")
            }
            #expect(scene.requests(.apnsProduction) == 0)
            let log = scene.relay.process.record.outputText
            #expect(log.contains("event=breaker_opened"))
            #expect(log.contains("apns untrusted"))
        }
    }

    // MARK: Clocks and keys

    @Test(arguments: [Duration.seconds(7200), .seconds(-7200)])
    func `a clock that is two hours off makes no storm of tokens or requests`(jump: Duration) async throws {
        try await Scene.run { scene in
            let phones = try await scene.phones(20, .ios)
            for capability in phones { #expect(try await scene.relay.push(capability).status == 202) }
            let asked = scene.requests(.apnsProduction)
            scene.stage.simulator.advanceClock(by: jump)
            for capability in phones + phones {
                #expect(try await scene.relay.push(capability).summary == "502 upstream_failed credentials")
            }
            #expect(scene.stage.simulator.books().providerTokens <= 1)
            #expect(scene.requests(.apnsProduction) - asked <= 6)
            // Apple's answers have no Date; Google's do, whatever they say.
            _ = try await scene.relay.push(scene.phones(1, .android)[0])
            let skew = try await scene.operated.scrape().values[#"gryt_push_clock_skew_seconds{platform="android"}"#]
            let seconds = try #require(skew.flatMap { Double($0) })
            #expect(abs(seconds + Double(jump.components.seconds)) < 60)
            #expect(try await scene.operated.ask("/").body.contains("clock is"))
        }
    }

    @Test func `while Apple finds tokens renewed too often, none is made and it is left alone`() async throws {
        try await Scene.run { scene in
            let phones = try await scene.phones(40, .ios)
            #expect(try await scene.relay.push(phones[0]).status == 202)
            scene.stage.simulator.force(
                Fault(.refuse(status: 429, reason: "TooManyProviderTokenUpdates")), on: .apnsProduction)
            for capability in phones {
                let answer = try await scene.relay.push(capability)
                #expect(answer.summary == "502 upstream_failed provider_throttled")
                #expect(answer.retryAfter.map { (1200...1440).contains($0) } == true)
            }
            // Three phones, and once more by the connection that took the refused one's place, if that stands by then.
            #expect((4...5).contains(scene.requests(.apnsProduction)))
            #expect(scene.stage.simulator.books().providerTokens == 1)
        }
    }
}
