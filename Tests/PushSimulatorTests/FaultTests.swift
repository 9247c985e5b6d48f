import CNghttp2
import PushSimulator
import Testing

@Suite(.timeLimit(.minutes(1)))
struct FaultTests {
    @Test func `a token's faults are met in order, then the phone is itself again`() async throws {
        let fixture = try await Fixture.shared()
        let client = try fixture.client(.apnsProduction)
        let token = SimulatedPhone(.ios).token
        let simulator = fixture.simulator
        simulator.force(
            Fault(.refuse(status: 429, reason: "TooManyRequests", retryAfter: "7"), times: 2), on: token, platform: .ios
        )
        simulator.force(Fault(.refuse(status: 410, reason: "Unregistered"), times: 1), on: token, platform: .ios)
        simulator.force(
            Fault(.answer(SimulatedAnswer(status: 502, body: "<html>")), times: 1), on: token, platform: .ios)
        for _ in 0..<2 {
            let answer = try client.exchange(fixture.apnsRequest(token))
            #expect(answer.status == 429 && answer.body == #"{"reason":"TooManyRequests"}"#)
            #expect(answer.headers["retry-after"] == "7")
        }
        let dead = try client.exchange(fixture.apnsRequest(token))
        #expect(dead.status == 410)
        #expect((JSON(text: dead.body)?["timestamp"]?.integer ?? 0) > 1_600_000_000_000)
        let html = try client.exchange(fixture.apnsRequest(token))
        #expect(html.status == 502 && html.body == "<html>")
        #expect(try client.exchange(fixture.apnsRequest(token)).status == 200)
        #expect(simulator.deliveredCount(to: token, platform: .ios) == 1)
    }

    @Test func `a push that is wrong does not use up the fault of its token`() async throws {
        let fixture = try await Fixture.shared()
        let client = try fixture.client(.apnsProduction)
        let token = SimulatedPhone(.ios).token
        fixture.simulator.force(
            Fault(.refuse(status: 500, reason: "InternalServerError"), times: 1), on: token, platform: .ios)
        let wrong = fixture.apnsRequest(token, changing: ["apns-priority": "7"])
        #expect(try client.exchange(wrong).status == 400)
        #expect(try client.exchange(fixture.apnsRequest(token)).status == 500)
    }

    @Test func `never answered is never answered, and other streams go on`() async throws {
        let fixture = try await Fixture.shared()
        let client = try fixture.client(.apnsProduction)
        let (silent, other) = (SimulatedPhone(.ios).token, SimulatedPhone(.ios).token)
        _ = try client.exchange(fixture.apnsRequest(other))
        fixture.simulator.force(Fault(.silence), on: silent, platform: .ios)
        let stream = try client.send(fixture.apnsRequest(silent))
        try await fixture.simulator.attempted(on: silent, platform: .ios)
        #expect(try client.exchange(fixture.apnsRequest(other)).status == 200)
        #expect(client.answers[stream] == TestAnswer())
        fixture.simulator.clearFaults(of: silent, platform: .ios)
        #expect(try client.exchange(fixture.apnsRequest(silent)).status == 200)
    }

    @Test func `a 503 may deliver all the same, and the repeat is a double`() async throws {
        let fixture = try await Fixture.start()
        let phone = SimulatedPhone(.android)
        let body = #"{"message":{"token":"\#(phone.token)","android":{"notification":{"tag":"t","body":"x"}}}}"#
        let request = fixture.fcmRequest(body, accessToken: try fixture.accessToken())
        fixture.simulator.force(
            Fault(.refuse(status: 503, reason: "UNAVAILABLE"), delivers: true, times: 1), on: phone.token,
            platform: .android)
        let client = try fixture.client(.fcm)
        let refused = try client.exchange(request)
        #expect(refused.status == 503)
        #expect(JSON(text: refused.body)?["error"]?["status"] == "UNAVAILABLE")
        #expect(try client.exchange(request).status == 200)
        let got = fixture.simulator.notifications(for: phone.token, platform: .android)
        #expect(got.map(\.isDouble) == [false, true])
        #expect(got.map(\.replacesEarlier) == [false, true])
        #expect(fixture.simulator.books().doubles == 1)
        await fixture.simulator.stop()
    }

    @Test func `a stream is reset with the code that was asked for`() async throws {
        let fixture = try await Fixture.shared()
        let token = SimulatedPhone(.ios).token
        fixture.simulator.force(
            Fault(.reset(NGHTTP2_ENHANCE_YOUR_CALM.rawValue), times: 1), on: token, platform: .ios)
        let answer = try fixture.client(.apnsProduction).exchange(fixture.apnsRequest(token))
        #expect(answer.status == nil && answer.closeCode == NGHTTP2_ENHANCE_YOUR_CALM.rawValue)
    }

