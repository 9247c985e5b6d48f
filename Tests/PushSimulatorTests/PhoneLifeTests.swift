import PushSimulator
import Testing

/// The lives of tokens and phones.
@Suite(.timeLimit(.minutes(1)))
struct PhoneLifeTests {
    @Test func `a token lives, ends, is noticed late, and lives again`() async throws {
        let fixture = try await Fixture.start()
        let simulator = fixture.simulator
        let client = try fixture.client(.apnsProduction)
        let token = SimulatedPhone(.ios).token
        func push() throws -> TestAnswer { try client.exchange(fixture.apnsRequest(token)) }
        #expect(try push().status == 200)
        simulator.declareDead(token, platform: .ios, since: 12_345, noticedAfter: .seconds(600))
        #expect(try push().status == 200)
        #expect(simulator.deliveredCount(to: token, platform: .ios) == 1)
        #expect(simulator.attemptedCount(on: token, platform: .ios) == 2)
        simulator.advanceClock(by: .seconds(601))
        #expect(try push().body == #"{"reason":"Unregistered","timestamp":12345}"#)
        simulator.declareLive(token, platform: .ios)
        #expect(try push().status == 200)
        #expect(simulator.deliveredCount(to: token, platform: .ios) == 2)
        await simulator.stop()
    }

    @Test(
        arguments: zip(
            DeathTimestamp.allCases,
            [
                #","timestamp":1700000000123"#, #","timestamp":1700000000"#, #","timestamp":"1700000000123""#, "",
                #","timestamp":null"#, #","timestamp":1700000000123.5"#,
            ]))
    func `a 410 writes its timestamp as told`(form: DeathTimestamp, text: String) async throws {
        let fixture = try await Fixture.shared()
        let token = SimulatedPhone(.ios).token
        fixture.simulator.declareDead(token, platform: .ios, since: 1_700_000_000_123, timestamp: form)
        let answer = try fixture.client(.apnsProduction).exchange(fixture.apnsRequest(token))
        #expect(answer.status == 410 && answer.body == #"{"reason":"Unregistered"\#(text)}"#)
    }

    @Test func `a 410 may speak of the future`() async throws {
        let fixture = try await Fixture.shared()
        let token = SimulatedPhone(.ios).token
        let future = fixture.simulator.now + 86_400_000
        fixture.simulator.declareDead(token, platform: .ios, since: future, reason: .expired)
        let answer = try fixture.client(.apnsProduction).exchange(fixture.apnsRequest(token))
        #expect(answer.body == #"{"reason":"ExpiredToken","timestamp":\#(future)}"#)
    }

    @Test func `too many pushes to one phone are refused, to others not, and not for long`() async throws {
        let fixture = try await Fixture.start()
        fixture.simulator.limitPushes(to: .ios, PushRate(2, per: .seconds(60)))
        let client = try fixture.client(.apnsProduction)
        let (token, other) = (SimulatedPhone(.ios).token, SimulatedPhone(.ios).token)
        func push(_ token: String) throws -> String {
            let answer = try client.exchange(fixture.apnsRequest(token))
            return "\(answer.status ?? 0)\(answer.body)"
        }
        #expect(try push(token) == "200" && push(token) == "200")
        #expect(try push(token) == #"429{"reason":"TooManyRequests"}"#)
        #expect(try push(other) == "200")
        fixture.simulator.advanceClock(by: .seconds(61))
        #expect(try push(token) == "200")
        #expect(fixture.simulator.deliveredCount(to: token, platform: .ios) == 3)
        await fixture.simulator.stop()
    }

    // MARK: Screens

    private static func pushes(
        _ fixture: Fixture, _ client: TestClient, _ token: String, _ changes: [[String: String?]]
    ) throws {
        for change in changes {
            #expect(try client.exchange(fixture.apnsRequest(token, changing: change)).status == 200)
        }
    }

    @Test func `a collapse id replaces, and an apns-id does not keep a double away`() async throws {
        let fixture = try await Fixture.shared()
        let client = try fixture.client(.apnsProduction)
        let token = SimulatedPhone(.ios).token
        let id = randomUUID()
        try Self.pushes(
            fixture, client, token,
            [
                ["apns-collapse-id": "a"], ["apns-collapse-id": "b"], ["apns-collapse-id": "a"], ["apns-id": id],
                ["apns-id": id],
            ])
        let shown = fixture.simulator.shown(on: token, platform: .ios)
        #expect(shown.map(\.replacementKey) == ["b", "a", nil, nil])
        #expect(shown.map(\.isDouble) == [false, false, false, true])
    }

