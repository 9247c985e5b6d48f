import PushSimulator
import Testing

/// A sender is answered within its budget, and what is under way by then is followed to its end.
@Suite(.stage(["PUSH_BUDGET_MS": "1000"]), .timeLimit(.minutes(1)))
struct BudgetTests {
    @Test(arguments: PhonePlatform.allCases)
    func `a push that a push service never answers is told as a timeout, and the phone is kept`(
        platform: PhonePlatform
    ) async throws {
        let stage = try Stage.current
        let (phone, capability) = try await stage.newPhone(platform)
        stage.force(Fault(.silence, times: 1), on: phone)
        let began = ContinuousClock.now
        let answer = try await stage.relay.push(capability)
        #expect(ContinuousClock.now - began >= .milliseconds(1000))
        expectForm(of: answer)
        #expect(answer.summary == "502 upstream_failed timeout")
        #expect((answer.retryAfter ?? 0) > 0)
        #expect(try await stage.relay.push(capability).status == 202)
        #expect(stage.notifications(for: phone).count == 1)
    }

    @Test(arguments: PhonePlatform.allCases)
    func `a phone of which it is said after the timeout that it is gone is forgotten all the same`(
        platform: PhonePlatform
    ) async throws {
        let stage = try Stage.current
        let (phone, capability) = try await stage.newPhone(platform)
        let other = try await stage.relay.register(phone)
        let gone = Fault.Action.refuse(
            status: platform == .ios ? 410 : 404, reason: platform == .ios ? "Unregistered" : "UNREGISTERED")
        stage.force(Fault(gone, times: 1, delay: .milliseconds(1500)), on: phone)
        #expect(try await stage.relay.push(capability).summary == "502 upstream_failed timeout")
        // The phone is live again, so a push that comes too early is delivered; sooner or later none is.
        var answer = try await stage.relay.push(capability)
        while answer.status == 202 { answer = try await stage.relay.push(capability) }
        #expect(answer.summary == "404 unknown_capability")
        #expect(try await stage.relay.push(other).summary == "404 unknown_capability")
    }

    @Test(arguments: PhonePlatform.allCases)
    func `a push that is taken after the timeout has been delivered once`(platform: PhonePlatform) async throws {
        let stage = try Stage.current
        let (phone, capability) = try await stage.newPhone(platform)
        stage.force(
            Fault(.answer(SimulatedAnswer(status: 200)), delivers: true, times: 1, delay: .milliseconds(1300)),
            on: phone)
        #expect(try await stage.relay.push(capability).summary == "502 upstream_failed timeout")
        try await stage.simulator.delivered(to: phone.token, platform: platform)
        #expect(try await stage.relay.push(capability).status == 202)
        #expect(stage.notifications(for: phone).count == 2)
        #expect(!stage.notifications(for: phone).contains { $0.isDouble })
    }

    @Test(arguments: PhonePlatform.allCases)
    func `phones that are stuck hold up no other`(platform: PhonePlatform) async throws {
        let stage = try Stage.current
        var stuck: [String] = []
        for _ in 0..<8 {
            let (phone, capability) = try await stage.newPhone(platform)
            stage.force(Fault(.silence), on: phone)
            stuck.append(capability)
        }
        let (phone, capability) = try await stage.newPhone(platform)
        let relay = stage.relay
        try await withThrowingTaskGroup(of: String.self) { group in
            for capability in stuck { group.addTask { try await relay.push(capability).summary } }
            for _ in 0..<20 { #expect(try await relay.push(capability).status == 202) }
            for try await answer in group { #expect(answer == "502 upstream_failed timeout") }
        }
        #expect(stage.notifications(for: phone).count == 20)
    }
}

/// The same where a push service as a whole is slow or not there.
@Suite(.timeLimit(.minutes(1)))
struct OutageTests {
    @Test func `when Google is stuck altogether, Apple is not, and the relay goes on afterwards`() async throws {
        try await Stage.run(["PUSH_BUDGET_MS": "1000"]) { stage in
            let (google, toGoogle) = try await stage.newPhone(.android)
            let (apple, toApple) = try await stage.newPhone(.ios)
            #expect(try await stage.relay.push(toGoogle).status == 202)
            stage.simulator.force(Fault(.silence), on: .fcm)
            let relay = stage.relay
            try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<16 { group.addTask { try await relay.push(toGoogle).summary } }
                for _ in 0..<20 { #expect(try await relay.push(toApple).status == 202) }
                for try await answer in group { #expect(answer == "502 upstream_failed timeout") }
            }
            stage.simulator.clearFaults(of: .fcm)
            #expect(try await relay.push(toGoogle).status == 202)
            #expect(stage.notifications(for: apple).count == 20)
            #expect(stage.notifications(for: google).count == 2)
        }
    }

    @Test func `a push service that cannot be reached is told as such, within the budget`() async throws {
        try await Stage.run { stage in
            let (_, toApple) = try await stage.newPhone(.ios)
            let (_, toGoogle) = try await stage.newPhone(.android)
            await stage.simulator.stop()
            for capability in [toApple, toGoogle, toApple, toGoogle] {
                let answer = try await stage.relay.push(capability)
                expectForm(of: answer)
                #expect(answer.summary == "502 upstream_failed unreachable")
                #expect((answer.retryAfter ?? 0) > 0)
            }
            #expect(try await stage.relay.health().status == 200)
        }
    }

    @Test func `a push service whose certificate is nobody's we know gets nothing`() async throws {
        let stranger = ScratchDirectory()
        let other = try PushSimulator(configuration: SimulatorConfiguration(directory: stranger.path + "/simulator"))
        try await Stage.run(["UPSTREAM_CA_FILE": other.certificateAuthorityFile]) { stage in
            let (_, toApple) = try await stage.newPhone(.ios)
            let (_, toGoogle) = try await stage.newPhone(.android)
            for capability in [toApple, toGoogle] {
                #expect(try await stage.relay.push(capability).summary == "502 upstream_failed unreachable")
            }
            #expect(stage.simulator.books().requests.isEmpty)
        }
    }
}
