import Cryptography
import PushSimulator
import Testing

/// What Apple answers, what the server is told then, and what is left of the phone.
///
/// One after the other, for refusals of ours in a row, of several phones, would be taken for what they look like.
@Suite(.stage(), .serialized, .timeLimit(.minutes(3)))
struct APNsAnswerTests {
    private typealias Case = PushServiceCase

    private static func refuse(_ status: Int, _ reason: String, retryAfter: String? = nil) -> Fault.Action {
        .refuse(status: status, reason: reason, retryAfter: retryAfter)
    }

    static let aboutThePhone: [PushServiceCase] = [
        .init(
            "410 without a timestamp", Case.json(410, #"{"reason":"Unregistered"}"#), gives: Case.gone, isKept: false),
        .init("410 without a body", Case.json(410, ""), gives: Case.gone, isKept: false),
        .init("410 with a page", Case.page(410), gives: Case.gone, isKept: false),
        .init(
            "410 in seconds", Case.json(410, #"{"reason":"Unregistered","timestamp":1700000000}"#), gives: Case.gone,
            isKept: false),
        .init(
            "410 in words", Case.json(410, #"{"reason":"Unregistered","timestamp":"yesterday"}"#), gives: Case.gone,
            isKept: false),
        .init(
            "410 in a far future", Case.json(410, #"{"reason":"Unregistered","timestamp":9223372036854775807}"#),
            gives: Case.gone, isKept: false),
        .init(
            "410 ExpiredToken", Case.json(410, #"{"reason":"ExpiredToken"}"#), gives: Case.gone, isKept: false),
        .init(
            "410 before the registration", Case.json(410, #"{"reason":"Unregistered","timestamp":1700000000000}"#),
            gives: "502 upstream_failed rejected", wait: Case.some),
        .init("BadDeviceToken", refuse(400, "BadDeviceToken"), gives: Case.gone, isKept: false),
        .init("DeviceTokenNotForTopic", refuse(400, "DeviceTokenNotForTopic"), gives: Case.gone, isKept: false),
        .init("TooManyRequests", refuse(429, "TooManyRequests"), gives: "429 phone_throttled", wait: Case.some),
        .init(
            "TooManyRequests with a wait", refuse(429, "TooManyRequests", retryAfter: "7"),
            gives: "429 phone_throttled", wait: 7...7),
    ]

    static let aboutUs: [PushServiceCase] =
        [
            "400 TopicDisallowed", "400 MissingTopic", "400 BadTopic", "403 BadCertificateEnvironment",
            "403 BadCertificate", "403 Forbidden", "403 InvalidProviderToken", "403 MissingProviderToken",
            "403 BadEnvironmentKeyIdInToken",
        ].map { text in
            let (status, reason) = (Int(text.prefix(3)) ?? 0, String(text.dropFirst(4)))
            return .init(text, refuse(status, reason), gives: "502 upstream_failed credentials", wait: 300...300)
        }
        + [
            "413 PayloadTooLarge", "400 PayloadEmpty", "400 BadCollapseId", "400 BadMessageId", "400 InvalidPushType",
            "400 BadPriority", "400 BadExpirationDate", "400 DuplicateHeaders", "404 BadPath", "405 MethodNotAllowed",
            "400 SomethingNew", "418 Teapot",
        ].map { text in
            let (status, reason) = (Int(text.prefix(3)) ?? 0, String(text.dropFirst(4)))
            return .init(text, refuse(status, reason), gives: "502 upstream_failed rejected")
        }
        + [
            .init("404 with a page", Case.page(404), gives: "502 upstream_failed rejected"),
            .init(
                "ExpiredProviderToken for ever", refuse(403, "ExpiredProviderToken"),
                gives: "502 upstream_failed credentials", wait: Case.some, attempts: 2),
            .init(
                "ExpiredProviderToken once", refuse(403, "ExpiredProviderToken"), times: 1, gives: "202", attempts: 2),
            .init(
                "UnrelatedKeyIdInToken for ever", refuse(403, "UnrelatedKeyIdInToken"),
                gives: "502 upstream_failed credentials", wait: Case.some, attempts: 2),
            .init(
                "UnrelatedKeyIdInToken once", refuse(403, "UnrelatedKeyIdInToken"), times: 1, gives: "202", attempts: 2),
            .init(
                "TooManyProviderTokenUpdates", refuse(429, "TooManyProviderTokenUpdates"),
                gives: "502 upstream_failed provider_throttled", wait: 1200...1200),
        ]

    static let aboutApple: [PushServiceCase] = [
        .init("InternalServerError once", refuse(500, "InternalServerError"), times: 1, gives: "202", attempts: 2),
        .init(
            "InternalServerError for ever", refuse(500, "InternalServerError"),
            gives: "502 upstream_failed provider_unavailable", wait: Case.some, attempts: 2),
        .init("Shutdown once", refuse(503, "Shutdown"), times: 1, gives: "202", attempts: 2),
        .init(
            "Shutdown for ever", refuse(503, "Shutdown"), gives: "502 upstream_failed provider_unavailable",
            wait: Case.some, attempts: 2),
        .init(
            "ServiceUnavailable with a wait", refuse(503, "ServiceUnavailable", retryAfter: "33"),
            gives: "502 upstream_failed provider_unavailable", wait: 33...33),
        .init("ServiceUnavailable once", refuse(503, "ServiceUnavailable"), times: 1, gives: "202", attempts: 2),
        .init(
            "ServiceUnavailable for ever", refuse(503, "ServiceUnavailable"),
            gives: "502 upstream_failed provider_unavailable", wait: 900...900, attempts: 2),
        .init("IdleTimeout once", refuse(400, "IdleTimeout"), times: 1, gives: "202", attempts: 2),
        .init(
            "IdleTimeout for ever", refuse(400, "IdleTimeout"), gives: "502 upstream_failed provider_unavailable",
            wait: Case.some, attempts: 2),
        .init("500 without a body once", Case.json(500, ""), times: 1, gives: "202", attempts: 2),
        .init("502 with a page", Case.page(502), gives: "502 upstream_failed provider_unavailable", wait: Case.some),
        .init(
            "503 with a page", Case.page(503), gives: "502 upstream_failed provider_unavailable", wait: Case.some,
            attempts: 2),
        .init("a reset once", .reset(2), times: 1, gives: "202", attempts: 2),
        .init("a reset", .reset(2), gives: "502 upstream_failed unreachable", wait: Case.some, attempts: 2),
        .init("ENHANCE_YOUR_CALM", .reset(11), gives: "502 upstream_failed unreachable", wait: Case.some),
        .init("REFUSED_STREAM once", .reset(7), times: 1, gives: "202", attempts: 2),
        .init(
            "REFUSED_STREAM for ever", .reset(7), gives: "502 upstream_failed unreachable", wait: Case.some,
            attempts: 3),
        .init("200 with something else", Case.page(200), gives: "202"),
    ]

    @Test(arguments: aboutThePhone + aboutUs)
    func `an answer is told to the server, and only a dead phone is forgotten`(it: PushServiceCase) async throws {
        try await it.play(.ios)
    }

    @Test(arguments: aboutApple)
    func `a fault of Apple's is repeated where that may help, and the phone is kept`(it: PushServiceCase) async throws {
        try await it.play(.ios)
    }

    @Test func `a phone that died after its registration is forgotten with all its capabilities, and no other`()
        async throws
    {
        let stage = try Stage.current
        for env in ["production", "sandbox"] {
            let (phone, first) = try await stage.newPhone(env: env)
            let second = try await stage.relay.register(phone, env: env)
            let (bystander, other) = try await stage.newPhone(env: env)
            stage.simulator.declareDead(phone.token, platform: .ios)
            #expect(try await stage.relay.push(second).summary == "410 gone")
            for capability in [first, second] {
                #expect(try await stage.relay.push(capability).summary == "404 unknown_capability")
                #expect(try await stage.relay.remove(capability).summary == "404 unknown_capability")
            }
            #expect(try await stage.relay.push(other).status == 202)
            #expect(stage.notifications(for: bystander).count == 1)
        }
    }

    @Test func `of a phone that came back, what was registered since its death is kept`() async throws {
        let stage = try Stage.current
        let (phone, old) = try await stage.newPhone()
        // The clocks of both are this machine's: by the millisecond it died after the one and before the other.
        let death = stage.simulator.now + 1
        stage.simulator.declareDead(phone.token, platform: .ios, since: death)
        while stage.simulator.now <= death { await Task.yield() }
        let new = try await stage.relay.register(phone)
        #expect(try await stage.relay.push(old).summary == "410 gone")
        stage.simulator.declareLive(phone.token, platform: .ios)
        #expect(try await stage.relay.push(old).summary == "404 unknown_capability")
        #expect(try await stage.relay.push(new).status == 202)
    }

    @Test func `a repeated push has the same ids, on another connection where the first one was ill`() async throws {
        let stage = try Stage.current
        let (phone, capability) = try await stage.newPhone()
        stage.force(Fault(.refuse(status: 500, reason: "InternalServerError"), times: 1), on: phone)
        #expect(try await stage.relay.push(capability).status == 202)
        let requests = stage.simulator.books().requests.filter { $0.target == "/3/device/\(phone.token)" }
        #expect(requests.map(\.status) == [500, 200])
        #expect(Set(requests.map(\.connection)).count == 2)
        for name in ["apns-id", "apns-collapse-id"] {
            let values = requests.map { request in request.headers.first { $0.name == name }?.value }
            #expect(values.count == 2 && values[0] != nil && values[0] == values[1])
        }
    }

    @Test func `a token that is refused in the first of many pushes costs the others nothing`() async throws {
        let stage = try Stage.current
        let (_, living) = try await stage.newPhone()
        #expect(try await stage.relay.push(living).status == 202)
        let dead = try await stage.newPhone()
        stage.force(Fault(.refuse(status: 400, reason: "BadDeviceToken")), on: dead.phone)
        var phones: [(phone: SimulatedPhone, capability: String)] = []
        for _ in 0..<20 { phones.append(try await stage.newPhone()) }
        let capabilities = [dead.capability] + phones.map(\.capability)
        let relay = stage.relay
        let answers = try await withThrowingTaskGroup(of: String.self) { group in
            for capability in capabilities { group.addTask { try await relay.push(capability).summary } }
            return try await group.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        }
        #expect(answers == ["202": 20, "410 gone": 1])
    }

    @Test func `one provider token did for everything, whatever Apple said about it`() async throws {
        // The suite's other tests run at the same time; the count holds whenever it is looked at.
        let stage = try Stage.current
        #expect(try await stage.relay.push(stage.newPhone().capability).status == 202)
        #expect(stage.simulator.books().providerTokens == 1)
    }
}
