import GrytPushPreview
import PushSimulator
import Testing

/// What takes a whole connection down, one at a time: everything else on it would be hit as well. One loop, so that it
/// is the same connections that everything meets.
@Suite(.stage(["WORKERS": "1"]), .serialized, .timeLimit(.minutes(3)))
struct LostConnectionTests {
    @Test(arguments: PhonePlatform.allCases, [false, true])
    func `a push whose connection is lost is sent once more, and is seen once even where the first had come`(
        platform: PhonePlatform, delivers: Bool
    ) async throws {
        let stage = try Stage.current
        let (phone, capability) = try await stage.newPhone(platform)
        // A connection that is lost before it has ever answered is rightly not tried again at once.
        #expect(try await stage.relay.push(capability).summary == "202")
        stage.force(Fault(.disconnect, delivers: delivers, times: 1), on: phone)
        #expect(try await stage.relay.push(capability).summary == "202")
        #expect(stage.simulator.attemptedCount(on: phone.token, platform: platform) == 3)
        let seen = stage.notifications(for: phone)
        #expect(seen.count == (delivers ? 3 : 2))
        #expect(seen.map(\.replacesEarlier) == (delivers ? [false, false, true] : [false, false]))
    }

    @Test func `a push that the app itself would show twice is not sent again`() async throws {
        let stage = try Stage.current
        for delivers in [false, true] {
            let (phone, capability) = try await stage.newPhone(.android, opens: true)
            let preview = phone.seal(.init(title: "t", body: "b"), tag: tag(of: capability))
            #expect(try await stage.relay.push(capability, preview: preview).summary == "202")
            stage.force(Fault(.disconnect, delivers: delivers, times: 1), on: phone)
            let answer = try await stage.relay.push(capability, preview: preview)
            #expect(answer.summary == "502 upstream_failed unreachable")
            #expect((answer.retryAfter ?? 0) >= 10)
            #expect(stage.simulator.attemptedCount(on: phone.token, platform: .android) == 2)
            // Without a preview there is a notification with a tag.
            #expect(try await stage.relay.push(capability).summary == "202")
            stage.force(Fault(.disconnect, times: 1), on: phone)
            #expect(try await stage.relay.push(capability).summary == "202")
        }
    }

    @Test(arguments: PhonePlatform.allCases)
    func `a connection that is lost twice in one push's life costs that push, and no third attempt`(
        platform: PhonePlatform
    ) async throws {
        let stage = try Stage.current
        let (phone, capability) = try await stage.newPhone(platform)
        #expect(try await stage.relay.push(capability).summary == "202")
        stage.force(Fault(.reset(2), times: 2), on: phone)
        #expect(try await stage.relay.push(capability).summary == "502 upstream_failed unreachable")
        #expect(stage.simulator.attemptedCount(on: phone.token, platform: platform) == 3)
        #expect(try await stage.relay.push(capability).summary == "202")
    }

    @Test(arguments: PhonePlatform.allCases)
    func `a push that a GOAWAY left out is sent again on a new connection`(platform: PhonePlatform) async throws {
        let stage = try Stage.current
        let (phone, capability) = try await stage.newPhone(platform)
        #expect(try await stage.relay.push(capability).summary == "202")
        stage.force(Fault(.goAway(GoAway(text: #"{"reason":"Shutdown"}"#, lastStreamID: 0)), times: 1), on: phone)
        #expect(try await stage.relay.push(capability).summary == "202")
        #expect(stage.simulator.attemptedCount(on: phone.token, platform: platform) == 3)
        #expect(stage.notifications(for: phone).count == 2)
    }

    @Test(arguments: PhonePlatform.allCases)
    func `connections that were closed while nothing was under way are opened anew`(
        platform: PhonePlatform
    ) async throws {
        let stage = try Stage.current
        let (phone, capability) = try await stage.newPhone(platform)
        #expect(try await stage.relay.push(capability).summary == "202")
        await stage.simulator.goAway(on: platform == .ios ? .apnsProduction : .fcm)
        #expect(try await stage.relay.push(capability).summary == "202")
        #expect(stage.notifications(for: phone).count == 2)
    }

    @Test func `an ill connection is replaced without anybody waiting for it`() async throws {
        let stage = try Stage.current
        let (ill, capability) = try await stage.newPhone()
        let (phone, other) = try await stage.newPhone()
        let opened = { stage.simulator.books()[.apnsProduction].connectionsOpened }
        #expect(try await stage.relay.push(other).status == 202)
        let before = opened()
        // Each of these gives its connection up once another has done better, far faster than connections may be opened.
        for _ in 0..<12 {
            stage.force(Fault(.refuse(status: 500, reason: "InternalServerError"), times: 1), on: ill)
            let relay = stage.relay
            async let answer = relay.push(capability).summary
            for _ in 0..<5 { #expect(try await relay.push(other).status == 202) }
            #expect(["202", "502 upstream_failed provider_unavailable"].contains(try await answer))
        }
        #expect(opened() - before <= 12)
        #expect(stage.notifications(for: phone).count == 61)
    }
}
