import PushSimulator
import Testing

/// What takes a whole connection down, one at a time: everything else on it would be hit as well. One loop, so that it
/// is the same connections that everything meets.
@Suite(.stage(["WORKERS": "1"]), .serialized, .timeLimit(.minutes(1)))
struct LostConnectionTests {
    @Test(arguments: PhonePlatform.allCases)
    func `a push whose connection is lost may have been delivered, and is not sent again`(
        platform: PhonePlatform
    ) async throws {
        for delivers in [false, true] {
            let stage = try Stage.current
            let (phone, capability) = try await stage.newPhone(platform)
            // A connection that is lost before it has ever answered is rightly not tried again at once.
            #expect(try await stage.relay.push(capability).summary == "202")
            stage.force(Fault(.disconnect, delivers: delivers, times: 1), on: phone)
            let answer = try await stage.relay.push(capability)
            #expect(answer.summary == "502 upstream_failed unreachable")
            #expect((answer.retryAfter ?? 0) > 0)
            #expect(stage.notifications(for: phone).count == (delivers ? 2 : 1))
            #expect(try await stage.relay.push(capability).summary == "202")
            #expect(!stage.notifications(for: phone).contains { $0.isDouble })
        }
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
}