    @Test func `a connection is cut without a word`() async throws {
        let fixture = try await Fixture.shared()
        let token = SimulatedPhone(.ios).token
        fixture.simulator.force(Fault(.disconnect, times: 1), on: token, platform: .ios)
        let client = try fixture.client(.apnsProduction)
        let stream = try client.send(fixture.apnsRequest(token))
        try client.waitForClose()
        #expect(client.answers[stream]?.status == nil)
        #expect(client.goAways.isEmpty)
    }

    @Test func `a service's fault comes before all checks and has the service's shape`() async throws {
        let fixture = try await Fixture.start()
        let refusal = Fault(.refuse(status: 503, reason: "temporarily_unavailable", retryAfter: "2"), times: 1)
        fixture.simulator.force(refusal, on: .oauth)
        let answer = try fixture.client(.oauth).exchange(TestRequest(path: "/nowhere"))
        #expect(answer.status == 503 && answer.headers["retry-after"] == "2")
        #expect(JSON(text: answer.body)?["error"] == "temporarily_unavailable")
        #expect(try fixture.client(.oauth).exchange(TestRequest(path: "/nowhere")).status == 404)
        await fixture.simulator.stop()
    }

    @Test func `an answer waits as long as its service's latency says`() async throws {
        let fixture = try await Fixture.start()
        let client = try fixture.client(.apnsProduction)
        let token = SimulatedPhone(.ios).token
        fixture.simulator.setLatency(.milliseconds(80), of: .apnsProduction)
        let clock = ContinuousClock()
        let start = clock.now
        #expect(try client.exchange(fixture.apnsRequest(token)).status == 200)
        // The loop's clock is a coarse one, by which a timer may fire a few milliseconds early.
        #expect(clock.now - start >= .milliseconds(60))
        await fixture.simulator.stop()
    }

    @Test func `a client that gives up on a slow answer leaves nothing behind`() async throws {
        let fixture = try await Fixture.start()
        fixture.simulator.setLatency(.seconds(600), of: .fcm)
        do {
            let client = try fixture.client(.fcm)
            _ = try client.send(TestRequest(path: "/"))
            try client.wait { !$0.announcedStreams.isEmpty }
        }
        #expect(try !fixture.accessToken().isEmpty)
        await fixture.simulator.stop()
        #expect(fixture.simulator.books()[.fcm].connectionsOpen == 0)
    }

    @Test(arguments: APNsRefusalForm.allCases)
    func `a refusal of Apple's is written in every form`(form: APNsRefusalForm) async throws {
        let fixture = try await Fixture.shared()
        let token = SimulatedPhone(.ios).token
        fixture.simulator.force(
            .apns(status: 410, reason: "ExpiredToken", form: form, timestamp: 9, times: 1), on: token, platform: .ios)
        let client = try fixture.client(.apnsProduction)
        let answer = try client.exchange(fixture.apnsRequest(token))
        #expect(answer.status == 410 && answer.closeCode == 0)
        let usual = #"{"reason":"ExpiredToken","timestamp":9}"#
        let json = JSON(text: answer.body)
        switch form {
        case .usual, .split, .trailers: #expect(answer.body == usual)
        case .missing: #expect(answer.body.isEmpty && answer.endedWithHeaders)
        case .page: #expect(answer.body.hasPrefix("<!DOCTYPE html>"))
        case .spaced: #expect(json?["reason"] == "ExpiredToken" && answer.body != usual)
        case .spacedReason: #expect(json?["reason"] == "Expired Token")
        case .truncated, .notUTF8: #expect(json == nil && answer.body.hasPrefix(#"{"reason":"ExpiredToken""#))
        case .array: #expect(json == ["ExpiredToken"])
        case .numericReason: #expect(json?["reason"] == 7)
        case .noReason: #expect(answer.body == "{}")
        case .huge: #expect(answer.body.utf8.count > 1_000_000 && json?["reason"] == "ExpiredToken")
        case .twice: #expect(json?.members?.count { $0.name == "reason" } == 2)
        }
        if form == .split { #expect(client.frames(ofType: 0).count == usual.utf8.count + 1) }
        if form == .trailers { #expect(answer.headers["x-trailer"] == "yes") }
        #expect(try client.exchange(fixture.apnsRequest(token)).status == 200)
    }
}
