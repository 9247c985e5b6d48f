import PushSimulator
import Testing

@Suite(.timeLimit(.minutes(1)))
struct BooksTests {
    @Test func `a notification is kept with what it came by, and without the provider token`() async throws {
        let fixture = try await Fixture.start()
        let token = SimulatedPhone(.ios).token
        let client = try fixture.client(.apnsSandbox)
        let (first, second) = (randomUUID(), randomUUID())
        for id in [first, second, second] {
            _ = try client.exchange(
                fixture.apnsRequest(token, changing: ["apns-id": id, "apns-collapse-id": "k"]))
        }
        let got = fixture.simulator.notifications(for: token.uppercased(), platform: .ios)
        #expect(got.map(\.id) == [first, second, second])
        #expect(got.map(\.number) == [1, 2, 3])
        #expect(got.map(\.stream) == [1, 3, 5])
        #expect(got.map(\.connection) == [1, 1, 1])
        #expect(got.map(\.isDouble) == [false, false, true])
        #expect(got.map(\.replacesEarlier) == [false, true, true])
        #expect(got[0].service == .apnsSandbox && got[0].platform == .ios && got[0].token == token)
        #expect(got[0].header("apns-topic") == "chat.gryt.app")
        #expect(got[0].header("authorization") == nil)
        #expect(JSON(text: got[0].payload)?["aps"]?["alert"]?["title"] == "Gryt")
        let books = fixture.simulator.books()
        #expect(books.delivered == 3 && books.doubles == 1 && books.providerTokens == 1)
        #expect(books[.apnsSandbox].requests == 3)
        #expect(books[.apnsProduction] == .init())
        await fixture.simulator.stop()
    }

    @Test func `every request is kept with its answer`() async throws {
        let fixture = try await Fixture.start()
        let client = try fixture.client(.apnsProduction)
        let token = SimulatedPhone(.ios).token
        _ = try client.exchange(fixture.apnsRequest(token, changing: ["apns-topic": nil]))
        _ = try client.exchange(fixture.apnsRequest(token))
        let records = fixture.simulator.books().requests
        #expect(records.map(\.status) == [400, 200])
        #expect(records.map(\.reason) == ["MissingTopic", nil])
        #expect(records.map(\.target) == ["/3/device/\(token)", "/3/device/\(token)"])
        #expect(records[1].headers.contains(HeaderField("authorization", "bearer " + fixture.usualToken)))
        #expect(fixture.simulator.books()[.apnsProduction].refusals == ["MissingTopic": 1])
        await fixture.simulator.stop()
    }

    @Test func `the books keep the newest and count them all`() async throws {
        let fixture = try await Fixture.start { $0.recordsKept = 10 }
        let client = try fixture.client(.apnsProduction)
        let token = SimulatedPhone(.ios).token
        for _ in 0..<45 { _ = try client.exchange(fixture.apnsRequest(token)) }
        let books = fixture.simulator.books()
        #expect(books.notifications.map(\.number) == Array(36...45))
        #expect(books.requests.map(\.number) == Array(36...45))
        #expect(books.delivered == 45)
        #expect(fixture.simulator.deliveredCount(to: token, platform: .ios) == 45)
        await fixture.simulator.stop()
    }

