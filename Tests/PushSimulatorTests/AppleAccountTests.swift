import Cryptography
import PushSimulator
import Testing

/// What a connection to Apple is bound to, and how often provider tokens may change.
@Suite(.timeLimit(.minutes(1)))
struct AppleAccountTests {
    /// A simulator, and a key beside its own.
    private struct Room {
        let fixture: Fixture
        let otherKey = ES256SigningKey.generate()

        func declare(
            _ keyID: String, team: String? = nil, environment: PhoneEnvironment? = nil, topics: Set<String>? = nil
        ) throws {
            fixture.simulator.addAppleKey(
                AppleKey(
                    keyID: keyID, teamID: team ?? fixture.simulator.apnsTeamID,
                    key: try ES256VerifyingKey(pem: otherKey.publicKeyPEM), environment: environment, topics: topics))
        }

        func token(_ keyID: String, team: String? = nil) -> String {
            fixture.providerToken(
                key: otherKey, header: ["alg": "ES256", "kid": .string(keyID)],
                claims: [
                    "iss": .string(team ?? fixture.simulator.apnsTeamID), "iat": JSON(fixture.simulator.now / 1000),
                ])
        }

        func push(_ client: TestClient, _ token: String? = nil, topic: String? = nil) throws -> String {
            let phone = SimulatedPhone(.ios).token
            let answer = try client.exchange(
                fixture.apnsRequest(
                    phone,
                    changing: [
                        "authorization": "bearer " + (token ?? fixture.usualToken),
                        "apns-topic": topic ?? fixture.simulator.topic,
                    ]))
            return JSON(text: answer.body)?["reason"]?.string ?? String(answer.status ?? 0)
        }
    }

    private static func with(_ test: (Room) async throws -> Void) async throws {
        let fixture = try await Fixture.start()
        try await test(Room(fixture: fixture))
        await fixture.simulator.stop()
    }

    @Test(arguments: [nil, "OTHERTEAM1"])
    func `a connection is bound to the key of its first push`(team: String?) async throws {
        try await Self.with { room in
            room.fixture.behave { $0.tokenChanges = .unchecked }
            try room.declare("OTHERKEY01", team: team)
            let client = try room.fixture.client(.apnsProduction)
            let other = room.token("OTHERKEY01", team: team)
            #expect(try room.push(client) == "200")
            #expect(try room.push(client, other) == "UnrelatedKeyIdInToken")
            #expect(try room.push(client) == "200")
            let fresh = try room.fixture.client(.apnsProduction)
            #expect(try room.push(fresh, other) == "200")
            #expect(try room.push(fresh) == "UnrelatedKeyIdInToken")
        }
    }

    @Test func `a key of one environment is refused by the other`() async throws {
        try await Self.with { room in
            try room.declare("OTHERKEY01", environment: .sandbox)
            let token = room.token("OTHERKEY01")
            #expect(try room.push(room.fixture.client(.apnsProduction), token) == "BadEnvironmentKeyIdInToken")
            #expect(try room.push(room.fixture.client(.apnsSandbox), token) == "200")
        }
    }

    @Test func `a key of some topics pushes to no other`() async throws {
        try await Self.with { room in
            room.fixture.simulator.addTopic("chat.gryt.other")
            try room.declare("OTHERKEY01", topics: ["chat.gryt.other"])
            let client = try room.fixture.client(.apnsProduction)
            let token = room.token("OTHERKEY01")
            #expect(try room.push(client, token) == "TopicDisallowed")
            #expect(try room.push(client, token, topic: "chat.gryt.other") == "200")
        }
    }

    @Test func `a topic that is new is unknown to connections that are older`() async throws {
        try await Self.with { room in
            let client = try room.fixture.client(.apnsProduction)
            #expect(try room.push(client) == "200")
            room.fixture.simulator.addTopic("chat.gryt.other")
            #expect(try room.push(client, topic: "chat.gryt.other") == "TopicDisallowed")
            #expect(try room.push(client) == "200")
            #expect(try room.push(room.fixture.client(.apnsProduction), topic: "chat.gryt.other") == "200")
        }
    }

    @Test func `a revoked key is worth nothing, and comes back`() async throws {
        try await Self.with { room in
            try room.declare("OTHERKEY01")
            let client = try room.fixture.client(.apnsProduction)
            let token = room.token("OTHERKEY01")
            #expect(try room.push(client, token) == "200")
            room.fixture.simulator.revokeAppleKey("OTHERKEY01")
            #expect(try room.push(client, token) == "InvalidProviderToken")
            try room.declare("OTHERKEY01")
            #expect(try room.push(client, token) == "200")
        }
    }

    @Test(arguments: ConnectionBehaviour.TokenChanges.allCases)
    func `a second new token within 20 minutes is noticed where it is looked for`(
        place: ConnectionBehaviour.TokenChanges
    ) async throws {
        try await Self.with { room in
            room.fixture.behave { $0.tokenChanges = place }
            func fresh(_ second: Int64) -> String {
                room.fixture.providerToken(
                    claims: [
                        "iss": .string(room.fixture.simulator.apnsTeamID),
                        "iat": JSON(room.fixture.simulator.now / 1000 - second),
                    ])
            }
            let client = try room.fixture.client(.apnsProduction)
            let (first, second) = (fresh(5), fresh(1))
            #expect(try room.push(client, first) == "200")
            let tooMany = "TooManyProviderTokenUpdates"
            #expect(try room.push(client, second) == (place == .unchecked ? "200" : tooMany))
            let other = try room.fixture.client(.apnsProduction)
            #expect(try room.push(other, second) == (place == .perAddress ? tooMany : "200"))
            #expect(try room.push(client, first) == "200")
            room.fixture.simulator.advanceClock(by: .seconds(1201))
            #expect(try room.push(client, second) == "200")
        }
    }

    @Test func `a burst of refusals passes by itself`() async throws {
        try await Self.with { room in
            let burst = Fault(.refuse(status: 403, reason: "InvalidProviderToken"), times: 3, skips: 1)
            room.fixture.simulator.force(burst, on: .apnsProduction)
            let client = try room.fixture.client(.apnsProduction)
            let answers = try (0..<5).map { _ in try room.push(client) }
            #expect(answers == ["200"] + Array(repeating: "InvalidProviderToken", count: 3) + ["200"])
        }
    }

    @Test func `one connection fails for ever, and the next one does not`() async throws {
        try await Self.with { room in
            var sick = ConnectionBehaviour.usual(of: .apnsProduction)
            sick.faults = [Fault(.refuse(status: 500, reason: "InternalServerError"), skips: 1)]
            room.fixture.simulator.setNextBehaviours(sick, of: .apnsProduction)
            let (first, second) = (
                try room.fixture.client(.apnsProduction), try room.fixture.client(.apnsProduction)
            )
            #expect(try room.push(first) == "200")
            for _ in 0..<3 { #expect(try room.push(first) == "InternalServerError") }
            #expect(try room.push(second) == "200")
        }
    }
}
