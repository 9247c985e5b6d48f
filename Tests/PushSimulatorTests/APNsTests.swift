import PushSimulator
import Testing

/// One way to break a push, and what Apple says to it.
struct APNsRow: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var status: Int
    var reason: String
    var method = "POST"
    var changing: [String: String?] = [:]
    var adding: [(String, String)] = []
    /// Nil is `/3/device/` and a fresh token.
    var path: String?
    var body: String?

    init(
        _ testDescription: String, _ status: Int, _ reason: String, method: String = "POST",
        changing: [String: String?] = [:], adding: [(String, String)] = [], path: String? = nil, body: String? = nil
    ) {
        self.testDescription = testDescription
        self.status = status
        self.reason = reason
        self.method = method
        self.changing = changing
        self.adding = adding
        self.path = path
        self.body = body
    }
}

private let someToken = String(repeating: "ab", count: 32)

@Suite(.timeLimit(.minutes(1)))
struct APNsTests {
    static let rows: [APNsRow] = [
        APNsRow("an apns-id in upper case", 400, "BadMessageId", changing: ["apns-id": randomUUID().uppercased()]),
        APNsRow("an apns-id that is no UUID", 400, "BadMessageId", changing: ["apns-id": "17"]),
        APNsRow("a GET", 405, "MethodNotAllowed", method: "GET"),
        APNsRow("no topic", 400, "MissingTopic", changing: ["apns-topic": nil]),
        APNsRow("a topic with a blank", 400, "BadTopic", changing: ["apns-topic": "chat gryt"]),
        APNsRow("another app's topic", 400, "TopicDisallowed", changing: ["apns-topic": "chat.other.app"]),
        APNsRow(
            "a collapse id of 65 bytes in 33 characters", 400, "BadCollapseId",
            changing: ["apns-collapse-id": String(repeating: "é", count: 32) + "e"]),
        APNsRow("an expiration in words", 400, "BadExpirationDate", changing: ["apns-expiration": "soon"]),
        APNsRow("priority 7", 400, "BadPriority", changing: ["apns-priority": "7"]),
        APNsRow("an unknown push type", 400, "InvalidPushType", changing: ["apns-push-type": "shout"]),
        APNsRow("background at priority 10", 400, "BadPriority", changing: ["apns-push-type": "background"]),
        APNsRow(
            "background without priority", 400, "BadPriority",
            changing: ["apns-push-type": "background", "apns-priority": nil]),
        APNsRow("no token", 400, "MissingDeviceToken", path: "/3/device/"),
        APNsRow("another path", 404, "BadPath", path: "/4/device/" + someToken),
        APNsRow("a path that goes on", 404, "BadPath", path: "/3/device/" + someToken + "/x"),
        APNsRow("a token that is not hex", 400, "BadDeviceToken", path: "/3/device/" + someToken + "zz"),
        APNsRow("a token of odd length", 400, "BadDeviceToken", path: "/3/device/" + someToken + "a"),
        APNsRow("a token of 62 digits", 400, "BadDeviceToken", path: "/3/device/" + someToken.dropLast(2)),
        APNsRow("no provider token", 403, "MissingProviderToken", changing: ["authorization": nil]),
        APNsRow("basic authorization", 403, "MissingProviderToken", changing: ["authorization": "basic eDp5"]),
        APNsRow("no JWT at all", 403, "InvalidProviderToken", changing: ["authorization": "bearer eDp5"]),
        APNsRow("no payload", 400, "PayloadEmpty", body: ""),
        APNsRow("a payload that is no JSON", 400, "PayloadEmpty", body: "aps"),
        APNsRow("a payload that is a list", 400, "PayloadEmpty", body: "[]"),
        APNsRow("a payload without aps", 400, "PayloadEmpty", body: #"{"c":"x"}"#),
        APNsRow("4097 bytes", 413, "PayloadTooLarge", body: APNsTests.payload(bytes: 4097)),
        APNsRow("100000 bytes", 413, "PayloadTooLarge", body: APNsTests.payload(bytes: 100_000)),
        APNsRow(
            "5121 bytes of voip", 413, "PayloadTooLarge", changing: ["apns-push-type": "voip"],
            body: APNsTests.payload(bytes: 5121)),
        APNsRow("two topics", 400, "DuplicateHeaders", adding: [("apns-topic", "chat.gryt.app")]),
        APNsRow("two apns-ids", 400, "DuplicateHeaders", adding: [("apns-id", randomUUID())]),
        // The order, where one push is wrong in two ways.
        APNsRow(
            "a bad id goes before a bad topic", 400, "BadMessageId", changing: ["apns-id": "x", "apns-topic": nil]),
        APNsRow(
            "a bad path goes before a bad provider token", 404, "BadPath", changing: ["authorization": nil], path: "/"),
        APNsRow(
            "a bad provider token goes before a bad payload", 403, "MissingProviderToken",
            changing: ["authorization": nil], body: "x"),
    ]

    static func payload(bytes: Int) -> String {
        let frame = #"{"aps":{},"x":""}"#
        return #"{"aps":{},"x":""# + String(repeating: "x", count: bytes - frame.utf8.count) + #""}"#
    }

    @Test(arguments: rows)
    func `a push that is wrong is refused with Apple's status and reason`(row: APNsRow) async throws {
        let fixture = try await Fixture.shared()
        let token = SimulatedPhone(.ios).token
        var request = fixture.apnsRequest(token, changing: row.changing)
        request.method = row.method
        request.headers += row.adding
        if let path = row.path { request.path = path }
        if let body = row.body { request.body = Array(body.utf8) }
        let answer = try fixture.client(.apnsProduction).exchange(request)
        #expect(answer.status == row.status)
        #expect(answer.body == #"{"reason":"\#(row.reason)"}"#)
        #expect(answer.headers["content-type"] == "application/json")
        #expect(fixture.simulator.deliveredCount(to: token, platform: .ios) == 0)
    }

    @Test(arguments: [64, 108, 160, 400])
    func `a push that is right is accepted, for tokens of any length`(digits: Int) async throws {
        let fixture = try await Fixture.shared()
        let token = String((SimulatedPhone(.ios).token + String(repeating: "0f", count: 200)).prefix(digits))
        let id = randomUUID()
        let answer = try fixture.client(.apnsProduction).exchange(
            fixture.apnsRequest(token.uppercased(), changing: ["apns-id": id]))
        #expect(answer.status == 200)
        #expect(answer.headers["apns-id"] == id)
        #expect(answer.headers["apns-unique-id"] == nil)
        #expect(answer.endedWithHeaders)
        #expect(answer.body.isEmpty)
        let got = try await fixture.simulator.delivered(to: token, platform: .ios)
        #expect(got.map(\.id) == [id])
    }

    @Test(arguments: [(4096, "alert"), (5120, "voip")])
    func `a payload of exactly the greatest size is accepted`(bytes: Int, pushType: String) async throws {
        let fixture = try await Fixture.shared()
        var request = fixture.apnsRequest(SimulatedPhone(.ios).token, changing: ["apns-push-type": pushType])
        request.body = Array(Self.payload(bytes: bytes).utf8)
        #expect(try fixture.client(.apnsProduction).exchange(request).status == 200)
    }

    @Test func `a push without apns-id gets one in upper case, and only the sandbox tells a unique id`() async throws {
        let fixture = try await Fixture.shared()
        let request = fixture.apnsRequest(SimulatedPhone(.ios).token, changing: ["apns-id": nil])
        let answer = try fixture.client(.apnsSandbox).exchange(request)
        let id = try #require(answer.headers["apns-id"])
        #expect(id.utf8.count == 36 && id == id.uppercased())
        #expect(answer.headers["apns-unique-id"] != nil)
    }

    @Test func `a dead token gives 410 with the instant in milliseconds, and lives again when declared`() async throws {
        let fixture = try await Fixture.shared()
        let token = SimulatedPhone(.ios).token
        let client = try fixture.client(.apnsProduction)
        fixture.simulator.declareDead(token, platform: .ios, since: 1_700_000_000_123)
        let dead = try client.exchange(fixture.apnsRequest(token))
        #expect(dead.status == 410)
        #expect(dead.body == #"{"reason":"Unregistered","timestamp":1700000000123}"#)
        fixture.simulator.declareDead(token, platform: .ios, since: 5, reason: .expired)
        let expired = try client.exchange(fixture.apnsRequest(token))
        #expect(expired.body == #"{"reason":"ExpiredToken","timestamp":5}"#)
        fixture.simulator.declareLive(token, platform: .ios)
        #expect(try client.exchange(fixture.apnsRequest(token)).status == 200)
        #expect(fixture.simulator.attemptedCount(on: token, platform: .ios) == 3)
        #expect(fixture.simulator.deliveredCount(to: token, platform: .ios) == 1)
    }

    @Test func `a sandbox token is a bad token in production, and another app's is not for the topic`() async throws {
        let fixture = try await Fixture.shared()
        let token = SimulatedPhone(.ios).token
        fixture.simulator.declareLive(token, platform: .ios, environment: .sandbox)
        let wrong = try fixture.client(.apnsProduction).exchange(fixture.apnsRequest(token))
        #expect(wrong.status == 400 && wrong.body == #"{"reason":"BadDeviceToken"}"#)
        #expect(try fixture.client(.apnsSandbox).exchange(fixture.apnsRequest(token)).status == 200)
        fixture.simulator.declareLive(token, platform: .ios, topic: "chat.other.app")
        let foreign = try fixture.client(.apnsSandbox).exchange(fixture.apnsRequest(token))
        #expect(foreign.status == 400 && foreign.body == #"{"reason":"DeviceTokenNotForTopic"}"#)
    }

    @Test func `a strict simulator knows declared phones only`() async throws {
        let fixture = try await Fixture.start { $0.isStrict = true }
        let token = SimulatedPhone(.ios).token
        let client = try fixture.client(.apnsProduction)
        #expect(try client.exchange(fixture.apnsRequest(token)).body == #"{"reason":"BadDeviceToken"}"#)
        fixture.simulator.declareLive(token, platform: .ios)
        #expect(try client.exchange(fixture.apnsRequest(token)).status == 200)
        await fixture.simulator.stop()
    }

    @Test func `nobody was ever given a token of zeros`() async throws {
        let fixture = try await Fixture.start()
        let token = String(repeating: "0", count: 64)
        let client = try fixture.client(.apnsProduction)
        #expect(try client.exchange(fixture.apnsRequest(token)).body == #"{"reason":"BadDeviceToken"}"#)
        fixture.simulator.declareLive(token, platform: .ios)
        #expect(try client.exchange(fixture.apnsRequest(token)).status == 200)
        await fixture.simulator.stop()
    }
}
