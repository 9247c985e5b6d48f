import Glibc
import PushSimulator
import Testing

/// A wrong topic, environment or project makes a push service disown every phone. Nobody's phone is forgotten for that.
@Suite(.timeLimit(.minutes(3)))
struct MassDeathTests {
    /// Something that the operator has set wrong.
    struct Mistake: Sendable, CustomTestStringConvertible {
        var name: String
        var platform: PhonePlatform
        /// What every push meets while it lasts, where that is more than the simulator says by itself.
        var fault: Fault.Action?
        /// Makes the wrong settings out of the right ones.
        var settings: @Sendable (Stage) -> [String: String]
        var testDescription: String { name }
    }

    static let mistakes: [Mistake] = [
        Mistake(name: "another app's topic", platform: .ios, fault: nil) { _ in ["APNS_TOPIC": "chat.gryt.other"] },
        Mistake(
            name: "another app's topic, of which Apple says that the tokens are not its own", platform: .ios,
            fault: .refuse(status: 400, reason: "DeviceTokenNotForTopic")
        ) { _ in ["APNS_TOPIC": "chat.gryt.other"] },
        Mistake(name: "the other environment", platform: .ios, fault: nil) { stage in
            ["APNS_PRODUCTION_ORIGIN": stage.simulator.origin(of: .apnsSandbox)]
        },
        Mistake(name: "another project", platform: .android, fault: nil) { stage in
            let path = stage.simulator.serviceAccountFile
            let text = String(decoding: stage.files.bytes("simulator/service-account.json"), as: UTF8.self)
            stage.files.write(
                text.replacing("gryt-simulated", with: "somebody-elses"), to: "simulator/service-account.json")
            return ["FCM_SERVICE_ACCOUNT_PATH": path]
        },
        Mistake(
            name: "another project, of which Google says that no token is one", platform: .android,
            fault: PushServiceCase.json(
                400,
                #"{"error":{"code":400,"message":"The registration token is not a valid FCM registration token","status":"INVALID_ARGUMENT"}}"#
            )
        ) { _ in [:] },
        Mistake(
            name: "another project, of which Google says that nothing is there", platform: .android,
            fault: PushServiceCase.json(
                404, #"{"error":{"code":404,"message":"Requested entity was not found.","status":"NOT_FOUND"}}"#)
        ) { _ in [:] },
        Mistake(
            name: "another project, of which Google says that the sender is wrong", platform: .android,
            fault: .refuse(status: 403, reason: "SENDER_ID_MISMATCH")
        ) { _ in [:] },
    ]

    @Test(arguments: mistakes)
    func `two hundred phones outlive a wrong setting, and are reached once it is right`(_ mistake: Mistake) async throws
    {
        let directory = ScratchDirectory()
        let service = mistake.platform == .ios ? SimulatedService.apnsProduction : .fcm
        try await Stage.run { stage in
            let right = stage.files.text("simulator/service-account.json")
            let wrong = try await RelayUnderTest(stage.settings.merging(mistake.settings(stage)) { $1 }, in: directory)
            var phones: [(phone: SimulatedPhone, capability: String)] = []
            for _ in 0..<200 {
                let phone = SimulatedPhone(mistake.platform)
                stage.simulator.declareLive(
                    phone.token, platform: phone.platform,
                    environment: mistake.platform == .ios ? .production : nil)
                phones.append((phone, try await wrong.register(phone)))
            }
            if let fault = mistake.fault { stage.simulator.force(Fault(fault), on: service) }
            for (_, capability) in phones {
                let answer = try await wrong.push(capability)
                #expect(answer.status == 502)
                #expect(["credentials", "rejected"].contains(answer.reason))
            }
            await wrong.end()

            stage.simulator.clearFaults(of: service)
            stage.files.write(right, to: "simulator/service-account.json")
            let relay = try await RelayUnderTest(stage.settings, in: directory)
            for (phone, capability) in phones {
                #expect(try await relay.push(capability).status == 202)
                #expect(stage.notifications(for: phone).count == 1)
            }
            await relay.end()
        }
    }

    @Test(arguments: [
        (PhonePlatform.ios, Fault.Action.refuse(status: 400, reason: "DeviceTokenNotForTopic")),
        (.ios, .refuse(status: 400, reason: "BadDeviceToken")),
    ])
    func `when every phone is disowned while all went well before, one is lost at most`(
        platform: PhonePlatform, action: Fault.Action
    ) async throws {
        try await Stage.run { stage in
            var phones: [String] = []
            for _ in 0..<60 { phones.append(try await stage.newPhone(platform).capability) }
            for capability in phones { #expect(try await stage.relay.push(capability).status == 202) }
            stage.simulator.force(Fault(action), on: .apnsProduction)
            var answers: [String] = []
            for capability in phones { answers.append(try await stage.relay.push(capability).summary) }
            #expect(answers.count { $0 == "410 gone" } <= 1)
            #expect(answers.dropFirst().allSatisfy { $0 == "502 upstream_failed credentials" })
            #expect(await stage.relay.logged("level=error event=mass_death_suspected platform=ios"))
            stage.simulator.clearFaults(of: .apnsProduction)
            // Apple counts such tokens against the connection, so nobody asks again for each at once. Until somebody acts.
            let heard = stage.simulator.books()[.apnsProduction].requests
            for capability in phones.dropFirst() {
                #expect(try await stage.relay.push(capability).summary == "502 upstream_failed credentials")
            }
            #expect(stage.simulator.books()[.apnsProduction].requests == heard)
            stage.relay.process.signal(SIGHUP)
            #expect(await stage.relay.logged("event=reloaded"))
            for capability in phones.dropFirst() { #expect(try await stage.relay.push(capability).status == 202) }
        }
    }

    @Test func `the sandbox's good answers do not vouch for the production environment's bad ones`() async throws {
        try await Stage.run { stage in
            let (_, tester) = try await stage.newPhone(.ios, env: "sandbox")
            stage.simulator.force(Fault(.refuse(status: 400, reason: "BadDeviceToken")), on: .apnsProduction)
            var phones: [String] = []
            for _ in 0..<40 {
                let capability = try await stage.newPhone(.ios).capability
                phones.append(capability)
                #expect(try await stage.relay.push(tester).status == 202)
                #expect(try await stage.relay.push(capability).summary == "502 upstream_failed credentials")
            }
            stage.simulator.clearFaults(of: .apnsProduction)
            stage.relay.process.signal(SIGHUP)
            #expect(await stage.relay.logged("event=reloaded"))
            for capability in phones { #expect(try await stage.relay.push(capability).status == 202) }
        }
    }
}
