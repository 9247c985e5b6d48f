import PushSimulator
import Testing

/// A relay without credentials for a platform refuses rather than pretending to work.
@Suite(.timeLimit(.minutes(1)))
struct PlatformTests {
    /// The settings of a platform's credentials, as nothing.
    private static func without(_ platform: PhonePlatform) -> [String: String] {
        switch platform {
        case .ios: ["APNS_KEY_PATH": "", "APNS_KEY_ID": "", "APNS_TEAM_ID": ""]
        case .android: ["FCM_SERVICE_ACCOUNT_PATH": ""]
        }
    }

    @Test func `without any credentials it is well, and serves nobody`() async throws {
        try await Stage.run(Self.without(.ios).merging(Self.without(.android)) { $1 }) { stage in
            #expect(try await stage.relay.health().status == 200)
            for platform in PhonePlatform.allCases {
                let answer = try await stage.relay.tryToRegister(SimulatedPhone(platform))
                expectForm(of: answer)
                #expect(answer.summary == "503 \(platform.rawValue)_unavailable")
                let bad = try await stage.relay.ask(
                    "POST", "/v1/devices", body: #"{"platform":"\#(platform.rawValue)","token":""}"#)
                #expect(bad.summary == "400 bad_token")
            }
            #expect(try await stage.relay.push(unknownCapability()).summary == "404 unknown_capability")
            #expect(await stage.relay.logged("event=setting"))
        }
    }

    @Test(arguments: PhonePlatform.allCases)
    func `with the credentials of one platform it serves that one, and keeps the phones of the other`(
        lost: PhonePlatform
    ) async throws {
        let kept: PhonePlatform = lost == .ios ? .android : .ios
        let directory = ScratchDirectory()
        try await Stage.run { stage in
            let (phone, capability) = (SimulatedPhone(lost), SimulatedPhone(kept))
            let before = try await RelayUnderTest(stage.settings, in: directory)
            let toLost = try await before.register(phone)
            let toKept = try await before.register(capability)
            await before.end()

            let half = try await RelayUnderTest(stage.settings.merging(Self.without(lost)) { $1 }, in: directory)
            #expect(try await half.health().status == 200)
            let refused = try await half.push(toLost)
            expectForm(of: refused)
            #expect(refused.summary == "503 \(lost.rawValue)_unavailable")
            #expect(try await half.tryToRegister(phone).summary == "503 \(lost.rawValue)_unavailable")
            #expect(try await half.push(toKept).status == 202)
            #expect(try await half.tryToRegister(SimulatedPhone(kept)).status == 201)
            await half.end()

            let after = try await RelayUnderTest(stage.settings, in: directory)
            #expect(try await after.push(toLost).status == 202)
            #expect(try await after.push(toKept).status == 202)
            await after.end()
        }
    }

    @Test func `what is wrong with a push is told before the platform that is missing`() async throws {
        let directory = ScratchDirectory()
        try await Stage.run { stage in
            let before = try await RelayUnderTest(stage.settings, in: directory)
            let capability = try await before.register(SimulatedPhone(.ios))
            await before.end()
            var settings = stage.settings.merging(Self.without(.ios)) { $1 }
            settings["LIMIT_PUSHES_PER_MINUTE_PER_DEVICE"] = "1"
            let half = try await RelayUnderTest(settings, in: directory)
            #expect(try await half.push(capability, kind: "x").summary == "400 bad_kind")
            #expect(try await half.push(unknownCapability()).summary == "404 unknown_capability")
            #expect(try await half.push(capability).summary == "503 ios_unavailable")
            // The limit of the capability comes first, and the refused push has counted in it.
            #expect(try await half.push(capability).summary == "429 too_many_pushes")
            await half.end()
        }
    }
}
