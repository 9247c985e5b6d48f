import PushSimulator
import Testing

/// Google's token endpoint, which everything that goes to Android waits for.
@Suite(.timeLimit(.minutes(3)))
struct OAuthAnswerTests {
    @Test(arguments: [
        (Fault.Action.refuse(status: 400, reason: "invalid_grant"), "502 upstream_failed credentials", 1),
        (.refuse(status: 401, reason: "unauthorized_client"), "502 upstream_failed credentials", 1),
        (.refuse(status: 400, reason: "invalid_scope"), "502 upstream_failed credentials", 1),
        (.refuse(status: 401, reason: "invalid_client"), "502 upstream_failed credentials", 1),
        (.refuse(status: 400, reason: "temporarily_unavailable"), "502 upstream_failed provider_unavailable", 4),
        (.refuse(status: 408, reason: "timeout"), "502 upstream_failed provider_unavailable", 4),
        (.refuse(status: 429, reason: "slow_down"), "502 upstream_failed provider_unavailable", 4),
        (.refuse(status: 500, reason: "internal_failure"), "502 upstream_failed provider_unavailable", 4),
        (PushServiceCase.page(400), "502 upstream_failed provider_unavailable", 4),
        (
            PushServiceCase.json(200, #"{"access_token":"t","expires_in":0}"#),
            "502 upstream_failed provider_unavailable", 4
        ),
        // After the first second it is tried again, then after two and three.
        (.refuse(status: 503, reason: "unavailable"), "502 upstream_failed provider_unavailable", 4),
        (PushServiceCase.page(200), "502 upstream_failed provider_unavailable", 4),
        (.disconnect, "502 upstream_failed unreachable", 4),
    ])
    func `without an access token the server is told whose fault it is, and nobody is forgotten`(
        action: Fault.Action, answer: String, most: Int
    ) async throws {
        try await Stage.run { stage in
            let (phone, capability) = try await stage.newPhone(.android)
            let (_, apple) = try await stage.newPhone(.ios)
            stage.simulator.force(Fault(action), on: .oauth)
            let first = try await stage.relay.push(capability)
            #expect(first.summary == answer)
            #expect((first.retryAfter ?? 0) > 0)
            #expect(first["retry-after"] == first.retryAfter.map { String($0) })
            // For a while nobody asks again, and nobody is kept waiting for it.
            for _ in 0..<20 { #expect(try await stage.relay.push(capability).summary == answer) }
            #expect(stage.simulator.books().oauthCalls <= most)
            #expect(try await stage.relay.push(apple).status == 202)
            #expect(stage.notifications(for: phone).isEmpty)
        }
    }

    @Test func `a lifetime in words is a lifetime`() async throws {
        try await Stage.run { stage in
            let (_, capability) = try await stage.newPhone(.android)
            stage.simulator.force(
                Fault(PushServiceCase.json(200, #"{"access_token":"t","expires_in":"3599"}"#), times: 1), on: .oauth)
            // The token is one that Google never gave out, so the push says that it was used, and another is got.
            #expect(try await stage.relay.push(capability).status == 202)
            #expect(stage.simulator.books().oauthCalls == 2)
            #expect(stage.simulator.books()[.fcm].requests == 2)
        }
    }

    @Test func `an account that is refused costs one request and one line, however many phones are rung`() async throws
    {
        try await Stage.run { stage in
            var phones: [String] = []
            for _ in 0..<50 { phones.append(try await stage.newPhone(.android).capability) }
            stage.simulator.force(Fault(.refuse(status: 400, reason: "invalid_grant")), on: .oauth)
            let relay = stage.relay
            try await withThrowingTaskGroup(of: String.self) { group in
                for capability in phones + phones { group.addTask { try await relay.push(capability).summary } }
                for try await answer in group { #expect(answer == "502 upstream_failed credentials") }
            }
            #expect(stage.simulator.books().oauthCalls == 1)
            #expect(stage.simulator.books()[.fcm].requests == 0)
            let lines = relay.process.record.outputText.split(separator: "\n")
            #expect(lines.count { $0.contains("event=access_token_failed") } == 1)
            #expect(lines.count { $0.contains("event=breaker_opened") } == 1)
        }
    }

    @Test func `a slow endpoint is asked once, and what waited too long for it does not leave any more`() async throws {
        try await Stage.run(["PUSH_BUDGET_MS": "1000"]) { stage in
            var phones: [(phone: SimulatedPhone, capability: String)] = []
            for _ in 0..<30 { phones.append(try await stage.newPhone(.android)) }
            stage.simulator.setLatency(.milliseconds(2500), of: .oauth)
            let relay = stage.relay
            try await withThrowingTaskGroup(of: String.self) { group in
                for (_, capability) in phones { group.addTask { try await relay.push(capability).summary } }
                for try await answer in group { #expect(answer == "502 upstream_failed timeout") }
            }
            while try await relay.push(phones[0].capability).status != 202 {}
            for (_, capability) in phones.dropFirst() { #expect(try await relay.push(capability).status == 202) }
            #expect(stage.simulator.books().oauthCalls == 1)
            // The first was rung until the token came; one of its pushes may just have left as its sender's time ended.
            for (phone, _) in phones.dropFirst() { #expect(stage.notifications(for: phone).count == 1) }
        }
    }

    @Test(arguments: [
        (Fault.Action.silence, "timeout"), (.disconnect, "unreachable"),
        (.refuse(status: 503, reason: "unavailable"), "provider_unavailable"),
        (.refuse(status: 400, reason: "invalid_grant"), "credentials"),
        (PushServiceCase.page(502), "provider_unavailable"),
    ])
    func `while the old token is good, nothing that becomes of the endpoint shuts anybody out`(
        action: Fault.Action, reason: String
    ) async throws {
        try await Stage.run { stage in
            let (bad, toBad) = try await stage.newPhone(.android)
            var phones: [String] = []
            for _ in 0..<10 { phones.append(try await stage.newPhone(.android).capability) }
            #expect(try await stage.relay.push(toBad).status == 202)
            stage.simulator.force(Fault(action), on: .oauth)
            stage.force(
                Fault(PushServiceCase.json(401, #"{"error":{"code":401,"status":"UNAUTHENTICATED"}}"#)), on: bad)
            let relay = stage.relay
            async let first = relay.push(toBad).summary
            for capability in phones + phones { #expect(try await relay.push(capability).status == 202) }
            // The one whose token was refused waits for another, and is told why there is none.
            #expect(try await first == "502 upstream_failed \(reason)")
            for capability in phones { #expect(try await relay.push(capability).status == 202) }
            #expect(stage.simulator.books().oauthCalls <= 3)
        }
    }

    @Test func `a token that is revoked while the endpoint is ill shuts nobody out for longer than that`() async throws
    {
        try await Stage.run { stage in
            let relay = stage.relay
            var phones: [String] = []
            for _ in 0..<10 { phones.append(try await stage.newPhone(.android).capability) }
            #expect(try await relay.push(phones[0]).status == 202)
            stage.simulator.force(Fault(.refuse(status: 503, reason: "unavailable")), on: .oauth)
            stage.simulator.revokeAccessTokens()
            for capability in phones {
                #expect(try await relay.push(capability).summary == "502 upstream_failed provider_unavailable")
            }
            stage.simulator.clearFaults(of: .oauth)
            // A pause of a second or two, and a token is asked for again.
            while try await relay.push(phones[0]).status != 202 {}
            for capability in phones.dropFirst() { #expect(try await relay.push(capability).status == 202) }
            #expect(!relay.process.record.outputText.contains("breaker_opened"))
        }
    }

    @Test(arguments: [
        (Fault.Action.disconnect, "502 upstream_failed unreachable"),
        (.refuse(status: 503, reason: "unavailable"), "502 upstream_failed provider_unavailable"),
    ])
    func `an endpoint that is ill for long is told as that, and not as a silence of FCM's`(
        action: Fault.Action, answer: String
    ) async throws {
        try await Stage.run { stage in
            var phones: [String] = []
            for _ in 0..<12 { phones.append(try await stage.newPhone(.android).capability) }
            stage.simulator.force(Fault(action), on: .oauth)
            // The third request comes more than two seconds after the first.
            while stage.simulator.books().oauthCalls < 3 {
                for capability in phones { #expect(try await stage.relay.push(capability).summary == answer) }
            }
            #expect(!stage.relay.process.record.outputText.contains("breaker_opened"))
        }
    }

    @Test func `a revoked access token is replaced at once`() async throws {
        try await Stage.run { stage in
            let (phone, capability) = try await stage.newPhone(.android)
            #expect(try await stage.relay.push(capability).status == 202)
            stage.simulator.revokeAccessTokens()
            #expect(try await stage.relay.push(capability).status == 202)
            #expect(stage.notifications(for: phone).count == 2)
            #expect(stage.simulator.books().oauthCalls == 2)
        }
    }
}