    @Test func `APNs keeps the latest for a phone that is out of reach, and none that may not wait`() async throws {
        let fixture = try await Fixture.start()
        let simulator = fixture.simulator
        let client = try fixture.client(.apnsProduction)
        let token = SimulatedPhone(.ios).token
        let soon = String(simulator.now / 1000 + 60)
        let late = String(simulator.now / 1000 + 6000)
        simulator.setOnline(false, token, platform: .ios)
        try Self.pushes(fixture, client, token, [["apns-id": randomUUID()], ["apns-expiration": "0"]])
        #expect(simulator.shown(on: token, platform: .ios).isEmpty)
        simulator.setOnline(true, token, platform: .ios)
        #expect(simulator.shown(on: token, platform: .ios).map { $0.header("apns-expiration") } == [nil])
        simulator.setOnline(false, token, platform: .ios)
        try Self.pushes(fixture, client, token, [["apns-expiration": soon], ["apns-expiration": late]])
        simulator.advanceClock(by: .seconds(120))
        simulator.setOnline(true, token, platform: .ios)
        #expect(simulator.shown(on: token, platform: .ios).map { $0.header("apns-expiration") } == [nil, late])
        simulator.setOnline(false, token, platform: .ios)
        try Self.pushes(
            fixture, client, token, [["apns-expiration": String(simulator.now / 1000 + 10)]])
        simulator.advanceClock(by: .seconds(20))
        simulator.setOnline(true, token, platform: .ios)
        #expect(simulator.shown(on: token, platform: .ios).count == 2)
        await simulator.stop()
    }

    /// A phone of Google's, and how it is pushed to.
    private struct Android {
        let fixture: Fixture
        let client: TestClient
        let access: String
        let token = SimulatedPhone(.android).token

        func push(_ count: Int, _ android: String = "{}") throws {
            for number in 0..<count {
                let body = #"{"message":{"token":"\#(token)","android":\#(android),"data":{"n":"\#(number)"}}}"#
                _ = try client.exchange(fixture.fcmRequest(body, accessToken: access))
            }
        }

        var shown: Int { fixture.simulator.shown(on: token, platform: .android).count }

        func setOnline(_ isOnline: Bool) { fixture.simulator.setOnline(isOnline, token, platform: .android) }
    }

    private func android(_ fixture: Fixture) throws -> Android {
        Android(fixture: fixture, client: try fixture.client(.fcm), access: try fixture.accessToken())
    }

    @Test func `FCM keeps a hundred for a phone that is out of reach, or none`() async throws {
        let fixture = try await Fixture.start()
        let phone = try android(fixture)
        func shownAfter(_ pushes: () throws -> Void) rethrows -> Int {
            let before = phone.shown
            phone.setOnline(false)
            try pushes()
            phone.setOnline(true)
            return phone.shown - before
        }
        #expect(try shownAfter { try phone.push(3, #"{"ttl":"0s"}"#) } == 0)
        #expect(try shownAfter { try phone.push(3, #"{"collapse_key":"k"}"#) } == 1)
        #expect(try shownAfter { try phone.push(7) } == 7)
        #expect(try shownAfter { try phone.push(101) } == 1)
        #expect(fixture.simulator.deliveredCount(to: phone.token, platform: .android) == 114)
        await fixture.simulator.stop()
    }

    @Test func `of five collapse keys FCM keeps four for a phone that is out of reach, beside what has none`()
        async throws
    {
        let fixture = try await Fixture.start()
        let phone = try android(fixture)
        phone.setOnline(false)
        try phone.push(2)
        for key in ["a", "b", "c", "a", "d", "e"] { try phone.push(1, #"{"collapse_key":"\#(key)"}"#) }
        phone.setOnline(true)
        let shown = fixture.simulator.shown(on: phone.token, platform: .android)
        let keys = shown.map { JSON(text: $0.payload)?["android"]?["collapse_key"]?.string }
        #expect(keys == [nil, nil, "c", "a", "d", "e"])
        await fixture.simulator.stop()
    }

    @Test func `of collapsible messages the twenty-first waits for three minutes, and nobody is told`() async throws {
        let fixture = try await Fixture.start {
            $0.clock = { 1_790_000_000_000 }
            $0.accessTokenLifetime = .seconds(10_000)
        }
        let simulator = fixture.simulator
        let phone = try android(fixture)
        try phone.push(20, #"{"collapse_key":"k"}"#)
        #expect(phone.shown == 20)
        // One takes another's place while they wait; what has no key, and what may not wait, does not wait.
        try phone.push(3, #"{"collapse_key":"k"}"#)
        try phone.push(1, #"{"collapse_key":"l"}"#)
        try phone.push(1, #"{"collapse_key":"m","ttl":"60s"}"#)
        try phone.push(1)
        #expect(phone.shown == 21)
        #expect(simulator.deliveredCount(to: phone.token, platform: .android) == 26)
        #expect(simulator.books()[.fcm].answers == [200: 26])
        simulator.advanceClock(by: .seconds(179))
        #expect(phone.shown == 21)
        simulator.advanceClock(by: .seconds(1))
        #expect(phone.shown == 22)
        simulator.advanceClock(by: .seconds(180))
        #expect(phone.shown == 23)
        simulator.advanceClock(by: .seconds(3600))
        #expect(phone.shown == 23)
        try phone.push(21, #"{"collapse_key":"k"}"#)
        #expect(phone.shown == 43)
        await simulator.stop()
    }
}
