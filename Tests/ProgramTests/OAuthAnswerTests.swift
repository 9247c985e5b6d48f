import PushSimulator
import Testing

/// Google's token endpoint, which everything that goes to Android waits for.
@Suite(.timeLimit(.minutes(1)))
struct OAuthAnswerTests {
    @Test(arguments: [
        (Fault.Action.refuse(status: 400, reason: "invalid_grant"), "502 upstream_failed credentials", 1),
        (.refuse(status: 401, reason: "unauthorized_client"), "502 upstream_failed credentials", 1),
        // After the first second it is tried again, then after two and four.
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
