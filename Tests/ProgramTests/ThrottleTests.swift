import PushSimulator
import Testing

/// Google says that the project sends too much.
@Suite(.timeLimit(.minutes(2)))
struct ThrottleTests {
    @Test func `half goes to Google, more again after a while, and all of it to Apple`() async throws {
        try await Stage.run { stage in
            let operated = try await OperatedRelay(stage.settings)
            let relay = operated.relay
            var google: [String] = []
            for _ in 0..<40 { google.append(try await relay.register(SimulatedPhone(.android))) }
            let apple = try await relay.register(SimulatedPhone(.ios))
            let limit = #"gryt_push_send_rate_limit{upstream="fcm"}"#
            func asked() -> Int { stage.simulator.books()[.fcm].requests }
            func pushToAll() async throws -> [Answer] {
                #expect(try await relay.push(apple).status == 202)
                return try await withThrowingTaskGroup(of: Answer.self) { group in
                    for capability in google { group.addTask { try await relay.push(capability) } }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
            }
            #expect(try await pushToAll().allSatisfy { $0.status == 202 })
            #expect(try await operated.scrape().values[limit].flatMap { Double($0) } == 0)

            stage.simulator.limitProject(PushRate(1, per: .seconds(600)), retryAfter: "2")
            while !relay.process.record.outputText.contains("event=pace_halved") { _ = try await pushToAll() }
            let began = ContinuousClock.now
            let halved = try await operated.scrape()
            let rate = try #require(Double(halved.values[limit] ?? ""))
            // Of no more than went in a second.
            #expect(rate >= 1 && rate <= Double(asked()) / 2)
            let before = asked()
            for _ in 0..<20 {
                for answer in try await pushToAll() {
                    #expect(answer.summary == "502 upstream_failed provider_throttled")
                    #expect((answer.retryAfter ?? 0) > 0)
                    expectForm(of: answer)
                }
            }
            let went = asked() - before
            // What the rate allows in that time, what it had saved up of one second, and what it may have grown by.
            #expect(Double(went) <= rate * ((ContinuousClock.now - began) / .seconds(1) + 1) * 1.5 + 1)
            let scrape = try await operated.scrape()
            let heldBack = try #require(scrape[#"gryt_push_held_back_total{upstream="fcm"}"#])
            #expect(heldBack >= 20 * google.count - went)
            #expect(scrape[#"gryt_push_breaker_open{upstream="fcm"}"#] == 0)
            #expect(try await operated.ask("/").body.contains("Google asks to be sent less"))

            // It grows again, whatever it is by now.
            stage.simulator.limitProject()
            let low = try #require(Double(scrape.values[limit] ?? ""))
            try await operated.scrape { Double($0.values[limit] ?? "").map { $0 > low * 1.01 } ?? false }
            while try await relay.push(google[0]).status != 202 {}
            #expect(await relay.end().status == 0)
        }
    }
}
