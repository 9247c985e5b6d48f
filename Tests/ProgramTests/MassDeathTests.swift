import PushSimulator
import Testing

/// A wrong topic or project makes a push service disown every phone. Nobody's phone is forgotten for that.
@Suite(.timeLimit(.minutes(1)))
struct MassDeathTests {
    @Test(arguments: [
        (PhonePlatform.ios, Fault.Action.refuse(status: 400, reason: "DeviceTokenNotForTopic")),
        (.ios, .refuse(status: 400, reason: "BadDeviceToken")),
    ])
    func `when every phone is disowned, forgetting stops`(platform: PhonePlatform, action: Fault.Action) async throws {
        try await Stage.run { stage in
            var phones: [(phone: SimulatedPhone, capability: String)] = []
            for _ in 0..<60 { phones.append(try await stage.newPhone(platform)) }
            var answers: [String] = []
            for (phone, capability) in phones {
                stage.force(Fault(action), on: phone)
                answers.append(try await stage.relay.push(capability).summary)
                stage.simulator.clearFaults(of: phone.token, platform: platform)
            }
            let forgotten = answers.count { $0 == "410 gone" }
            #expect(forgotten < 20)
            #expect(answers.suffix(40).allSatisfy { $0 == "502 upstream_failed credentials" })
            for (_, capability) in phones.suffix(40) { #expect(try await stage.relay.push(capability).status == 202) }
        }
    }
}