    @Test func `a double of a data-only message is known by its preview`() async throws {
        let fixture = try await Fixture.start()
        let access = try fixture.accessToken()
        let phone = SimulatedPhone(.android)
        func message(_ preview: String) -> TestRequest {
            fixture.fcmRequest(
                #"{"message":{"token":"\#(phone.token)","data":{"c":"t","p":"\#(preview)"}}}"#, accessToken: access)
        }
        let client = try fixture.client(.fcm)
        for preview in ["one", "two", "one"] { _ = try client.exchange(message(preview)) }
        let got = fixture.simulator.notifications(for: phone.token, platform: .android)
        #expect(got.map(\.isDouble) == [false, false, true])
        await fixture.simulator.stop()
    }

    @Test func `whoever waits for a notification wakes when it comes`() async throws {
        let fixture = try await Fixture.shared()
        let token = SimulatedPhone(.ios).token
        async let waited = fixture.simulator.delivered(to: token, platform: .ios, count: 2)
        let client = try fixture.client(.apnsProduction)
        _ = try client.exchange(fixture.apnsRequest(token))
        _ = try client.exchange(fixture.apnsRequest(token))
        #expect(try await waited.count == 2)
    }

    @Test func `whoever waits in vain can be cancelled`() async throws {
        let fixture = try await Fixture.shared()
        let waiting = Task { try await fixture.simulator.delivered(to: "0123", platform: .ios) }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
    }

    @Test func `an observer is told of each notification`() async throws {
        let fixture = try await Fixture.start()
        let (stream, continuation) = AsyncStream.makeStream(of: String.self)
        fixture.simulator.observe { continuation.yield($0.id) }
        let id = randomUUID()
        let request = fixture.apnsRequest(SimulatedPhone(.ios).token, changing: ["apns-id": id])
        _ = try fixture.client(.apnsProduction).exchange(request)
        var iterator = stream.makeAsyncIterator()
        #expect(await iterator.next() == id)
        await fixture.simulator.stop()
    }

    @Test func `what became of pushes is counted at the end where they arrive`() async throws {
        let fixture = try await Fixture.start()
        let simulator = fixture.simulator
        let client = try fixture.client(.apnsProduction)
        let (live, dead) = (SimulatedPhone(.ios).token, SimulatedPhone(.ios).token)
        simulator.declareDead(dead, platform: .ios)
        let request = fixture.apnsRequest(live)
        _ = try client.exchange(request)
        simulator.force(
            Fault(.refuse(status: 503, reason: "ServiceUnavailable"), delivers: true, times: 1), on: live,
            platform: .ios)
        _ = try client.exchange(request)
        simulator.force(Fault(.proceed, times: 1, after: [.frames([.ping()])]), on: live, platform: .ios)
        _ = try client.exchange(fixture.apnsRequest(live))
        _ = try client.exchange(fixture.apnsRequest(dead))
        var tally = DeliveryTally()
        (tally.accepted, tally.delivered, tally.unsaid, tally.doubles, tally.gone) = (2, 3, 1, 1, 1)
        #expect(simulator.books().tally(of: .ios) == tally)
        let phone = SimulatedPhone(.android)
        let body = #"{"message":{"token":"\#(phone.token)","data":{"c":"x"}}}"#
        let message = fixture.fcmRequest(body, accessToken: try fixture.accessToken())
        simulator.force(.fcm(.unregistered, times: 1), on: phone.token, platform: .android)
        for _ in 0..<2 { _ = try fixture.client(.fcm).exchange(message) }
        (tally.accepted, tally.delivered, tally.unsaid, tally.doubles, tally.gone) = (1, 1, 0, 0, 1)
        #expect(simulator.books().tally(of: .android) == tally)
        await simulator.stop()
    }

    @Test func `fields that are never to be indexed are told apart`() async throws {
        let fixture = try await Fixture.start()
        let client = try fixture.client(.fcm)
        try client.wait { !$0.announcedStreams.isEmpty }
        try client.sendRaw(rawHeaders(stream: 1, literal: 0x10))
        try client.sendRaw(rawHeaders(stream: 3))
        try client.wait { $0.frames.count { $0.type == 1 } == 2 }
        let records = fixture.simulator.books().requests
        #expect(records.map(\.neverIndexed) == [[":method", ":scheme", ":authority", ":path"], []])
        await fixture.simulator.stop()
    }

    @Test func `streams that are open at once, and frames beside them, are counted`() async throws {
        let fixture = try await Fixture.start()
        fixture.simulator.force(Fault(.silence), on: .fcm)
        let client = try fixture.client(.fcm)
        for _ in 0..<3 { _ = try client.send(TestRequest(path: "/")) }
        try client.ping()
        try client.wait { !$0.frames(ofType: 6).isEmpty }
        let counts = fixture.simulator.books()[.fcm]
        #expect(counts.mostStreams == 3 && counts.pings == 1)
        #expect(counts.frames == ["PING": 1, "SETTINGS": 1, "SETTINGS ACK": 1])
        await fixture.simulator.stop()
    }
}
